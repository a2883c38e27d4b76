"""Arithmetic with the four IEEE rounding directions of libdevice: rn, rd (down), ru (up), rz (toward zero).

Each result is first rounded to nearest; the sign of what that rounding lost then says whether to step to the
neighbouring number.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from tritonport.verify.emulate.floats import fused_multiply_add, odd_sum, two_product, two_sum
from tritonport.verify.emulate.values import Array


def directed(near: Array, lost: Array, mode: str) -> Array:
    """``near`` moved to the neighbour that ``mode`` asks for; ``lost`` has the sign of (exact - near)."""
    kind = near.dtype.type
    if mode == "rd":
        return np.asarray(np.where(lost < 0, np.nextafter(near, kind(-np.inf)), near))
    if mode == "ru":
        return np.asarray(np.where(lost > 0, np.nextafter(near, kind(np.inf)), near))
    if mode == "rz":
        too_far = ((lost < 0) & (near > 0)) | ((lost > 0) & (near < 0))
        return np.asarray(np.where(too_far, np.nextafter(near, kind(0)), near))
    return near


def _wide(*operands: Array) -> list[Array]:
    return [np.asarray(operand, dtype=np.float64) for operand in operands]


def add(a: Array, b: Array, mode: str) -> Array:
    near = np.asarray(a + b)
    x, y = _wide(a, b)
    lost = two_sum(x, y)[1] if near.dtype == np.float64 else odd_sum(x, y) - near
    return directed(near, lost, mode)


def subtract(a: Array, b: Array, mode: str) -> Array:
    return add(a, np.negative(b), mode)


def multiply(a: Array, b: Array, mode: str) -> Array:
    near = np.asarray(a * b)
    x, y = _wide(a, b)
    lost = two_product(x, y)[1] if near.dtype == np.float64 else x * y - near
    return directed(near, lost, mode)


def divide(a: Array, b: Array, mode: str) -> Array:
    near = np.asarray(a / b)
    x, y, quotient = _wide(a, b, near)
    rest = fused_multiply_add(-quotient, y, x) if near.dtype == np.float64 else x - quotient * y
    return directed(near, np.where(np.isfinite(quotient), rest * np.sign(y), 0.0), mode)


def square_root(a: Array, mode: str) -> Array:
    near = np.asarray(np.sqrt(a))
    x, root = _wide(a, near)
    rest = fused_multiply_add(-root, root, x) if near.dtype == np.float64 else x - root * root
    return directed(near, np.where(np.isfinite(root), rest, 0.0), mode)


def reciprocal(a: Array, mode: str) -> Array:
    return divide(np.ones_like(a), a, mode)


def fma(x: Array, y: Array, z: Array, mode: str) -> Array:
    near = fused_multiply_add(x, y, z)
    if mode == "rn":
        return near
    if near.dtype != np.float64:
        a, b, c = _wide(x, y, z)
        return directed(near, odd_sum(a * b, c) - near, mode)
    lost = np.zeros(near.shape)
    broadcast = np.broadcast_arrays(x, y, z, near)
    for index in np.ndindex(near.shape):
        p, q, s, r = (float(each[index]) for each in broadcast)
        if np.isfinite(r):
            rest = Fraction(p) * Fraction(q) + Fraction(s) - Fraction(r)
            lost[index] = (rest > 0) - (rest < 0)
    return directed(near, lost, mode)


def integer_to_float(data: Array, kind: Any, mode: str) -> Array:
    """Integers of any width to fp32 or fp64."""
    near = data.astype(kind)
    lost = data.astype(np.longdouble) - near.astype(np.longdouble)
    return directed(near, np.asarray(np.sign(lost), dtype=np.float64), mode)


def double_to_float(data: Array, mode: str) -> Array:
    near = data.astype(np.float32)
    return directed(near, np.where(np.isfinite(near), data - near, 0.0), mode)


_WHOLE = {"rn": np.rint, "rd": np.floor, "ru": np.ceil, "rz": np.trunc}


def float_to_integer(data: Array, kind: Any, mode: str) -> Array:
    """Floating-point numbers to integers; out-of-range values saturate and a NaN becomes 0 (PTX ISA, cvt)."""
    limits = np.iinfo(kind)
    whole = _WHOLE[mode](np.asarray(data, dtype=np.float64))
    whole = np.where(np.isnan(whole), 0.0, whole)
    top = float(limits.max)
    inside = np.clip(whole, float(limits.min), float(np.nextafter(top + 1.0, 0.0)))
    return np.asarray(np.where(whole >= top, kind(limits.max), inside.astype(kind)))
