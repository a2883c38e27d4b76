"""Product of two matrices: `flag_gems.ops.mm.general_mm`."""

import torch
from flag_gems.ops.mm import general_mm
from inputs import SMALL, Random

SIDE = 96 if SMALL else 4096


def make_inputs(device, seed):
    random = Random(device, seed)
    return {"a": random.normal(SIDE, SIDE), "b": random.normal(SIDE, SIDE)}


def launch(a, b):
    return general_mm(a, b, torch.empty_like(a), SIDE, SIDE, SIDE)
