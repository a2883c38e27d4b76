"""Calls of Python's built-in functions, and of functions that run when the kernel is compiled."""

from __future__ import annotations

from collections.abc import Callable

import libcst as cst

from tritonport.analysis import dims
from tritonport.analysis.evaluator import Evaluator
from tritonport.analysis.values import Kind, Refusal, Value, constant, none, scalar

_FOLDED: dict[str, Callable[..., int | float]] = {"min": min, "max": max, "abs": abs, "int": int, "float": float}


def constexpr_call(interpreter: Evaluator, name: str, node: cst.Call) -> Value:
    """`triton.cdiv(n, 16)`, `tl.constexpr(x)`, or a `@triton.constexpr_function`."""
    values = [interpreter.evaluate(argument.value) for argument in node.args]
    if name.endswith(".constexpr") and len(values) == 1:
        return values[0]
    if any(value.kind is not Kind.CONSTEXPR for value in values):
        return scalar()
    text = f"{interpreter.code(node.func)}({', '.join(v.dim.text if v.dim is not None else '?' for v in values)})"
    if any(value.dim is None for value in values):
        return Value(Kind.CONSTEXPR)
    key = f"{name}({','.join(dims.canonical(value.dim) for value in values if value.dim is not None)})"
    return Value(Kind.CONSTEXPR, dim=dims.opaque(key, text))


def builtin_call(interpreter: Evaluator, name: str, node: cst.Call) -> Value:
    """`min(a, b)`: folded where all is known, an elementwise operation on tensors; refuses functions that are not read
    (TP105)."""
    operands = [(argument.value, interpreter.evaluate(argument.value)) for argument in node.args]
    values = [value for _, value in operands]
    if name == "float" and len(values) == 1 and isinstance(values[0].known, (str, int, float)):
        try:
            return constant(float(values[0].known))
        except ValueError:
            return Value(Kind.CONSTEXPR)
    if name == "len" and values:
        counted = _length(interpreter, node, values[0])
        if counted is not None:
            return counted
    if name in ("isinstance", "type", "str", "bool"):
        return Value(Kind.CONSTEXPR)
    if name == "print":
        return none()
    if name not in _FOLDED:
        raise Refusal("TP105", f"the built-in function {name} in a kernel", node)
    for value in values:
        interpreter.not_a_pointer(value)
    if any(value.is_tensor for value in values):
        return interpreter.elementwise(name, node, operands, cheap=True)
    if values and all(value.kind is Kind.CONSTEXPR for value in values):
        return _folded(name, values)
    return values[0] if name == "int" and len(values) == 1 else scalar()


def _length(interpreter: Evaluator, node: cst.Call, value: Value) -> Value | None:
    if value.kind is Kind.TUPLE:
        return constant(len(value.items), dims.number(len(value.items)))
    if value.is_tensor:
        return Value(Kind.CONSTEXPR, dim=value.shape[0])
    if value.kind not in (Kind.SCALAR, Kind.CONSTEXPR):
        return None
    # A tuple argument of the kernel.
    argument = node.args[0].value
    count = interpreter.frame.lengths.get(argument.value) if isinstance(argument, cst.Name) else None
    return Value(Kind.CONSTEXPR) if count is None else constant(count, dims.number(count))


def _folded(name: str, values: list[Value]) -> Value:
    if all(isinstance(value.known, (int, float)) for value in values):
        known = _FOLDED[name](*(value.known for value in values))
        return constant(known, dims.number(known) if isinstance(known, int) else None)
    parts = [value.dim for value in values if value.dim is not None]
    if len(parts) < len(values):
        return Value(Kind.CONSTEXPR)
    key = f"{name}({','.join(map(dims.canonical, parts))})"
    return Value(Kind.CONSTEXPR, dim=dims.opaque(key, f"{name}({', '.join(part.text for part in parts)})"))
