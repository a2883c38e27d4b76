"""libdevice, by every import path, against torch and exact arithmetic."""

import math
import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice
from triton.language.extra.cuda import libdevice as cuda_libdevice
from triton.language.extra.libdevice import tanh

from tritonport.verify.emulate import emulated
from tritonport.verify.emulate.errors import Unsupported
from tritonport.verify.emulate.libdevice import call_libdevice
from tritonport.verify.emulate.values import Value


@triton.jit
def paths_kernel(x_ptr, out_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i)
    tl.store(out_ptr + i, tanh(x))
    tl.store(out_ptr + N + i, libdevice.expm1(x))
    tl.store(out_ptr + 2 * N + i, cuda_libdevice.rsqrt(x * x + 1.0))
    tl.store(out_ptr + 3 * N + i, tl.extra.cuda.libdevice.erf(x))
    tl.store(out_ptr + 4 * N + i, libdevice.pow(libdevice.abs(x), 1.5))
    tl.store(out_ptr + 5 * N + i, libdevice.rint(x * 2))
    tl.store(out_ptr + 6 * N + i, libdevice.round(x * 2))
    tl.store(out_ptr + 7 * N + i, libdevice.log1p(libdevice.exp(x)))
    tl.store(out_ptr + 8 * N + i, libdevice.fast_dividef(x, 3.0) + libdevice.div_rn(x, 3.0))
    tl.store(out_ptr + 9 * N + i, libdevice.isnan(x).to(tl.int1) | libdevice.isinf(x).to(tl.int1))


def test_import_paths():
    x = torch.cat([torch.linspace(-4, 4, 61), torch.tensor([math.nan, math.inf, -math.inf])])
    out = torch.empty(10, 64)
    with emulated():
        paths_kernel[(1,)](x, out, N=64)
    d = x.double()
    expected = torch.stack([
        d.tanh(), d.expm1(), (d * d + 1).rsqrt(), d.erf(), d.abs().pow(1.5), (2 * d).round(),
        torch.copysign((2 * d.abs() + 0.5).floor(), d), d.exp().log1p(), d / 3 * 2, (d.isnan() | d.isinf()).double(),
    ])  # fmt: skip
    torch.testing.assert_close(out.double(), expected, rtol=4e-7, atol=1e-7, equal_nan=True)


def call(symbol, *operands, dtype=tl.float32):
    kinds = {np.dtype(np.float32): tl.float32, np.dtype(np.float64): tl.float64, np.dtype(np.int32): tl.int32,
             np.dtype(np.int64): tl.int64}  # fmt: skip
    values = [Value(np.asarray(operand), kinds[np.asarray(operand).dtype]) for operand in operands]
    return call_libdevice("__nv_" + symbol, values, dtype)


def test_every_symbol_of_the_installed_triton_has_a_model():
    source = Path(cuda_libdevice.__file__).read_text(encoding="utf-8")
    symbols = sorted(set(re.findall(r'"__nv_(\w+)"', source)))
    assert len(symbols) > 250
    missing = []
    for symbol in symbols:
        try:
            call(symbol)
        except Unsupported:
            missing.append(symbol)
        except Exception:
            pass  # called without operands
    assert missing == []
    with pytest.raises(Unsupported, match="__nv_nonsense"):
        call("nonsense", np.float32(1))


X = np.array([0.3, 1.7, 2.5, 5.25], np.float32)


@pytest.mark.parametrize(
    ("symbol", "reference"),
    [
        ("acosf", math.acos), ("asinhf", math.asinh), ("atanf", math.atan), ("cbrtf", lambda x: x ** (1 / 3)),
        ("coshf", math.cosh), ("cospif", lambda x: math.cos(math.pi * x)), ("erfcf", math.erfc),
        ("exp10f", lambda x: 10**x), ("lgammaf", math.lgamma), ("tgammaf", math.gamma), ("log10f", math.log10),
        ("logbf", lambda x: math.floor(math.log2(x))), ("rcbrtf", lambda x: x ** (-1 / 3)),
        ("normcdff", lambda x: 0.5 * math.erfc(-x / math.sqrt(2))), ("truncf", math.trunc), ("fast_sinf", math.sin),
        ("frcp_rn", lambda x: 1 / x), ("saturatef", lambda x: min(max(x, 0), 1)), ("frsqrt_rn", lambda x: x**-0.5),
        ("j0f", lambda x: float(torch.special.bessel_j0(torch.tensor(x, dtype=torch.float64)))),
    ],
)  # fmt: skip
def test_functions_of_one_operand(symbol, reference):
    operand = X / 8 if symbol == "acosf" else X
    expected = [reference(float(x)) for x in operand]
    np.testing.assert_allclose(call(symbol, operand), expected, rtol=3e-7, atol=1e-7)


def test_functions_of_more_operands():
    y = np.array([2.0, -1.5, 0.5, 3.0], np.float32)
    np.testing.assert_allclose(call("atan2f", X, y), np.arctan2(X, y), rtol=2e-7)
    np.testing.assert_array_equal(call("copysignf", X, y), np.copysign(X, y))
    np.testing.assert_allclose(call("hypotf", X, y), np.hypot(X, y), rtol=2e-7)
    np.testing.assert_array_equal(call("fdimf", X, y), np.maximum(X - y, 0))
    np.testing.assert_allclose(call("powif", X, np.array([2, 3, -1, 0], np.int32)), [0.09, 4.913, 0.4, 1], rtol=3e-7)
    np.testing.assert_array_equal(call("ldexpf", X, np.array([1, -1, 3, 0], np.int32)), X * [2, 0.5, 8, 1])
    np.testing.assert_allclose(call("norm3df", X, y, X), np.sqrt(2 * X.astype(np.float64) ** 2 + y**2), rtol=2e-7)
    np.testing.assert_array_equal(
        call("remainderf", X, y), [math.remainder(float(a), float(b)) for a, b in zip(X, y, strict=True)]
    )
    jn = call("jnf", np.array([0, 1, 2, 5], np.int32), X)
    # Abramowitz and Stegun, tables 9.1 and 9.4.
    np.testing.assert_allclose(jn[[0, 2]], [0.9776262465, 0.4460590584], rtol=1e-6)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("operation", ["add", "sub", "mul", "div"])
def test_directed_rounding_brackets_the_exact_result(kind, operation):
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(100).astype(kind) for _ in range(2))
    letter = "f" if kind == np.float32 else "d"
    dtype = tl.float32 if kind == np.float32 else tl.float64
    low, high, zero, near = (
        call(f"{letter}{operation}_{mode}", a, b, dtype=dtype) for mode in ("rd", "ru", "rz", "rn")
    )
    exact = {
        "add": lambda x, y: x + y, "sub": lambda x, y: x - y, "mul": lambda x, y: x * y, "div": lambda x, y: x / y,
    }[operation]  # fmt: skip
    for x, y, down, up, toward, nearest in zip(a, b, low, high, zero, near, strict=True):
        value = exact(Fraction(float(x)), Fraction(float(y)))
        assert Fraction(float(down)) <= value <= Fraction(float(up))
        assert up == down or up == np.nextafter(down, kind(np.inf))
        assert toward == (down if value > 0 else up)
        assert nearest in (down, up)


def test_integer_functions():
    x = np.array([0, 1, -1, 0x00F0], np.int32)
    assert call("clz", x, dtype=tl.int32).tolist() == [32, 31, 0, 24]
    assert call("popc", x, dtype=tl.int32).tolist() == [0, 1, 32, 4]
    assert call("ffs", x, dtype=tl.int32).tolist() == [0, 1, 1, 5]
    assert call("brev", x, dtype=tl.int32).tolist() == [0, -(2**31), -1, 0x0F000000]
    assert call("popcll", x.astype(np.int64), dtype=tl.int32).tolist() == [0, 1, 64, 4]
    big = np.array([2**31 - 1], np.int32)
    assert call("mulhi", big, big, dtype=tl.int32).tolist() == [((2**31 - 1) ** 2) >> 32]
    assert call("umulhi", np.array([-1], np.int32), np.array([-1], np.int32), dtype=tl.int32).tolist() == [-2]
    words = [np.array([word], np.int32) for word in (0x33221100, 0x77665544, 0x7531)]
    assert call("byte_perm", *words, dtype=tl.int32).tolist() == [0x77553311]
    assert call("rhadd", np.array([3], np.int32), np.array([4], np.int32), dtype=tl.int32).tolist() == [4]
    assert call("float_as_int", np.array([1.0], np.float32), dtype=tl.int32).tolist() == [0x3F800000]


def test_conversions_round_as_named():
    x = np.array([2.5, -2.5, 1e20, np.nan], np.float32)
    assert call("float2int_rn", x, dtype=tl.int32).tolist() == [2, -2, 2**31 - 1, 0]
    assert call("float2int_rd", x, dtype=tl.int32).tolist() == [2, -3, 2**31 - 1, 0]
    assert call("float2int_ru", x, dtype=tl.int32).tolist() == [3, -2, 2**31 - 1, 0]
    assert call("float2uint_rz", x, dtype=tl.int32).tolist() == [2, 0, -1, 0]
    assert call("llrintf", x[:2], dtype=tl.int64).tolist() == [2, -2]
    whole = np.array([2**24 + 1, -(2**24 + 1)], np.int32)
    assert call("int2float_rd", whole).tolist() == [2.0**24, -(2.0**24 + 2)]
    assert call("int2float_rz", whole).tolist() == [2.0**24, -(2.0**24)]
    third = np.array([1 / 3], np.float64)
    assert float(call("double2float_rd", third)[0]) < 1 / 3 < float(call("double2float_ru", third)[0])
