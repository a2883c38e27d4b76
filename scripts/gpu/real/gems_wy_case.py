"""The WY representation of the gated delta rule: `flag_gems.fused.FLA.wy_fast.recompute_w_u_fwd`."""

from flag_gems.fused.FLA.wy_fast import recompute_w_u_fwd
from inputs import BATCH, CHUNK, HEADS, KEYS, TOKENS, VALUES, Random


def make_inputs(device, seed):
    random = Random(device, seed)
    beta, g = random.normal(BATCH, TOKENS, HEADS).sigmoid(), random.decays(BATCH, TOKENS, HEADS)
    return {"k": random.tokens(KEYS), "v": random.tokens(VALUES), "beta": beta, "A": random.tokens(CHUNK), "g": g}


def launch(k, v, beta, A, g):
    return recompute_w_u_fwd(k, v, beta, g, A, None)
