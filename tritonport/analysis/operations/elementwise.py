"""Operations on each element for itself: casts, hints, choices, inline assembly, random numbers."""

from __future__ import annotations

from tritonport.analysis import dims, strides
from tritonport.analysis.element_types import element_of
from tritonport.analysis.evaluator import Evaluator
from tritonport.analysis.operations.registry import Argument, Call, items_of, operation, results_of
from tritonport.analysis.values import Kind, Refusal, Value, scalar


@operation("cast")
def cast(interpreter: Evaluator, call: Call) -> Value:
    argument = call.arguments["input"]
    target = call.value("dtype")
    pointers = argument[1].pointers
    if (
        target is not None
        and target.kind is Kind.DTYPE
        and isinstance(target.known, str)
        and target.known.startswith("*")
    ):
        pointers = (target.known[1:],)
    if not argument[1].is_tensor:
        return scalar(argument[1].factor, pointers, argument[1].multiples)
    made = interpreter.elementwise("cast", call.node, [argument], cheap=True)
    made.pointers = pointers
    made.element = element_of(target)
    return made


@operation("pointer_type")
def pointer_type(interpreter: Evaluator, call: Call) -> Value:
    element = call.value("element_ty")
    if element is None:
        return Value(Kind.DTYPE)
    text = element.known if isinstance(element.known, str) else "".join(element_of(element)[:1])
    return Value(Kind.DTYPE, known=f"*{text}" if text else None)


@operation("multiple_of", "max_contiguous", "max_constancy")
def hint(interpreter: Evaluator, call: Call) -> Value:
    argument = call.arguments["input"]
    if not argument[1].is_tensor:
        return argument[1]
    made = interpreter.elementwise("hint", call.node, [argument], cheap=True)
    made.pointers = argument[1].pointers
    if call.entry.short == "max_contiguous" and made.rank == 1 and made.strides[0].kind is strides.Kind.UNKNOWN:
        made.strides = (strides.UNIT,)
    return made


@operation("maximum", "minimum", "where", "cdiv", "abs", "add", "sub", "mul")
def cheap_elementwise(interpreter: Evaluator, call: Call) -> Value:
    operands = [
        argument
        for argument in call.arguments.values()
        if argument[1].kind in (Kind.TENSOR, Kind.SCALAR, Kind.CONSTEXPR)
    ]
    short = call.entry.short
    names = {"where": ("condition", "x", "y")}.get(short)
    if names is not None:
        operands = call.operands(*names)
    else:
        operands = [operand for operand in operands if not isinstance(operand[1].known, (str, bool))]
    if not any(value.is_tensor for _, value in operands):
        if short == "cdiv" and all(value.kind is Kind.CONSTEXPR for _, value in operands):
            return _constexpr_cdiv(call, operands)
        pointers = tuple(dict.fromkeys(p for _, value in operands for p in value.pointers)) if short == "where" else ()
        return scalar(strides.STRIDED, pointers)
    made = interpreter.elementwise(short, call.node, operands, cheap=True)
    if short == "where":
        chosen = [value for _, value in operands[1:] if value.is_tensor]
        rows = {value.strides for value in chosen}
        if len(rows) == 1 and chosen[0].rank == made.rank:
            made.strides = chosen[0].strides
        made.pointers = tuple(dict.fromkeys(p for _, value in operands[1:] for p in value.pointers))
    return made


def _constexpr_cdiv(call: Call, operands: list[Argument]) -> Value:
    parts = [value.dim for _, value in operands if value.dim is not None]
    if len(parts) != 2:
        return Value(Kind.CONSTEXPR)
    size, part = (dims.grouped(dim.text) for dim in parts)
    text = f"({size} + {part} - 1) // {part}"
    return Value(Kind.CONSTEXPR, dim=dims.opaque(f"cdiv({dims.canonical(parts[0])},{dims.canonical(parts[1])})", text))


@operation("inline_asm_elementwise")
def inline_asm(interpreter: Evaluator, call: Call) -> Value:
    value = call.value("args")
    if value is None or value.kind is not Kind.TUPLE:
        raise Refusal("TP105", "the arguments of inline_asm_elementwise are not a list in this file", call.node)
    return with_items(interpreter, call, "args", "inline_asm", _result_count(call))


def _result_count(call: Call) -> int | None:
    result = call.value("dtype")
    return len(result.items) if result is not None and result.kind is Kind.TUPLE else None


def with_items(interpreter: Evaluator, call: Call, name: str, op: str, results: int | None) -> Value:
    expression, value = call.arguments[name]
    arguments = items_of(expression, value)
    if not any(item.is_tensor for _, item in arguments):
        return scalar() if results is None else Value(Kind.TUPLE, items=tuple(scalar() for _ in range(results)))
    made = interpreter.elementwise(op, call.node, arguments)
    if results is None:
        return made
    return results_of(interpreter, call, made, results)


@operation("map_elementwise")
def map_elementwise(interpreter: Evaluator, call: Call) -> Value:
    operands = [argument for argument in call.rest if argument[1].kind in (Kind.TENSOR, Kind.SCALAR)]
    # The number of results is the callee's; one result is the common case and the only one read here.
    return interpreter.map(call.node, "map_elementwise", operands)


@operation("rand4x", "randint4x", "randn4x", "philox")
def four_random(interpreter: Evaluator, call: Call) -> Value:
    operands = [*call.arguments.values(), *call.rest]
    made = interpreter.map(call.node, "random", operands)
    if not made.is_tensor:
        return Value(Kind.TUPLE, items=(scalar(),) * 4)
    return results_of(interpreter, call, made, 4)
