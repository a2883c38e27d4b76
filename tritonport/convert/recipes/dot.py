"""Dots: one call of an emitted function that puts the operands where the tensor cores read them."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from tritonport.analysis.dots import DEFAULT
from tritonport.analysis.signatures import bind
from tritonport.analysis.values import Value
from tritonport.convert.expressions import ExpressionWriter
from tritonport.convert.recipes import recipe
from tritonport.convert.recipes.arguments import plain, receiver_of
from tritonport.convert.recipes.descriptor import shared_operand
from tritonport.convert.wants import Want
from tritonport.layouts.terms import same


@recipe("dot")
def dot(
    writer: ExpressionWriter, node: cst.Call, values: Sequence[Value | None], focus: Want | None
) -> cst.BaseExpression | None:
    if focus is None:
        return None
    bound, _ = bind("tl.dot", node.args, receiver_of(writer, node), node)
    acc = bound.get("acc")
    given = writer.first(acc) if acc is not None else None
    accumulator = (
        writer.operand(acc, values, focus) if acc is not None and given is not None and given.is_tensor else None
    )
    return written_dot(writer, bound, values, focus, accumulator)


def added_dot(
    writer: ExpressionWriter,
    addition: Sequence[Value | None],
    accumulator: cst.BaseExpression,
    call: cst.BaseExpression,
    focus: Want | None,
) -> cst.BaseExpression | None:
    """`acc + tl.dot(a, b)` as `dot(a, b, acc)`: Triton's compiler adds inside the instruction, which rounds otherwise.

    None where the addition is something else: another type, an accumulator already given, no dot.
    """
    if focus is None or not isinstance(call, cst.Call) or "dot" not in writer.operations(call):
        return None
    values = writer.values(call)
    value = next((found for found in values if found is not None), None)
    held = writer.first(accumulator)
    if value is None or held is None or not held.is_tensor or held.rank != value.rank or held.element != value.element:
        return None
    bound, _ = bind("tl.dot", call.args, receiver_of(writer, call), call)
    if bound.get("acc") is not None or any(
        found is not None
        and (result is None or found.focus is None or result.focus is None or not same(found.term, result.term))
        for found, result in zip(values, addition, strict=True)
    ):
        return None
    dot_focus = writer.focus(values, None)
    return written_dot(writer, bound, values, dot_focus, writer.operand(accumulator, addition, focus))


def written_dot(
    writer: ExpressionWriter,
    bound: dict[str, cst.BaseExpression],
    values: Sequence[Value | None],
    focus: Want,
    accumulator: cst.BaseExpression | None,
) -> cst.BaseExpression:
    """`dot(a, b, acc)`, or `dot_new(a, b, layout)` where the dot starts from nothing."""
    value = next(found for found in values if found is not None)
    assert value.dot is not None
    default = value.dot.precision == DEFAULT
    # Three dots of tf32 take their operands apart, in registers.
    may_stage = value.dot.precision != '"tf32x3"'
    operands = []
    for index, name in enumerate(("input", "other")):
        staged = shared_operand(writer, bound[name])
        if staged is None and may_stage:
            staged = writer.staged_operand(bound[name], index, focus, "" if default else value.dot.precision)
        operands.append(plain(staged or writer.operand(bound[name], values, focus)))
    a, b = operands
    precision = plain(cst.parse_expression(value.dot.precision))
    if accumulator is not None:
        if default:
            call = writer.module.snippet_call("dot", [a, b, plain(accumulator)])
        else:
            call = writer.module.snippet_call("dot_as", [a, b, plain(accumulator), precision, plain(cst.Name("True"))])
        return call.with_changes(args=writer.module.separated(call.args))
    layout = plain(cst.parse_expression(writer.layout_text(focus)))
    if default and "out_dtype" not in bound:
        call = writer.module.snippet_call("dot_new", [a, b, layout])
    else:
        if default:
            writer.module.snippets.add(DEFAULT)
        dtype = (
            writer.emit(bound["out_dtype"])
            if "out_dtype" in bound
            else cst.parse_expression(f"{writer.module.gl}.float32")
        )
        call = writer.module.snippet_call("dot_new_as", [a, b, layout, precision, plain(dtype)])
    return call.with_changes(args=writer.module.separated(call.args))
