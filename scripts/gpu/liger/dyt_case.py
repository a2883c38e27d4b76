"""Dynamic tanh, with and without beta; both kernels are autotuned."""

import torch
from liger_kernel.ops.dyt import LigerDyTFunction
from tensors import Random, double_leaf, grad, leaf

TOL = {"atol": 1e-1, "rtol": 5e-2}
seeds = (0, 1)


def make_inputs(device, seed, shape=(37, 300), dtype="fp32", has_beta=True):
    random = Random(device, seed)
    x, dy = (random.normal(*shape, dtype=dtype) for _ in range(2))
    gamma, beta = (random.normal(shape[-1], dtype=dtype) for _ in range(2))
    alpha = random.normal(1, dtype=dtype).abs() + 0.5
    return {"x": x, "alpha": alpha, "gamma": gamma, "beta": beta if has_beta else None, "dy": dy}


def variants():
    yield {"shape": (300, 4096), "dtype": "bf16"}
    yield {"shape": (5, 4100), "dtype": "fp32", "has_beta": False}
    yield {"shape": (2, 3, 1025), "dtype": "bf16"}


def _backward_runs(x):
    # The function asks for the number of multiprocessors of an accelerator, and knows of none on a CPU.
    return x.device.type != "cpu"


def launch(x, alpha, gamma, beta, dy):
    inputs = [leaf(one) for one in (x, alpha, gamma, beta) if one is not None]
    y = LigerDyTFunction.apply(*inputs, *([None] if beta is None else []))
    gradients = grad(y, inputs, dy) if _backward_runs(x) else ()
    return y.detach().clone(), *gradients


def reference(x, alpha, gamma, beta, dy):
    inputs = [double_leaf(one) for one in (x, alpha, gamma, beta) if one is not None]
    y = torch.tanh(inputs[1] * inputs[0]) * inputs[2]
    if beta is not None:
        y = y + inputs[3]
    gradients = grad(y, inputs, dy.double()) if _backward_runs(x) else ()
    return y.detach(), *gradients
