"""Gradients of a chunk's products and values: `fla.ops.kda.chunk_bwd.chunk_kda_bwd_dAv`."""

from fla.ops.kda.chunk_bwd import chunk_kda_bwd_dAv
from inputs import CHUNK, KEYS, VALUES, Random


def make_inputs(device, seed):
    random = Random(device, seed)
    given = {"q": random.tokens(KEYS), "k": random.tokens(KEYS), "v": random.tokens(VALUES)}
    return {**given, "do": random.tokens(VALUES), "A": random.tokens(CHUNK)}


def launch(q, k, v, do, A):
    return chunk_kda_bwd_dAv(q, k, v, do, A, KEYS**-0.5, chunk_size=CHUNK)
