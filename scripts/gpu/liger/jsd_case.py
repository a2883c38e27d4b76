"""Generalised Jensen-Shannon divergence: both ends of beta and between, with and without labels to ignore."""

import torch
from liger_kernel.ops.jsd import LigerJSDFunction
from tensors import Random, double_leaf, grad, leaf, upstream_like

TOL = {"atol": 2e-2, "rtol": 3e-2}
IGNORED = -100
seeds = (0, 1)


def make_inputs(device, seed, shape=(7, 300), dtype="fp32", beta=0.5, labels=False, upstream=1.0):
    random = Random(device, seed)
    x, y = (random.log_softmax(*shape, dtype=dtype) for _ in range(2))
    label = random.labels(*shape, IGNORED) if labels else None
    return {"x": x, "y": y, "label": label, "beta": beta, "upstream": torch.tensor(upstream, device=device)}


def variants():
    for beta in (0.0, 0.1, 1.0):
        yield {"beta": beta, "upstream": 0.5}
        yield {"beta": beta, "labels": True, "dtype": "bf16", "shape": (7, 1024)}
    yield {"shape": (3, 5000), "labels": True}
    yield {"shape": (3, 9001), "beta": 0.0}
    yield {"shape": (3, 9001), "beta": 1.0}
    yield {"shape": (3, 32000), "dtype": "bf16", "beta": 0.9}


def launch(x, y, label, beta, upstream):
    x = leaf(x)
    loss = LigerJSDFunction.apply(x, y, label, beta, IGNORED, "nvidia-triton", None)
    return loss.detach().clone(), *grad(loss, (x,), upstream_like(loss, upstream))


def reference(x, y, label, beta, upstream):
    x, y = double_leaf(x), y.double()
    p, q = y.exp(), x.exp()
    if beta == 0.0:
        loss = p * (y - x)
    elif beta == 1.0:
        loss = q * (x - y)
    else:
        log_m = (beta * p + (1 - beta) * q).log()
        loss = beta * p * (y - log_m) + (1 - beta) * q * (x - log_m)
    counted = torch.ones_like(loss[:, 0], dtype=torch.bool) if label is None else label != IGNORED
    loss = (loss.sum(dim=-1) * counted).sum() / counted.sum()
    return loss.detach(), *grad(loss, (x,), upstream_like(loss, upstream))
