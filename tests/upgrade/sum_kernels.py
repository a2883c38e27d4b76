"""A loop with two sums among other dots, as the gradients of attention have it, and a launch that takes any length."""

SUMS = """
import torch
import triton
import triton.language as tl


@triton.jit
def sums_kernel(
    q_ptr, g_ptr, k_ptr, v_ptr, bias_ptr, out_k_ptr, out_v_ptr, n,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, D: tl.constexpr,
):
    rows = tl.arange(0, BLOCK_N)
    cols = tl.arange(0, D)
    k = tl.load(k_ptr + rows[:, None] * D + cols[None, :])
    v = tl.load(v_ptr + rows[:, None] * D + cols[None, :])
    sum_k = tl.zeros([BLOCK_N, D], dtype=tl.float32)
    sum_v = tl.zeros([BLOCK_N, D], dtype=tl.float32)
    for start in range(0, n, BLOCK_M):
        offs = start + tl.arange(0, BLOCK_M)
        q = tl.load(q_ptr + offs[:, None] * D + cols[None, :], mask=offs[:, None] < n, other=0.0)
        scores = tl.dot(k, tl.trans(q)) * 0.5
        bias = tl.load(bias_ptr + offs, mask=offs < n, other=0.0)
        scores = scores + bias[None, :]
        g = tl.load(g_ptr + offs[:, None] * D + cols[None, :], mask=offs[:, None] < n, other=0.0)
        sum_v = tl.dot(scores.to(g.dtype), g, sum_v)
        other = tl.dot(v, tl.trans(g))
        sum_k = tl.dot((scores * other).to(q.dtype), q, sum_k)
    tl.store(out_k_ptr + rows[:, None] * D + cols[None, :], sum_k)
    tl.store(out_v_ptr + rows[:, None] * D + cols[None, :], sum_v)


def launch(q, g, k, v, bias, n, **options):
    outs = [torch.full(k.shape, float("nan")) for _ in range(2)]
    sums_kernel[(1,)](q, g, k, v, bias, *outs, n, BLOCK_M=16, BLOCK_N=64, D=16, num_warps=4, **options)
    return torch.stack(outs)
"""
