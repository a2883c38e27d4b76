"""Sorting: `sort`, `topk` and `bitonic_merge` become a bitonic network that the port brings along.

Triton's own versions make index vectors that have no layout, which Gluon refuses. The network compares and swaps in the
same order, so that ties, NaN and signed zeros come out where Triton puts them. `flip` works as it is.
"""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from tritonport.analysis.signatures import bind
from tritonport.analysis.values import Kind, Refusal, Value
from tritonport.convert.expressions import ExpressionWriter
from tritonport.convert.helper_versions import Inconsistent
from tritonport.convert.recipes import recipe
from tritonport.convert.recipes.arguments import receiver_of
from tritonport.convert.recipes.creation import layout_argument
from tritonport.convert.syntax import keyword
from tritonport.convert.wants import Want
from tritonport.rules_data import version_key

_EMITTED = {"sort": "bitonic_sort", "topk": "bitonic_topk", "bitonic_merge": "bitonic_merge"}
_FLIP_NEEDS_NO_DIM = (3, 9)


@recipe("sort", "topk", "bitonic_merge")
def ordered(
    writer: ExpressionWriter, node: cst.Call, values: Sequence[Value | None], focus: Want | None
) -> cst.BaseExpression | None:
    assert focus is not None, "the analysis refuses scalars"
    operation = writer.operation_name(node)
    bound, _ = bind(f"tl.{operation}", node.args, None, node)
    _check_last(writer, node, bound.get("dim"), values)
    kept = [argument for argument in node.args if argument.value is not bound.get("dim")]
    descending = bound.get("descending")
    kept = [_named(argument, "descending") if argument.value is descending else argument for argument in kept]
    kept[-1] = _closing(kept[-1], node.args[-1])
    extra = [layout_argument(writer, focus)] if operation == "topk" else []
    function = writer.module.snippet_call(_EMITTED[operation], []).func
    return writer.call(node.with_changes(args=kept), values, focus, function, extra)


def _check_last(
    writer: ExpressionWriter, node: cst.Call, dim: cst.BaseExpression | None, values: Sequence[Value | None]
) -> None:
    """Triton accepts the last dimension alone, counted from the front, so the argument can be left away."""
    if dim is None:
        return
    for given, value in zip(writer.values(dim), values, strict=True):
        if given is None or value is None or given.kind is Kind.NONE or not isinstance(given.known, int):
            continue
        if given.known != value.rank - 1:
            called = writer.module.module.tree.code_for_node(node.func)
            place = f"dimension {given.known} of a tensor with {value.rank}"
            raise Refusal("TP203", f"{called} along {place}: Triton sorts along the last alone", node)


def _closing(argument: cst.Arg, last: cst.Arg) -> cst.Arg:
    """The argument in place of the call's last: with the comma or line break that followed it, and its own comment."""
    if argument is last or not isinstance(argument.comma, cst.Comma):
        return argument
    ending = last.comma.whitespace_after if isinstance(last.comma, cst.Comma) else last.whitespace_after_arg
    own = argument.comma.whitespace_after
    if not isinstance(own, cst.ParenthesizedWhitespace) or own.first_line.comment is None:
        return argument.with_changes(comma=last.comma, whitespace_after_arg=last.whitespace_after_arg)
    if isinstance(ending, cst.ParenthesizedWhitespace):
        own = ending.with_changes(first_line=own.first_line)
    return argument.with_changes(comma=argument.comma.with_changes(whitespace_after=own))


def _named(argument: cst.Arg, name: str) -> cst.Arg:
    if argument.keyword is not None:
        return argument
    named = keyword(name, argument.value)
    return argument.with_changes(keyword=named.keyword, equal=named.equal)


@recipe("flip")
def flip(
    writer: ExpressionWriter, node: cst.Call, values: Sequence[Value | None], focus: Want | None
) -> cst.BaseExpression | None:
    """Inside of Gluon the default dimension works from 3.9 on only: before, the last one is written out."""
    if focus is None or version_key(writer.module.triton) >= _FLIP_NEEDS_NO_DIM:
        return None
    bound, _ = bind("tl.flip", node.args, receiver_of(writer, node), node)
    dim = bound.get("dim")
    if dim is not None and any(value is not None and value.kind is not Kind.NONE for value in writer.values(dim)):
        return None
    ranks = {value.rank for value in values if value is not None}
    if len(ranks) != 1:
        raise Inconsistent
    number = cst.Integer(str(ranks.pop() - 1))
    if dim is None:
        return writer.call(node, values, focus, extra=[keyword("dim", number)])
    arguments = [argument.with_changes(value=number) if argument.value is dim else argument for argument in node.args]
    return writer.call(node.with_changes(args=arguments), values, focus)
