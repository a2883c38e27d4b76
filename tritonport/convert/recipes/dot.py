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
from tritonport.convert.wants import Want


@recipe("dot")
def dot(
    writer: ExpressionWriter, node: cst.Call, values: Sequence[Value | None], focus: Want | None
) -> cst.BaseExpression | None:
    if focus is None:
        return None
    bound, _ = bind("tl.dot", node.args, receiver_of(writer, node), node)
    acc = bound.get("acc")
    given = writer.first(acc) if acc is not None else None
    accumulator = writer.operand(acc, values, focus) if acc is not None and given is not None and given.is_tensor else None
    return written_dot(writer, bound, values, focus, accumulator)


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
    a, b = (
        plain(writer.staged_operand(bound[name], index, focus) or writer.operand(bound[name], values, focus))
        for index, name in enumerate(("input", "other"))
    )
    default = value.dot.precision == DEFAULT
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
        dtype = writer.emit(bound["out_dtype"]) if "out_dtype" in bound else cst.parse_expression(f"{writer.module.gl}.float32")
        call = writer.module.snippet_call("dot_new_as", [a, b, layout, precision, plain(dtype)])
    return call.with_changes(args=writer.module.separated(call.args))
