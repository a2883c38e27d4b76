"""fla's attention over residuals in Gluon: cp.async into a ring of two tiles, or all of them resident."""

import torch
import triton
from fla.ops.attnres.backends import gluon as attnres

TOL = dict(atol=3e-4, rtol=2e-4)  # sums of 8192 terms in float32
EPS = 1e-6
SCALE = 0.8


def make_inputs(device, seed, tokens=37, sources=3, width=96, norm=True, warps=4, tile=2):
    generator = torch.Generator().manual_seed(seed)

    def normal(*size):
        return torch.randn(*size, generator=generator).to(device)

    return dict(
        query=normal(width) / width**0.5,
        weight=normal(width),
        out_weight=normal(width) if norm else None,
        residuals=[normal(tokens, width) for _ in range(sources)],
        dout=normal(tokens, width),
        warps=warps,
        tile=tile,
    )


def variants():
    yield dict(width=128, sources=5, norm=False, warps=8, tile=4)
    yield dict(sources=1)
    yield dict(width=8192, sources=4, tokens=3, tile=2)  # too wide for all sources to stay: the backward streams


def launch(query, weight, out_weight, residuals, dout, warps, tile):
    count, (tokens, width) = len(residuals), residuals[0].shape
    block = triton.next_power_of_2(width)
    out, before = torch.empty_like(dout), torch.empty_like(dout)
    lse = torch.empty(tokens)
    rstd, logit = torch.empty(count, tokens), torch.empty(count, tokens)
    common = dict(
        q=query, res=tuple(residuals), w=weight, ow=out_weight, o_pre=before, rstd=rstd, logit=logit, lse=lse,
        N=tokens, L=count, D=width, eps=EPS, scale=SCALE, BT=tile, BD=block, NW=warps,
        R=attnres._vec_width(dout.dtype, width, block), ES=4, HAS_ONORM=out_weight is not None, SAVE_OPRE=True,
        num_warps=warps,
    )  # fmt: skip
    attnres.attnres_fwd_kernel_gluon.fn[(triton.cdiv(tokens, tile),)](o=out, **common)
    parts = triton.cdiv(tokens, attnres.GROUP)
    grads = [torch.empty_like(one) for one in residuals]
    part = torch.empty(parts, width)
    out_part = torch.empty(parts, width) if out_weight is not None else None
    attnres.attnres_bwd_kernel_dv_gluon.fn[(parts,)](
        do=dout, dres=tuple(grads), dqw=part, dow_partial=out_part, G=attnres.GROUP, **common
    )
    dq, dw = torch.empty_like(query), torch.empty_like(weight)
    dow = None if out_weight is None else torch.empty_like(out_weight)
    attnres.attnres_bwd_kernel_dqdw_gluon.fn[(triton.cdiv(width, 32),)](
        q=query, w=weight, dqw=part, dow_partial=out_part, dq=dq, dw=dw, dow=dow, NP=parts, D=width, BN=256, BD=32,
        NW=4, HAS_ONORM=out_weight is not None, num_warps=4,
    )  # fmt: skip
    return out, before, lse, *grads, dq, dw, dow


def reference(query, weight, out_weight, residuals, dout, warps, tile):
    q, w = query.double().requires_grad_(), weight.double().requires_grad_()
    ow = None if out_weight is None else out_weight.double().requires_grad_()
    v = [one.double().requires_grad_() for one in residuals]
    logits = torch.stack([(one * (one.square().mean(-1, keepdim=True) + EPS).rsqrt() * q * w).sum(-1) for one in v])
    p = (logits * SCALE).softmax(dim=0)
    before = sum(share[:, None] * one for share, one in zip(p, v, strict=True))
    out = before
    if ow is not None:
        out = before * (before.square().mean(-1, keepdim=True) + EPS).rsqrt() * ow
    leaves = [*v, q, w] if ow is None else [*v, q, w, ow]
    grads = torch.autograd.grad(out, leaves, dout.double(), allow_unused=True)
    grads = [torch.zeros_like(leaf) if grad is None else grad for grad, leaf in zip(grads, leaves, strict=True)]
    return out.detach(), before.detach(), (logits * SCALE).logsumexp(0).detach(), *grads
