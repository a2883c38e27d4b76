"""What names are behind branches and in loops, and what a test says of numbers."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeGuard

from tritonport.analysis import dims
from tritonport.analysis.access import forms
from tritonport.analysis.access.forms import ALWAYS, Condition, Form, Mask, Opaque, Several, Value
from tritonport.analysis.access.indexed import quotient
from tritonport.analysis.access.loops import Loop
from tritonport.analysis.dims import Dim


def is_number(value: Value) -> TypeGuard[Form]:
    """Whether a value is a number."""
    return isinstance(value, Form) and value.is_scalar


def facts_of(test: Value) -> list[Condition]:
    """What is known of numbers where a test holds."""
    conditions = test.conditions if isinstance(test, Mask) else ()
    return [one for one in conditions if one.form.is_scalar and one.bound.is_scalar and one.when == ALWAYS]


def opposite_of(test: Value) -> list[Condition]:
    """What is known of numbers where a test does not hold: the opposite of one comparison."""
    found = facts_of(test)
    if not isinstance(test, Mask) or len(test.conditions) != 1 or test.opaque or test.flags or not found:
        return []
    other = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}
    return [replace(one, operator=other[one.operator]) for one in found]


def either_value(name: str, atom: str, one: Value, other: Value, loose: bool) -> Value:
    """What a name is after an `if`: the same coordinates with another start, or nothing affine.

    loose: where it is a number in one branch, an argument in the other one is no pointer.
    """
    if loose and is_number(one) and is_number(other) and None in (one.head, other.head):
        return forms.scalar(atom)
    if isinstance(one, Form) and isinstance(other, Form) and one.axes == other.axes and one.head == other.head:
        base = dims.symbol(one.head) if one.head is not None else forms.ZERO
        return replace(one, offset=forms.plus(base, dims.opaque(atom, "")))
    for value in (one, other):
        if isinstance(value, Opaque):
            return forms.unnumbered(value)
    if isinstance(one, Mask) and isinstance(other, Mask):
        return Mask(opaque=(atom,))
    return Opaque(f"`{name}` differs between the branches of an if")


def marked(name: str, value: Value) -> Value:
    """A carried name as it is at the head of an iteration, with its unknown movement as an atom."""
    if isinstance(value, Form):
        return replace(value, offset=forms.plus(value.offset, dims.opaque(f"movement of {name}", "")))
    if isinstance(value, Several):
        return Opaque(f"`{name}` is carried through the loop")
    return forms.unnumbered(value) if isinstance(value, Opaque) else value


def at_iteration(before: Value, change: Dim | None, iteration: Dim) -> Value:
    """A carried name at the head of an iteration, where each adds the same; its value before the loop, where none
    does."""
    if change == forms.ZERO and isinstance(before, Mask):
        return before
    if change is not None and isinstance(before, Form):
        return replace(before, offset=forms.plus(before.offset, forms.times(change, iteration)))
    if isinstance(before, Opaque):
        return forms.unnumbered(before)
    return Opaque("is carried through the loop by more than the addition of a number")


def trips_of(loop: Loop) -> Dim | None:
    """How many iterations a loop has, if that is none below zero; None where it is not known."""
    if loop.kind not in ("range", "static_range") or None in (loop.first, loop.end, loop.stride):
        return None
    assert loop.first is not None and loop.end is not None and loop.stride is not None
    found = quotient(forms.plus(loop.end, loop.first, -1), loop.stride)
    return forms.ZERO if found is not None and found.value is not None and found.value < 0 else found


__all__ = [
    "at_iteration",
    "either_value",
    "facts_of",
    "is_number",
    "marked",
    "opposite_of",
    "trips_of",
]
