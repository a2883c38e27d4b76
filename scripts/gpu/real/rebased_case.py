"""Attention with squared products: `fla.ops.rebased.parallel.parallel_rebased`, forward."""

from fla.ops.rebased.parallel import parallel_rebased
from inputs import KEYS, VALUES, Random


def make_inputs(device, seed):
    random = Random(device, seed)
    return {"q": random.tokens(KEYS), "k": random.tokens(KEYS), "v": random.tokens(VALUES)}


def launch(q, k, v):
    return parallel_rebased(q, k, v, use_normalize=False)
