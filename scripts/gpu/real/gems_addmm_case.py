"""Product with a bias: `flag_gems.ops.addmm.addmm`."""

from flag_gems.ops.addmm import addmm
from inputs import SMALL, Random

SIDE = 96 if SMALL else 4096


def make_inputs(device, seed):
    random = Random(device, seed)
    return {name: random.normal(SIDE, SIDE) for name in ("bias", "a", "b")}


def launch(bias, a, b):
    return addmm(bias, a, b, beta=0.5, alpha=2.0)
