"""Kernels that sort, in the spellings people use; `test_sort.py` runs them and their ports."""

import triton
import triton.language as tl


@triton.jit
def sort_tile(x_ptr, out_ptr, M: tl.constexpr, N: tl.constexpr, DESCENDING: tl.constexpr):
    offs = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(out_ptr + offs, tl.sort(tl.load(x_ptr + offs), 1, DESCENDING))


@triton.jit
def sort_vector(x_ptr, out_ptr, N: tl.constexpr):
    offs = tl.arange(0, N)
    x = tl.load(x_ptr + offs)
    tl.store(out_ptr + offs, tl.sort(x=x, dim=None, descending=True))


@triton.jit
def sort_cube(x_ptr, out_ptr, A: tl.constexpr, M: tl.constexpr, N: tl.constexpr, DIM: tl.constexpr):
    a, m, n = tl.arange(0, A), tl.arange(0, M), tl.arange(0, N)
    offs = a[:, None, None] * (M * N) + m[None, :, None] * N + n[None, None, :]
    x = tl.load(x_ptr + offs)
    tl.store(out_ptr + offs, tl.sort(x, DIM) + x)


@triton.jit
def topk_tile(x_ptr, out_ptr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    m = tl.arange(0, M)
    x = tl.load(x_ptr + m[:, None] * N + tl.arange(0, N)[None, :])
    top = tl.topk(x, K, dim=1)
    tl.store(out_ptr + m[:, None] * K + tl.arange(0, K)[None, :], top)


@triton.jit
def largest_of_both(x, y, K: tl.constexpr):
    return tl.maximum(tl.topk(x, k=K), tl.topk(y, k=K))


@triton.jit
def topk_vector(x_ptr, out_ptr, N: tl.constexpr, K: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, N))
    tl.store(out_ptr + tl.arange(0, K), largest_of_both(x, -x, K))


@triton.jit
def merge_tile(x_ptr, out_ptr, M: tl.constexpr, N: tl.constexpr, DESCENDING: tl.constexpr):
    offs = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(out_ptr + offs, tl.bitonic_merge(tl.load(x_ptr + offs), descending=DESCENDING))


@triton.jit
def flip_tile(x_ptr, out_ptr, M: tl.constexpr, N: tl.constexpr, DIM: tl.constexpr):
    offs = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    x = tl.load(x_ptr + offs)
    tl.store(out_ptr + offs, tl.flip(x, DIM) - x.flip(dim=1))
