"""Gradients of queries and keys: `fla.ops.common.chunk_o.chunk_bwd_dqkwg`, without a gate for each token.

The package refuses that gate on Hopper with Triton before 3.7.1, whose result it knows to be wrong.
"""

from fla.ops.common.chunk_o import chunk_bwd_dqkwg
from inputs import CHUNK, KEYS, VALUES, Random


def make_inputs(device, seed):
    random = Random(device, seed)
    q, k, v, do = random.tokens(KEYS), random.tokens(KEYS), random.tokens(VALUES), random.tokens(VALUES)
    return {"q": q, "k": k, "v": v, "do": do, "h": random.states(), "dh": random.states()}


def launch(q, k, v, do, h, dh):
    return chunk_bwd_dqkwg(q, k, v, do, h, dh, scale=KEYS**-0.5, chunk_size=CHUNK)[:2]
