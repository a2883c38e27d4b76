"""Softmax. No launch of the package's own functions reaches the kernels for rows of several blocks: a row wider than
the widest block is refused before. The backward one is launched here directly, with a block narrower than the row; in
Triton it does not compile (`tl.float32(...)` is no conversion), so the port is compared with torch. The forward one has
a case of its own, softmax_blocks_case.py."""

from liger_kernel.ops import softmax
from tensors import Random, double_leaf, grad, leaf

TOL = {"atol": 1e-2, "rtol": 3e-2}
seeds = (0, 1)


def make_inputs(device, seed, shape=(7, 300), dtype="fp32", block=None):
    random = Random(device, seed)
    x, dy = (random.normal(*shape, dtype=dtype) for _ in range(2))
    return {"x": 3.0 * x, "dy": dy, "block": block}


def variants():
    yield {"shape": (5, 4096)}
    yield {"shape": (3, 8191)}
    yield {"shape": (2, 3, 257)}
    yield {"shape": (4, 1)}
    yield {"shape": (3, 32000)}
    yield {"shape": (5, 4096), "dtype": "bf16"}
    yield {"shape": (3, 1001), "dtype": "bf16"}
    yield {"shape": (5, 300), "block": 64}
    yield {"shape": (3, 5000), "block": 1024}


def launch(x, dy, block):
    if block is not None:
        return softmax._softmax_backward(dy, x.softmax(dim=-1), block, 4, True)
    x = leaf(x)
    y = softmax.LigerSoftmaxFunction.apply(x)
    return y.detach().clone(), *grad(y, (x,), dy)


def reference(x, dy, block):
    x = double_leaf(x)
    y = x.softmax(dim=-1)
    results = y.detach(), *grad(y, (x,), dy.double())
    return results if block is None else results[1]
