"""The WY representation of the delta rule: `fla.ops.delta_rule.wy_fast.recompute_w_u_fwd`."""

from fla.ops.delta_rule.wy_fast import recompute_w_u_fwd
from inputs import BATCH, CHUNK, HEADS, KEYS, TOKENS, VALUES, Random


def make_inputs(device, seed):
    random = Random(device, seed)
    beta = random.normal(BATCH, TOKENS, HEADS).sigmoid()
    return {"k": random.tokens(KEYS), "v": random.tokens(VALUES), "beta": beta, "A": random.tokens(CHUNK)}


def launch(k, v, beta, A):
    return recompute_w_u_fwd(k, v, beta, A, None)
