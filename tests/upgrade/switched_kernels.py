"""A kernel whose loop loads tiles under `if`s on compile-time values: a state in parts, as in linear attention."""

from __future__ import annotations

from typing import Any

import torch

KERNEL = """
import torch
import triton
import triton.language as tl


@triton.jit
def parts_kernel(
    w_ptr, u_ptr, k_ptr, v_ptr, bias_ptr, out_ptr, state_ptr, T,
    K: tl.constexpr, V: tl.constexpr, BT: tl.constexpr, BK: tl.constexpr, SAVE: tl.constexpr, DOWN: tl.constexpr,
):
    cols, values = tl.arange(0, BK), tl.arange(0, V)
    first = tl.zeros((BK, V), dtype=tl.float32)
    if K > 16:
        second = tl.zeros((BK, V), dtype=tl.float32)
    if K > 32:
        third = tl.zeros((BK, V), dtype=tl.float32)
    u = tl.load(u_ptr + cols[:, None] * V + values[None, :], mask=cols[:, None] < K, other=0.0)
    for t in range(tl.cdiv(T, BT)):
        steps = t * BT + tl.arange(0, BT)
        rows = steps[:, None]
        w = tl.load(w_ptr + rows * K + cols[None, :], mask=(rows < T) & (cols[None, :] < K), other=0.0)
        y = tl.dot(w, u)
        if K > 16:
            high = 16 + cols[None, :]
            w = tl.load(w_ptr + rows * K + high, mask=(rows < T) & (high < K), other=0.0)
            y = tl.dot(w, u, y)
        if K > 32:
            highest = 32 + cols[None, :]
            w = tl.load(w_ptr + rows * K + highest, mask=(rows < T) & (highest < K), other=0.0)
            y = tl.dot(w, u, y)
        if bias_ptr is not None:
            bias = tl.load(bias_ptr + rows * V + values[None, :], mask=rows < T, other=0.0)
            if DOWN:
                y -= bias.to(tl.float32)
            else:
                y += bias.to(tl.float32)
        if SAVE:
            tl.store(out_ptr + rows * V + values[None, :], y, mask=rows < T)
        v = tl.load(v_ptr + rows * V + values[None, :], mask=rows < T, other=0.0)
        low = cols[:, None]
        k = tl.load(k_ptr + low + steps[None, :] * K, mask=(low < K) & (steps[None, :] < T), other=0.0)
        first = tl.dot(k, v, first)
        if K > 16:
            high = 16 + cols[:, None]
            k = tl.load(k_ptr + high + steps[None, :] * K, mask=(high < K) & (steps[None, :] < T), other=0.0)
            second = tl.dot(k, v, second)
        if K > 32:
            highest = 32 + cols[:, None]
            k = tl.load(k_ptr + highest + steps[None, :] * K, mask=(highest < K) & (steps[None, :] < T), other=0.0)
            third = tl.dot(k, v, third)
    tl.store(state_ptr + cols[:, None] * V + values[None, :], first, mask=cols[:, None] < K)
    if K > 16:
        high = 16 + cols[:, None]
        tl.store(state_ptr + high * V + values[None, :], second, mask=high < K)
    if K > 32:
        highest = 32 + cols[:, None]
        tl.store(state_ptr + highest * V + values[None, :], third, mask=highest < K)


def launch(w, u, k, v, bias=None, save=True, down=False):
    (T, K), V = w.shape, v.shape[1]
    out, state = torch.full((T, V), 7.0), torch.full((K, V), 7.0)
    parts_kernel[(1,)](w, u, k, v, bias, out, state, T, K=K, V=V, BT=16, BK=16, SAVE=save, DOWN=down)
    return torch.cat([out, state])
"""


def inputs(steps: int, keys: int, bias: bool = True, save: bool = True, down: bool = False) -> dict[str, Any]:
    """What a launch is given: small integers, whose sums are exact."""
    torch.manual_seed(steps * 64 + keys)

    def drawn(*size: int) -> torch.Tensor:
        return torch.randint(-3, 4, size).to(torch.float16)

    return {
        "w": drawn(steps, keys), "u": drawn(16, 16), "k": drawn(steps, keys), "v": drawn(steps, 16),
        "bias": drawn(steps, 16) if bias else None, "save": save, "down": down,
    }  # fmt: skip


def expected(given: dict[str, Any]) -> torch.Tensor:
    """The result of a launch."""
    w, u, k, v = (given[name].float() for name in ("w", "u", "k", "v"))
    out = sum(part @ u[: part.shape[1]] for part in w.split(16, dim=1))
    assert isinstance(out, torch.Tensor)
    if given["bias"] is not None:
        out = out - given["bias"].float() if given["down"] else out + given["bias"].float()
    return torch.cat([out if given["save"] else torch.full_like(out, 7.0), k.T @ v])
