"""GEGLU with the tanh form of GELU."""

import torch
from liger_kernel.ops.geglu import LigerGELUMulFunction
from tensors import Random, double_leaf, grad, leaf

TOL = {"atol": 3e-2, "rtol": 3e-2}
seeds = (0, 1)


def make_inputs(device, seed, shape=(7, 300), dtype="fp32"):
    random = Random(device, seed)
    a, b, dc = (random.normal(*shape, dtype=dtype) for _ in range(3))
    return {"a": a, "b": b, "dc": dc}


def variants():
    yield {"shape": (5, 4096), "dtype": "bf16"}
    yield {"shape": (3, 11008), "dtype": "bf16"}
    yield {"shape": (2, 3, 257), "dtype": "bf16"}
    yield {"shape": (3, 8191), "dtype": "fp32"}
    yield {"shape": (4, 1), "dtype": "fp32"}


def launch(a, b, dc):
    a, b = leaf(a), leaf(b)
    c = LigerGELUMulFunction.apply(a, b)
    return c.detach().clone(), *grad(c, (a, b), dc)


def reference(a, b, dc):
    a, b = double_leaf(a), double_leaf(b)
    c = torch.nn.functional.gelu(a, approximate="tanh") * b
    return c.detach(), *grad(c, (a, b), dc.double())
