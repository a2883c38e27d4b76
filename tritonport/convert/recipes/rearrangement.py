"""Permutations, reshapes, joins and splits.

The compiler infers a layout for each of them, and not the same one in every version: the result is pinned to the layout
that was chosen here, which has every element in the same register, so that no data moves.
"""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from tritonport.analysis.signatures import bind
from tritonport.analysis.values import Value
from tritonport.convert.expressions import ExpressionWriter
from tritonport.convert.helper_versions import Inconsistent
from tritonport.convert.recipes import recipe
from tritonport.convert.recipes.arguments import plain, receiver_of
from tritonport.convert.syntax import separated
from tritonport.convert.wants import Want


def first_of(values: Sequence[Value | None]) -> Value:
    return next(value for value in values if value is not None)


@recipe("trans", "permute")
def permuted(
    writer: ExpressionWriter, node: cst.Call, values: Sequence[Value | None], focus: Want | None
) -> cst.BaseExpression | None:
    if receiver_of(writer, node) is not None:
        return writer.call(node, values, focus, loosely=True)
    extra = []
    if len(node.args) == 1:
        rank = first_of(values).rank
        if len({value.rank for value in values if value is not None}) > 1:
            raise Inconsistent
        order = [*range(rank - 2), rank - 1, rank - 2]
        extra = [plain(cst.parse_expression(f"({', '.join(map(str, order))})"))]
    return writer.call(node, values, focus, writer.function_for("permute"), extra, loosely=True)


@recipe("reshape", "view", "ravel", "squeeze", "unsqueeze")
def reshaped(
    writer: ExpressionWriter, node: cst.Call, values: Sequence[Value | None], focus: Want | None
) -> cst.BaseExpression | None:
    operation = writer.operation_name(node)
    receiver = receiver_of(writer, node)
    bound, _ = bind(f"tl.{operation}", node.args, receiver, node)
    source = bound.get("input", bound.get("x"))
    assert source is not None
    kinds = {value.op for value in values if value is not None}
    if len(kinds) > 1:
        raise Inconsistent
    if kinds == {"expand"}:
        return _expanded(writer.operand(source, values, focus), values)
    if operation == "squeeze":
        shape = _inferred_shape(writer, values)
        return cst.Call(
            writer.function_for("reshape"),
            separated([plain(writer.loose(source, values, focus)), plain(shape)]),
        )
    kept = [argument for argument in node.args if argument.value is not bound.get("can_reorder")]
    kept = [
        argument.with_changes(keyword=None, equal=cst.MaybeSentinel.DEFAULT)
        if argument.value is bound.get("shape")
        else argument
        for argument in kept
    ]
    if kept and len(kept) < len(node.args):
        last = node.args[-1]
        kept[-1] = kept[-1].with_changes(comma=last.comma, whitespace_after_arg=last.whitespace_after_arg)
    if receiver is None:
        name = "ravel" if operation == "ravel" else "reshape"
        call = node.with_changes(args=kept)
        return writer.call(call, values, focus, writer.function_for(name), loosely=True)
    assert isinstance(node.func, cst.Attribute)
    attribute = node.func
    if operation == "view":
        attribute = attribute.with_changes(attr=cst.Name("reshape"))
    return writer.call(node.with_changes(args=kept, func=attribute), values, focus, loosely=True)


def _expanded(written: cst.BaseExpression, values: Sequence[Value | None]) -> cst.BaseExpression:
    """`x[:, None]`: a reshape that only adds dimensions of one."""
    paths = {(value.operands[0].path, value.rank) for value in values if value is not None}
    if len(paths) > 1:
        raise Inconsistent
    path, rank = paths.pop()
    text = ", ".join("None" if axis in path else ":" for axis in range(rank))
    model = cst.ensure_type(cst.parse_expression(f"x[{text}]"), cst.Subscript)
    return model.with_changes(value=written)


def _inferred_shape(writer: ExpressionWriter, values: Sequence[Value | None]) -> cst.BaseExpression:
    texts = {", ".join(size.text for size in value.shape) for value in values if value is not None}
    if len(texts) > 1:
        raise Inconsistent
    return cst.parse_expression(f"[{texts.pop()}]")


@recipe("join", "interleave", "cat")
def joined(
    writer: ExpressionWriter, node: cst.Call, values: Sequence[Value | None], focus: Want | None
) -> cst.BaseExpression | None:
    operation = writer.operation_name(node)
    if operation == "join":
        return None
    bound, _ = bind(f"tl.{operation}", node.args, None, node)
    if operation == "interleave":
        a, b = (plain(writer.operand(bound[name], values, focus)) for name in ("a", "b"))
        return writer.module.snippet_call("interleaved", [a, b])
    operands = [writer.operand(bound[name], values, focus) for name in ("input", "other")]
    axis, ranks = 0, {value.rank for value in values if value is not None}
    if len(ranks) > 1:
        raise Inconsistent
    rank = ranks.pop()
    if "dim" in bound:
        given = writer.first(bound["dim"])
        assert given is not None and isinstance(given.known, int)
        axis = given.known % rank
    order = (*range(axis), rank, *range(axis, rank))
    pairs = writer.module.gl_call("join", operands)
    apart = writer.module.gl_call("permute", [pairs, cst.parse_expression(f"({', '.join(map(str, order))})")])
    return writer.module.snippet_call("merged", [plain(apart), plain(cst.Integer(str(axis)))])


@recipe("split")
def split(
    writer: ExpressionWriter, node: cst.Call, values: Sequence[Value | None], focus: Want | None
) -> cst.BaseExpression | None:
    assert focus is not None
    bound, _ = bind("tl.split", node.args, receiver_of(writer, node), node)
    source = writer.loose(bound["a"], values, focus)
    layout = cst.parse_expression(writer.layout_text(focus))
    return writer.module.snippet_call("halves", [plain(source), plain(layout)])
