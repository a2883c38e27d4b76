"""fla's causal depthwise convolution in Gluon: widths, bias, residual, activation, gradients."""

import torch
from fla.modules.causal_conv1d.backends.gluon import causal_conv1d_bwd_gluon, causal_conv1d_fwd_gluon

TOL = dict(atol=2e-5, rtol=2e-5)


def make_inputs(device, seed, shape=(2, 70, 40), width=4, bias=True, residual=True, activation="silu"):
    generator = torch.Generator().manual_seed(seed)

    def normal(*size):
        return torch.randn(*size, generator=generator).to(device)

    return dict(
        x=normal(*shape),
        weight=normal(shape[2], width),
        bias=normal(shape[2]) if bias else None,
        residual=normal(*shape) if residual else None,
        dy=normal(*shape),
        activation=activation,
    )


def variants():
    yield dict(width=2, bias=False, activation=None)
    yield dict(width=3, shape=(1, 128, 64), residual=False)


def launch(x, weight, bias, residual, dy, activation):
    y, _ = causal_conv1d_fwd_gluon(x, weight, bias, residual, activation=activation)
    dx, dw, db, dr, _ = causal_conv1d_bwd_gluon(x, dy, None, weight, bias, residual, activation=activation)
    return y, dx, dw, db, dr


def reference(x, weight, bias, residual, dy, activation):
    leaves = {
        name: tensor.double().requires_grad_()
        for name, tensor in dict(x=x, weight=weight, bias=bias, residual=residual).items()
        if tensor is not None
    }
    width = weight.shape[1]
    rows = torch.nn.functional.pad(leaves["x"].transpose(1, 2), (width - 1, 0))
    y = torch.nn.functional.conv1d(rows, leaves["weight"][:, None], leaves.get("bias"), groups=weight.shape[0])
    y = y.transpose(1, 2)
    if activation is not None:
        y = torch.nn.functional.silu(y)
    if residual is not None:
        y = y + leaves["residual"]
    grads = dict(zip(leaves, torch.autograd.grad(y, list(leaves.values()), dy.double()), strict=True))
    return y.detach(), grads["x"], grads["weight"], grads.get("bias"), grads.get("residual")
