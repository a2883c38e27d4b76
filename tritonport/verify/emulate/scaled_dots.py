"""Products of microscaling formats: fp4 pairs, scales, `dot_scaled` as Triton decomposes it.

Sources: `DecomposeScaledBlocked.cpp` of Triton; OCP Microscaling Formats (MX) Specification 1.0.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import triton
import triton.language as tl
from triton._C.libtriton import ir

from tritonport.verify.emulate.errors import Fault
from tritonport.verify.emulate.floats import from_float, to_float
from tritonport.verify.emulate.shapes import accumulate, matrix_product
from tritonport.verify.emulate.values import Array, Value, layout_of

E2M1 = np.array([0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, -0.0, -0.5, -1.0, -1.5, -2.0, -3.0, -4.0, -6.0], np.float32)
"""The numbers of four bits, by their bits."""
KEEPS_LEAST_SCALE = tuple(map(int, triton.__version__.split(".")[:2])) >= (3, 9)
"""Whether a scale of 2**-127, a subnormal number in bfloat16, is one; before Triton 3.9 it is decoded to zero."""


def unpacked(data: Array, axis: int) -> Array:
    """Bytes of two e2m1 numbers, the first in the lower bits, as numbers along an axis."""
    pairs = np.stack([E2M1[data.view(np.uint8) & 15], E2M1[data.view(np.uint8) >> 4]], axis=axis + 1)
    shape = list(data.shape)
    shape[axis] *= 2
    return pairs.reshape(shape)


def exact_scale(scale: Value) -> Array:
    """Scales as float64: a byte is the exponent of a power of two, and 255 is NaN."""
    if not scale.dtype.is_int():
        return np.asarray(to_float(scale.data, scale.dtype), np.float64)
    exponents = scale.data.view(np.uint8).astype(np.float64)
    return np.where(exponents == 255, np.nan, np.exp2(exponents - 127))


def _compute_scale(scale: Value, dtype: Any, fast_math: bool) -> Array:
    """Scales in the type of the decomposed product."""
    if not scale.dtype.is_int():
        return to_float(from_float(to_float(scale.data, scale.dtype), dtype), dtype)
    number = exact_scale(scale)
    if dtype == tl.float16 or not KEEPS_LEAST_SCALE:
        number = np.where(scale.data.view(np.uint8) == 0, 0.0, number)
    if fast_math:
        number = np.where(np.isnan(number), np.inf, number)
    return to_float(from_float(number.astype(np.float32), dtype), dtype)


def spread(scale: Array, extent: int) -> Array:
    """Scales of groups along the last dimension as scales of its elements."""
    return np.repeat(scale, extent // scale.shape[-1], axis=-1)


class ScaledDotOps:
    """Builder methods for fp4 pairs and products with scales."""

    def create_fp4_to_fp(self, operand: Value, to: Any, axis: int) -> Value:
        numbers = from_float(unpacked(operand.data, axis), to.scalar)
        return Value(numbers, to.scalar, self.unpacked_layout(operand, axis))

    def unpacked_layout(self, operand: Value, axis: int) -> Any:
        return None

    def create_dot_scaled(
        self, a: Value, a_scale: Value | None, a_type: Any, b: Value, b_scale: Value | None, b_type: Any,
        fast_math: bool, a_k_pack: bool, b_k_pack: bool, acc: Value,
    ) -> Value:  # fmt: skip
        half = ir.ScaleDotElemTypeTY.FP16 in (a_type, b_type)
        dtype = tl.float16 if half else tl.bfloat16
        sides: list[Value] = []
        for index, (operand, scale, kind, k_pack) in enumerate(
            ((a, a_scale, a_type, a_k_pack), (b, b_scale, b_type, b_k_pack))
        ):
            if operand.data.ndim != 2:
                raise Fault("dot_scaled of more than two dimensions is not emulated")
            if kind == ir.ScaleDotElemTypeTY.E2M1:
                numbers = unpacked(operand.data, 1 - index if k_pack else index)
            else:
                numbers = to_float(operand.data, operand.dtype)
            numbers = to_float(from_float(numbers, dtype), dtype)
            if scale is not None:
                factor = spread(_compute_scale(scale, dtype, fast_math), numbers.shape[1 - index])
                numbers = numbers * (factor if index == 0 else factor.T)
            sides.append(Value(from_float(numbers, dtype), dtype))
        return accumulate(matrix_product(sides[0], sides[1], ir.INPUT_PRECISION.TF32), acc, acc.dtype, layout_of(acc))


def scaled_numbers(operand: Value, kind: Any, scale: Value, index: int, rows: int) -> Array:
    """An operand of a product with its scales, exactly. `rows`: the extent that is not summed over."""
    numbers = operand.data
    if kind == ir.ScaleDotElemTypeTY.E2M1:
        outer = index if index == 0 else 1
        along_k = operand.data.shape[outer] == rows
        numbers = unpacked(operand.data, 1 - outer if along_k else outer)
    else:
        numbers = to_float(operand.data, operand.dtype)
    factor = spread(exact_scale(scale), numbers.shape[1 - index])
    return numbers.astype(np.float64) * (factor if index == 0 else factor.T)
