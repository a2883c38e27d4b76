"""Tiled loops whose sums stand in tensor memory, as text, with launches that say how many columns they sum over."""

_HEAD = """
import torch
import triton
import triton.language as tl


@triton.jit
"""

PERSISTENT = f"""{_HEAD}def persistent_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, columns, programs,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):
    tiles = tl.cdiv(M, BLOCK_M)
    for tile in range(tl.program_id(0), tiles, programs):
        rows = tile * BLOCK_M + tl.arange(0, BLOCK_M)
        cols = tl.arange(0, BLOCK_N)
        acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
        for start in range(0, columns, BLOCK_K):
            steps = start + tl.arange(0, BLOCK_K)
            inside = (rows[:, None] < M) & (steps[None, :] < K)
            a = tl.load(a_ptr + rows[:, None] * K + steps[None, :], mask=inside, other=0.0)
            b = tl.load(b_ptr + steps[:, None] * N + cols[None, :], mask=steps[:, None] < K, other=0.0)
            acc = tl.dot(a, b, acc)
        tl.store(c_ptr + rows[:, None] * N + cols[None, :], acc, mask=rows[:, None] < M)


def launch(a, b, columns, num_stages=3):
    (M, K), N = a.shape, b.shape[1]
    c = torch.full((M, N), float("nan"))
    persistent_kernel[(2,)](
        a, b, c, M, N, K, columns, 2, BLOCK_M=64, BLOCK_N=N, BLOCK_K=32, num_stages=num_stages, num_warps=4
    )
    return c
"""
"""Two programs take the tiles in turn; each goes on in its ring from one tile to the next."""

TWO_SUMS = f"""{_HEAD}def two_sums_kernel(a_ptr, b_ptr, out_ptr, columns, K: tl.constexpr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    left = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    right = tl.full((BLOCK, BLOCK), 1.0, dtype=tl.float32)
    for start in range(0, columns, BLOCK):
        a = tl.load(a_ptr + offs[:, None] * K + (start + offs)[None, :])
        b = tl.load(b_ptr + offs[:, None] * K + (start + offs)[None, :])
        left = tl.dot(a, b, left)
        right = tl.dot(b, a, right)
    outs = out_ptr + offs[:, None] * BLOCK + offs[None, :]
    tl.store(outs, left)
    tl.store(outs + BLOCK * BLOCK, right)


def launch(a, b, columns, num_stages=3):
    rows, K = a.shape
    out = torch.full((2, rows, rows), float("nan"))
    two_sums_kernel[(1,)](a, b, out, columns, K, BLOCK=rows, num_stages=num_stages, num_warps=4)
    return out
"""
"""Two products of the same tiles, one from zeros and one from ones."""

ATTENTION = f"""{_HEAD}def attention_kernel(
    q_ptr, k_ptr, v_ptr, out_ptr, scale, n_queries, n_keys, columns,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, D: tl.constexpr,
):
    rows, cols, dims = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M), tl.arange(0, BLOCK_N), tl.arange(0, D)
    q = tl.load(q_ptr + rows[:, None] * D + dims[None, :], mask=rows[:, None] < n_queries, other=0.0)
    m_i = tl.full([BLOCK_M], float("-inf"), dtype=tl.float32)
    l_i = tl.zeros([BLOCK_M], dtype=tl.float32)
    acc = tl.zeros([BLOCK_M, D], dtype=tl.float32)
    for start in range(0, columns, BLOCK_N):
        keys = start + cols
        k = tl.load(k_ptr + keys[None, :] * D + dims[:, None], mask=keys[None, :] < n_keys, other=0.0)
        qk = tl.dot(q, k) * scale
        qk = tl.where(keys[None, :] < n_keys, qk, float("-inf"))
        m_new = tl.maximum(m_i, tl.max(qk, 1))
        p = tl.exp2(qk - m_new[:, None])
        alpha = tl.exp2(m_i - m_new)
        l_i = l_i * alpha + tl.sum(p, 1)
        v = tl.load(v_ptr + keys[:, None] * D + dims[None, :], mask=keys[:, None] < n_keys, other=0.0)
        acc = acc * alpha[:, None]
        acc = tl.dot(p.to(v.dtype), v, acc)
        m_i = m_new
    tl.store(out_ptr + rows[:, None] * D + dims[None, :], acc + l_i[:, None], mask=rows[:, None] < n_queries)


def launch(q, k, v, columns, num_stages=3, BLOCK_M=64):
    n, D = q.shape
    out = torch.full((n, D), float("nan"))
    attention_kernel[(triton.cdiv(n, BLOCK_M),)](
        q, k, v, out, 0.1, n, k.shape[0], columns, BLOCK_M=BLOCK_M, BLOCK_N=32, D=D, num_stages=num_stages, num_warps=4
    )
    return out
"""
"""A sum that is rescaled before the dot that adds to it; the result is not divided, so no keys give zeros."""
