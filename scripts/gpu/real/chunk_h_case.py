"""States between chunks: `fla.ops.common.chunk_h.chunk_fwd_h`."""

from fla.ops.common.chunk_h import chunk_fwd_h
from inputs import BATCH, CHUNK, HEADS, KEYS, TOKENS, VALUES, Random


def make_inputs(device, seed):
    random = Random(device, seed)
    return {"k": random.tokens(KEYS), "v": random.tokens(VALUES), "g": random.decays(BATCH, TOKENS, HEADS)}


def launch(k, v, g):
    return chunk_fwd_h(k, v, g=g, chunk_size=CHUNK)[0]
