"""Atomics: scalar operands are spread over the addresses, which Gluon before 3.8 does not do by itself."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from tritonport.analysis.signatures import bind
from tritonport.analysis.values import Kind, Value
from tritonport.convert.expressions import ExpressionWriter
from tritonport.convert.recipes import recipe
from tritonport.convert.recipes.arguments import plain, receiver_of
from tritonport.convert.wants import Want


@recipe("atomic_add", "atomic_max", "atomic_min", "atomic_and", "atomic_or", "atomic_xor", "atomic_xchg", "atomic_cas")
def atomic(
    writer: ExpressionWriter, node: cst.Call, values: Sequence[Value | None], focus: Want | None
) -> cst.BaseExpression | None:
    if focus is None:
        return None
    bound, _ = bind(f"tl.{writer.operation_name(node)}", node.args, receiver_of(writer, node), node)
    scalars = set()
    for name in ("val", "cmp", "mask"):
        value = writer.first(bound[name]) if name in bound else None
        if value is not None and value.kind in (Kind.SCALAR, Kind.CONSTEXPR):
            scalars.add(bound[name])
    if not scalars:
        return None
    written = writer.call(node, values, focus)
    pointer = writer.operand(bound["pointer"], values, focus)
    arguments = []
    for original, argument in zip(node.args, written.args, strict=True):
        if original.value in scalars:
            call = writer.module.snippet_call("filled", [plain(argument.value), plain(pointer)])
            argument = argument.with_changes(value=call)
        arguments.append(argument)
    return written.with_changes(args=arguments)
