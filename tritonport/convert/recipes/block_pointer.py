"""Block pointers that were not written out before the kernel was read."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from tritonport.analysis.values import Refusal, Value
from tritonport.convert.expressions import ExpressionWriter
from tritonport.convert.recipes import recipe
from tritonport.convert.wants import Want


@recipe("make_block_ptr", "advance")
def left(
    writer: ExpressionWriter, node: cst.Call, values: Sequence[Value | None], focus: Want | None
) -> cst.BaseExpression | None:
    raise Refusal("TP110", f"{writer.module.module.tree.code_for_node(node)} cannot be followed", node)
