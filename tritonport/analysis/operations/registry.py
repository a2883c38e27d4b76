"""Operations by name, calls of them with their arguments bound, and what most operations do with those."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import libcst as cst

from tritonport.analysis.dims import Dim
from tritonport.analysis.evaluator import Evaluator
from tritonport.analysis.values import Kind, Operand, Refusal, Value
from tritonport.rules_data import ApiEntry

Argument = tuple[cst.BaseExpression, Value]


@dataclass(frozen=True, eq=False)
class Call:
    """A call of an operation with its arguments bound to the operation's parameters."""

    node: cst.Call
    entry: ApiEntry
    arguments: dict[str, Argument]
    rest: list[Argument]

    def value(self, name: str) -> Value | None:
        found = self.arguments.get(name)
        return None if found is None or found[1].kind is Kind.NONE else found[1]

    def required(self, name: str) -> Argument:
        """An argument the operation cannot do without; refuses a call that does not spell it (TP105)."""
        if name not in self.arguments:
            raise Refusal("TP105", f"{self.entry.name} is called without {name}", self.node)
        return self.arguments[name]

    def integer(self, name: str, default: int | None = None) -> int | None:
        """A compile-time integer argument; refuses one whose number is not in the source (TP201)."""
        found = self.value(name)
        if found is None:
            return default
        if isinstance(found.known, int):
            return int(found.known)
        raise Refusal("TP201", f"{name}= of {self.entry.name} is not a number in this file", self.node)

    def operands(self, *names: str) -> list[Argument]:
        return [self.arguments[name] for name in names if name in self.arguments and self.value(name) is not None]

    def flag(self, name: str) -> bool:
        """A compile-time flag, False where it is not given; refuses one that is not in the source (TP201)."""
        value = self.value(name)
        if value is None:
            return False
        if not isinstance(value.known, (bool, int)):
            raise Refusal("TP201", f"{name}= of {self.entry.name} is not a constant in this file", self.node)
        return bool(value.known)


Handler = Callable[[Evaluator, Call], Value]
OPERATIONS: dict[str, Handler] = {}


def operation(*names: str) -> Callable[[Handler], Handler]:
    """Register what operations of `triton.language` do, by their short names."""

    def register(handler: Handler) -> Handler:
        for name in names:
            OPERATIONS[name] = handler
        return handler

    return register


def tensor(
    call: Call, interpreter: Evaluator, op: str, shape: tuple[Dim, ...], operands: list[Operand], **more: object
) -> Value:
    return Value(
        Kind.TENSOR,
        shape=shape,
        op=op,
        operands=operands,
        depth=interpreter.depth,
        node=call.node,
        **more,  # type: ignore[arg-type]
    )


def sizes(value: Value | None, call: Call) -> tuple[Dim, ...]:
    """A shape argument as symbolic sizes; refuses what is not a compile-time expression (TP201)."""
    items = () if value is None else (value.items if value.kind is Kind.TUPLE else (value,))
    result = []
    for item in items:
        if item.dim is None:
            raise Refusal(
                "TP201", f"the shape of {call.entry.name} is not a compile-time expression of this file", call.node
            )
        result.append(item.dim)
    return tuple(result)


def items_of(expression: cst.BaseExpression, value: Value) -> list[Argument]:
    """The items of a tuple value with their expressions, where the tuple is spelled in the call."""
    if isinstance(expression, (cst.Tuple, cst.List)) and len(expression.elements) == len(value.items):
        return [(element.value, item) for element, item in zip(expression.elements, value.items, strict=True)]
    return [(expression, item) for item in value.items]


def results_of(interpreter: Evaluator, call: Call, made: Value, count: int) -> Value:
    """A tuple whose items all come from one operation and share its layout."""
    items = tuple(
        Value(
            made.kind,
            shape=made.shape,
            strides=made.strides,
            op="item",
            operands=[Operand(None, made)],
            depth=interpreter.depth,
            node=call.node,
        )
        for _ in range(count)
    )
    return Value(Kind.TUPLE, items=items)
