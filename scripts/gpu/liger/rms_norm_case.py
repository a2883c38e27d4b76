"""RMSNorm: the casting modes, with and without weight and offset, one row or sixteen to a program."""

from liger_kernel.ops.rms_norm import LigerRMSNormFunction
from tensors import Random, double_leaf, grad, leaf

TOL = {"atol": 6e-2, "rtol": 3e-2}
EPS = 1e-6
seeds = (0, 1)


def make_inputs(
    device,
    seed,
    shape=(7, 300),
    dtype="fp32",
    weight="fp32",
    offset=0.0,
    casting="llama",
    in_place=False,
    row_mode=None,
    frozen=False,
):
    random = Random(device, seed)
    x, dy = (random.normal(*shape, dtype=dtype) for _ in range(2))
    w = None if weight is None else random.normal(shape[-1], dtype=weight)
    return {
        "x": x,
        "w": w,
        "dy": dy,
        "offset": offset,
        "casting": casting,
        "in_place": in_place,
        "row_mode": row_mode,
        "frozen": frozen,
    }


def variants(device, seed):
    yield {"shape": (5, 4096), "dtype": "bf16", "weight": "bf16"}
    yield {"shape": (5, 4096), "dtype": "bf16", "weight": "bf16", "casting": "gemma", "offset": 1.0, "in_place": True}
    yield {"shape": (3, 1027), "dtype": "fp32", "casting": "gemma", "offset": 1.0}
    yield {"shape": (3, 1027), "dtype": "fp32", "casting": "none", "offset": 0.5}
    yield {"shape": (3, 1024), "dtype": "bf16", "weight": "bf16", "casting": "none"}
    yield {"shape": (2, 3, 513), "dtype": "bf16", "weight": "fp32", "casting": "llama"}
    yield {"shape": (6, 256), "dtype": "bf16", "weight": None, "casting": "llama", "in_place": True}
    yield {"shape": (6, 100), "dtype": "fp32", "weight": None, "casting": "gemma"}
    yield {"shape": (6, 2048), "dtype": "bf16", "weight": "bf16", "frozen": True}
    yield {"shape": (3, 16384), "dtype": "bf16", "weight": "bf16"}
    if device == "cpu":
        return  # sixteen rows to a program are taken from 32768 rows on, which takes the emulator minutes
    for casting, offset in (("llama", 0.0), ("gemma", 1.0), ("none", 0.0)):
        yield {"shape": (32771, 128), "dtype": "fp32", "casting": casting, "offset": offset}
    yield {"shape": (32768, 100), "dtype": "bf16", "weight": "bf16"}
    yield {"shape": (32768, 64), "dtype": "bf16", "weight": None, "casting": "gemma"}
    yield {"shape": (32768, 64), "dtype": "bf16", "weight": "bf16", "row_mode": True}


def launch(x, w, dy, offset, casting, in_place, row_mode, frozen):
    x = leaf(x)
    w = None if w is None else w.clone() if frozen else leaf(w)
    y = LigerRMSNormFunction.apply(x, w, EPS, offset, casting, in_place, row_mode)
    return y.detach().clone(), *grad(y, (x,) if w is None or frozen else (x, w), dy)


def reference(x, w, dy, offset, casting, in_place, row_mode, frozen):
    x = double_leaf(x)
    w = None if w is None else double_leaf(w)
    y = x * (x.square().mean(dim=-1, keepdim=True) + EPS).rsqrt()
    if w is not None:
        y = y * (w + offset)
    return y.detach(), *grad(y, (x,) if w is None or frozen else (x, w), dy.double())
