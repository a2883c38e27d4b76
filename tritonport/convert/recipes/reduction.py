"""Reductions that Gluon has no single call for: with indices, and down to a scalar that keeps its dimensions."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from tritonport.analysis.signatures import bind
from tritonport.analysis.values import Kind, Value
from tritonport.convert.expressions import ExpressionWriter
from tritonport.convert.recipes import recipe
from tritonport.convert.recipes.arguments import flag, number, plain, receiver_of
from tritonport.convert.syntax import keyword, separated
from tritonport.convert.wants import Want
from tritonport.rules_data import version_key

CHOICES = {
    ("max", True): "max_with_index",
    ("max", False): "max_with_any_index",
    ("min", True): "min_with_index",
    ("min", False): "min_with_any_index",
}


@recipe("argmax", "argmin", "max", "min")
def with_index(
    writer: ExpressionWriter, node: cst.Call, values: Sequence[Value | None], focus: Want | None
) -> cst.BaseExpression | None:
    """`tl.argmax` and `tl.max(return_indices=True)`: a reduction of (value, index) pairs."""
    operation = writer.operation_name(node)
    bound, _ = bind(f"tl.{operation}", node.args, receiver_of(writer, node), node)
    wants_index = operation.startswith("arg") or flag(writer, bound.get("return_indices"), False)
    if focus is None:
        return None
    if not wants_index:
        return full_reduction(writer, node, values, focus)
    tie = bound.get("tie_break_left", bound.get("return_indices_tie_break_left"))
    choice = CHOICES[operation.removeprefix("arg"), flag(writer, tie, True)]
    source = writer.operand(bound["input"], values, focus)
    # Before 3.9 bfloat16 is compared, and given back, as float32. Which index wins does not depend on it.
    old = version_key(writer.module.triton) < (3, 9)
    if old:
        source = writer.module.snippet_call("as_float32", [plain(source)])
    if not operation.startswith("arg"):
        writer.module.limit(until="3.8" if old else None, since=None if old else "3.9")
    rank = next(operand.value.rank for value in values if value is not None for operand in value.operands)
    axis = number(writer, bound.get("axis"), 0)
    keep = flag(writer, bound.get("keep_dims"), False)
    call = writer.module.snippet_call(
        choice,
        [
            plain(source),
            plain(cst.parse_expression(str(axis % rank))),
            keyword("keep_dims", cst.Name(str(keep and rank > 1))),
        ],
    )
    if operation.startswith("arg"):
        return cst.Subscript(call, [cst.SubscriptElement(cst.Index(cst.Integer("1")))])
    return call


@recipe("sum", "xor_sum", "reduce_or")
def full_reduction(
    writer: ExpressionWriter, node: cst.Call, values: Sequence[Value | None], focus: Want | None
) -> cst.BaseExpression | None:
    """`keep_dims=True` where nothing is left: the scalar is spread over a tensor of one element."""
    operation = writer.operation_name(node)
    value = next(found for found in values if found is not None)
    if focus is None or not value.is_tensor or any(not size.is_one for size in value.shape):
        return None
    bound, _ = bind(f"tl.{operation}", node.args, receiver_of(writer, node), node)
    rank = value.rank
    if not flag(writer, bound.get("keep_dims"), False) or (
        rank > 1 and "axis" in bound and not _is_none(writer, bound["axis"])
    ):
        return None
    arguments = [plain(writer.operand(bound["input"], values, focus))]
    for name in ("axis", "dtype"):
        if name in bound and not (name == "axis" and rank == 1):
            arguments.append(keyword(name, writer.emit(bound[name])))
    if rank == 1:
        arguments.append(keyword("axis", cst.Integer("0")))
    scalar = cst.Call(writer.function_for(operation), separated(arguments))
    shape = cst.parse_expression(f"[{', '.join(['1'] * rank)}]")
    return writer.module.snippet_call(
        "spread", [plain(scalar), plain(shape), plain(cst.parse_expression(writer.layout_text(focus)))]
    )


def _is_none(writer: ExpressionWriter, node: cst.BaseExpression) -> bool:
    value = writer.first(node)
    return value is not None and value.kind is Kind.NONE


@recipe("softmax")
def softmax(
    writer: ExpressionWriter, node: cst.Call, values: Sequence[Value | None], focus: Want | None
) -> cst.BaseExpression | None:
    if focus is None:
        return None
    bound, _ = bind("tl.softmax", node.args, receiver_of(writer, node), node)
    name = "input" if "input" in bound else "x"
    value = next(found for found in values if found is not None)
    dim = number(writer, bound.get("dim"), 0) % value.rank
    rounding = flag(writer, bound.get("ieee_rounding"), False)
    return writer.module.snippet_call(
        "softmax",
        [
            plain(writer.operand(bound[name], values, focus)),
            plain(cst.Integer(str(dim))),
            keyword("ieee_rounding", cst.Name(str(rounding))),
        ],
    )
