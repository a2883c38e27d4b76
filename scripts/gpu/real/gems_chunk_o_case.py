"""Output of chunked gated linear attention: `flag_gems.fused.FLA.chunk_o.chunk_fwd_o`."""

from flag_gems.fused.FLA.chunk_o import chunk_fwd_o
from inputs import BATCH, CHUNK, HEADS, KEYS, TOKENS, VALUES, Random


def make_inputs(device, seed):
    random = Random(device, seed)
    q, k = random.tokens(KEYS), random.tokens(KEYS)
    return {"q": q, "k": k, "v": random.tokens(VALUES), "h": random.states(), "g": random.decays(BATCH, TOKENS, HEADS)}


def launch(q, k, v, h, g):
    return chunk_fwd_o(q, k, v, h, g=g, chunk_size=CHUNK)
