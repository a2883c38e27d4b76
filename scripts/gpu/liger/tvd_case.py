"""Total variation distance: every reduction, with and without labels to ignore, equal distributions."""

import torch
from liger_kernel.ops.tvd import LigerTVDLossFunction
from tensors import Random, double_leaf, grad, leaf, upstream_like

TOL = {"atol": 2e-2, "rtol": 3e-2}
IGNORED = -100
seeds = (0, 1)


def make_inputs(
    device, seed, shape=(7, 300), dtype="fp32", reduction="batchmean", labels=False, equal=False, upstream=1.0
):
    random = Random(device, seed)
    p, q = (random.softmax(*shape, dtype=dtype) for _ in range(2))
    if equal:
        q = torch.where(torch.arange(shape[1], device=device) % 2 == 0, p, q)
    label = random.labels(*shape, IGNORED) if labels else None
    return {"p": p, "q": q, "label": label, "reduction": reduction, "upstream": torch.tensor(upstream, device=device)}


def variants():
    for reduction in ("none", "sum", "mean", "batchmean"):
        yield {"reduction": reduction, "upstream": 0.5, "equal": True}
        yield {"reduction": reduction, "labels": True, "dtype": "bf16", "shape": (7, 1024)}
    yield {"shape": (3, 20000), "dtype": "bf16"}
    yield {"shape": (4, 16385), "labels": True, "reduction": "none"}
    yield {"shape": (4, 1)}


def launch(p, q, label, reduction, upstream):
    p = leaf(p)
    loss = LigerTVDLossFunction.apply(p, q, label, reduction, IGNORED)
    return loss.detach().clone(), *grad(loss, (p,), upstream_like(loss, upstream))


def reference(p, q, label, reduction, upstream):
    p, q = double_leaf(p), q.double()
    counted = torch.ones_like(p[:, 0], dtype=torch.bool) if label is None else label != IGNORED
    # sgn is 0 where the distributions agree, and so is the gradient of abs
    loss = 0.5 * (p - q).abs() * counted[:, None]
    if reduction != "none":
        rows = counted.sum()
        loss = loss.sum() / {"sum": 1, "mean": rows * p.shape[1], "batchmean": rows}[reduction]
    return loss.detach(), *grad(loss, (p,), upstream_like(loss, upstream))
