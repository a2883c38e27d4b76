"""fla's cross entropy in Gluon: one block or several to a row, softcapping, smoothing, ignored labels, gradients."""

import torch
from fla.modules.fused_cross_entropy.gluon import cross_entropy_bwd_gluon, cross_entropy_fwd_gluon

TOL = dict(atol=2e-5, rtol=2e-5)
IGNORED = -100


def make_inputs(device, seed, rows=5, classes=300, dtype=torch.float32, softcap=None, smoothing=0.0, square=0.0):
    generator = torch.Generator().manual_seed(seed)
    logits = 3 * torch.randn(rows, classes, generator=generator)
    target = torch.randint(0, classes, (rows,), generator=generator)
    target[1] = IGNORED
    return dict(
        logits=logits.to(device, dtype),
        target=target.to(device),
        dloss=torch.rand(rows, generator=generator).to(device),
        options=dict(label_smoothing=smoothing, logit_scale=0.7, lse_square_scale=square, logit_softcapping=softcap),
    )


def variants():
    yield dict(classes=5000, softcap=20.0)
    yield dict(classes=512, smoothing=0.1, square=1e-3)
    yield dict(classes=17000, rows=2)


def launch(logits, target, dloss, options):
    loss, z_loss, lse, total, start = cross_entropy_fwd_gluon(logits, target, **options)
    dlogits = cross_entropy_bwd_gluon(logits, target, lse, dloss, **options, total_classes=total, class_start_idx=start)
    return loss, z_loss, lse, dlogits


def reference(logits, target, dloss, options):
    logits = logits.double().requires_grad_()
    scaled = logits * options["logit_scale"]
    cap = options["logit_softcapping"]
    if cap is not None:
        scaled = cap * torch.tanh(scaled / cap)
    lse = scaled.logsumexp(dim=-1)
    z_loss = torch.where(target == IGNORED, 0.0, options["lse_square_scale"] * lse.square())
    plain = torch.nn.functional.cross_entropy(
        scaled, target, reduction="none", ignore_index=IGNORED, label_smoothing=options["label_smoothing"]
    )
    loss = plain + z_loss
    (dlogits,) = torch.autograd.grad(loss, logits, dloss.double())
    return loss.detach(), z_loss.detach(), lse.detach(), dlogits
