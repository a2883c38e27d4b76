"""Accesses of one tensor that have no row in common: what a kernel reads ends where what it writes begins.

`u` is read where `rows < T - C`, and written from row `T - C` on. Both accesses lie in the same columns of one matrix,
so that elements of different rows are different ones, where a row has room for the columns.

Two loops that go over the blocks of a row, the one up to where the other begins, store to different columns.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import libcst as cst

from tritonport.analysis import dims
from tritonport.analysis.access import Access, Axis, Condition, Form, Loop
from tritonport.analysis.access.forms import ALWAYS, ZERO, plus, show, times
from tritonport.analysis.access.indexed import goes_down, quotient, term
from tritonport.analysis.dims import Dim
from tritonport.source.kernel import Kernel
from tritonport.source.walk import assigned_names, walk
from tritonport.upgrade.tma.signs import in_whole_steps, never_negative


def no_row_in_common(one: Access, other: Access, kernel: Kernel) -> tuple[str, ...] | None:
    """What a launch is asked for two accesses of one program to have no element in common; None where it is not
    shown."""
    found = [*_asked(one, other, kernel), *_asked(other, one, kernel)]
    found += [*_asked_of_loops(one, other, kernel), *_asked_of_loops(other, one, kernel)]
    return min(found, key=len, default=None)


def offset_as_in(loops: Sequence[Loop], access: Access) -> Dim:
    """Where an access begins, with the indices of other loops for those of its own that stand as deep."""
    assert isinstance(access.address, Form)
    found = access.address.offset
    for own, other in zip(access.loops, loops, strict=False):
        if own.node is other.node or "" in (own.target, other.target):
            continue
        there = re.compile(rf"\b{re.escape(own.target)}\b")
        named = ZERO
        for key, value in found.terms:
            named = plus(named, term(tuple(sorted(there.sub(other.target, atom) for atom in key)), value))
        found = named
    return found


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


def _asked_of_loops(below: Access, above: Access, kernel: Kernel) -> Iterator[tuple[str, ...]]:
    """What is asked for the blocks that a loop stores to end where those begin that another loop does.

    Both loops give the same coordinates to their stores, each with its own index; no loop stands around them, so that
    each is entered once.
    """
    lower, upper = below.address, above.address
    if (below.kind, above.kind) != ("store", "store") or not isinstance(lower, Form) or not isinstance(upper, Form):
        return
    if len(below.loops) != 1 or len(above.loops) != 1 or below.loops[0].node is above.loops[0].node:
        return
    if (lower.head, lower.axes, lower.rank) != (upper.head, upper.axes, 2):
        return
    first, second = below.loops[0], above.loops[0]
    alike = lower.offset == offset_as_in(below.loops, above)
    place = _moved_by(first.target, lower) if alike and second.target else None
    if place is None or not all(map(_is_plain, lower.axes)):
        return
    size, stride = lower.axes[place].size, lower.axes[place].stride  # type: ignore[union-attr]
    other = lower.axes[1 - place].stride  # type: ignore[union-attr]
    block = dims.number(int(size)) if size.isdecimal() else dims.symbol(size)
    index = dims.symbol(first.target)
    indices = (below, index), (above, dims.symbol(second.target))
    room = _room_in_rows(other, stride, [_end_of(own, place, one) for one, own in indices], kernel)
    signs = [never_negative(own, one, kernel, {size}) for one, own in indices]
    if room is None or None in signs or not (size.isidentifier() or size.isdecimal()):
        return
    rest = plus(lower.offset, times(index, stride), -1)
    if not all(_is_fixed(one, below, kernel) for one in (rest, other)):
        return
    room += tuple(asked for relied in signs for asked in relied or ())
    for highest, asked in _highest(first, below, kernel):
        for lowest, more in _lowest(second, above, kernel):
            if not all(_is_fixed(one, below, kernel) for one in (highest, lowest)):
                continue
            relied = never_negative(plus(plus(lowest, highest, -1), block, -1), above, kernel, {size})
            if relied is not None:
                yield tuple(dict.fromkeys((*room, *asked, *more, *relied)))


def _moved_by(index: str, form: Form) -> int | None:
    """The dimension along which the index of a loop moves a tile, by ones, where it moves it along no other."""
    parts = [(key, value) for key, value in form.offset.terms if index in key]
    atoms = {atom for key, _ in form.offset.terms for atom in key} - {index}
    if not index or len(parts) != 1 or any(re.search(rf"\b{re.escape(index)}\b", atom) for atom in atoms):
        return None
    moves = [place for place, axis in enumerate(form.axes) if axis is not None and _is_times(parts[0], index, axis)]
    return moves[0] if len(moves) == 1 else None


def _is_times(part: tuple[tuple[str, ...], int], index: str, axis: Axis) -> bool:
    """Whether a term is an index times the stride of an axis."""
    return times(dims.symbol(index), axis.stride).terms == (part,)


def _end_of(start: Dim, place: int, access: Access) -> Dim | None:
    """What the mask of an access keeps a coordinate below, by where that begins; None where that is nothing."""
    assert isinstance(access.address, Form)
    conditions = access.mask.conditions if access.mask is not None else ()
    found = [one for one in conditions if _row_of(one, access.address) == place and one.operator == "<"]
    ends = [one.bound.offset for one in found if one.form.offset == start]
    return ends[0] if len(ends) == 1 else None


def _room_in_rows(rows: Dim, columns: Dim, ends: list[Dim | None], kernel: Kernel) -> tuple[str, ...] | None:
    """What is asked for rows to have room for the columns, which end somewhere."""
    known = {one.name for one in kernel.parameters}
    asked: list[str] = []
    for end in ends:
        if end is None or columns.value != 1:
            return None
        if rows != end:
            if not (rows.atoms() | end.atoms()) <= known:
                return None
            asked.append(f"{show(rows)} >= {show(end)}")
    return tuple(dict.fromkeys(asked))


def _highest(loop: Loop, access: Access, kernel: Kernel) -> Iterator[tuple[Dim, tuple[str, ...]]]:
    """What no index of a loop is above, and what is asked for it."""
    for down, asked in _ways(loop, access, kernel):
        assert loop.first is not None and loop.end is not None
        yield (loop.first, asked) if down else (plus(loop.end, dims.ONE, -1), asked)


def _lowest(loop: Loop, access: Access, kernel: Kernel) -> Iterator[tuple[Dim, tuple[str, ...]]]:
    """What no index of a loop is below, and what is asked for it: of one that goes down a step before its end, where
    its steps lead there."""
    for down, asked in _ways(loop, access, kernel):
        assert loop.first is not None and loop.end is not None and loop.stride is not None
        if not down:
            yield loop.first, asked
            continue
        yield plus(loop.end, dims.ONE), asked
        step = times(loop.stride, dims.number(-1))
        whole = in_whole_steps(plus(loop.first, loop.end, -1), step, access, kernel)
        if whole is not None:
            yield plus(loop.end, step), (*asked, *whole)


def _ways(loop: Loop, access: Access, kernel: Kernel) -> Iterator[tuple[bool, tuple[str, ...]]]:
    """Whether a loop goes down, and what is asked for it to go that way; nothing where it is not known."""
    if loop.kind not in ("range", "static_range") or loop.first is None or loop.end is None or loop.stride is None:
        return
    down = goes_down(loop)
    asked = never_negative(times(loop.stride, dims.number(-1)) if down else loop.stride, access, kernel)
    if asked is not None:
        yield down, asked


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


__all__ = ["no_row_in_common", "offset_as_in"]
