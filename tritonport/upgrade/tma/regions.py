"""Accesses of one tensor that have no row in common: what a kernel reads ends where what it writes begins.

`u` is read where `rows < T - C`, and written from row `T - C` on. Both accesses lie in the same columns of one matrix,
so that elements of different rows are different ones, where a row has room for the columns.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from tritonport.analysis import dims
from tritonport.analysis.access import Access, Axis, Condition, Form
from tritonport.analysis.access.forms import ALWAYS, plus, show, times
from tritonport.analysis.access.indexed import quotient
from tritonport.analysis.dims import Dim
from tritonport.source.kernel import Kernel
from tritonport.source.walk import assigned_names, walk
from tritonport.upgrade.tma.signs import never_negative


def no_row_in_common(one: Access, other: Access, kernel: Kernel) -> tuple[str, ...] | None:
    """What a launch is asked for two accesses of one program to have no element in common; None where it is not
    shown."""
    found = [*_asked(one, other, kernel), *_asked(other, one, kernel)]
    return min(found, key=len, default=None)


def _asked(below: Access, above: Access, kernel: Kernel) -> Iterator[tuple[str, ...]]:
    """What is asked for all rows of an access to be above a bound that the mask of another one has for its rows."""
    lower, upper = below.address, above.address
    if not isinstance(lower, Form) or not isinstance(upper, Form) or lower.head != upper.head or lower.head is None:
        return
    if lower.rank != 2 or upper.rank != 2:
        return
    for condition in below.mask.conditions if below.mask is not None else ():
        row = _row_of(condition, lower)
        if row is None:
            continue
        sides = lower.axes[row], upper.axes[row]
        others = lower.axes[1 - row], upper.axes[1 - row]
        if not all(map(_is_plain, (*sides, *others))) or sides[0].stride != sides[1].stride:  # type: ignore[union-attr]
            continue
        stride = sides[0].stride  # type: ignore[union-attr]
        room = _room(stride, [one for one in others if one is not None], kernel)
        # Where the rows of the first access begin, but for the row: the same place in every iteration.
        rest = plus(lower.offset, times(condition.form.offset, stride), -1)
        first = quotient(plus(upper.offset, rest, -1), stride)
        end = plus(condition.bound.offset, dims.ONE) if condition.operator == "<=" else condition.bound.offset
        if room is None or first is None or not all(_is_fixed(one, below, kernel) for one in (rest, end)):
            continue
        relied = never_negative(plus(first, end, -1), above, kernel)
        if relied is not None:
            yield (*room, *relied)


def _row_of(condition: Condition, form: Form) -> int | None:
    """The dimension of a matrix whose coordinate a condition bounds from above."""
    held = [place for place, axis in enumerate(condition.form.axes) if axis is not None]
    if len(held) != 1 or condition.operator not in ("<", "<=") or condition.when != ALWAYS:
        return None
    axis, place = condition.form.axes[held[0]], held[0] + form.rank - condition.form.rank
    own = form.axes[place]
    fits = _is_plain(axis) and _is_plain(own) and axis.stride.value == 1 and axis.size == own.size  # type: ignore[union-attr]
    return place if fits and condition.bound.is_scalar else None


def _is_plain(axis: Axis | None) -> bool:
    return axis is not None and not axis.bent and not axis.parts and len(axis.stride.terms) == 1


def _room(stride: Dim, columns: list[Axis], kernel: Kernel) -> tuple[str, ...] | None:
    """What is asked for a row to have room for blocks of columns that begin at one place."""
    known = {one.name for one in kernel.parameters}
    asked: list[str] = []
    for column in columns:
        if column.stride.value != 1:
            return None
        size = dims.symbol(column.size) if column.size.isidentifier() else None
        if column.size.isdigit():
            size = dims.number(int(column.size))
        if size is None or not (stride.atoms() | size.atoms()) <= known:
            return None
        if quotient(stride, size) is None or stride.terms[0][1] < 1:
            asked.append(f"{show(stride)} >= {show(size)}")
    return tuple(dict.fromkeys(asked))


def _is_fixed(dim: Dim, access: Access, kernel: Kernel) -> bool:
    """Whether a number is the same wherever a program asks for it: of nothing that a loop changes, or memory holds."""
    loops = [node for node in walk(kernel.node.body) if isinstance(node, (cst.For, cst.While))]
    changing = {name for loop in loops for name in assigned_names(cst.IndentedBlock([loop]))}
    for text in (text for atom in dim.atoms() for text in (atom, access.origins.get(atom, ""))):
        if set(re.findall(r"\w+", text)) & changing or re.search(r" (read|after) |iteration of|movement of|load", text):
            return False
    return True


__all__ = ["no_row_in_common"]
