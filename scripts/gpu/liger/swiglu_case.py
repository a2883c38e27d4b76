"""SwiGLU: the two-tensor function (on whole rows and on column tiles) and the fused gate-up one."""

from contextlib import contextmanager

import torch
from liger_kernel.ops import swiglu
from tensors import Random, double_leaf, grad, leaf

TOL = {"atol": 3e-2, "rtol": 3e-2}
seeds = (0, 1)


def make_inputs(
    device, seed, shape=(7, 300), dtype="fp32", gate=1.0, down=1.0, tiled=False, fused=False, in_place=False
):
    random = Random(device, seed)
    *rows, cols = shape
    inputs = (
        [random.normal(*rows, 2 * cols, dtype=dtype)] if fused else [random.normal(*shape, dtype=dtype) for _ in "ab"]
    )
    dc = random.normal(*shape, dtype=dtype)
    return {
        "inputs": inputs,
        "dc": dc,
        "gate": gate,
        "down": down,
        "tiled": tiled,
        "fused": fused,
        "in_place": in_place,
    }


def variants():
    yield {"shape": (5, 4096), "dtype": "bf16"}
    yield {"shape": (3, 14336), "dtype": "bf16"}
    yield {"shape": (2, 3, 257), "dtype": "fp32"}
    yield {"shape": (4, 1), "dtype": "fp32"}
    yield {"shape": (4, 1000), "dtype": "bf16", "gate": 0.5, "down": 2.0}
    yield {"shape": (3, 5000), "dtype": "bf16", "tiled": True}
    yield {"shape": (3, 2049), "dtype": "fp32", "tiled": True, "gate": 1.5}
    yield {"shape": (6, 1000), "dtype": "bf16", "fused": True}
    yield {"shape": (6, 777), "dtype": "fp32", "fused": True}
    yield {"shape": (5, 4096), "dtype": "bf16", "fused": True, "in_place": True}


@contextmanager
def column_tiles(wanted):
    """The path that is taken on Blackwell for wide rows, taken here."""
    decide = swiglu._should_tile
    if wanted:
        swiglu._should_tile = lambda n_cols: True
    try:
        yield
    finally:
        swiglu._should_tile = decide


def launch(inputs, dc, gate, down, tiled, fused, in_place):
    inputs = [leaf(one) for one in inputs]
    with column_tiles(tiled):
        if fused:
            c = swiglu.LigerFusedGateUpSiLUMulFunction.apply(*inputs, in_place)
        else:
            c = swiglu.LigerSiLUMulFunction.apply(*inputs, gate, down)
        return c.detach().clone(), *grad(c, inputs, dc)


def reference(inputs, dc, gate, down, tiled, fused, in_place):
    inputs = [double_leaf(one) for one in inputs]
    a, b = inputs[0].chunk(2, dim=-1) if fused else inputs
    c = torch.nn.functional.silu(gate * a) * b * down
    return c.detach(), *grad(c, inputs, dc.double())
