"""Number formats, exhaustively where that is possible."""

from fractions import Fraction

import numpy as np
import pytest
import torch

from tritonport.verify.emulate import floats

FP8 = {"fp8e5": torch.float8_e5m2, "fp8e4nv": torch.float8_e4m3fn, "fp8e4b8": torch.float8_e4m3fnuz,
       "fp8e5b16": torch.float8_e5m2fnuz}  # fmt: skip


@pytest.mark.parametrize("name", FP8)
def test_fp8_decodes_as_torch(name):
    bits = np.arange(256, dtype=np.uint8)
    expected = torch.from_numpy(bits).view(FP8[name]).float().numpy()
    np.testing.assert_array_equal(floats.decode_fp8(bits, name), expected)


@pytest.mark.parametrize("name", FP8)
def test_fp8_encodes_every_value_and_every_midpoint(name):
    values = np.unique(floats.decode_fp8(np.arange(256, dtype=np.uint8), name))
    values = values[np.isfinite(values)].astype(np.float64)
    middle = (values[1:] + values[:-1]) / 2
    numbers = np.concatenate([values, middle, np.nextafter(middle, 1e9), np.nextafter(middle, -1e9)])
    numbers = numbers[(numbers == numbers.astype(np.float32))]
    expected = torch.from_numpy(numbers.astype(np.float32)).to(FP8[name])
    encoded = floats.encode_fp8(numbers, name)
    np.testing.assert_array_equal(floats.decode_fp8(encoded, name), expected.float().numpy())


def test_fp8_special_values():
    special = np.array([np.nan, np.inf, -np.inf, 1e30, -0.0], np.float32)
    for name in FP8:
        decoded = floats.decode_fp8(floats.encode_fp8(special, name), name)
        top = torch.finfo(FP8[name]).max
        assert np.isnan(decoded[0])
        assert decoded[1:4].tolist() == [top, -top, top]
        assert decoded[4] == 0
    down = floats.encode_fp8(np.array([1.99, -1.99]), "fp8e5", toward_zero=True)
    assert floats.decode_fp8(down, "fp8e5").tolist() == [1.75, -1.75]


def test_bf16_agrees_with_torch():
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2**32, 20000, dtype=np.uint64).astype(np.uint32)
    x = bits.view(np.float32)
    expected = torch.from_numpy(x).bfloat16().float().numpy()
    np.testing.assert_array_equal(floats.decode_bf16(floats.encode_bf16(x)), expected)


def test_fp64_to_bf16_rounds_once():
    # Just above the midpoint of two bf16 numbers: rounding to fp32 first would make it a tie.
    x = np.array([1.0 + 2.0**-8 + 2.0**-40, 1.0 + 2.0**-8 - 2.0**-40])
    assert floats.decode_bf16(floats.encode_bf16(x)).tolist() == [1.0 + 2.0**-7, 1.0]


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
def test_fma_is_correctly_rounded(kind):
    rng = np.random.default_rng(1)
    x, y = (rng.standard_normal(2000).astype(kind) for _ in range(2))
    z = (-(x * y) * (1 + rng.standard_normal(2000) * 1e-3)).astype(kind)
    z[::3] = (rng.standard_normal(z[::3].shape) * 1e3).astype(kind)
    result = floats.fused_multiply_add(x, y, z)
    for a, b, c, r in zip(x.tolist(), y.tolist(), z.tolist(), result, strict=True):
        exact = Fraction(a) * Fraction(b) + Fraction(c)
        error = abs(exact - Fraction(float(r)))
        for neighbour in (np.nextafter(r, kind(np.inf)), np.nextafter(r, kind(-np.inf))):
            assert error <= abs(exact - Fraction(float(neighbour)))


def test_fma_of_infinities_and_nans():
    x = np.array([np.inf, 1.0, np.nan, np.inf], np.float32)
    y = np.array([2.0, np.inf, 1.0, 0.0], np.float32)
    result = floats.fused_multiply_add(x, y, np.ones(4, np.float32))
    assert result[:2].tolist() == [np.inf, np.inf]
    assert np.isnan(result[2:]).all()


def test_tf32():
    x = np.array([1.0 + 2.0**-10 + 2.0**-11, 1.0 + 2.0**-11, np.inf], np.float32)
    assert floats.truncate_tf32(x).tolist() == [1.0 + 2.0**-10, 1.0, np.inf]
    assert floats.round_tf32(x).tolist() == [1.0 + 2.0**-9, 1.0, np.inf]
