"""Reductions and scans along an axis."""

from __future__ import annotations

from tritonport.analysis import dims, strides
from tritonport.analysis.dims import Dim
from tritonport.analysis.evaluator import Evaluator
from tritonport.analysis.operations.elementwise import with_items
from tritonport.analysis.operations.registry import Argument, Call, items_of, operation, results_of
from tritonport.analysis.values import Kind, Operand, Refusal, Value, scalar

_WIDE = (("gl.float32",), ("gl.float64",))
"""Element types that sums and extremes keep; others they may widen (`triton/language/standard.py`)."""


def _keeps_type(call: Call) -> bool:
    return call.entry.short in ("sum", "max", "min") and call.value("dtype") is None


def _axis(call: Call, rank: int) -> int | None:
    axis = call.value("axis") or call.value("dim")
    if axis is None:
        return None
    if not isinstance(axis.known, int):
        raise Refusal("TP201", f"the axis of {call.entry.name} is not a number in this file", call.node)
    number = axis.known + rank if axis.known < 0 else axis.known
    if not 0 <= number < rank:
        raise Refusal("TP203", f"axis {axis.known} of a tensor with {rank} dimensions", call.node)
    return int(number)


def _reduced(interpreter: Evaluator, call: Call, operands: list[Argument], results: int) -> Value:
    value = operands[0][1]
    axis = _axis(call, value.rank)
    keep = call.flag("keep_dims")
    shape: tuple[Dim, ...]
    if axis is None:
        shape = (dims.ONE,) * value.rank if keep else ()
    elif keep:
        shape = tuple(dims.ONE if position == axis else size for position, size in enumerate(value.shape))
    else:
        shape = value.shape[:axis] + value.shape[axis + 1 :]
    made = Value(
        Kind.TENSOR if shape else Kind.SCALAR,
        shape=shape,
        strides=(strides.UNKNOWN,) * len(shape),
        op="reduce",
        operands=[Operand(expression, item) for expression, item in operands],
        depth=interpreter.depth,
        node=call.node,
        result_axis=axis if shape and not keep else None,
        element=value.element if _keeps_type(call) and value.element in _WIDE else (),
    )
    return made if results == 1 else results_of(interpreter, call, made, results)


@operation("sum", "max", "min", "xor_sum", "reduce_or", "argmax", "argmin")
def reduction(interpreter: Evaluator, call: Call) -> Value:
    argument = call.arguments.get("input")
    if argument is None:
        raise Refusal("TP105", f"{call.entry.name} without an input", call.node)
    if argument[1].kind is Kind.TUPLE:
        raise Refusal("TP105", f"{call.entry.name} of a tuple", call.node)
    if not argument[1].is_tensor:
        return scalar()
    results = 2 if "return_indices" in call.arguments and call.flag("return_indices") else 1
    return _reduced(interpreter, call, [argument], results)


@operation("reduce")
def custom_reduction(interpreter: Evaluator, call: Call) -> Value:
    expression, value = call.arguments["input"]
    if value.kind is Kind.TUPLE:
        return _reduced(interpreter, call, items_of(expression, value), len(value.items))
    return _reduced(interpreter, call, [(expression, value)], 1)


@operation("cumsum", "cumprod")
def scan(interpreter: Evaluator, call: Call) -> Value:
    argument = call.arguments["input"]
    return interpreter.elementwise("scan", call.node, [argument]) if argument[1].is_tensor else argument[1]


@operation("associative_scan")
def custom_scan(interpreter: Evaluator, call: Call) -> Value:
    expression, value = call.arguments["input"]
    if value.kind is Kind.TUPLE:
        return with_items(interpreter, call, "input", "scan", len(value.items))
    return interpreter.elementwise("scan", call.node, [(expression, value)])
