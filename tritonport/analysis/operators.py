"""Operators on what is known when a kernel is compiled: numbers, sizes, None."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import libcst as cst

from tritonport.analysis import dims, strides
from tritonport.analysis.dims import Dim
from tritonport.analysis.shapes import combine_multiples
from tritonport.analysis.values import MISSING, Kind, Value, constant

BINARY: dict[type[cst.BaseBinaryOp], str] = {
    cst.Add: "add",
    cst.Subtract: "sub",
    cst.Multiply: "mul",
    cst.Divide: "div",
    cst.FloorDivide: "floordiv",
    cst.Modulo: "mod",
    cst.Power: "pow",
    cst.BitAnd: "and",
    cst.BitOr: "or",
    cst.BitXor: "xor",
    cst.LeftShift: "shl",
    cst.RightShift: "shr",
    cst.MatrixMultiply: "matmul",
}
AUGMENTED: dict[type[cst.BaseAugOp], str] = {
    cst.AddAssign: "add",
    cst.SubtractAssign: "sub",
    cst.MultiplyAssign: "mul",
    cst.DivideAssign: "div",
    cst.FloorDivideAssign: "floordiv",
    cst.ModuloAssign: "mod",
    cst.PowerAssign: "pow",
    cst.BitAndAssign: "and",
    cst.BitOrAssign: "or",
    cst.BitXorAssign: "xor",
    cst.LeftShiftAssign: "shl",
    cst.RightShiftAssign: "shr",
}
_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
    "floordiv": operator.floordiv,
    "mod": operator.mod,
    "pow": operator.pow,
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
    "shl": operator.lshift,
    "shr": operator.rshift,
}
_COMPARISONS: dict[type[cst.BaseCompOp], Callable[[Any, Any], bool]] = {
    cst.Equal: operator.eq,
    cst.NotEqual: operator.ne,
    cst.LessThan: operator.lt,
    cst.GreaterThan: operator.gt,
    cst.LessThanEqual: operator.le,
    cst.GreaterThanEqual: operator.ge,
}


def fold(op: str, a: Value, b: Value) -> Value:
    """`a op b` of compile-time values."""
    if isinstance(a.known, (int, float)) and isinstance(b.known, (int, float)):
        try:
            known = _ARITHMETIC[op](a.known, b.known)
        except (ArithmeticError, TypeError):
            return Value(Kind.CONSTEXPR)
        number = dims.number(known) if isinstance(known, int) else None
        return constant(known, number if a.dim is None or b.dim is None else _size(op, a.dim, b.dim))
    if a.dim is not None and b.dim is not None:
        factor = strides.scale(a.factor, b.factor) if op == "mul" else strides.STRIDED
        multiples = combine_multiples(op, a, b)
        return Value(Kind.CONSTEXPR, dim=_size(op, a.dim, b.dim), factor=factor, multiples=multiples)
    return Value(Kind.CONSTEXPR)


def _size(op: str, a: Dim, b: Dim) -> Dim:
    symbols = {"add": "+", "sub": "-", "mul": "*", "floordiv": "//", "pow": "**", "mod": "%", "div": "/"}
    text = f"{dims.grouped(a.text)} {symbols.get(op, op)} {dims.grouped(b.text)}"
    if op == "add":
        return dims.add(a, b, text)
    if op == "sub":
        return dims.add(a, b, text, sign=-1)
    if op == "mul":
        return dims.multiply(a, b, text)
    if op == "floordiv":
        return dims.divide(a, b, text)
    if op == "pow" and b.value is not None and 0 <= b.value < 8:
        return dims.power(a, b.value, text)
    shifts = {"shl": "<<", "shr": ">>", "and": "&", "or": "|", "xor": "^"}
    if op in shifts:
        text = f"{dims.grouped(a.text)} {shifts[op]} {dims.grouped(b.text)}"
    return dims.opaque(f"({dims.canonical(a)}){op}({dims.canonical(b)})", text)


def negated(value: Value) -> Value:
    """`-x` of a compile-time value."""
    if isinstance(value.known, (int, float)):
        return constant(-value.known, dims.number(-value.known) if isinstance(value.known, int) else None)
    if value.dim is not None:
        text = f"-{dims.grouped(value.dim.text)}"
        return Value(Kind.CONSTEXPR, dim=dims.multiply(dims.number(-1), value.dim, text))
    return Value(Kind.CONSTEXPR)


def compared(comparison: cst.BaseCompOp, left: Value, right: Value) -> Value:
    """`a < b` and the like of compile-time values."""
    if left.known is MISSING or right.known is MISSING or Kind.DTYPE in (left.kind, right.kind):
        return Value(Kind.CONSTEXPR)
    try:
        return constant(_COMPARISONS[type(comparison)](left.known, right.known))
    except (KeyError, TypeError):
        return Value(Kind.CONSTEXPR)


def identical(left: Value, right: Value) -> bool | None:
    """`a is b`, as far as it is known: in practice a test against None."""
    if left.kind is Kind.NONE and right.kind is Kind.NONE:
        return True
    for value, other in ((left, right), (right, left)):
        if other.kind is Kind.NONE:
            if value.is_tensor or value.kind in (Kind.TUPLE, Kind.DTYPE, Kind.FUNCTION):
                return False
            if value.kind is Kind.CONSTEXPR and value.known is not MISSING:
                return value.known is None
    return None


def truth_of(value: Value) -> bool | None:
    """Whether a value counts as true, where that is known when the kernel is compiled."""
    if value.kind is Kind.NONE:
        return False
    if value.kind is Kind.CONSTEXPR and value.known is not MISSING:
        return bool(value.known)
    return None
