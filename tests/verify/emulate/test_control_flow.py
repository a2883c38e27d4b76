"""Loops, branches, calls and compile-time values."""

from typing import NamedTuple

import pytest
import torch
import triton
import triton.language as tl
from triton.language import arange, constexpr
from triton.language import load as fetch

from tritonport.verify.emulate import EmulationError, emulated

SCALE = tl.constexpr(3.0)
PLAIN = 5


@triton.jit
def loops_kernel(out_ptr, n, STEPS: tl.constexpr):
    total = 0
    for i in range(n):
        total += i
    tl.store(out_ptr, total)
    total = 0
    for i in range(2, n, 3):
        total += i
    tl.store(out_ptr + 1, total)
    total = 0
    for i in range(n, 0, -2):
        total = total * 10 + i
    tl.store(out_ptr + 2, total)
    total = 0
    for i in tl.range(0, n, step=2, num_stages=3):
        for j in range(i):
            total += j
    tl.store(out_ptr + 3, total)
    total = 0
    for i in tl.static_range(STEPS):
        if i % 2 == 0:
            total += i
    tl.store(out_ptr + 4, total)
    k = n
    count = 0
    while k > 1:
        if k % 2 == 0:
            k = k // 2
        else:
            k = 3 * k + 1
        count += 1
    tl.store(out_ptr + 5, count)
    for _ in range(n, n):
        total += 100
    tl.store(out_ptr + 6, total)


def test_loops():
    out = torch.empty(7, dtype=torch.int32)
    with emulated():
        loops_kernel[(1,)](out, 7, STEPS=6)
    nested = sum(sum(range(i)) for i in range(0, 7, 2))
    assert out.tolist() == [21, 7, 7531, nested, 6, 16, 6]


@triton.jit
def early_return_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    if pid * BLOCK >= n:
        return
    i = pid * BLOCK + tl.arange(0, BLOCK)
    if pid == 0:
        scale = 2.0
        offset = 1
    else:
        scale = 3.0
        offset = 0
    tl.store(out_ptr + i, tl.load(x_ptr + i, mask=i < n) * scale + offset, mask=i < n)


def test_early_return_and_values_defined_in_both_branches():
    x = torch.arange(10.0)
    out = torch.full((10,), -1.0)
    with emulated():
        early_return_kernel[(9,)](x, out, 10, BLOCK=4)
    assert out.tolist() == [1, 3, 5, 7, 12, 15, 18, 21, 24, 27]


@triton.jit
def pair(x, factor: tl.constexpr = 2):
    return x + 1, x * factor


@triton.jit
def classify(x):
    if x > 10:
        return 1
    if x > 5:
        return 2
    return 3


@triton.jit
def apply(function: tl.constexpr, x):
    return function(x)


@triton.jit
def double(x):
    return x * 2


@triton.jit
def optional(x, bias):
    if bias is None:
        return x
    return x + bias


@triton.jit
def calls_kernel(out_ptr, n, bias):
    a, b = pair(n)
    _, d = pair(n, factor=5)
    tl.store(out_ptr, a)
    tl.store(out_ptr + 1, b)
    tl.store(out_ptr + 2, d)
    tl.store(out_ptr + 3, classify(n))
    tl.store(out_ptr + 4, apply(double, n))
    tl.store(out_ptr + 5, optional(n, bias))
    tl.store(out_ptr + 6, optional(n, 4))
    values = (n, n + 1, 7)
    tl.store(out_ptr + 7, values[1] + values[2] + len(values))
    h: tl.constexpr = 3 * 4 + 1
    tl.static_assert(h == 13, f"h is {h}")
    tl.store(out_ptr + 8, n * SCALE + h)
    total = 0.0
    total += n
    total *= 2
    total -= 1.5
    tl.store(out_ptr + 9, total)


def test_calls_tuples_and_constants():
    out = torch.empty(10)
    with emulated():
        calls_kernel[(1,)](out, 7, None)
        assert out.tolist() == [8, 14, 35, 2, 14, 7, 11, 18, 34, 12.5]
        calls_kernel[(1,)](out, 11, 100)
        assert out.tolist() == [12, 22, 55, 1, 22, 111, 15, 22, 46, 20.5]
        calls_kernel[(1,)](out, 2, 1)
        assert out.tolist()[3:6] == [3, 4, 3]


class Strides(NamedTuple):
    row: int
    column: int


@triton.jit
def tuple_kernel(x_ptr, out_ptr, strides, shape, M: tl.constexpr, N: tl.constexpr):
    r, c = tl.arange(0, M), tl.arange(0, N)
    inside = (r[:, None] < shape[0]) & (c[None, :] < shape[1])
    x = tl.load(x_ptr + r[:, None] * strides.row + c[None, :] * strides.column, mask=inside, other=0)
    tl.store(out_ptr + r, tl.sum(x, 1), mask=r < shape[0])


def test_tuples_as_arguments():
    x = torch.arange(30.0).reshape(5, 6)
    out = torch.empty(6)
    with emulated():
        tuple_kernel[(1,)](x, out, Strides(1, 6), (6, 5), M=8, N=8)
    assert torch.equal(out, x.sum(0))


def make_kernel(function, gain):
    GAIN = tl.constexpr(gain)

    @triton.jit
    def unary_kernel(x_ptr, out_ptr, N: constexpr):
        i = arange(0, N)
        tl.store(out_ptr + i, function(fetch(x_ptr + i)) * GAIN)

    return unary_kernel


class Kernels:
    @staticmethod
    @triton.jit
    def helper(x):
        return -x

    @staticmethod
    @triton.jit
    def negate_kernel(x_ptr, out_ptr, N: tl.constexpr):
        i = tl.arange(0, N)
        tl.store(out_ptr + i, double(tl.load(x_ptr + i)))


def test_closures_imported_names_and_static_methods():
    x, out = torch.arange(8.0), torch.empty(8)
    with emulated():
        make_kernel(double, 0.5)[(1,)](x, out, N=8)
        assert torch.equal(out, x)
        make_kernel(Kernels.helper, 3.0)[(1,)](x, out, N=8)
        assert torch.equal(out, -3 * x)
        Kernels.negate_kernel[(1,)](x, out, N=8)
        assert torch.equal(out, 2 * x)


@triton.jit
def global_kernel(out_ptr):
    tl.store(out_ptr, PLAIN)


@triton.jit
def carried_type_kernel(out_ptr, n):
    total = 0
    for _ in range(n):
        total += 0.5  # type: ignore[assignment]
    tl.store(out_ptr, total)


@triton.jit
def branch_type_kernel(out_ptr, n):
    total = 0
    if n > 2:
        total = 0.5  # type: ignore[assignment]
    tl.store(out_ptr, total)


@triton.jit
def one_branch_kernel(out_ptr, n):
    if n > 2:
        value = 1.0
    tl.store(out_ptr, value)


@triton.jit
def loop_local_kernel(out_ptr, n):
    for i in range(n):
        value = i
    tl.store(out_ptr, value)


@triton.jit
def return_in_loop_kernel(out_ptr, n):
    for i in range(n):
        if i == n - 1:
            return
        tl.store(out_ptr, i)


@triton.jit
def tensor_condition_kernel(out_ptr, n):
    if tl.arange(0, 4) < n:
        tl.store(out_ptr, n)


@triton.jit
def static_kernel(out_ptr, n, N: tl.constexpr):
    tl.static_assert(N % 2 == 0, f"N is {N}")
    tl.store(out_ptr, n)


@triton.jit
def chained_kernel(out_ptr, n):
    a = b = n + 1
    tl.store(out_ptr, a + b)


@triton.jit
def builtin_kernel(out_ptr, n):
    tl.store(out_ptr, abs(n))


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (global_kernel, "Cannot access global variable PLAIN"),
        (carried_type_kernel, "Loop-carried variable total has initial type int32"),
        (branch_type_kernel, "initial value for `total` is of type int32"),
        (one_branch_kernel, "value is not defined"),
        (loop_local_kernel, "value is not defined"),
        (return_in_loop_kernel, "Cannot have `return` statements inside"),
        (tensor_condition_kernel, "Boolean value of Tensor with more than one value is ambiguous"),
        (builtin_kernel, "abs is not defined"),
        (chained_kernel, "AssertionError in `a = b = n \\+ 1`"),
    ],
)
def test_what_the_compiler_refuses_is_refused(kernel, message):
    with emulated(), pytest.raises(EmulationError, match=message) as caught:
        kernel[(1,)](torch.empty(4), *([5] if len(kernel.arg_names) > 1 else []))
    assert caught.value.kernel == kernel.__name__
    assert caught.value.path == __file__
    assert caught.value.line is not None and caught.value.line > 0


def test_static_assert_names_its_message():
    with emulated(), pytest.raises(EmulationError, match="static_assert failed: N is 3"):
        static_kernel[(1,)](torch.empty(4), 5, N=3)


@triton.jit
def messages_kernel(out_ptr, n, N: tl.constexpr):
    tl.static_print("compiled for", N)
    tl.device_print("program", tl.program_id(0))
    print("value", n)
    assert n > 1, "too few"
    tl.device_assert(n < 100, "too many")
    tl.assume(n > 0)
    i = tl.max_contiguous(tl.multiple_of(tl.arange(0, N), N), N)
    tl.debug_barrier()
    tl.store(out_ptr + i, n)


def test_prints_and_asserts(capsys):
    out = torch.empty(4)
    with emulated():
        messages_kernel[(2,)](out, 6, N=4)
    printed = capsys.readouterr().out
    assert printed.count("compiled for 4") == 1
    assert printed.count("program") == 2 and "value:  6" in printed
    for n, message in ((101, "too many"), (0, "too few"), (-1, "too few")):
        with emulated(), pytest.raises(EmulationError, match=message):
            messages_kernel[(1,)](out, n, N=4)
    with emulated(check_asserts=False):
        messages_kernel[(1,)](out, 101, N=4)
    assert out.tolist() == [101.0] * 4
