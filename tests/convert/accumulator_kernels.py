"""Loops that add up dots, in the spellings people use. Tiles are 64 x 64, the operands' k-th tiles below each other."""

import triton
import triton.language as tl


@triton.jit
def at(i):
    """Offsets of the i-th tile."""
    rows = i * 64 + tl.arange(0, 64)
    return rows[:, None] * 64 + tl.arange(0, 64)[None, :]


@triton.jit
def part(i, ROWS: tl.constexpr, COLS: tl.constexpr):
    """Offsets of the first rows and columns of the i-th tile."""
    rows = i * 64 + tl.arange(0, ROWS)
    return rows[:, None] * 64 + tl.arange(0, COLS)[None, :]


@triton.jit
def third_argument(a_ptr, b_ptr, c_ptr, n):
    acc = tl.zeros((64, 64), dtype=tl.float32)
    for i in range(n):
        acc = tl.dot(tl.load(a_ptr + at(i)), tl.load(b_ptr + at(i)), acc)
    tl.store(c_ptr + at(0), acc)


@triton.jit
def augmented(a_ptr, b_ptr, c_ptr, n):
    acc = tl.full((64, 64), 1.0, dtype=tl.float32)
    for i in range(n):
        acc += tl.dot(tl.load(a_ptr + at(i)), tl.load(b_ptr + at(i)))
    tl.store(c_ptr + at(0), acc)


@triton.jit
def spelled_out(a_ptr, b_ptr, c_ptr, n):
    total = tl.zeros((64, 64), dtype=tl.float32)
    i = 0
    while i < n:
        total = tl.dot(tl.load(a_ptr + at(i)), tl.load(b_ptr + at(i))) + total
        i += 1
    tl.store(c_ptr + at(0), total)


@triton.jit
def rescaled(a_ptr, b_ptr, c_ptr, n):
    """Rescaled before it is added to, as in attention."""
    acc = tl.zeros((64, 64), dtype=tl.float32)
    for i in range(n):
        a = tl.load(a_ptr + at(i))
        acc *= 0.5 + tl.max(a, 1).to(tl.float32)[:, None]
        acc = tl.dot(a, tl.load(b_ptr + at(i)), acc=acc)
    tl.store(c_ptr + at(0), acc)


@triton.jit
def old_value_kept(a_ptr, b_ptr, c_ptr, n):
    """What the sum was before a dot is used after it, and under another name."""
    acc = tl.zeros((64, 64), dtype=tl.float32)
    seen = tl.zeros((64, 64), dtype=tl.float32)
    for i in range(n):
        old = acc
        acc = tl.dot(tl.load(a_ptr + at(i)), tl.load(b_ptr + at(i)), acc)
        seen += old * 2.0 + acc
    tl.store(c_ptr + at(0), seen)
    tl.store(c_ptr + at(1), acc)


@triton.jit
def scaled_value_kept(a_ptr, b_ptr, c_ptr, n):
    """The rescaled sum is read by something else too, so it is not the dot's alone."""
    acc = tl.zeros((64, 64), dtype=tl.float32)
    for i in range(n):
        acc = acc * 0.5
        tl.store(c_ptr + at(i + 1), acc)
        acc = tl.dot(tl.load(a_ptr + at(i)), tl.load(b_ptr + at(i)), acc)
    tl.store(c_ptr + at(0), acc)


@triton.jit
def in_a_branch(a_ptr, b_ptr, c_ptr, n):
    acc = tl.zeros((64, 64), dtype=tl.float32)
    for i in range(n):
        if i % 2 == 0:
            acc = acc * 3.0
            acc = tl.dot(tl.load(a_ptr + at(i)), tl.load(b_ptr + at(i)), acc)
        else:
            acc = acc - 1.0
    tl.store(c_ptr + at(0), acc)


@triton.jit
def nested(a_ptr, b_ptr, c_ptr, n):
    """Tiles of a persistent kernel: the sum is set back by each, and known before the first."""
    acc = tl.zeros((64, 64), dtype=tl.float32)
    for tile in range(2):
        acc = tl.zeros((64, 64), dtype=tl.float32)
        for i in range(n):
            acc = tl.dot(tl.load(a_ptr + at(i)), tl.load(b_ptr + at((i + tile) % 4)), acc)
        tl.store(c_ptr + at(tile), acc)


@triton.jit
def _added(a_ptr, b_ptr, acc, n):
    for i in range(n):
        acc = tl.dot(tl.load(a_ptr + at(i)), tl.load(b_ptr + at(i)), acc)
    return acc


@triton.jit
def in_a_helper(a_ptr, b_ptr, c_ptr, n):
    acc = tl.zeros((64, 64), dtype=tl.float32)
    acc = _added(a_ptr, b_ptr, acc, n)
    acc = _added(b_ptr, a_ptr, acc, n)
    tl.store(c_ptr + at(0), acc)


@triton.jit
def two_sums(a_ptr, b_ptr, c_ptr, n):
    gate = tl.zeros((64, 64), dtype=tl.float32)
    up = tl.zeros((64, 64), dtype=tl.float32)
    for i in range(n):
        a = tl.load(a_ptr + at(i))
        gate += tl.dot(a, tl.load(b_ptr + at(i)))
        up += tl.dot(a, tl.trans(tl.load(b_ptr + at(i))))
    tl.store(c_ptr + at(0), gate * up)


@triton.jit
def chained(a_ptr, b_ptr, c_ptr, n):
    """The result of one dot, in another type, is the left operand of the next."""
    acc = tl.zeros((64, 64), dtype=tl.float32)
    for i in range(n):
        b = tl.load(b_ptr + at(i))
        p = tl.dot(tl.load(a_ptr + at(0)), b)
        acc += tl.dot((p * 0.125).to(b.dtype), b)
    tl.store(c_ptr + at(0), acc)


@triton.jit
def two_depths(a_ptr, b_ptr, c_ptr, n):
    """Dots that add up along sides of two lengths, to one sum."""
    acc = tl.zeros((64, 64), dtype=tl.float32)
    for i in range(n):
        for j in range(i):
            acc += tl.dot(tl.load(a_ptr + at(j)), tl.load(b_ptr + at(i)))
        acc += tl.dot(tl.load(a_ptr + part(i, 64, 32)), tl.load(b_ptr + part(i, 32, 64)))
    tl.store(c_ptr + at(0), acc)


EVERY = (
    third_argument,
    augmented,
    spelled_out,
    rescaled,
    old_value_kept,
    scaled_value_kept,
    in_a_branch,
    nested,
    in_a_helper,
    two_sums,
    chained,
    two_depths,
)
