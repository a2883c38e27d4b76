"""Dots at every precision Triton has, with limits of short accumulators, and with results of other types."""

import triton
import triton.language as tl


@triton.jit
def at(i, rows: tl.constexpr, columns: tl.constexpr):
    """Offsets of the i-th tile."""
    return (i * rows + tl.arange(0, rows))[:, None] * columns + tl.arange(0, columns)[None, :]


@triton.jit
def unspecified(a_ptr, b_ptr, c_ptr, n):
    acc = tl.load(c_ptr + at(0, 64, 64))
    acc = tl.dot(tl.load(a_ptr + at(0, 64, 32)), tl.load(b_ptr + at(0, 32, 64)), acc)
    tl.store(c_ptr + at(0, 64, 64), acc)


@triton.jit
def precise(a_ptr, b_ptr, c_ptr, n, PRECISION: tl.constexpr):
    acc = tl.load(c_ptr + at(0, 64, 64))
    acc = tl.dot(tl.load(a_ptr + at(0, 64, 32)), tl.load(b_ptr + at(0, 32, 64)), acc, input_precision=PRECISION)
    tl.store(c_ptr + at(0, 64, 64), acc)


@triton.jit
def split_in_a_loop(a_ptr, b_ptr, c_ptr, n):
    acc = tl.zeros((64, 64), tl.float32)
    for i in range(n):
        acc += tl.dot(tl.load(a_ptr + at(i, 64, 32)), tl.load(b_ptr + at(i, 32, 64)), input_precision="bf16x6")
    tl.store(c_ptr + at(0, 64, 64), acc)


@triton.jit
def added(a_ptr, b_ptr, c_ptr, n):
    """Triton adds behind the instruction where the operands are fp8 and the instruction is Hopper's."""
    acc = tl.zeros((64, 64), tl.float32)
    for i in range(n):
        acc += tl.dot(tl.load(a_ptr + at(i, 64, 64)), tl.trans(tl.load(b_ptr + at(i, 64, 64))))
    tl.store(c_ptr + at(0, 64, 64), acc)


@triton.jit
def accumulated(a_ptr, b_ptr, c_ptr, n):
    acc = tl.zeros((64, 64), tl.float32)
    for i in range(n):
        acc = tl.dot(tl.load(a_ptr + at(i, 64, 64)), tl.trans(tl.load(b_ptr + at(i, 64, 64))), acc)
    tl.store(c_ptr + at(0, 64, 64), acc)


@triton.jit
def limited(a_ptr, b_ptr, c_ptr, n):
    acc = tl.zeros((64, 64), tl.float32)
    for i in range(n):
        b = tl.trans(tl.load(b_ptr + at(i, 64, 64)))
        acc = tl.dot(tl.load(a_ptr + at(i, 64, 64)), b, acc, max_num_imprecise_acc=32)
    tl.store(c_ptr + at(0, 64, 64), acc)


@triton.jit
def limited_and_added(a_ptr, b_ptr, c_ptr, n):
    acc = tl.zeros((64, 64), tl.float32)
    for i in range(n):
        b = tl.trans(tl.load(b_ptr + at(i, 64, 64)))
        acc += tl.dot(tl.load(a_ptr + at(i, 64, 64)), b, max_num_imprecise_acc=64)
    tl.store(c_ptr + at(0, 64, 64), acc)


@triton.jit
def half(a_ptr, b_ptr, c_ptr, n):
    acc = tl.full((64, 64), 1.0, tl.float16)
    for i in range(n):
        b = tl.trans(tl.load(b_ptr + at(i, 64, 64)))
        acc = tl.dot(tl.load(a_ptr + at(i, 64, 64)), b, acc, out_dtype=tl.float16)
    c = tl.dot(tl.load(a_ptr + at(0, 64, 64)), tl.load(b_ptr + at(0, 64, 64)), out_dtype=tl.float16)
    tl.store(c_ptr + at(0, 64, 64), acc.to(tl.float32) + c.to(tl.float32))


EVERY = (unspecified, precise, split_in_a_loop, added, accumulated, limited, limited_and_added, half)
