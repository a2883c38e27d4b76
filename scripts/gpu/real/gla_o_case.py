"""Output of gated linear attention with a gate for each key: `fla.ops.gla.chunk.chunk_gla_fwd_o_gk`."""

from fla.ops.gla.chunk import chunk_gla_fwd_o_gk
from inputs import BATCH, CHUNK, HEADS, KEYS, TOKENS, VALUES, Random


def make_inputs(device, seed):
    random = Random(device, seed)
    g = random.decays(BATCH, TOKENS, HEADS, KEYS)
    return {
        "q": random.tokens(KEYS),
        "v": random.tokens(VALUES),
        "g": g,
        "A": random.tokens(CHUNK),
        "h": random.states(),
    }


def launch(q, v, g, A, h):
    return chunk_gla_fwd_o_gk(q, v, g, A, h, KEYS**-0.5, chunk_size=CHUNK)
