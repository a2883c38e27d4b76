"""Kernels with block pointers, as files written before Triton 3.8 have them."""

import triton
import triton.language as tl


@triton.jit
def scale_tile(x, y, T, D, BT: tl.constexpr, BD: tl.constexpr):
    i_t, i_d = tl.program_id(0), tl.program_id(1)
    p_x = tl.make_block_ptr(x, (T, D), (D, 1), (i_t * BT, i_d * BD), (BT, BD), (1, 0))
    p_y = tl.make_block_ptr(y, (T, D), (D, 1), (i_t * BT, i_d * BD), (BT, BD), (1, 0))
    b_x = tl.load(p_x, boundary_check=(0, 1), padding_option="zero")
    tl.store(p_y, (b_x * 2).to(p_y.dtype.element_ty), boundary_check=(0, 1))


@triton.jit
def reverse_sum(x, y, T, D, BT: tl.constexpr, BD: tl.constexpr):
    """Walks down the rows with a negative offset; only the columns are checked, since T is a multiple of BT."""
    # The last strip first.
    p_x = tl.make_block_ptr(x, (T, D), (D, 1), (T - BT, 0), (BT, BD), (1, 0))
    acc = tl.zeros([BT, BD], dtype=tl.float32)
    for _ in range(tl.cdiv(T, BT)):
        acc = acc * 0.5 + tl.load(p_x, boundary_check=(1,), padding_option="zero").to(tl.float32)
        p_x = tl.advance(p_x, (-BT, 0))
    p_y = tl.make_block_ptr(y, (BT, D), (D, 1), (0, 0), (BT, BD), (1, 0))
    tl.store(p_y, acc, boundary_check=[1])


@triton.jit
def two_layouts(x, y, T, D, ROWS: tl.constexpr, BT: tl.constexpr, BD: tl.constexpr):
    """One name, made in both arms of an if, moved by the method."""
    if ROWS:
        p_x = tl.make_block_ptr(x, (T, D), (D, 1), (0, 0), (BT, BD), (1, 0))
    else:
        p_x = tl.make_block_ptr(x, (T, D), (1, T), (0, 0), (BT, BD), (0, 1))
    p_y = tl.make_block_ptr(y, (T, D), (D, 1), (0, 0), (BT, BD), (1, 0))
    for _ in range(tl.cdiv(D, BD)):
        b = tl.load(p_x, boundary_check=(0, 1))
        tl.store(p_y, b + 1, boundary_check=(0, 1))
        p_x = p_x.advance((0, BD))
        p_y = p_y.advance((0, BD))


@triton.jit
def remade_in_loop(x, y, T, D, BT: tl.constexpr, BD: tl.constexpr):
    o = 0
    p_x = tl.make_block_ptr(x, (T,), (1,), (o,), (BT,), (0,))
    for _ in range(tl.cdiv(T, BT)):
        b_x = tl.load(p_x, boundary_check=(0,), padding_option="nan")
        p_y = tl.make_block_ptr(y, (T,), (1,), (o,), (BT,), (0,))
        tl.store(p_y, b_x, boundary_check=(0,))
        o += BT
        p_x = tl.make_block_ptr(x, (T,), (1,), (o,), (BT,), (0,))


@triton.jit
def padded(x, y, T, BT: tl.constexpr):
    p_x = tl.make_block_ptr(x, (T,), (1,), (0,), (BT,), (0,))
    p_y = tl.make_block_ptr(y, (BT,), (1,), (0,), (BT,), (0,))
    tl.store(p_y, tl.load(p_x, boundary_check=(0,), padding_option="nan"))


@triton.jit
def before_start(x, y, T, BT: tl.constexpr):
    """Offsets below zero are outside too."""
    p_x = tl.make_block_ptr(x, (T,), (1,), (-3,), (BT,), (0,))
    p_y = tl.make_block_ptr(y, (BT,), (1,), (0,), (BT,), (0,))
    tl.store(p_y, tl.load(p_x, boundary_check=(0,), padding_option="zero"))


@triton.jit
def cube(x, y, A, B, C, BA: tl.constexpr, BB: tl.constexpr, BC: tl.constexpr):
    p_x = tl.make_block_ptr(x, (A, B, C), (B * C, C, 1), (0, 0, 0), (BA, BB, BC), (2, 1, 0))
    p_y = tl.make_block_ptr(y, (A, B), (B, 1), (0, 0), (BA, BB), (1, 0))
    acc = tl.zeros([BA, BB], dtype=tl.float32)
    for _ in range(tl.cdiv(C, BC)):
        acc += tl.sum(tl.load(p_x, boundary_check=(0, 1, 2), padding_option="zero"), axis=2)
        p_x = tl.advance(p_x, [0, 0, BC])
    tl.store(p_y, acc, boundary_check=(0, 1))


@triton.jit
def ahead(x, y, T, BT: tl.constexpr):
    """A second pointer starts from the first, which moves on."""
    p = tl.make_block_ptr(x, (T,), (1,), (0,), (BT,), (0,))
    q = tl.advance(p, (BT,))
    p_y = tl.make_block_ptr(y, (T,), (1,), (0,), (BT,), (0,))
    for _ in range(tl.cdiv(T, BT)):
        now = tl.load(p, boundary_check=(0,), padding_option="zero")
        after = tl.load(q, boundary_check=(0,), padding_option="zero")
        tl.store(p_y, now - after, boundary_check=(0,))
        p, q, p_y = tl.advance(p, (BT,)), tl.advance(q, (BT,)), tl.advance(p_y, (BT,))


@triton.jit
def strip(p, scale, CHECK: tl.constexpr):
    if CHECK:
        b = tl.load(p, boundary_check=(0, 1), padding_option="zero")
    else:
        b = tl.load(p)
    return b * scale


@triton.jit
def strips(p, n, BD: tl.constexpr):
    """A helper that moves the block pointer it was given."""
    acc = tl.load(p, boundary_check=(0, 1), padding_option="zero")
    for _ in range(1, n):
        p = tl.advance(p, (0, BD))
        acc += tl.load(p, boundary_check=(0, 1), padding_option="zero")
    return acc


@triton.jit
def with_helpers(x, y, T, D, BT: tl.constexpr, BD: tl.constexpr):
    p_x = tl.make_block_ptr(x, (T, D), (D, 1), (tl.program_id(0) * BT, 0), (BT, BD), (1, 0))
    p_y = tl.make_block_ptr(y, (T, BD), (BD, 1), (tl.program_id(0) * BT, 0), (BT, BD), (1, 0))
    tl.store(p_y, strip(p_x, 3.0, CHECK=True) + strips(p=p_x, n=tl.cdiv(D, BD), BD=BD), boundary_check=(0, 1))


@triton.jit
def captured(x, y, T, D, BT: tl.constexpr, BD: tl.constexpr):
    """What the pointer was made of changes before it is used."""
    n = D
    start = 0
    base = x
    p_x = tl.make_block_ptr(base + 0, (T, n), (n, 1), (start, start), (BT, BD), (1, 0))
    n = 1
    start = 5
    base = y
    tl.store(
        tl.make_block_ptr(base, (T, D), (D, 1), (0, 0), (BT, BD), (1, 0)),
        tl.load(p_x, boundary_check=(0, 1)) + n,
        boundary_check=(0, 1),
    )


@triton.jit
def both_kinds(x, y, T, BT: tl.constexpr):
    """A scalar stored through a block pointer beside ordinary pointers of the same kernel."""
    offs = tl.arange(0, BT)
    tl.store(y + offs, tl.load(x + offs, mask=offs < T, other=1.0))
    tl.store(tl.make_block_ptr(y, (T,), (1,), (1,), (BT,), (0,)), 7.0, boundary_check=(0,))


@triton.jit
def two_shapes(x, y, T, D, FLAT: tl.constexpr, BT: tl.constexpr, BD: tl.constexpr):
    if FLAT:
        p_x = tl.make_block_ptr(x, (1, T * D), (T * D, 1), (0, 0), (1, BT * BD), (1, 0))
    else:
        p_x = tl.make_block_ptr(x, (T, D), (D, 1), (0, 0), (BT, BD), (1, 0))
    b_x = tl.load(p_x, boundary_check=(0, 1), padding_option="zero")
    tl.store(y, tl.sum(tl.sum(b_x, axis=1), axis=0))
