"""Dots behind what does nothing to them: casts to the type that they have, and sums with zeros.

Triton's front end leaves such a cast out (`cast` of its semantic.py), and its compiler starts the dot from what it is
added to, zeros too (`CombineDotAddFPattern` of its Combine.cpp).
"""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from tritonport.analysis.frame import Frame
from tritonport.analysis.values import Value


def uncast(value: Value) -> Value:
    """The value that casts leave as it is, as far as the source says."""
    while _does_nothing(value):
        value = value.operands[0].value
    return value


def without_casts(node: cst.BaseExpression, frames: Sequence[Frame]) -> cst.BaseExpression:
    """An expression without the casts around it that do nothing in any frame."""
    while True:
        values = [frame.values[node] for frame in frames if node in frame.values]
        inner = values[0].operands[0].node if values and all(map(_does_nothing, values)) else None
        if inner is None:
            return node
        node = inner


def dot_of(node: cst.BaseExpression, frames: Sequence[Frame]) -> cst.Call | None:
    """The call of a dot that an expression is; None for anything else."""
    call = without_casts(node, frames)
    if not isinstance(call, cst.Call):
        return None
    # A helper that is called is no operation.
    known = {frame.operations[call] for frame in frames if call in frame.operations}
    return call if known == {"dot"} else None


def dot_onto_zeros(left: cst.BaseExpression, right: cst.BaseExpression, frames: Sequence[Frame]) -> cst.Call | None:
    """The dot that a sum is, zeros of its type and shape being what it is added to."""
    for zeros, node in ((left, right), (right, left)):
        call = dot_of(node, frames)
        if call is not None and all(
            is_zeros(frame.values[zeros]) and _alike(frame.values[zeros], frame.values[call])
            for frame in frames
            if zeros in frame.values and call in frame.values
        ):
            return call if any(zeros in frame.values for frame in frames) else None
    return None


def is_zeros(value: Value) -> bool:
    """Whether a tile is known to be one of zeros."""
    filled = [operand.value.known for operand in value.operands]
    return value.op == "zeros_like" or (value.op == "full" and all(found == 0 for found in filled))


def _alike(zeros: Value, dot: Value) -> bool:
    """Whether a sum with these zeros has the type and shape of a dot."""
    return (
        zeros.is_tensor
        and zeros.rank == dot.rank
        and zeros.element == dot.element
        and [size.is_one for size in zeros.shape] == [size.is_one for size in dot.shape]
    )


def _does_nothing(value: Value) -> bool:
    """Whether a cast is known to be one to the type that its operand has."""
    if value.op != "cast" or not value.is_tensor or not value.element or not value.operands[0].value.is_tensor:
        return False
    return value.element == value.operands[0].value.element and value.element[0].startswith("gl.")
