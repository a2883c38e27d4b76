"""Products of the keys of a chunk: `flag_gems.fused.FLA.chunk_scaled_dot_kkt.chunk_scaled_dot_kkt_fwd`."""

from flag_gems.fused.FLA.chunk_scaled_dot_kkt import chunk_scaled_dot_kkt_fwd
from inputs import BATCH, CHUNK, HEADS, KEYS, TOKENS, Random


def make_inputs(device, seed):
    random = Random(device, seed)
    beta = random.normal(BATCH, TOKENS, HEADS).sigmoid()
    return {"k": random.tokens(KEYS), "g": random.decays(BATCH, TOKENS, HEADS), "beta": beta}


def launch(k, g, beta):
    return chunk_scaled_dot_kkt_fwd(k, g=g, beta=beta, chunk_size=CHUNK)
