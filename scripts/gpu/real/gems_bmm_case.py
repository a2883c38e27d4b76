"""Batched product: `flag_gems.ops.bmm.bmm`."""

from flag_gems.ops.bmm import bmm
from inputs import SMALL, Random

BATCH, SIDE = (2, 96) if SMALL else (8, 2048)


def make_inputs(device, seed):
    random = Random(device, seed)
    return {"a": random.normal(BATCH, SIDE, SIDE), "b": random.normal(BATCH, SIDE, SIDE)}


def launch(a, b):
    return bmm(a, b)
