"""LayerNorm, with weight and bias trained or frozen."""

import torch
from liger_kernel.ops.layer_norm import LigerLayerNormFunction
from tensors import Random, double_leaf, grad, leaf

TOL = {"atol": 6e-2, "rtol": 3e-2}
EPS = 1e-5
seeds = (0, 1)


def make_inputs(device, seed, shape=(7, 300), dtype="fp32", trained="xwb"):
    random = Random(device, seed)
    x, dy = (random.normal(*shape, dtype=dtype) for _ in range(2))
    w, b = (random.normal(shape[-1], dtype=dtype) for _ in range(2))
    return {"x": 1.0 + x, "w": w, "b": b, "dy": dy, "trained": trained}


def variants():
    yield {"shape": (5, 4096), "dtype": "bf16"}
    yield {"shape": (3, 8191), "dtype": "bf16"}
    yield {"shape": (3, 16384), "dtype": "fp32"}
    yield {"shape": (2, 3, 257), "dtype": "bf16"}
    yield {"shape": (4, 1), "dtype": "fp32"}
    yield {"shape": (5, 1024), "dtype": "fp32", "trained": "x"}
    yield {"shape": (5, 1024), "dtype": "fp32", "trained": "xw"}
    yield {"shape": (5, 1024), "dtype": "bf16", "trained": "xb"}


def _wanted(trained, x, w, b):
    return [tensor for name, tensor in (("x", x), ("w", w), ("b", b)) if name in trained]


def launch(x, w, b, dy, trained):
    x, w, b = (leaf(t) if name in trained else t.clone() for name, t in zip("xwb", (x, w, b), strict=True))
    y = LigerLayerNormFunction.apply(x, w, b, EPS)
    return y.detach().clone(), *grad(y, _wanted(trained, x, w, b), dy)


def reference(x, w, b, dy, trained):
    x, w, b = (double_leaf(t) for t in (x, w, b))
    y = torch.nn.functional.layer_norm(x, x.shape[-1:], w, b, EPS)
    return y.detach(), *grad(y, _wanted(trained, x, w, b), dy.double())
