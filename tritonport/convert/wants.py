"""Layouts as the writer asks for them: one term per frame of the function that is written.

A helper is written once for all the calls that reach it, so whatever is asked of an expression in it is asked once
per call: a `Want` lists the terms, None where a call never reaches the place.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tritonport.analysis.terms import Term, normal, same
from tritonport.analysis.values import Operand, Value
from tritonport.layouts.solver import wanted

Want = tuple[Term | None, ...]


def same_want(left: Want, right: Want) -> bool:
    return all(a is None or b is None or same(a, b) for a, b in zip(left, right, strict=True))


def known(want: Want) -> Want | None:
    """A layout that some call has a use for; None where none does."""
    return want if any(term is not None for term in want) else None


def tensor_layouts(values: Iterable[Value | None]) -> Want:
    """The layouts that expensive tensors have, None for anything else."""
    return tuple(
        value.term if value is not None and value.is_tensor and value.focus is not None else None for value in values
    )


def key(want: Want) -> tuple[object, ...]:
    """Equal for equal layouts."""
    return tuple(None if term is None else normal(term) for term in want)


def result_of(values: Sequence[Value | None], focus: Want) -> Want:
    """The layout of an operation's result: its own where it is expensive, else its focus."""
    return tuple(
        None if value is None else (value.term if value.focus is not None else term)
        for value, term in zip(values, focus, strict=True)
    )


def operand_want(operands: list[Operand | None], focus: Want) -> Want:
    return tuple(
        wanted(operand, term) if operand is not None and operand.value.is_tensor and term is not None else None
        for operand, term in zip(operands, focus, strict=True)
    )
