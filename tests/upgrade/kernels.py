"""Tiled loops that people write, as text, with launches that take any shapes and strides."""

MATMUL = """
import torch
import triton
import triton.language as tl


@triton.jit
def matmul_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_ak, stride_bk, stride_bn, stride_cm,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):
    offs_m = (tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)) % M
    offs_n = (tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)) % N
    offs_k = tl.arange(0, BLOCK_K)
    a_ptrs = a_ptr + offs_m[:, None] * stride_am + offs_k[None, :] * stride_ak
    b_ptrs = b_ptr + offs_k[:, None] * stride_bk + offs_n[None, :] * stride_bn
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(tl.cdiv(K, BLOCK_K)):
        # What is left of K.
        left = K - k * BLOCK_K
        a = tl.load(a_ptrs, mask=offs_k[None, :] < left, other=FILL)
        b = tl.load(b_ptrs, mask=offs_k[:, None] < left, other=0.0)
        acc += tl.dot(a, b)
        a_ptrs += BLOCK_K * stride_ak
        b_ptrs += BLOCK_K * stride_bk
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    tl.store(c_ptr + rows[:, None] * stride_cm + cols[None, :], acc, mask=(rows[:, None] < M) & (cols[None, :] < N))


def launch(a, b, num_stages=3, num_warps=4, BLOCK_M=64):
    (M, K), N = a.shape, b.shape[1]
    c = torch.full((M, N), float("nan"))
    matmul_kernel[(triton.cdiv(M, BLOCK_M), triton.cdiv(N, 32))](
        a, b, c, M, N, K, *a.stride(), *b.stride(), N,
        BLOCK_M=BLOCK_M, BLOCK_N=32, BLOCK_K=32, num_stages=num_stages, num_warps=num_warps,
    )
    return c
"""

INDEXED = """
import torch
import triton
import triton.language as tl


@triton.jit
def rows_kernel(a_ptr, b_ptr, c_ptr, first, K, N: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_K: tl.constexpr):
    rows, cols, steps = tl.arange(0, BLOCK_M), tl.arange(0, N), tl.arange(0, BLOCK_K)
    acc = tl.zeros((BLOCK_M, N), dtype=tl.float32)
    seen = 0
    for start in tl.range(first, K, BLOCK_K, num_stages=STAGES):
        left = K - start
        a = tl.load(a_ptr + rows[:, None] * K + (start + steps)[None, :], mask=steps[None, :] < left, other=0.0)
        b = tl.load(b_ptr + (start + steps)[:, None] * N + cols[None, :], mask=steps[:, None] < left, other=0.0)
        acc = tl.dot(a, b, acc)
        # The computation reads it, too.
        seen += min(left, BLOCK_K)
    tl.store(c_ptr + rows[:, None] * N + cols[None, :], acc + seen)


def launch(a, b, first=0):
    c = torch.full((a.shape[0], b.shape[1]), float("nan"))
    rows_kernel[(1,)](a, b, c, first, a.shape[1], N=b.shape[1], BLOCK_M=a.shape[0], BLOCK_K=16)
    return c
"""


def matmul(fill: str = "0.0") -> str:
    """The matrix product, with what it fills the tiles of `a` with."""
    return MATMUL.replace("FILL", fill)


def indexed(stages: int = 3) -> str:
    """A loop with bounds and a hint of its own."""
    return INDEXED.replace("STAGES", str(stages))
