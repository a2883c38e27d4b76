"""Elementwise arithmetic, comparison and casts, against torch."""

import pytest
import torch
import triton
import triton.language as tl

from tritonport.verify.emulate import emulated


@triton.jit
def binary_kernel(x_ptr, y_ptr, out_ptr, OP: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i)
    y = tl.load(y_ptr + i)
    if OP == "add":
        r = x + y
    elif OP == "sub":
        r = x - y
    elif OP == "mul":
        r = x * y
    elif OP == "truediv":
        r = x / y
    elif OP == "floordiv":
        r = x // y
    elif OP == "mod":
        r = x % y
    elif OP == "and":
        r = x & y
    elif OP == "or":
        r = x | y
    elif OP == "xor":
        r = x ^ y
    elif OP == "shl":
        r = x << y
    elif OP == "shr":
        r = x >> y
    elif OP == "lt":
        r = x < y
    elif OP == "ge":
        r = x >= y
    elif OP == "eq":
        r = x == y
    elif OP == "ne":
        r = x != y
    elif OP == "min":
        r = tl.minimum(x, y)
    elif OP == "max":
        r = tl.maximum(x, y)
    else:
        tl.static_assert(False, f"unknown operation {OP}")
    tl.store(out_ptr + i, r)


def run_binary(op, x, y, out_dtype):
    out = torch.empty(x.numel(), dtype=out_dtype)
    with emulated():
        binary_kernel[(1,)](x, y, out, OP=op, N=x.numel())
    return out


FLOATS = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
INTS = [torch.int8, torch.int16, torch.int32, torch.int64]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("op", ["add", "sub", "mul"])
def test_float_arithmetic_rounds_once_in_its_own_type(op, dtype):
    g = torch.Generator().manual_seed(1)
    x, y = (torch.randn(256, generator=g, dtype=torch.float64).to(dtype) for _ in range(2))
    exact = {"add": torch.add, "sub": torch.sub, "mul": torch.mul}[op](x.double(), y.double())
    assert torch.equal(run_binary(op, x, y, dtype), exact.to(dtype))


@pytest.mark.parametrize("dtype", INTS)
def test_integer_arithmetic_wraps(dtype):
    info = torch.iinfo(dtype)
    x = torch.tensor([info.max, info.min, 7, -7], dtype=dtype)
    y = torch.tensor([1, -1, info.max, 3], dtype=dtype)
    for op, function in (("add", torch.add), ("sub", torch.sub), ("mul", torch.mul)):
        assert torch.equal(run_binary(op, x, y, dtype), function(x, y))


def test_integer_division_truncates_and_the_remainder_has_the_dividends_sign():
    x = torch.tensor([7, -7, 7, -7, 6, -6, 0, 1], dtype=torch.int32)
    y = torch.tensor([2, 2, -2, -2, 3, 3, 5, 9], dtype=torch.int32)
    assert run_binary("floordiv", x, y, torch.int32).tolist() == [3, -3, -3, 3, 2, -2, 0, 0]
    assert run_binary("mod", x, y, torch.int32).tolist() == [1, -1, 1, -1, 0, 0, 0, 1]


def test_division_of_integers_is_in_fp32():
    x = torch.tensor([1, 7, -3, 16777217], dtype=torch.int32)
    y = torch.tensor([3, 2, 4, 1], dtype=torch.int32)
    assert torch.equal(run_binary("truediv", x, y, torch.float32), x.float() / y.float())


def test_shifts_follow_the_left_operands_sign_and_clamp_their_count():
    x = torch.tensor([-8, 8, -8, 8], dtype=torch.int32)
    y = torch.tensor([1, 1, 40, 40], dtype=torch.int32)
    assert run_binary("shr", x, y, torch.int32).tolist() == [-4, 4, -1, 0]
    assert run_binary("shl", x, y, torch.int32).tolist() == [-16, 16, 0, 0]
    unsigned = torch.tensor([0xFFFFFFF8 - (1 << 32), 8], dtype=torch.int32).view(torch.uint32)
    one = torch.tensor([1, 40], dtype=torch.int32).view(torch.uint32)
    out = torch.empty(2, dtype=torch.uint32)
    with emulated():
        binary_kernel[(1,)](unsigned, one, out, OP="shr", N=2)
    assert out.tolist() == [0x7FFFFFFC, 0]


@pytest.mark.parametrize("op", ["lt", "ge", "eq", "ne"])
def test_comparisons(op):
    x = torch.tensor([1.0, 2.0, float("nan"), float("-inf")])
    y = torch.tensor([2.0, 2.0, float("nan"), 0.0])
    function = {"lt": torch.lt, "ge": torch.ge, "eq": torch.eq, "ne": torch.ne}[op]
    assert torch.equal(run_binary(op, x, y, torch.bool), function(x, y))


def test_unsigned_comparison_and_division():
    x = torch.tensor([-1, 5], dtype=torch.int32).view(torch.uint32)
    y = torch.tensor([2, 7], dtype=torch.int32).view(torch.uint32)
    assert run_binary("lt", x, y, torch.bool).tolist() == [False, True]
    assert run_binary("floordiv", x, y, torch.uint32).tolist() == [0x7FFFFFFF, 0]
    assert run_binary("max", x, y, torch.uint32).tolist() == [0xFFFFFFFF, 7]


def test_booleans_add_modulo_two():
    x, y = torch.tensor([True, True, False, False]), torch.tensor([True, False, True, False])
    assert run_binary("xor", x, y, torch.bool).tolist() == [False, True, True, False]
    assert run_binary("and", x, y, torch.bool).tolist() == [True, False, False, False]


@triton.jit
def nan_kernel(x_ptr, y_ptr, out_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    x, y = tl.load(x_ptr + i), tl.load(y_ptr + i)
    tl.store(out_ptr + i, tl.minimum(x, y))
    tl.store(out_ptr + N + i, tl.minimum(x, y, propagate_nan=tl.PropagateNan.ALL))
    tl.store(out_ptr + 2 * N + i, tl.clamp(x, 0.0, 1.0))
    tl.store(out_ptr + 3 * N + i, tl.clamp(x, 0.0, 1.0, propagate_nan=tl.PropagateNan.ALL))


def test_nan_propagation_is_a_choice():
    nan = float("nan")
    out = torch.empty(4, 4)
    with emulated():
        nan_kernel[(1,)](torch.tensor([nan, 1.0, -3.0, 9.0]), torch.tensor([2.0, nan, 4.0, 3.0]), out, N=4)
    expected = torch.tensor([[2.0, 1, -3, 3], [nan, nan, -3, 3], [0, 1, 0, 1], [nan, 1, 0, 1]])
    torch.testing.assert_close(out, expected, rtol=0, atol=0, equal_nan=True)


@triton.jit
def cast_kernel(x_ptr, out_ptr, ROUNDING: tl.constexpr, BITCAST: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i)
    to = out_ptr.dtype.element_ty
    if BITCAST:
        y = x.to(to, bitcast=True)
    elif ROUNDING is None:
        y = x.to(to)
    else:
        y = x.to(to, fp_downcast_rounding=ROUNDING)
    tl.store(out_ptr + i, y)


def run_cast(x, out_dtype, rounding=None, bitcast=False):
    out = torch.empty(x.numel(), dtype=out_dtype)
    with emulated():
        cast_kernel[(1,)](x, out, ROUNDING=rounding, BITCAST=bitcast, N=x.numel())
    return out


@pytest.mark.parametrize("source", FLOATS)
@pytest.mark.parametrize("target", FLOATS)
def test_float_casts_round_to_nearest_even(source, target):
    g = torch.Generator().manual_seed(2)
    x = (torch.randn(512, generator=g, dtype=torch.float64) * 1000).to(source)
    assert torch.equal(run_cast(x, target), x.to(target))


@pytest.mark.parametrize("dtype", [torch.float8_e5m2, torch.float8_e4m3fn])
def test_fp8_casts_agree_with_torch_in_range_and_saturate_beyond(dtype):
    g = torch.Generator().manual_seed(3)
    x = torch.randn(512, generator=g) * 50
    assert torch.equal(run_cast(x, dtype).view(torch.uint8), x.to(dtype).view(torch.uint8))
    back = run_cast(x.to(dtype), torch.float32)
    assert torch.equal(back, x.to(dtype).float())
    huge = torch.tensor([1e6, -1e6, float("inf"), 0.0])
    top = torch.finfo(dtype).max
    assert run_cast(huge, dtype).float().tolist() == [top, -top, top, 0.0]


def test_rounding_toward_zero():
    x = torch.tensor([1.0 + 2**-8 + 2**-10, -1.0 - 2**-8 - 2**-10, 2.9999, -2.9999])
    assert run_cast(x, torch.bfloat16, "rtz").tolist() == [1.0, -1.0, 2.984375, -2.984375]
    assert run_cast(x, torch.bfloat16).tolist() == [1.0078125, -1.0078125, 3.0, -3.0]
    assert run_cast(torch.tensor([0.33325, -0.33325]), torch.float16, "rtz").tolist() == [
        0.333251953125 - 2**-12,
        -(0.333251953125 - 2**-12),
    ]


def test_float_to_integer_truncates_and_saturates():
    x = torch.tensor([1.9, -1.9, 3e9, -3e9, float("nan"), 0.0, 2.5, -2.5])
    assert run_cast(x, torch.int32).tolist() == [1, -1, 2**31 - 1, -(2**31), 0, 0, 2, -2]
    assert run_cast(torch.tensor([-1.5, 4e9, 5e9, 7.9]), torch.uint32).tolist() == [0, 4000000000, 2**32 - 1, 7]


def test_integer_casts_keep_the_low_bits():
    x = torch.tensor([300, -1, 127, -129], dtype=torch.int32)
    assert run_cast(x, torch.int8).tolist() == [44, -1, 127, 127]
    assert run_cast(x.to(torch.int8), torch.int64).tolist() == [44, -1, 127, 127]
    assert run_cast(torch.tensor([255, 1], dtype=torch.uint8), torch.int32).tolist() == [255, 1]
    assert run_cast(torch.tensor([2, 0, -1, 1], dtype=torch.int32), torch.bool).tolist() == [True, False, True, True]
    assert run_cast(torch.tensor([True, False]), torch.float32).tolist() == [1.0, 0.0]


def test_bitcast_keeps_the_bits():
    x = torch.tensor([1.0, -2.5, 0.0, float("inf")])
    assert torch.equal(run_cast(x, torch.int32, bitcast=True), x.view(torch.int32))
    assert torch.equal(run_cast(x.bfloat16(), torch.int16, bitcast=True), x.bfloat16().view(torch.int16))


@triton.jit
def promotion_kernel(h_ptr, b_ptr, i_ptr, out_ptr):
    h, b, i = tl.load(h_ptr), tl.load(b_ptr), tl.load(i_ptr)
    tl.static_assert((h + b).dtype == tl.float16)
    tl.static_assert((h + 1.5).dtype == tl.float16)
    tl.static_assert((i + 1).dtype == tl.int8)
    tl.static_assert((i + h).dtype == tl.float16)
    tl.static_assert((i / i).dtype == tl.float32)
    tl.static_assert((b * 2).dtype == tl.bfloat16)
    tl.store(out_ptr, h + b)
    tl.store(out_ptr + 1, b * 2)
    tl.store(out_ptr + 2, 3 - i)
    tl.store(out_ptr + 3, 10 // i)


def test_types_are_promoted_as_the_front_end_does():
    out = torch.empty(4)
    with emulated():
        promotion_kernel[(1,)](
            torch.tensor([0.1]).half(), torch.tensor([0.3]).bfloat16(), torch.tensor([4], dtype=torch.int8), out
        )
    total = torch.tensor([0.1]).half() + torch.tensor([0.3]).bfloat16().half()
    assert out.tolist() == [total.item(), torch.tensor(0.3).bfloat16().float().item() * 2, -1.0, 2.0]


@triton.jit
def math_kernel(x_ptr, out_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i)
    tl.store(out_ptr + i, tl.exp(x))
    tl.store(out_ptr + N + i, tl.exp2(x))
    tl.store(out_ptr + 2 * N + i, tl.log(x))
    tl.store(out_ptr + 3 * N + i, tl.log2(x))
    tl.store(out_ptr + 4 * N + i, tl.sin(x))
    tl.store(out_ptr + 5 * N + i, tl.cos(x))
    tl.store(out_ptr + 6 * N + i, tl.sqrt(x))
    tl.store(out_ptr + 7 * N + i, tl.sqrt_rn(x))
    tl.store(out_ptr + 8 * N + i, tl.rsqrt(x))
    tl.store(out_ptr + 9 * N + i, tl.erf(x))
    tl.store(out_ptr + 10 * N + i, tl.floor(-x))
    tl.store(out_ptr + 11 * N + i, tl.ceil(x))
    tl.store(out_ptr + 12 * N + i, tl.abs(-x))
    tl.store(out_ptr + 13 * N + i, tl.sigmoid(x))
    tl.store(out_ptr + 14 * N + i, tl.fdiv(x, x + 1.0))
    tl.store(out_ptr + 15 * N + i, tl.div_rn(x, 3.0))


def test_math_functions():
    x = torch.rand(64, generator=torch.Generator().manual_seed(4)) * 3 + 0.01
    out = torch.empty(16, 64)
    with emulated():
        math_kernel[(1,)](x, out, N=64)
    d = x.double()
    expected = torch.stack([
        d.exp(), d.exp2(), d.log(), d.log2(), d.sin(), d.cos(), d.sqrt(), d.sqrt(), d.rsqrt(), d.erf(), (-d).floor(),
        d.ceil(), d, d.sigmoid(), d / (d + 1), d / 3,
    ])  # fmt: skip
    torch.testing.assert_close(out.double(), expected, rtol=3e-7, atol=3e-7)


@triton.jit
def fma_kernel(x_ptr, y_ptr, z_ptr, out_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    x, y, z = tl.load(x_ptr + i), tl.load(y_ptr + i), tl.load(z_ptr + i)
    tl.store(out_ptr + i, tl.fma(x, y, z))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_fma_rounds_once(dtype):
    from fractions import Fraction

    g = torch.Generator().manual_seed(5)
    x, y = (torch.rand(128, generator=g, dtype=torch.float64).to(dtype) + 1 for _ in range(2))
    z = -(x * y)
    out = torch.empty_like(x)
    with emulated():
        fma_kernel[(1,)](x, y, z, out, N=128)
    exact = [
        float(Fraction(a) * Fraction(b) + Fraction(c))
        for a, b, c in zip(x.tolist(), y.tolist(), z.tolist(), strict=True)
    ]
    assert out.tolist() == torch.tensor(exact, dtype=torch.float64).to(dtype).tolist()
    assert out.abs().max() > 0


@triton.jit
def umulhi_kernel(x_ptr, y_ptr, out_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out_ptr + i, tl.umulhi(tl.load(x_ptr + i), tl.load(y_ptr + i)))


@pytest.mark.parametrize(("dtype", "bits"), [(torch.int32, 32), (torch.int64, 64)])
def test_umulhi(dtype, bits):
    values = [(-1, -1), (3, 5), (-7, 12345), (2 ** (bits - 1) - 1, -2)]
    x, y = (torch.tensor([pair[side] for pair in values], dtype=dtype) for side in (0, 1))
    out = torch.empty(4, dtype=dtype)
    with emulated():
        umulhi_kernel[(1,)](x, y, out, N=4)
    mask = (1 << bits) - 1
    expected = [((a & mask) * (b & mask)) >> bits for a, b in values]
    assert [value & mask for value in out.tolist()] == expected


@triton.jit
def where_kernel(x_ptr, out_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i)
    positive = x > 0
    y = tl.where(positive and i < n, x, -1.0)
    y = y if n > 2 else y * 0.0
    y = tl.where(not positive, 5.0, y)
    tl.store(out_ptr + i, y)
    tl.store(out_ptr + N, max(n, 7))
    tl.store(out_ptr + N + 1, min(n, 7, 2))
    tl.store(out_ptr + N + 2, tl.abs(-n))
    tl.store(out_ptr + N + 3, float("1.5") + int(2.7))


def test_logic_and_python_builtins():
    out = torch.empty(8)
    with emulated():
        where_kernel[(1,)](torch.tensor([1.0, -2.0, 3.0, 4.0]), out, 3, N=4)
    assert out.tolist() == [1.0, 5.0, 3.0, -1.0, 7.0, 2.0, 3.0, 3.5]
