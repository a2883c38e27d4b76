"""Gradient of the values: `fla.ops.gla.chunk.chunk_gla_bwd_dv`."""

from fla.ops.gla.chunk import chunk_gla_bwd_dv
from inputs import BATCH, CHUNK, HEADS, KEYS, TOKENS, VALUES, Random


def make_inputs(device, seed):
    random = Random(device, seed)
    g = random.decays(BATCH, TOKENS, HEADS, KEYS)
    given = {"k": random.tokens(KEYS), "g": g, "A": random.tokens(CHUNK)}
    return {**given, "do": random.tokens(VALUES), "dh": random.states()}


def launch(k, g, A, do, dh):
    return chunk_gla_bwd_dv(k, g, A, do, dh, chunk_size=CHUNK)
