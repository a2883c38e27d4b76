"""Dots that something is added to: what Triton's compiler adds inside the instruction, and what it does not."""

import triton
import triton.language as tl


@triton.jit
def at(rows: tl.constexpr, columns: tl.constexpr):
    """Offsets of a tile."""
    return tl.arange(0, rows)[:, None] * columns + tl.arange(0, columns)[None, :]


@triton.jit
def loaded(x_ptr, y_ptr, b_ptr, z_ptr, scale):
    bias = tl.load(b_ptr + at(64, 64))
    z = tl.dot(tl.load(x_ptr + at(64, 64)), tl.load(y_ptr + at(64, 64))) + bias
    tl.store(z_ptr + at(64, 64), z)


@triton.jit
def in_front(x_ptr, y_ptr, b_ptr, z_ptr, scale):
    z = tl.load(b_ptr + at(64, 64)) * scale + tl.dot(tl.load(x_ptr + at(64, 64)), tl.load(y_ptr + at(64, 64)))
    tl.store(z_ptr + at(64, 64), z)


@triton.jit
def vector(x_ptr, y_ptr, b_ptr, z_ptr, scale):
    bias = tl.load(b_ptr + tl.arange(0, 64)).to(tl.float32)
    z = tl.dot(tl.load(x_ptr + at(64, 64)), tl.load(y_ptr + at(64, 64))) + bias[None, :]
    tl.store(z_ptr + at(64, 64), z)


@triton.jit
def number(x_ptr, y_ptr, b_ptr, z_ptr, scale):
    z = tl.dot(tl.load(x_ptr + at(64, 64)), tl.load(y_ptr + at(64, 64)), allow_tf32=False) + scale
    tl.store(z_ptr + at(64, 64), z)


@triton.jit
def onto(x_ptr, y_ptr, b_ptr, z_ptr, scale):
    z = tl.load(b_ptr + at(64, 64))
    z += tl.dot(tl.load(x_ptr + at(64, 64)), tl.load(y_ptr + at(64, 64)))
    tl.store(z_ptr + at(64, 64), z)


@triton.jit
def in_a_row(x_ptr, y_ptr, b_ptr, z_ptr, scale):
    x = tl.load(x_ptr + at(64, 64))
    y = tl.load(y_ptr + at(64, 64))
    z = tl.load(b_ptr + at(64, 64)) + tl.dot(x, y) + tl.dot(y, x)
    tl.store(z_ptr + at(64, 64), z)


@triton.jit
def twice(x_ptr, y_ptr, b_ptr, z_ptr, scale):
    product = tl.dot(tl.load(x_ptr + at(64, 64)), tl.load(y_ptr + at(64, 64)))
    tl.store(z_ptr + at(64, 64), (product + tl.load(b_ptr + at(64, 64))) * product)


@triton.jit
def wider(x_ptr, y_ptr, b_ptr, z_ptr, scale):
    bias = tl.load(b_ptr + at(64, 64))
    z = tl.dot(tl.load(x_ptr + at(64, 64)), tl.load(y_ptr + at(64, 64)), out_dtype=tl.float16) + bias
    tl.store(z_ptr + at(64, 64), z)


@triton.jit
def limited(x_ptr, y_ptr, b_ptr, z_ptr, scale):
    bias = tl.load(b_ptr + at(64, 64))
    z = tl.dot(tl.load(x_ptr + at(64, 64)), tl.load(y_ptr + at(64, 64)), max_num_imprecise_acc=32) + bias
    tl.store(z_ptr + at(64, 64), z)


@triton.jit
def given(x_ptr, y_ptr, b_ptr, z_ptr, scale):
    bias = tl.load(b_ptr + at(64, 64))
    z = tl.dot(tl.load(x_ptr + at(64, 64)), tl.load(y_ptr + at(64, 64)), bias.to(tl.float32)) + bias
    tl.store(z_ptr + at(64, 64), z)


@triton.jit
def held(x_ptr, y_ptr, b_ptr, z_ptr, scale):
    z = tl.dot(tl.load(x_ptr + at(64, 64)), tl.load(y_ptr + at(64, 64)))
    bias = tl.load(b_ptr + at(64, 64))
    z += bias
    tl.store(z_ptr + at(64, 64), z)


@triton.jit
def two_held(x_ptr, y_ptr, b_ptr, z_ptr, scale):
    x = tl.load(x_ptr + at(64, 64))
    y = tl.load(y_ptr + at(64, 64))
    first = tl.dot(x, y)
    second = tl.dot(y, x)
    tl.store(z_ptr + at(64, 64), first + second)


@triton.jit
def from_zeros(x_ptr, y_ptr, b_ptr, z_ptr, scale):
    acc = tl.zeros((64, 64), dtype=tl.float32)
    acc = tl.dot(tl.load(x_ptr + at(64, 64)), tl.load(y_ptr + at(64, 64)), acc)
    z = tl.load(b_ptr + at(64, 64)) + acc
    tl.store(z_ptr + at(64, 64), z)


@triton.jit
def in_a_branch(x_ptr, y_ptr, b_ptr, z_ptr, scale, ADDS: tl.constexpr = True):
    z = tl.dot(tl.load(x_ptr + at(64, 64)), tl.load(y_ptr + at(64, 64)))
    if ADDS:
        z += tl.load(b_ptr + at(64, 64))
    tl.store(z_ptr + at(64, 64), z)


@triton.jit
def in_no_branch(x_ptr, y_ptr, b_ptr, z_ptr, scale, ADDS: tl.constexpr = False, SCALES: tl.constexpr = True):
    z = tl.dot(tl.load(x_ptr + at(64, 64)), tl.load(y_ptr + at(64, 64)))
    if ADDS:
        z += tl.load(b_ptr + at(64, 64))
    elif SCALES:
        z = (z + 2) * z
    tl.store(z_ptr + at(64, 64), z)


@triton.jit
def in_one_run(x_ptr, y_ptr, b_ptr, z_ptr, scale):
    z = tl.dot(tl.load(x_ptr + at(64, 64)), tl.load(y_ptr + at(64, 64)))
    if tl.program_id(0) == 0:
        z += tl.load(b_ptr + at(64, 64))
    tl.store(z_ptr + at(64, 64), z)


@triton.jit
def onto_a_used_one(x_ptr, y_ptr, b_ptr, z_ptr, scale):
    x = tl.load(x_ptr + at(64, 64))
    y = tl.load(y_ptr + at(64, 64))
    product = tl.dot(x, y)
    z = tl.dot(y, x) + product
    tl.store(z_ptr + at(64, 64), z * product)


@triton.jit
def by_turns(x_ptr, y_ptr, b_ptr, z_ptr, scale):
    x = tl.load(x_ptr + at(64, 64))
    y = tl.load(y_ptr + at(64, 64))
    z = tl.zeros((64, 64), dtype=tl.float32)
    for _ in range(2):
        product = tl.dot(x, y)
        bias = tl.load(b_ptr + at(64, 64))
        product = bias + product
        z = tl.maximum(z, product)
    tl.store(z_ptr + at(64, 64), z)


@triton.jit
def cast(x_ptr, y_ptr, b_ptr, z_ptr, scale):
    bias = tl.load(b_ptr + at(64, 64))
    z = tl.dot(tl.load(x_ptr + at(64, 64)), tl.load(y_ptr + at(64, 64))).to(tl.float32) + bias
    tl.store(z_ptr + at(64, 64), z)


@triton.jit
def cast_and_held(x_ptr, y_ptr, b_ptr, z_ptr, scale):
    z = tl.cast(tl.dot(tl.load(x_ptr + at(64, 64)), tl.load(y_ptr + at(64, 64))), tl.float32)
    z = tl.load(b_ptr + at(64, 64)) + z
    tl.store(z_ptr + at(64, 64), z)


@triton.jit
def onto_zeros(x_ptr, y_ptr, b_ptr, z_ptr, scale):
    z = tl.zeros((64, 64), dtype=tl.float32)
    z += tl.dot(tl.load(x_ptr + at(64, 64)), tl.load(y_ptr + at(64, 64)))
    z += tl.load(b_ptr + at(64, 64))
    tl.store(z_ptr + at(64, 64), z)


@triton.jit
def onto_zeros_in_a_sum(x_ptr, y_ptr, b_ptr, z_ptr, scale):
    zeros = tl.zeros((64, 64), dtype=tl.float32)
    z = zeros + tl.dot(tl.load(x_ptr + at(64, 64)), tl.load(y_ptr + at(64, 64)))
    z = z + tl.load(b_ptr + at(64, 64))
    tl.store(z_ptr + at(64, 64), z)


@triton.jit
def whole_limited(x_ptr, y_ptr, b_ptr, z_ptr, scale):
    z = tl.dot(tl.load(x_ptr + at(64, 64)), tl.load(y_ptr + at(64, 64)), max_num_imprecise_acc=32)
    tl.store(z_ptr + at(64, 64), z)


@triton.jit
def whole_exact(x_ptr, y_ptr, b_ptr, z_ptr, scale):
    z = tl.dot(tl.load(x_ptr + at(64, 64)), tl.load(y_ptr + at(64, 64)), allow_tf32=False)
    tl.store(z_ptr + at(64, 64), z)


@triton.jit
def whole_typed(x_ptr, y_ptr, b_ptr, z_ptr, scale):
    z = tl.dot(tl.load(x_ptr + at(64, 64)), tl.load(y_ptr + at(64, 64)), out_dtype=tl.int32, max_num_imprecise_acc=32)
    tl.store(z_ptr + at(64, 64), z)
