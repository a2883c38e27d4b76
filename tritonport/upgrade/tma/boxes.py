"""An access as a box of a tensor: extents, strides and block sizes that the launch knows, coordinates of the kernel.

The address of a tile is base + sum(coordinate * stride). Every summand becomes a dimension of a tensor descriptor: the
dimensions of the tile, with the extents that the mask gives them, and outside of these one for each other stride that
a coordinate is multiplied by (a head, a batch), where the box is one wide. A dimension without a bound gets the
largest extent there is: the copy then reads what the pointers read.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from tritonport.analysis import dims
from tritonport.analysis.access import Access, Axis, Condition, Form, Mask
from tritonport.analysis.access.expressions import NARROW, WIDE
from tritonport.analysis.access.forms import ALWAYS, ZERO, plus, show, times
from tritonport.analysis.access.loops import visible
from tritonport.analysis.dims import Dim, Monomial
from tritonport.source.kernel import Kernel
from tritonport.upgrade.legality import MAX_TMA_RANK, NO_DESCRIPTOR, Reason
from tritonport.upgrade.tma.assume import reached
from tritonport.upgrade.tma.sides import (
    Box,
    Extent,
    Refusal,
    Side,
    bounded_text,
    counted_along,
    holds_anyway,
    indexed,
    is_below_something,
    joined,
    moved_inside,
    with_sums,
)
from tritonport.upgrade.tma.signs import in_whole_steps, never_negative
from tritonport.upgrade.tma.terms import HostNames, KernelNames, Spelled, goes_down, quotient, term

_MARKS = re.compile(rf"(?:{WIDE}|{NARROW})(?: in \w+)?")
"""What the names of numbers out of memory have behind what the kernel calls them."""


def box_of(access: Access, kernel: Kernel, host: HostNames, like: Box | None = None) -> Box | Reason:
    """The box of an affine access, or the condition that fails.

    `like`: the box of the same tile with more bounds, which say what its coordinates are.
    """
    problem = ""
    # In a loop that goes down a tile may move on, with the iterations, or back, with the index.
    for down in (False, True) if any(goes_down(loop) for loop in access.loops) else (False,):
        try:
            return _Builder(access, kernel, host, like, down).build()
        except Refusal as error:
            problem = str(error)
    return Reason(NO_DESCRIPTOR, problem)


class _Builder:
    def __init__(self, access: Access, kernel: Kernel, host: HostNames, like: Box | None, down: bool) -> None:
        assert isinstance(access.address, Form) and access.base is not None
        self.access, self.kernel, self.host = access, kernel, host
        self.form = with_sums(indexed(access.address, access.loops, down))
        self.base = access.base
        mask = access.mask or Mask()
        conditions = (
            replace(one, form=indexed(one.form, access.loops, down), bound=indexed(one.bound, access.loops, down))
            for one in mask.conditions
            if not holds_anyway(one)
        )
        self.asked: list[str] = []
        self.mask = replace(mask, conditions=tuple(one for one in conditions if not self._holds_in_loop(one)))
        self.from_below: set[int] = set()
        self.known = {} if like is None else {side.axis: side.coordinate for side in like.inner}

    def build(self) -> Box:
        self._check()
        axes = [axis for axis in self.form.axes if axis is not None]
        rest = plus(self.form.offset, dims.symbol(self.base), -1)
        sides: list[Side | None] = [None] * len(axes)
        for place, axis in enumerate(axes):
            bounded = self._bounded(place, axis, rest)
            if bounded is not None:
                sides[place] = bounded
                if not axis.bent:
                    rest = plus(rest, times(bounded.coordinate, axis.stride), -1)
        # The widest stride first: a term that several strides divide belongs to the one closest to it.
        for place in sorted(range(len(axes)), key=lambda one: -len(axes[one].stride.terms[0][0])):
            if sides[place] is None:
                coordinate, rest = self._taken(place, axes[place], rest)
                sides[place] = Side(place, axes[place].size, axes[place].stride, (), coordinate)
        found = [side for side in sides if side is not None]
        outer = self._outer(rest, MAX_TMA_RANK - len(found))
        while len(found) + len(outer) > MAX_TMA_RANK and (moved := moved_inside(found, outer)):
            found, outer = moved
        if len(found) + len(outer) > MAX_TMA_RANK:
            raise Refusal(f"its address has {len(found) + len(outer)} strides, and a descriptor {MAX_TMA_RANK}")
        positive = positive_of(found, outer)
        checked = [name for side in (*outer, *found) for name in self._signed(side, positive) if name not in positive]
        checked += [*self.asked, *(name for name in self._counted(positive) if name not in positive)]
        bent = tuple(place for place, axis in enumerate(axes) if axis.bent)
        return Box(self.base, (*outer, *found), self._unit(axes), tuple(dict.fromkeys(checked)), bent)

    def _check(self) -> None:
        form = self.form
        if form.rank < 2:
            raise Refusal("it is a vector, and only tiles of two dimensions and more are copied")
        for text in self.mask.opaque:
            raise Refusal(f"the mask `{text}` is no bound of a coordinate")
        for text in self.mask.flags:
            raise Refusal(f"the mask `{text}` switches the whole tile off")
        for axis in form.axes:
            assert axis is not None
            known, other = self.host.split(axis.stride)
            if other.terms:
                raise Refusal(f"the stride {show(axis.stride)} is not known to the launch")
            if len(known.terms) != 1:
                raise Refusal(f"the stride {show(axis.stride)} is a sum")
        for condition in self.mask.conditions:
            if self._place(condition) is None:
                raise Refusal(f"the mask bounds {bounded_text(condition.form)}, which is no coordinate of the tile")

    def _holds_in_loop(self, condition: Condition) -> bool:
        """Whether a loop over whole blocks keeps a coordinate below a bound: `k + i < end` in `range(start, end, B)`
        where B divides the way to the end, which the launch is asked; or `row - W + k + i < row`, with W for the end.
        A bound that it knows is one of the tensor."""
        held = [axis for axis in condition.form.axes if axis is not None]
        if condition.operator not in ("<", "<=") or len(held) != 1 or held[0].bent or held[0].stride.value != 1:
            return False
        left = plus(condition.bound.offset, condition.form.offset, -1)
        left = plus(left, dims.ONE) if condition.operator == "<=" else left
        beyond = self.host.split(condition.bound.offset)[1]
        unknown = bool(beyond.terms) and not any(loop.target in beyond.atoms() for loop in self.access.loops)
        for loop in visible(self.access.loops):
            step = loop.stride
            if loop.kind not in ("range", "static_range") or loop.first is None or step is None or goes_down(loop):
                continue
            for end in loop.ends if show(step) == held[0].size else ():
                known = not unknown and not self.host.split(end)[1].terms
                if left == plus(end, dims.symbol(loop.target), -1) and not known:
                    asked = in_whole_steps(plus(end, loop.first, -1), step, self.access, self.kernel)
                    self.asked += asked or ()
                    return asked is not None
        return False

    # -- sides

    def _place(self, condition: Condition) -> int | None:
        held = [index for index, axis in enumerate(condition.form.axes) if axis is not None]
        if len(held) != 1:
            return None
        axis = condition.form.axes[held[0]]
        place = held[0] + self.form.rank - condition.form.rank
        own = self.form.axes[place]
        fits = axis is not None and own is not None and axis.stride.value == 1 and axis.size == own.size
        return place if fits and not axis.bent else None  # type: ignore[union-attr]

    def _bounded(self, place: int, axis: Axis, rest: Dim) -> Side | None:
        """The side whose coordinate a bound names; None where there is no bound from above."""
        conditions = [one for one in self.mask.conditions if self._place(one) == place]
        upper = [self._moved(one, axis, rest) for one in conditions if one.operator in ("<", "<=")]
        lower = [one for one in conditions if one.operator not in ("<", "<=")]
        if axis.bent:
            if conditions:
                raise Refusal("its coordinate wraps or stops at a bound, and is masked too")
            bound = axis.wrap if axis.wrap is not None else plus(axis.clamp or ZERO, dims.ONE)
            if self.host.split(bound)[1].terms:
                raise Refusal(f"the bound {show(bound)} is not known to the launch")
            return Side(place, axis.size, axis.stride, (Extent(bound),), axis.start)
        if not upper:
            if lower:
                raise Refusal("the mask bounds a coordinate from below alone")
            return None
        for condition in conditions:
            self._check_ways(condition)
            self._check_known(condition)
        coordinates = {coordinate for coordinate, _ in upper}
        if len(coordinates) != 1:
            raise Refusal("the mask bounds one dimension in two ways")
        coordinate = coordinates.pop()
        for one in lower:
            self._check_lower(one, coordinate)
        if lower:
            self.from_below.add(place)
        extents = tuple(extent for _, extent in upper)
        if len({extent.when for extent in extents if extent.when != ALWAYS}) > 1:
            raise Refusal("the mask bounds one dimension otherwise in each of several branches")
        return Side(place, axis.size, axis.stride, extents, coordinate)

    def _check_ways(self, condition: Condition) -> None:
        """What the mask asks in some branches alone is asked of the launches that take them."""
        if condition.when != ALWAYS and condition.operator not in ("<", "<="):
            raise Refusal("the mask bounds a coordinate from below in some branches alone")
        for test in dict.fromkeys(test for way in condition.when for test, _ in way):
            try:
                self.host.source(test)
            except Spelled as error:
                raise Refusal(f"its mask is made under an if, and {error}") from None

    def _check_known(self, condition: Condition) -> None:
        """The bound of a mask is the launch's, but for what the tile has moved by: `K - k * BLOCK`."""
        _, unknown = self.host.split(condition.bound.offset)
        beyond = [term(key, value) for key, value in unknown.terms if value > 0]
        moved = set(condition.form.offset.terms)
        for part in beyond:
            if part.terms[0] not in moved:
                bound = show(condition.bound.offset)
                read = ", read from memory" if WIDE in bound or NARROW in bound else ", which the launch does not know"
                raise Refusal(f"its mask ends at `{_MARKS.sub('', bound)}`{read}")

    def _moved(self, condition: Condition, axis: Axis, rest: Dim) -> tuple[Dim, Extent]:
        """`i + start < bound` as the coordinate and the extent.

        The coordinate has all that only the kernel knows; what the launch knows of the start too, if the address moves
        by it: the tensor then begins at its base.
        """
        difference = plus(condition.form.offset, condition.bound.offset, -1)
        known, other = self.host.split(difference)
        start, _ = self.host.split(condition.form.offset)
        moved = times(start, axis.stride).terms
        if moved and set(moved) <= set(rest.terms):
            known, other = plus(known, start, -1), plus(other, start)
        extent = times(known, dims.number(-1))
        return other, Extent(plus(extent, dims.ONE) if condition.operator == "<=" else extent, condition.when)

    def _check_lower(self, condition: Condition, coordinate: Dim) -> None:
        least = plus(condition.bound.offset, dims.ONE if condition.operator == ">" else ZERO)
        if plus(condition.form.offset, least, -1) != coordinate:
            raise Refusal(f"the mask bounds a coordinate from below ({show(condition.bound.offset)})")

    def _taken(self, place: int, axis: Axis, rest: Dim) -> tuple[Dim, Dim]:
        """The terms of an offset that move the tile along an axis, over its stride; and what is left."""
        if place in self.known:
            return self.known[place], plus(rest, times(self.known[place], axis.stride), -1)
        coordinate, left = ZERO, rest
        size = dims.symbol(axis.size) if axis.size.isidentifier() else ZERO
        for key, value in rest.terms:
            part = term(key, value)
            steps = quotient(part, axis.stride)
            if steps is None:
                continue
            known, other = self.host.factors(steps.terms[0][0])
            constant = not key and axis.stride.value == 1  # elements along the contiguous dimension
            if constant or (other and (not known or (size.terms and known == size.terms[0][0]))):
                coordinate, left = plus(coordinate, steps), plus(left, part, -1)
        return coordinate, left

    def _outer(self, rest: Dim, most: int) -> list[Side]:
        """A side for every stride by which something outside of the tile is multiplied; where that are more than there
        may be, those whose strides are multiples of another one are counted in that."""
        found: dict[Monomial, Dim] = {}
        constant: dict[int, Dim] = {}
        for key, value in rest.terms:
            known, other = self.host.factors(key)
            if not known and value > 1 and other:
                # Rows of a length that the kernel says as a number.
                constant[value] = plus(constant.get(value, ZERO), term(other, 1))
                continue
            if not known:
                raise Refusal(
                    f"it begins {show(term(key, value))} elements behind its base, which the launch cannot align"
                )
            found[known] = plus(found.get(known, ZERO), term(other, value))
        found = counted_along(found)
        while len(found) + len(constant) > most and (fewer := joined(found)):
            found = fewer
        sides = [Side(None, "1", term(known, 1), (), coordinate) for known, coordinate in found.items()]
        sides.sort(key=lambda side: -len(side.stride.terms[0][0]))
        numbers = sorted(constant.items(), reverse=True)
        return [*sides, *(Side(None, "1", dims.number(value), (), coordinate) for value, coordinate in numbers)]

    def _signed(self, side: Side, positive: set[str]) -> tuple[str, ...]:
        """The arguments that must not be negative for the box to begin inside of the tensor."""
        if side.axis in self.from_below:
            return ()
        relied = never_negative(side.coordinate, self.access, self.kernel, positive)
        atoms = side.coordinate.atoms()
        said = {atom: f"{atom} {self.access.origins.get(atom, '')}" for atom in sorted(atoms)}
        read = next((atom for atom, text in said.items() if WIDE in text), None)
        if read is not None and relied is not None and not is_below_something(read, self.access):
            raise Refusal(
                f"its coordinate {self._named(side.coordinate)} is read from memory, and may be any 64-bit number"
            )
        if relied is None:
            why = next((f": {one.unknown}" for one in self.access.loops if one.target in atoms and one.unknown), "")
            firsts = [show(one.first) for one in self.access.loops if one.target in atoms and one.first is not None]
            if not why and any(WIDE in text or NARROW in text for text in (*said.values(), *firsts)):
                why = ": it is read from memory"
            raise Refusal(f"its coordinate {self._named(side.coordinate)} may be negative{why}")
        return relied

    def _counted(self, positive: set[str]) -> list[str]:
        """What is asked for the loops before to have moved the tile as often as it is taken to be."""
        node, function = self.access.node, self.kernel.node
        values = {id(one.value) for one in node.args[1:2] if self.access.kind == "store" and one.keyword is None}
        given = [one.value for one in node.args if id(one.value) not in values]
        names: set[str] = set().union(*(reached(one, function) for one in given)) if self.access.counts else set()
        asked: list[str] = []
        for moved, trips in self.access.counts:
            if names & moved and trips.value is None:
                relied = never_negative(trips, self.access, self.kernel, positive)
                if relied is None:
                    raise Refusal(f"a loop of {show(trips)} iterations moves it, which may be below zero")
                asked += relied
        return asked

    def _named(self, coordinate: Dim) -> str:
        """A coordinate as the kernel writes it, where it has names for its parts."""
        try:
            return KernelNames(self.access, [one.name for one in self.kernel.parameters if one.constexpr]).text(
                coordinate
            )
        except Spelled:
            return show(coordinate)

    def _unit(self, axes: Sequence[Axis]) -> dict[int, str | None]:
        always = {place: None for place, axis in enumerate(axes) if axis.stride.value == 1}
        if always:
            return {max(always): None}
        found: dict[int, str | None] = {}
        for place, axis in enumerate(axes):
            monomial, factor = axis.stride.terms[0]
            # A stride of the launch: an argument, or an element of one.
            if factor == 1 and len(monomial) == 1 and re.fullmatch(r"\w+(\[\d+\])?", monomial[0]):
                found[place] = monomial[0]
        if not found:
            raise Refusal("no dimension of the tile is contiguous")
        return found


def positive_of(inner: Sequence[Side], outer: Sequence[Side]) -> set[str]:
    """The names of what is above zero where there is a descriptor: its extents, strides and blocks are."""
    positive = {side.size for side in inner}
    for side in (*outer, *inner):
        for part in (side.stride, *(one.size for one in side.extents if one.when == ALWAYS)):
            positive |= set(part.terms[0][0]) if len(part.terms) == 1 and len(part.terms[0][0]) == 1 else set()
    return positive


__all__ = ["Box", "Extent", "Side", "box_of", "positive_of"]
