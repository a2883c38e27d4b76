"""Block pointers that are left: all others were written out before the kernel is read."""

from __future__ import annotations

from tritonport.analysis.evaluator import Evaluator
from tritonport.analysis.operations.registry import Call, operation
from tritonport.analysis.values import Refusal, Value


@operation("make_block_ptr", "advance")
def left(interpreter: Evaluator, call: Call) -> Value:
    """A block pointer in a function that could not be written out, for the reason that was found then."""
    reason = interpreter.module.refused.get(interpreter.frame.kernel.node)
    if isinstance(reason, Refusal):
        raise reason
    raise Refusal("TP110", f"{interpreter.code(call.node)} cannot be followed", call.node)
