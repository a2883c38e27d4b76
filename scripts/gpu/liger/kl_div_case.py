"""Kullback-Leibler divergence: every reduction, targets as probabilities and as their logarithms."""

import torch
from liger_kernel.ops.kl_div import LigerKLDivLossFunction
from tensors import Random, double_leaf, grad, leaf, upstream_like

TOL = {"atol": 2e-2, "rtol": 3e-2}
EPS = 1e-10
seeds = (0, 1)


def make_inputs(device, seed, shape=(7, 300), dtype="fp32", reduction="batchmean", log_target=False, upstream=1.0):
    random = Random(device, seed)
    y = random.log_softmax(*shape, dtype=dtype)
    target = random.log_softmax(*shape, dtype=dtype) if log_target else random.softmax(*shape, dtype=dtype)
    upstream = torch.tensor(upstream, device=device)
    return {"y": y, "target": target, "reduction": reduction, "log_target": log_target, "upstream": upstream}


def variants():
    for reduction in ("none", "sum", "mean"):
        yield {"reduction": reduction, "upstream": 0.5}
        yield {"reduction": reduction, "log_target": True, "dtype": "bf16", "shape": (5, 1024)}
    yield {"shape": (3, 20000), "dtype": "bf16"}
    yield {"shape": (3, 16385), "log_target": True}
    yield {"shape": (4, 1)}


def launch(y, target, reduction, log_target, upstream):
    y = leaf(y)
    loss = LigerKLDivLossFunction.apply(y, target, reduction, log_target, EPS)
    return loss.detach().clone(), *grad(loss, (y,), upstream_like(loss, upstream))


def reference(y, target, reduction, log_target, upstream):
    y, target = double_leaf(y), target.double()
    p, log_p = (target.exp(), target) if log_target else (target, target.clamp_min(EPS).log())
    loss = p * (log_p - y)
    if reduction != "none":
        loss = loss.sum() / {"sum": 1, "mean": y.numel(), "batchmean": y.shape[0]}[reduction]
    return loss.detach(), *grad(loss, (y,), upstream_like(loss, upstream))
