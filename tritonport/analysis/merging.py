"""What a name can be where two paths of a kernel meet."""

from __future__ import annotations

import functools
from collections.abc import Iterable

from tritonport.analysis import strides
from tritonport.analysis.shapes import broadcast, padding
from tritonport.analysis.values import Kind, Operand, Value, opaque, scalar


def merge_values(values: list[Value], op: str, depth: int) -> Value:
    """What a name can be after two paths meet."""
    tensors = [value for value in values if value.is_tensor]
    if tensors:
        ranks = {value.rank for value in tensors}
        if len(ranks) > 1:
            return Value(Kind.OBJECT, op="mixed")
        return Value(
            Kind.TENSOR,
            shape=broadcast([value.shape for value in tensors]),
            strides=_merge_strides(tensors),
            pointers=tuple(dict.fromkeys(pointer for value in tensors for pointer in value.pointers)),
            element=tensors[0].element if len({value.element for value in tensors}) == 1 else (),
            multiples=frozenset(name for value in tensors for name in value.multiples),
            op=op,
            operands=[Operand(None, value) for value in tensors],
            cheap=True,
            partial=len(tensors) < len(values),
            depth=depth,
        )
    kinds = {value.kind for value in values}
    if kinds == {Kind.TUPLE} and len({len(value.items) for value in values}) == 1:
        columns = zip(*(value.items for value in values), strict=True)
        return Value(Kind.TUPLE, items=tuple(merge_values(list(column), op, depth) for column in columns))
    if kinds <= {Kind.TUPLE, Kind.SCALAR} and Kind.TUPLE in kinds and all(map(_only_numbers, values)):
        # How many items there are is known when the kernel is launched, as with a tuple argument.
        return scalar()
    if len({id(value) for value in values}) == 1:
        return values[0]
    if kinds <= {Kind.SCALAR, Kind.CONSTEXPR, Kind.NONE} and Kind.SCALAR in kinds:
        factors = {value.factor for value in values if value.kind is Kind.SCALAR}
        pointers = tuple(dict.fromkeys(pointer for value in values for pointer in value.pointers))
        multiples = frozenset(name for value in values for name in value.multiples)
        return scalar(factors.pop() if len(factors) == 1 else strides.STRIDED, pointers, multiples)
    if kinds == {Kind.CONSTEXPR}:
        first = values[0]
        if all(value.known == first.known and value.dim == first.dim for value in values):
            return first
        return Value(Kind.CONSTEXPR)
    return values[0] if len(kinds) == 1 else opaque()


def tie(head: Value, last: Value) -> None:
    if head.kind is Kind.TUPLE and last.kind is Kind.TUPLE:
        for first, second in zip(head.items, last.items, strict=False):
            tie(first, second)
    elif head.is_tensor and last.is_tensor and head is not last:
        head.operands.append(Operand(None, last, padding(last.rank, head.rank)))


def adopt(value: Value, model: Value) -> None:
    """Give the head of a loop the kind that the end of its body showed."""
    value.kind, value.shape, value.strides = model.kind, model.shape, model.strides
    value.pointers, value.factor, value.dim, value.known = model.pointers, model.factor, model.dim, model.known
    value.element, value.multiples, value.partial = model.element, model.multiples, model.partial
    value.op = value.op or model.op
    if model.is_tensor:
        value.op, value.cheap = "phi", True
    if model.kind is Kind.TUPLE and not value.items:
        value.items = model.items
    for own, other in zip(value.items, model.items, strict=False):
        adopt(own, other)


def alike(left: Value, right: Value) -> bool:
    """Whether nothing that is known of two values differs."""
    if left.kind is not right.kind or left.rank != right.rank:
        return False
    if left.kind is Kind.TUPLE:
        return len(left.items) == len(right.items) and all(
            alike(a, b) for a, b in zip(left.items, right.items, strict=True)
        )
    if left.is_tensor:
        same_memory = left.strides == right.strides and left.pointers == right.pointers
        return left.shape == right.shape and same_memory and left.multiples == right.multiples
    same_number = left.factor == right.factor and left.known == right.known and left.multiples == right.multiples
    return left.pointers == right.pointers and same_number


def _only_numbers(value: Value) -> bool:
    """Whether a value is a scalar or a tuple of nothing but scalars and compile-time values."""
    numbers = (Kind.SCALAR, Kind.CONSTEXPR, Kind.NONE)
    return value.kind in numbers or (value.kind is Kind.TUPLE and all(map(_only_numbers, value.items)))


def _merge_strides(tensors: Iterable[Value]) -> tuple[strides.Stride, ...]:
    rows = [value.strides or (strides.UNKNOWN,) * value.rank for value in tensors]
    return tuple(functools.reduce(strides.either, column) for column in zip(*rows, strict=True))
