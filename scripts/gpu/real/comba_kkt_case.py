"""Products of two keys of a chunk: `fla.ops.comba.wy_fast.chunk_scaled_dot_comba_pkt_fwd`."""

from fla.ops.comba.wy_fast import chunk_scaled_dot_comba_pkt_fwd
from inputs import BATCH, CHUNK, HEADS, KEYS, TOKENS, Random


def make_inputs(device, seed):
    random = Random(device, seed)
    beta = random.normal(BATCH, TOKENS, HEADS).sigmoid()
    decays = {name: random.decays(BATCH, TOKENS, HEADS) for name in ("g0", "g")}
    return {"k": random.tokens(KEYS), "p": random.tokens(KEYS), "beta": beta, **decays}


def launch(k, p, beta, g0, g):
    return chunk_scaled_dot_comba_pkt_fwd(k, p, beta, g0, g, chunk_size=CHUNK)
