"""Tensors that are made from nothing but their shape: `arange`, `full`, `zeros`."""

from __future__ import annotations

from tritonport.analysis import dims, strides
from tritonport.analysis.element_types import element_of
from tritonport.analysis.evaluator import Evaluator
from tritonport.analysis.operations.registry import Call, operation, sizes, tensor
from tritonport.analysis.values import Operand, Refusal, Value, scalar


@operation("arange")
def arange(interpreter: Evaluator, call: Call) -> Value:
    start, end = call.value("start"), call.value("end")
    if start is None or end is None or start.dim is None or end.dim is None:
        raise Refusal("TP201", "the bounds of arange are not compile-time expressions of this file", call.node)
    if start.dim.value == 0:
        size = end.dim
    else:
        size = dims.add(end.dim, start.dim, f"{dims.grouped(end.dim.text)} - {dims.grouped(start.dim.text)}", sign=-1)
    return tensor(call, interpreter, "arange", (size,), [], strides=(strides.UNIT,), cheap=True)


@operation("full", "zeros")
def full(interpreter: Evaluator, call: Call) -> Value:
    shape = sizes(call.value("shape"), call)
    if not shape:
        return scalar()
    value = call.arguments.get("value")
    operands = [Operand(*value)] if value is not None else []
    return tensor(
        call,
        interpreter,
        "full",
        shape,
        operands,
        strides=(strides.ZERO,) * len(shape),
        cheap=True,
        element=element_of(call.value("dtype")),
    )


@operation("zeros_like")
def zeros_like(interpreter: Evaluator, call: Call) -> Value:
    (argument,) = call.operands("input")
    if not argument[1].is_tensor:
        return scalar()
    shape = argument[1].shape
    return tensor(
        call, interpreter, "zeros_like", shape, [Operand(*argument)], strides=(strides.ZERO,) * len(shape), cheap=True
    )
