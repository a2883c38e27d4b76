"""Attention with a second query, forward: `fla.ops.parallax.parallel.parallel_parallax_fwd`."""

from fla.ops.parallax.parallel import parallel_parallax_fwd
from inputs import KEYS, Random


def make_inputs(device, seed):
    random = Random(device, seed)
    return {name: random.tokens(KEYS) for name in ("q", "r", "k", "v")}


def launch(q, r, k, v):
    return parallel_parallax_fwd(q, r, k, v, KEYS**-0.5)
