"""Operations that add dimensions or repeat elements along them."""

from __future__ import annotations

from tritonport.analysis import strides
from tritonport.analysis.evaluator import Evaluator
from tritonport.analysis.operations.registry import Call, operation, results_of, sizes, tensor
from tritonport.analysis.values import Kind, Operand, Refusal, Value


@operation("expand_dims")
def expand_dims(interpreter: Evaluator, call: Call) -> Value:
    argument = call.arguments["input"]
    axis = call.value("axis")
    if axis is None or not argument[1].is_tensor:
        raise Refusal("TP203", "expand_dims of a scalar", call.node)
    given = axis.items if axis.kind is Kind.TUPLE else (axis,)
    if not all(isinstance(item.known, int) for item in given):
        raise Refusal("TP201", "the axis of expand_dims is not a number in this file", call.node)
    rank = argument[1].rank + len(given)
    places = sorted(item.known + rank if item.known < 0 else item.known for item in given)
    pattern = [position in places for position in range(rank)]
    return interpreter.expand(call.node, argument, pattern)


@operation("broadcast_to")
def broadcast_to(interpreter: Evaluator, call: Call) -> Value:
    argument = call.arguments["input"]
    given = call.value("shape")
    shape = sizes(given, call) if given is not None else tuple(d for _, v in call.rest for d in sizes(v, call))
    if len(shape) == 0 and call.rest:
        shape = sizes(call.rest[0][1], call)
    if not argument[1].is_tensor:
        return tensor(
            call, interpreter, "splat", shape, [Operand(*argument)], strides=(strides.ZERO,) * len(shape), cheap=True
        )
    made = interpreter.elementwise("broadcast", call.node, [argument], cheap=True, shape=shape)
    made.strides = (strides.ZERO,) * (len(shape) - argument[1].rank) + argument[1].strides
    made.pointers = argument[1].pointers
    return made


@operation("broadcast")
def broadcast_pair(interpreter: Evaluator, call: Call) -> Value:
    operands = [*call.arguments.values(), *call.rest]
    made = interpreter.elementwise("broadcast", call.node, operands)
    return results_of(interpreter, call, made, 2)
