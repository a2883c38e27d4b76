"""Operations that give a scalar, or are called for their effect."""

from __future__ import annotations

from tritonport.analysis.evaluator import Evaluator
from tritonport.analysis.operations.registry import Call, operation
from tritonport.analysis.values import Kind, Refusal, Value, none, opaque, scalar


@operation("program_id", "num_programs", "to_tensor", "swizzle2d")
def scalar_call(interpreter: Evaluator, call: Call) -> Value:
    if call.entry.short == "swizzle2d":
        return Value(Kind.TUPLE, items=(scalar(), scalar()))
    return scalar()


@operation("static_assert", "static_print", "device_print", "device_assert", "assume", "debug_barrier")
def effect(interpreter: Evaluator, call: Call) -> Value:
    return none()


@operation("static_range", "range")
def iterator(interpreter: Evaluator, call: Call) -> Value:
    raise Refusal("TP105", f"{call.entry.name} outside of a for statement", call.node)


@operation("condition")
def condition(interpreter: Evaluator, call: Call) -> Value:
    return scalar()


@operation("PropagateNan", "tensor", "dtype", "tuple", "block_type", "const")
def constructed(interpreter: Evaluator, call: Call) -> Value:
    return opaque()
