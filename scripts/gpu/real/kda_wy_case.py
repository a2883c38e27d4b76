"""The WY representation with a gate for each key: `fla.ops.kda.wy_fast.recompute_w_u_fwd`."""

from fla.ops.kda.wy_fast import recompute_w_u_fwd
from inputs import BATCH, CHUNK, HEADS, KEYS, TOKENS, VALUES, Random


def make_inputs(device, seed):
    random = Random(device, seed)
    beta, gk = random.normal(BATCH, TOKENS, HEADS).sigmoid(), random.decays(BATCH, TOKENS, HEADS, KEYS)
    return {"k": random.tokens(KEYS), "v": random.tokens(VALUES), "beta": beta, "A": random.tokens(CHUNK), "gk": gk}


def launch(k, v, beta, A, gk):
    return [one for one in recompute_w_u_fwd(k, v, beta, A, gk) if one is not None]
