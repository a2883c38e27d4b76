"""Floating-point formats numpy lacks, and operations it rounds twice.

bf16 and fp8 values travel as their bits; they are decoded to fp32 (which holds every one of them exactly),
computed on, and encoded again with one rounding.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from tritonport.verify.emulate.values import Array


@dataclass(frozen=True)
class Fp8Format:
    """``special``: "ieee" has infinities and NaNs at the top exponent, "fn" one NaN per sign and no infinity,
    "fnuz" a single NaN (0x80) and no negative zero, "none" neither."""

    exponent_bits: int
    mantissa_bits: int
    bias: int
    special: str


FP8_FORMATS: dict[str, Fp8Format] = {
    "fp8e5": Fp8Format(5, 2, 15, "ieee"),
    "fp8e4nv": Fp8Format(4, 3, 7, "fn"),
    "fp8e5b16": Fp8Format(5, 2, 16, "fnuz"),
    "fp8e4b8": Fp8Format(4, 3, 8, "fnuz"),
    "fp8e4b15": Fp8Format(4, 3, 15, "none"),
}


@cache
def _fp8_values(name: str) -> Array:
    """The 256 values of a format as fp32, indexed by their bits."""
    form = FP8_FORMATS[name]
    bits = np.arange(256)
    mantissa = bits & ((1 << form.mantissa_bits) - 1)
    exponent = (bits >> form.mantissa_bits) & ((1 << form.exponent_bits) - 1)
    fraction = mantissa / (1 << form.mantissa_bits)
    magnitude = np.where(
        exponent == 0,
        fraction * 2.0 ** (1 - form.bias),
        (1 + fraction) * 2.0 ** (exponent.astype(np.float64) - form.bias),
    )
    values = np.where(bits & 0x80, -magnitude, magnitude).astype(np.float32)
    if form.special == "ieee":
        top = exponent == (1 << form.exponent_bits) - 1
        values[top & (mantissa == 0)] = np.where(bits & 0x80, -np.inf, np.inf)[top & (mantissa == 0)]
        values[top & (mantissa != 0)] = np.nan
    elif form.special == "fn":
        values[(bits & 0x7F) == 0x7F] = np.nan
    elif form.special == "fnuz":
        values[0x80] = np.nan
    values.setflags(write=False)
    return values


@cache
def _fp8_magnitudes(name: str) -> Array:
    """The finite values from 0 upwards; the index of each is its bits."""
    positive = _fp8_values(name)[:128]
    return positive[np.isfinite(positive)].astype(np.float64)


def decode_fp8(bits: Array, name: str) -> Array:
    """fp8 bits to fp32, exactly."""
    return np.asarray(_fp8_values(name)[bits])


def encode_fp8(values: Array, name: str, toward_zero: bool = False) -> Array:
    """fp16, fp32 or fp64 to fp8 bits, rounding to nearest even (or toward zero), saturating to the largest finite
    value as ``cvt.satfinite`` does (PTX ISA, cvt); a NaN stays a NaN where the format has one."""
    form = FP8_FORMATS[name]
    magnitudes = _fp8_magnitudes(name)
    wide = np.asarray(values, dtype=np.float64)
    size = np.minimum(np.abs(np.nan_to_num(wide, nan=0.0, posinf=np.inf, neginf=-np.inf)), magnitudes[-1])
    above = np.minimum(np.searchsorted(magnitudes, size, side="left"), len(magnitudes) - 1)
    exact = magnitudes[above] == size
    below = np.where(exact, above, np.maximum(above - 1, 0))
    if toward_zero:
        code = below
    else:
        to_above, to_below = magnitudes[above] - size, size - magnitudes[below]
        even = np.where(below & 1, above, below)
        code = np.where(to_above < to_below, above, np.where(to_below < to_above, below, even))
    negative = np.signbit(wide)
    if form.special == "fnuz":
        negative = negative & (code != 0)
    bits = np.where(negative, code | 0x80, code)
    nan = {"ieee": 0x7F, "fn": 0x7F, "fnuz": 0x80, "none": int(code.max(initial=0)) if code.size else 0}[form.special]
    return np.asarray(np.where(np.isnan(wide), nan, bits), dtype=np.uint8)


def decode_bf16(bits: Array) -> Array:
    """bf16 bits to fp32, exactly."""
    return np.asarray(bits.astype(np.uint32) << np.uint32(16)).view(np.float32)


def encode_bf16(values: Array, toward_zero: bool = False) -> Array:
    """fp32 (or fp16, or fp64) to bf16 bits, rounding to nearest even or toward zero."""
    data = np.asarray(values)
    single = round_to_odd_f32(data) if data.dtype == np.float64 else data.astype(np.float32)
    bits = np.asarray(single).view(np.uint32)
    if toward_zero:
        rounded = bits >> np.uint32(16)
    else:
        rounded = (bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) >> np.uint32(16)
    # Rounding may carry a NaN's payload into infinity or past the sign.
    return np.asarray(np.where(np.isnan(single), np.uint32(0x7FFF), rounded), dtype=np.uint16)


def round_to_odd_f32(values: Array) -> Array:
    """fp64 to fp32 so that a further rounding to a narrower format is the same as rounding once
    (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums", 2008)."""
    wide = np.asarray(values, dtype=np.float64)
    near = wide.astype(np.float32)
    inexact = np.isfinite(near) & (near.astype(np.float64) != wide)
    bits = near.view(np.uint32)
    even = inexact & ((bits & np.uint32(1)) == 0)
    up = np.abs(wide) > np.abs(near.astype(np.float64))
    moved = np.where(up, bits + np.uint32(1), bits - np.uint32(1))
    return np.asarray(np.where(even, moved, bits), dtype=np.uint32).view(np.float32)


def truncate_f16(values: Array) -> Array:
    """fp32 or fp64 to fp16, rounding toward zero."""
    wide = np.asarray(values, dtype=np.float64)
    near = wide.astype(np.float16)
    too_far = np.abs(near.astype(np.float64)) > np.abs(wide)
    return np.asarray(np.where(too_far, np.nextafter(near, np.float16(0)), near), dtype=np.float16)


def truncate_f32(values: Array) -> Array:
    """fp64 to fp32, rounding toward zero."""
    near = np.asarray(values, dtype=np.float64).astype(np.float32)
    too_far = np.abs(near.astype(np.float64)) > np.abs(values)
    return np.asarray(np.where(too_far, np.nextafter(near, np.float32(0)), near), dtype=np.float32)


def truncate_tf32(values: Array) -> Array:
    """What a tensor core reads of an fp32 operand in tf32 mode: the low 13 bits of the mantissa are ignored."""
    bits = np.ascontiguousarray(values, dtype=np.float32).view(np.uint32)
    finite = (bits & np.uint32(0x7F800000)) != np.uint32(0x7F800000)
    return np.where(finite, bits & np.uint32(0xFFFFE000), bits).view(np.float32)


def nearest_tf32(values: Array) -> Array:
    """fp32 rounded to 10 mantissa bits, ties away from zero (PTX ISA, `cvt.rna.tf32.f32`)."""
    bits = np.ascontiguousarray(values, dtype=np.float32).view(np.uint32)
    special = (bits & np.uint32(0x7F800000)) == np.uint32(0x7F800000)
    return np.where(special, bits, (bits + np.uint32(0x1000)) & np.uint32(0xFFFFE000)).view(np.float32)


def round_tf32(values: Array) -> Array:
    """fp32 rounded to nearest even at 10 mantissa bits, as a TMA load with tf32 rounding does."""
    bits = np.ascontiguousarray(values, dtype=np.float32).view(np.uint32)
    special = (bits & np.uint32(0x7F800000)) == np.uint32(0x7F800000)
    bias = ((bits >> np.uint32(13)) & np.uint32(1)) + np.uint32(0x00000FFF)
    return np.where(special, bits, (bits + bias) & np.uint32(0xFFFFE000)).view(np.float32)


def two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """a + b in fp64, rounded to nearest, and exactly what that lost (Knuth, TAOCP 4.2.2)."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def two_product(a: Array, b: Array) -> tuple[Array, Array]:
    """a * b in fp64, rounded to nearest, and exactly what that lost (barring overflow and underflow)."""

    # Dekker's product: both factors split into 26 and 27 bits.
    def split(x: Array) -> tuple[Array, Array]:
        scaled = x * 134217729.0
        high = scaled - (scaled - x)
        return high, x - high

    product = a * b
    a_high, a_low = split(a)
    b_high, b_low = split(b)
    return product, a_low * b_low - (((product - a_high * b_high) - a_low * b_high) - a_high * b_low)


def odd_sum(a: Array, b: Array) -> Array:
    """a + b in fp64, rounded to odd: rounding it again to a narrower format is rounding once."""
    total, error = two_sum(a, b)
    bits = np.asarray(total).view(np.int64)
    even = (error != 0) & ((bits & 1) == 0) & np.isfinite(total)
    outward = (error > 0) == (total > 0)
    return np.asarray(np.where(even, np.where(outward, bits + 1, bits - 1), bits), dtype=np.int64).view(np.float64)


def fused_multiply_add(x: Array, y: Array, z: Array) -> Array:
    """x * y + z with one rounding, in the type of the operands (fp16, fp32 or fp64)."""
    kind = np.asarray(z).dtype
    wide = [np.asarray(operand, dtype=np.float64) for operand in (x, y, z)]
    if kind == np.float64:
        product, error = two_product(wide[0], wide[1])
        low, rest = two_sum(wide[2], error)
        total, tail = two_sum(product, low)
        result = total + odd_sum(rest, tail)
        plain = wide[0] * wide[1] + wide[2]
        return np.asarray(np.where(np.isfinite(plain) & np.isfinite(result), result, plain))
    # The product of two fp32 (or fp16) numbers is exact in fp64.
    product = wide[0] * wide[1]
    plain = product + wide[2]
    odd = odd_sum(product, wide[2])
    return np.asarray(np.where(np.isfinite(plain), odd, plain)).astype(kind)


def to_float(data: Array, dtype: Any) -> Array:
    """Stored data of a floating-point Triton type as numbers: fp16, fp32 and fp64 as they are, the others in fp32."""
    if dtype.name == "bf16":
        return decode_bf16(data)
    if dtype.name in FP8_FORMATS:
        return decode_fp8(data, dtype.name)
    return data


def from_float(values: Array, dtype: Any, toward_zero: bool = False) -> Array:
    """Numbers as stored data of a floating-point Triton type, with one rounding."""
    if dtype.name == "bf16":
        return encode_bf16(values, toward_zero)
    if dtype.name in FP8_FORMATS:
        return encode_fp8(values, dtype.name, toward_zero)
    if dtype.name == "fp16":
        return truncate_f16(values) if toward_zero else np.asarray(values).astype(np.float16)
    if dtype.name == "fp32":
        data = np.asarray(values)
        return truncate_f32(data) if toward_zero and data.dtype == np.float64 else data.astype(np.float32)
    return np.asarray(values, dtype=np.float64)
