"""Casts: `tl.float32(x)`, which Triton's front end does not accept in every version, is `gl.cast(x, gl.float32)`."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from tritonport.analysis.values import Value
from tritonport.convert.expressions import ExpressionWriter
from tritonport.convert.recipes import recipe
from tritonport.convert.wants import Want


@recipe("dtype")
def called_dtype(
    writer: ExpressionWriter, node: cst.Call, values: Sequence[Value | None], focus: Want | None
) -> cst.BaseExpression | None:
    if len(node.args) != 1:
        return None
    argument = writer.operand(node.args[0].value, values, focus)
    return writer.module.gl_call("cast", [argument, writer.module.language_name(node.func)])
