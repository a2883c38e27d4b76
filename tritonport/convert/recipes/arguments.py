"""Small helpers for recipes: constants among the arguments, and arguments to write."""

from __future__ import annotations

import libcst as cst

from tritonport.analysis.values import Kind, Refusal
from tritonport.convert.expressions import ExpressionWriter


def receiver_of(writer: ExpressionWriter, node: cst.Call) -> cst.BaseExpression | None:
    """`x` of the method call `x.sum(0)`; None for `tl.sum(x, 0)`."""
    if isinstance(node.func, cst.Attribute) and not writer.is_global(node.func):
        return node.func.value
    return None


def flag(writer: ExpressionWriter, node: cst.BaseExpression | None, default: bool) -> bool:
    if node is None:
        return default
    value = writer.first(node)
    if value is None or not isinstance(value.known, (bool, int)):
        raise Refusal("TP201", "a flag of this call is not a constant of the file", node)
    return bool(value.known)


def number(writer: ExpressionWriter, node: cst.BaseExpression | None, default: int) -> int:
    if node is None:
        return default
    value = writer.first(node)
    if value is not None and value.kind is Kind.NONE:
        return default
    if value is None or not isinstance(value.known, int):
        raise Refusal("TP201", "an axis of this call is not a number in this file", node)
    return value.known


def plain(value: cst.BaseExpression) -> cst.Arg:
    return cst.Arg(value)
