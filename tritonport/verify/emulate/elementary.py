"""Elementary functions numpy has no direct form of. Each keeps the precision of its argument."""

from __future__ import annotations

import numpy as np
import torch

from tritonport.verify.emulate.values import Array


def through_f64(function: str, *operands: Array) -> Array:
    """``torch.special.<function>`` (or ``torch.<function>``) computed in fp64 and rounded to the operands' type."""
    tensors = [torch.from_numpy(np.array(operand, dtype=np.float64)) for operand in operands]
    implementation = getattr(torch.special, function, None) or getattr(torch, function)
    return np.asarray(implementation(*tensors).numpy(), dtype=np.asarray(operands[0]).dtype)


def rsqrt(x: Array) -> Array:
    """1 / sqrt(x) with one rounding for fp32."""
    data = np.asarray(x)
    return np.asarray(1.0 / np.sqrt(data.astype(np.float64))).astype(data.dtype)


def erf(x: Array) -> Array:
    """The error function."""
    return through_f64("erf", x)
