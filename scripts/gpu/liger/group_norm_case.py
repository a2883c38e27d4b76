"""GroupNorm: one and several channels to a group, rows of odd length; weight gradients are added up with atomics."""

import torch
from liger_kernel.ops.group_norm import LigerGroupNormFunction
from tensors import Random, double_leaf, grad, leaf

TOL = {"atol": 1.0, "rtol": 5e-2}  # in bf16 the kernels add up in bf16
EPS = 1e-5
seeds = (0, 1)


def make_inputs(device, seed, shape=(2, 6, 50), groups=3, dtype="fp32"):
    random = Random(device, seed)
    x, dy = (random.normal(*shape, dtype=dtype) for _ in range(2))
    w, b = (random.normal(shape[1], dtype=dtype) for _ in range(2))
    return {"x": x, "w": w, "b": b, "dy": dy, "groups": groups}


def variants():
    yield {"shape": (2, 8, 512), "groups": 4}
    yield {"shape": (2, 8, 512), "groups": 4, "dtype": "bf16"}
    yield {"shape": (2, 4, 31, 33), "groups": 4}
    yield {"shape": (3, 4, 64), "groups": 1}
    yield {"shape": (2, 2, 70000), "groups": 1}
    yield {"shape": (2, 6, 257), "groups": 2, "dtype": "bf16"}


def launch(x, w, b, dy, groups):
    x, w, b = leaf(x), leaf(w), leaf(b)
    y = LigerGroupNormFunction.apply(x, w, b, x.shape[1], groups, EPS)
    return y.detach().clone(), *grad(y, (x, w, b), dy)


def reference(x, w, b, dy, groups):
    x, w, b = double_leaf(x), double_leaf(w), double_leaf(b)
    y = torch.nn.functional.group_norm(x, groups, w, b, EPS)
    return y.detach(), *grad(y, (x, w, b), dy.double())
