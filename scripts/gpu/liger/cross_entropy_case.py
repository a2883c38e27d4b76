"""Cross-entropy: reductions, ignored targets, class weights, label smoothing, softcapping, z-loss, accuracy and
predictions, rows of one and of several blocks, with and without gradients."""

import torch
from liger_kernel.ops.cross_entropy import LigerCrossEntropyFunction
from tensors import Random, double_leaf, grad, leaf, upstream_like

TOL = {"atol": 2e-2, "rtol": 3e-2}
IGNORED = -100
seeds = (0, 1)


def make_inputs(
    device,
    seed,
    shape=(7, 300),
    dtype="fp32",
    weight=False,
    ignored=IGNORED,
    z_scale=0.0,
    smoothing=0.0,
    reduction="mean",
    softcap=None,
    return_z=False,
    predictions=False,
    upstream=1.0,
    trained=True,
):
    random = Random(device, seed)
    rows, classes = shape
    return {
        "x": 3.0 * random.normal(rows, classes, dtype=dtype),
        "target": random.labels(rows, classes, ignored),
        "weight": 0.5 + random.normal(classes).abs() if weight else None,
        "ignored": IGNORED if ignored is None else ignored,
        "z_scale": z_scale,
        "smoothing": smoothing,
        "reduction": reduction,
        "softcap": softcap,
        "return_z": return_z,
        "predictions": predictions,
        "upstream": torch.tensor(upstream, device=device),
        "trained": trained,
    }


def variants():
    yield {"shape": (5, 1000), "dtype": "bf16"}
    yield {"shape": (4, 40000), "dtype": "bf16"}
    yield {"shape": (4, 33001), "dtype": "fp32", "z_scale": 1e-3, "smoothing": 0.1, "return_z": True}
    yield {"reduction": "sum", "upstream": 0.5}
    yield {"reduction": "none", "upstream": 0.5}
    yield {"reduction": "none", "dtype": "bf16", "z_scale": 1e-4, "return_z": True}
    yield {"smoothing": 0.1, "ignored": None}
    yield {"smoothing": 0.2, "weight": True, "ignored": 3}
    yield {"weight": True, "reduction": "sum"}
    yield {"weight": True, "z_scale": 1e-3, "smoothing": 0.1, "softcap": 20.0}
    yield {"softcap": 15.0}
    yield {"shape": (5, 1000), "dtype": "bf16", "softcap": 30.0, "smoothing": 0.1}
    yield {"predictions": True}
    yield {"shape": (4, 40000), "predictions": True, "z_scale": 1e-4, "return_z": True}
    yield {"trained": False}
    yield {"trained": False, "predictions": True, "weight": True, "smoothing": 0.1}


def _results(loss, z_loss, accuracy, predicted, gradients):
    return tuple(one.detach() for one in (loss, z_loss, accuracy, predicted, *gradients) if one is not None)


def launch(
    x, target, weight, ignored, z_scale, smoothing, reduction, softcap, return_z, predictions, upstream, trained
):
    x = leaf(x) if trained else x.clone()
    loss, *others = LigerCrossEntropyFunction.apply(
        x, target, weight, ignored, z_scale, smoothing, reduction, softcap, return_z, predictions, predictions
    )
    gradients = grad(loss, (x,), upstream_like(loss, upstream)) if trained else ()
    return _results(loss, *others, gradients)


def reference(
    x, target, weight, ignored, z_scale, smoothing, reduction, softcap, return_z, predictions, upstream, trained
):
    x = double_leaf(x)
    weight = None if weight is None else weight.double()
    logits = x if softcap is None else softcap * torch.tanh(x / softcap)
    valid = target != ignored
    loss = torch.nn.functional.cross_entropy(
        logits, target, weight, ignore_index=ignored, reduction=reduction, label_smoothing=smoothing
    )
    z_loss = z_scale * logits.logsumexp(dim=-1).square() * valid
    if reduction != "none":
        z_loss = z_loss.sum() / (valid.sum() if reduction == "mean" else 1)
    loss = loss + z_loss
    predicted = torch.where(valid, logits.argmax(dim=-1), -1)
    accuracy = (predicted == target).double()
    if reduction != "none":
        accuracy = accuracy.sum() / valid.sum()
    gradients = grad(loss, (x,), upstream_like(loss, upstream)) if trained else ()
    extra = (accuracy, predicted) if predictions else (None, None)
    return _results(loss, z_loss if return_z else None, *extra, gradients)
