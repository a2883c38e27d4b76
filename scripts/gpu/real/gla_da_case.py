"""Gradient of the products inside of a chunk: `fla.ops.gla.chunk.chunk_gla_bwd_dA`."""

from fla.ops.gla.chunk import chunk_gla_bwd_dA
from inputs import CHUNK, KEYS, VALUES, Random


def make_inputs(device, seed):
    random = Random(device, seed)
    return {"v": random.tokens(VALUES), "do": random.tokens(VALUES)}


def launch(v, do):
    return chunk_gla_bwd_dA(v, do, KEYS**-0.5, chunk_size=CHUNK)
