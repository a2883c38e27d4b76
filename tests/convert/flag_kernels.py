"""Tiles whose shape a compile-time flag picks."""

import triton
import triton.language as tl


@triton.jit
def recurrence(w_ptr, k_ptr, h_ptr, o_ptr, n, WIDTH: tl.constexpr, ROWS_FIRST: tl.constexpr, START: tl.constexpr):
    """A state that is updated by products, kept as it is or transposed."""
    columns = tl.arange(0, WIDTH)
    rows = tl.arange(0, 64)
    if ROWS_FIRST:
        state = tl.zeros([WIDTH, 64], dtype=tl.float32)
    else:
        state = tl.zeros([64, WIDTH], dtype=tl.float32)
    if START:
        if ROWS_FIRST:
            h_ptrs = h_ptr + columns[:, None] * 64 + rows[None, :]
        else:
            h_ptrs = h_ptr + rows[:, None] * WIDTH + columns[None, :]
        state += tl.load(h_ptrs).to(tl.float32)
    for i in range(n):
        w = tl.load(w_ptr + i * 4096 + rows[:, None] * 64 + rows[None, :])
        if ROWS_FIRST:
            v = tl.dot(w, tl.trans(state).to(w.dtype))
        else:
            v = tl.dot(w, state.to(w.dtype))
        k = tl.load(k_ptr + i * 4096 + rows[:, None] * 64 + rows[None, :])
        if ROWS_FIRST:
            state += tl.trans(tl.dot(k, v.to(k.dtype)))
        else:
            state = tl.dot(k, v.to(k.dtype), state)
    if ROWS_FIRST:
        o_ptrs = o_ptr + columns[:, None] * 64 + rows[None, :]
    else:
        o_ptrs = o_ptr + rows[:, None] * WIDTH + columns[None, :]
    tl.store(o_ptrs, state)


@triton.jit
def chosen(w_ptr, k_ptr, h_ptr, o_ptr, n, WIDTH: tl.constexpr, ROWS_FIRST: tl.constexpr, START: tl.constexpr):
    """A tile that an expression picks, and one that is turned where a flag says so."""
    columns = tl.arange(0, WIDTH)
    rows = tl.arange(0, 64)
    wide = tl.load(h_ptr + columns[:, None] * 64 + rows[None, :]).to(tl.float16)
    narrow = tl.load(h_ptr + rows[:, None] * WIDTH + columns[None, :]).to(tl.float16)
    picked = wide if ROWS_FIRST else narrow
    if ROWS_FIRST:
        picked = picked.T
    product = tl.dot(tl.load(w_ptr + rows[:, None] * 64 + rows[None, :]), picked)
    tl.store(o_ptr + rows[:, None] * WIDTH + columns[None, :], product)
