"""Product of a matrix and its own transpose: `flag_gems.ops.mm.syrk_mm`."""

import torch
from flag_gems.ops.mm import syrk_mm
from inputs import SMALL, Random

SIDE = 160 if SMALL else 4096


def make_inputs(device, seed):
    return {"a": Random(device, seed).normal(SIDE, SIDE)}


def launch(a):
    return syrk_mm(a, torch.empty_like(a), SIDE, SIDE)
