"""Gradient of the values inside of a chunk: `fla.ops.common.chunk_o.chunk_bwd_dv_local`."""

from fla.ops.common.chunk_o import chunk_bwd_dv_local
from inputs import BATCH, CHUNK, HEADS, KEYS, TOKENS, VALUES, Random


def make_inputs(device, seed):
    random = Random(device, seed)
    q, k = random.tokens(KEYS), random.tokens(KEYS)
    return {"q": q, "k": k, "do": random.tokens(VALUES), "g": random.decays(BATCH, TOKENS, HEADS)}


def launch(q, k, do, g):
    return chunk_bwd_dv_local(q, k, do, g=g, scale=KEYS**-0.5, chunk_size=CHUNK)
