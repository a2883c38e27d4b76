"""Dots of microscaling formats: packed along either dimension, scales of bytes and of fp8, no accumulator."""

import triton
import triton.language as tl


@triton.jit
def at(rows: tl.constexpr, columns: tl.constexpr):
    """Offsets of a tile."""
    return tl.arange(0, rows)[:, None] * columns + tl.arange(0, columns)[None, :]


@triton.jit
def fp8(a_ptr, sa_ptr, b_ptr, sb_ptr, c_ptr, M: tl.constexpr, FAST: tl.constexpr):
    a, b = tl.load(a_ptr + at(M, 64)), tl.load(b_ptr + at(64, 64))
    sa, sb = tl.load(sa_ptr + at(M, 2)), tl.load(sb_ptr + at(64, 2))
    c = tl.dot_scaled(a, sa, "e4m3", b, sb, "e5m2", fast_math=FAST)
    tl.store(c_ptr + at(M, 64), c)


@triton.jit
def fp4(a_ptr, sa_ptr, b_ptr, sb_ptr, c_ptr, M: tl.constexpr, FAST: tl.constexpr):
    a, b = tl.load(a_ptr + at(M, 64)), tl.load(b_ptr + at(64, 64))
    sa, sb = tl.load(sa_ptr + at(M, 4)), tl.load(sb_ptr + at(64, 4))
    c = tl.full((M, 64), 1.0, tl.float32)
    c = tl.dot_scaled(a, sa, "e2m1", b, rhs_scale=sb, rhs_format="e2m1", acc=c, fast_math=FAST, out_dtype=tl.float32)
    tl.store(c_ptr + at(M, 64), c)


@triton.jit
def packed_along_n(a_ptr, sa_ptr, b_ptr, sb_ptr, c_ptr, M: tl.constexpr, FAST: tl.constexpr):
    a, b = tl.load(a_ptr + at(M, 64)), tl.load(b_ptr + at(64, 64))
    sa, sb = tl.load(sa_ptr + at(M, 2)), tl.load(sb_ptr + at(128, 2))
    c = tl.dot_scaled(a, sa, "e4m3", b, sb, "e2m1", fast_math=FAST, rhs_k_pack=False)
    tl.store(c_ptr + at(M, 128), c)


@triton.jit
def narrow_pairs(a_ptr, sa_ptr, b_ptr, sb_ptr, c_ptr, M: tl.constexpr, FAST: tl.constexpr):
    """A tile of pairs beside fp8 that is narrower than Gluon's shared memory for it."""
    a, b = tl.load(a_ptr + at(M, 64)), tl.load(b_ptr + at(32, 64))
    sa, sb = tl.load(sa_ptr + at(M, 2)), tl.load(sb_ptr + at(64, 2))
    c = tl.dot_scaled(a, sa, "e5m2", b, sb, "e2m1", fast_math=FAST)
    tl.store(c_ptr + at(M, 64), c)


@triton.jit
def groups_of_16(a_ptr, sa_ptr, b_ptr, sb_ptr, c_ptr, M: tl.constexpr, FAST: tl.constexpr):
    """Scales are fp8 numbers."""
    a, b = tl.load(a_ptr + at(M, 64)), tl.load(b_ptr + at(64, 64))
    sa, sb = tl.load(sa_ptr + at(M, 8)).to(tl.float8e4nv, bitcast=True), tl.load(sb_ptr + at(64, 8))
    c = tl.dot_scaled(a, sa, "e2m1", b, sb.to(tl.float8e4nv, bitcast=True), "e2m1", fast_math=FAST)
    tl.store(c_ptr + at(M, 64), c)


@triton.jit
def one_side(a_ptr, sa_ptr, b_ptr, sb_ptr, c_ptr, M: tl.constexpr, FAST: tl.constexpr):
    a, b = tl.load(a_ptr + at(M, 64)), tl.load(b_ptr + at(64, 64)).to(tl.float16)
    c = tl.dot_scaled(a, tl.load(sa_ptr + at(M, 2)), "e5m2", b, None, "fp16", fast_math=FAST)
    tl.store(c_ptr + at(M, 64), c)


EVERY = (fp8, fp4, packed_along_n, narrow_pairs, groups_of_16, one_side)
