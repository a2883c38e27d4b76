"""Operations whose results take elements from anywhere in a row: sorts, `topk`, `gather`, `histogram`."""

from __future__ import annotations

from tritonport.analysis.evaluator import Evaluator
from tritonport.analysis.operations.registry import Call, operation, tensor
from tritonport.analysis.terms import Root
from tritonport.analysis.values import Operand, Refusal, Value, scalar


@operation("softmax", "sort", "flip", "bitonic_merge")
def along_axis(interpreter: Evaluator, call: Call) -> Value:
    argument = call.required("input" if "input" in call.arguments else "x")
    if not argument[1].is_tensor:
        if call.entry.short != "softmax":
            raise Refusal("TP203", f"{call.entry.name} of a scalar", call.node)
        return scalar()
    return interpreter.elementwise(call.entry.short, call.node, [argument])


@operation("topk")
def topk(interpreter: Evaluator, call: Call) -> Value:
    argument = call.required("x")
    if not argument[1].is_tensor:
        raise Refusal("TP203", "tl.topk of a scalar", call.node)
    count = call.value("k")
    if count is None or count.dim is None:
        raise Refusal("TP201", "k= of topk is not a compile-time expression of this file", call.node)
    shape = (*argument[1].shape[:-1], count.dim)
    return tensor(
        call,
        interpreter,
        "topk",
        shape,
        [Operand(argument[0], argument[1], separate=Root(argument[1].rank, argument[1].shape))],
    )


@operation("gather")
def gather(interpreter: Evaluator, call: Call) -> Value:
    source, index = call.arguments["src"], call.arguments["index"]
    return tensor(
        call,
        interpreter,
        "gather",
        index[1].shape,
        [Operand(source[0], source[1], separate=Root(source[1].rank, source[1].shape)), Operand(index[0], index[1])],
    )


@operation("histogram")
def histogram(interpreter: Evaluator, call: Call) -> Value:
    argument = call.arguments["input"]
    bins = call.value("num_bins")
    if bins is None or bins.dim is None:
        raise Refusal("TP201", "num_bins= of histogram is not a compile-time expression of this file", call.node)
    shared = Root(1, argument[1].shape)
    operands = [Operand(argument[0], argument[1], separate=shared)]
    mask = call.arguments.get("mask")
    if mask is not None and mask[1].is_tensor:
        operands.append(Operand(mask[0], mask[1], separate=shared))
    return tensor(call, interpreter, "histogram", (bins.dim,), operands)
