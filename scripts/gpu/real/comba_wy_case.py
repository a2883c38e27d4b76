"""The WY representation of Comba: `fla.ops.comba.wy_fast.recompute_w_u_fwd`."""

from fla.ops.comba.wy_fast import recompute_w_u_fwd
from inputs import BATCH, CHUNK, HEADS, KEYS, TOKENS, VALUES, Random


def make_inputs(device, seed):
    random = Random(device, seed)
    beta, g = random.normal(BATCH, TOKENS, HEADS).sigmoid(), random.decays(BATCH, TOKENS, HEADS)
    return {"k": random.tokens(KEYS), "v": random.tokens(VALUES), "beta": beta, "g": g, "A": random.tokens(CHUNK)}


def launch(k, v, beta, g, A):
    return recompute_w_u_fwd(k, v, beta, g, A, None)
