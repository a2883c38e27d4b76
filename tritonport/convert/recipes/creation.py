"""Tensors that are made: `arange`, `zeros`, `full`, `histogram` take the layout they are wanted in."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from tritonport.analysis.signatures import bind
from tritonport.analysis.values import Value
from tritonport.convert.expressions import ExpressionWriter
from tritonport.convert.recipes import recipe
from tritonport.convert.recipes.arguments import plain
from tritonport.convert.syntax import keyword
from tritonport.convert.wants import Want


def layout_argument(writer: ExpressionWriter, want: Want) -> cst.Arg:
    return keyword("layout", cst.parse_expression(writer.layout_text(want)))


@recipe("arange", "zeros", "full", "histogram")
def made(
    writer: ExpressionWriter, node: cst.Call, values: Sequence[Value | None], focus: Want | None
) -> cst.BaseExpression | None:
    if focus is None:
        return _scalar(writer, node)
    return writer.call(node, values, focus, extra=[layout_argument(writer, focus)])


def _scalar(writer: ExpressionWriter, node: cst.Call) -> cst.BaseExpression:
    """`tl.zeros([], dtype)`: a tensor without dimensions is a scalar and has no layout."""
    operation = next(frame.operations[node] for frame in writer.frames if node in frame.operations)
    bound, _ = bind(f"tl.{operation}", node.args, None, node)
    value = writer.emit(bound["value"]) if "value" in bound else cst.parse_expression("0")
    made = writer.module.gl_call("to_tensor", [value])
    return cst.Call(cst.Attribute(made, cst.Name("to")), [cst.Arg(writer.emit(bound["dtype"]))])


@recipe("zeros_like")
def zeros_like(
    writer: ExpressionWriter, node: cst.Call, values: Sequence[Value | None], focus: Want | None
) -> cst.BaseExpression | None:
    """The argument gives the layout: it is written in the one that is wanted."""
    return None


@recipe("broadcast_to")
def broadcast_to(
    writer: ExpressionWriter, node: cst.Call, values: Sequence[Value | None], focus: Want | None
) -> cst.BaseExpression | None:
    """A scalar becomes `gl.full` in the wanted layout; a tensor keeps its call."""
    value = next(found for found in values if found is not None)
    if focus is None or value.op != "splat":
        return None
    receiver = node.func.value if isinstance(node.func, cst.Attribute) and not writer.is_global(node.func) else None
    bound, rest = bind("tl.broadcast_to", node.args, receiver, node)
    scalar = writer.emit(bound["input"])
    shape = writer.emit(bound["shape"]) if "shape" in bound else cst.parse_expression("[]")
    if rest:
        shape = cst.List([cst.Element(writer.emit(size)) for size in rest])
    return writer.module.snippet_call(
        "spread", [plain(scalar), plain(shape), plain(cst.parse_expression(writer.layout_text(focus)))]
    )
