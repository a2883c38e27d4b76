"""Gradient of the values with the states: `fla.ops.common.chunk_o.chunk_bwd_dv`."""

from fla.ops.common.chunk_o import chunk_bwd_dv
from inputs import BATCH, CHUNK, HEADS, KEYS, TOKENS, VALUES, Random


def make_inputs(device, seed):
    random = Random(device, seed)
    q, k = random.tokens(KEYS), random.tokens(KEYS)
    g = random.decays(BATCH, TOKENS, HEADS)
    return {"q": q, "k": k, "do": random.tokens(VALUES), "dh": random.states(), "g": g}


def launch(q, k, do, dh, g):
    return chunk_bwd_dv(q, k, do, dh, g=g, chunk_size=CHUNK)
