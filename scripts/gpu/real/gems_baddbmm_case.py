"""Batched product with a bias: `flag_gems.ops.baddbmm.baddbmm`."""

from flag_gems.ops.baddbmm import baddbmm
from inputs import SMALL, Random

BATCH, SIDE = (2, 96) if SMALL else (8, 2048)


def make_inputs(device, seed):
    random = Random(device, seed)
    a, b = random.normal(BATCH, SIDE, SIDE), random.normal(BATCH, SIDE, SIDE)
    return {"bias": random.normal(BATCH, SIDE, SIDE), "a": a, "b": b}


def launch(bias, a, b):
    return baddbmm(bias, a, b, beta=0.5, alpha=2.0)
