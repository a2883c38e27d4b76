"""Rotary embedding in place: query and key heads in different numbers, partial rotation, cos and sin per batch."""

import torch
from liger_kernel.ops.rope import LigerRopeFunction
from tensors import Random, double_leaf, grad, leaf

TOL = {"atol": 3e-2, "rtol": 3e-2}
seeds = (0, 1)


def make_inputs(
    device, seed, batch=2, length=5, heads=(4, 2), dim=64, rotary=None, dtype="fp32", angles="fp32", per_batch=False
):
    random = Random(device, seed)
    rotary = rotary or dim

    def heads_of(count):
        # As an attention layer has them: [batch, length, heads, dim] in memory, [batch, heads, length, dim] in shape
        return random.normal(batch, length, count, dim, dtype=dtype).transpose(1, 2)

    angle = random.normal(batch if per_batch else 1, length, rotary // 2)
    angle = torch.cat([angle, angle], dim=-1)
    q, k, dq, dk = (heads_of(count) for count in (*heads, *heads))
    kind = random.normal(1, dtype=angles).dtype
    return {"q": q, "k": k, "dq": dq, "dk": dk, "cos": angle.cos().to(kind), "sin": angle.sin().to(kind)}


def variants():
    yield {"dtype": "bf16", "angles": "bf16", "heads": (32, 8), "dim": 128}
    yield {"dtype": "bf16", "angles": "fp32", "heads": (8, 8), "dim": 64, "per_batch": True}
    yield {"heads": (3, 1), "dim": 96}
    yield {"heads": (6, 2), "dim": 80, "rotary": 20}
    yield {"dtype": "bf16", "angles": "bf16", "heads": (5, 5), "dim": 128, "rotary": 64}
    yield {"batch": 1, "length": 1, "heads": (1, 1), "dim": 2}


def launch(q, k, dq, dk, cos, sin):
    q, k = leaf(q), leaf(k)
    rotated = LigerRopeFunction.apply(q, k, cos, sin)
    kept = tuple(one.detach().clone() for one in rotated)
    return *kept, *grad(rotated, (q, k), (dq, dk))


def _rotate(x, cos, sin):
    half = cos.shape[-1] // 2
    cos, sin = (t.double()[:, None, :, :half] for t in (cos, sin))
    first, second, rest = x[..., :half], x[..., half : 2 * half], x[..., 2 * half :]
    return torch.cat([first * cos - second * sin, second * cos + first * sin, rest], dim=-1)


def reference(q, k, dq, dk, cos, sin):
    q, k = double_leaf(q), double_leaf(k)
    rotated = tuple(_rotate(x, cos, sin) for x in (q, k))
    kept = tuple(one.detach() for one in rotated)
    return *kept, *grad(rotated, (q, k), (dq.double(), dk.double()))
