"""fla's Sinkhorn normalisation in Gluon, forward and backward through a cache of steps in shared memory."""

import torch
from fla.ops.utils.sinkhorn.gluon import sinkhorn_bwd_gluon, sinkhorn_fwd_gluon

TOL = dict(atol=2e-5, rtol=1e-4)


def make_inputs(device, seed, matrices=3, size=5, steps=4):
    generator = torch.Generator().manual_seed(seed)
    x, dout = (torch.randn(matrices, size, size, generator=generator).to(device) for _ in range(2))
    return dict(x=x, dout=dout, steps=steps)


def variants():
    yield dict(matrices=130, size=4, steps=3)
    yield dict(matrices=2, size=8, steps=23)  # more steps than the cache holds


def launch(x, dout, steps):
    out, _ = sinkhorn_fwd_gluon(x, steps)
    return out, sinkhorn_bwd_gluon(x, dout, steps)


def reference(x, dout, steps):
    x = x.double().requires_grad_()
    log_p = x
    for _ in range(steps):
        log_p = log_p - log_p.logsumexp(dim=1, keepdim=True)
        log_p = log_p - log_p.logsumexp(dim=2, keepdim=True)
    out = log_p.exp()
    (dx,) = torch.autograd.grad(out, x, dout.double())
    return out.detach(), dx
