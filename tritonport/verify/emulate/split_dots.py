"""float32 products in several dots of fewer bits, as Triton's compiler decomposes them (`F32DotTC.cpp`)."""

from __future__ import annotations

from typing import Any

import numpy as np
import triton.language as tl
from triton._C.libtriton import ir

from tritonport.verify.emulate.floats import from_float, nearest_tf32, to_float
from tritonport.verify.emulate.values import Value

PARTS = {ir.INPUT_PRECISION.TF32x3: 2, ir.INPUT_PRECISION.BF16x3: 2, ir.INPUT_PRECISION.BF16x6: 3}
"""The precisions that take float32 operands apart, and into how many parts."""


def is_split(a: Value, acc: Value, precision: Any) -> bool:
    return precision in PARTS and a.dtype.is_fp32() and acc.dtype.is_fp32()


def parts_of(x: Value, precision: Any) -> list[Value]:
    """The leading bits of each element and what they leave, largest first.

    The last part of tf32x3 stays float32: the tensor cores ignore the bits that tf32 has no room for.
    """
    if precision == ir.INPUT_PRECISION.TF32x3:
        leading = nearest_tf32(x.data)
        return [Value(leading, tl.float32), Value(x.data - leading, tl.float32)]
    parts: list[Value] = []
    rest = x.data
    for _ in range(PARTS[precision]):
        parts.append(Value(from_float(rest, tl.bfloat16), tl.bfloat16))
        rest = rest - to_float(parts[-1].data, tl.bfloat16)
    return parts


def pairs_of(a: Value, b: Value, precision: Any) -> list[tuple[Value, Value]]:
    """The products of parts in the order in which they are added up, smallest first; the last is of leading bits."""
    left, right = parts_of(a, precision), parts_of(b, precision)
    smallest = [(1, 1), (2, 0), (0, 2)] if len(left) == 3 else []
    return [(left[i], right[j]) for i, j in (*smallest, (1, 0), (0, 1), (0, 0))]


def without_nan(sum_of_rest: Value) -> Value:
    """Infinity times a trailing zero is NaN: the leading bits alone say what such a product is."""
    data = np.where(np.isnan(sum_of_rest.data), np.float32(0), sum_of_rest.data)
    return Value(data, sum_of_rest.dtype, sum_of_rest.layout)
