"""An access as a box of a tensor: extents, strides and block sizes that the launch knows, coordinates of the kernel.

The address of a tile is base + sum(coordinate * stride). Every summand becomes a dimension of a tensor descriptor: the
dimensions of the tile, with the extents that the mask gives them, and outside of these one for each other stride that
a coordinate is multiplied by (a head, a batch), where the box is one wide. A dimension without a bound gets the
largest extent there is: the copy then reads what the pointers read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tritonport.analysis import dims
from tritonport.analysis.access import Access, Axis, Condition, Form, Loop, Mask
from tritonport.analysis.access.expressions import NARROW, WIDE
from tritonport.analysis.access.forms import ALWAYS, ZERO, Paths, plus, show, times
from tritonport.analysis.access.loops import visible
from tritonport.analysis.dims import Dim, Monomial
from tritonport.source.kernel import Kernel
from tritonport.upgrade.legality import MAX_TMA_RANK, NO_DESCRIPTOR, Reason
from tritonport.upgrade.tma.assume import reached
from tritonport.upgrade.tma.signs import in_whole_steps, never_negative
from tritonport.upgrade.tma.terms import HostNames, KernelNames, Spelled, by_index, goes_down, quotient, term

_MARKS = re.compile(rf"(?:{WIDE}|{NARROW})(?: in \w+)?")
"""What the names of numbers out of memory have behind what the kernel calls them."""


@dataclass(frozen=True)
class Extent:
    """A bound of the tensor along one dimension; `when`: the ways through the kernel on which the mask asks for it."""

    size: Dim
    when: Paths = ALWAYS


@dataclass(frozen=True)
class Side:
    """One dimension of a descriptor.

    Attributes:
        axis: the dimension of the tile; None outside of it, where the box is one wide.
        size: the extent of the box, as source text.
        stride: elements between neighbours.
        extents: bounds of the tensor, the least of which counts; empty where nothing bounds it.
        coordinate: where the box begins.
    """

    axis: int | None
    size: str
    stride: Dim
    extents: tuple[Extent, ...]
    coordinate: Dim


@dataclass(frozen=True)
class Box:
    """What a descriptor describes; the sides of the tile are the last ones, in its order.

    Attributes:
        unit: per dimension of the tile that can be the contiguous one, the argument that has to be 1 then; None where
            it always is.
        checked: arguments that coordinates are made of, which must not be negative, and conditions on arguments.
        bent: the dimensions whose coordinates wrap or stop at a bound: rows beyond it are zero in the copy.
    """

    base: str
    sides: tuple[Side, ...]
    unit: dict[int, str | None]
    checked: tuple[str, ...]
    bent: tuple[int, ...]

    @property
    def outer(self) -> tuple[Side, ...]:
        """The dimensions outside of the tile."""
        return tuple(side for side in self.sides if side.axis is None)

    @property
    def inner(self) -> tuple[Side, ...]:
        """The dimensions of the tile."""
        return tuple(side for side in self.sides if side.axis is not None)


class Refusal(Exception):
    """A condition that an access fails, in words."""


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


def _indexed(form: Form, loops: Sequence[Loop], down: bool) -> Form:
    """The form without counts of iterations, where the index of the loop says the same."""
    axes = tuple(None if axis is None else replace(axis, start=by_index(axis.start, loops, down)) for axis in form.axes)
    return replace(form, offset=by_index(form.offset, loops, down), axes=axes)


def _with_sums(form: Form) -> Form:
    """The form with each stride that is a sum (`K + V`) as one number, and so what the offset has times it."""
    sums = [axis.stride for axis in form.axes if axis is not None and len(axis.stride.terms) > 1]
    for stride in dict.fromkeys(sums):
        whole = dims.opaque(show(stride), "")
        axes = tuple(
            replace(one, stride=whole) if one is not None and one.stride == stride else one for one in form.axes
        )
        form = replace(form, axes=axes, offset=_factored(form.offset, stride, whole))
    return form


def _factored(dim: Dim, total: Dim, whole: Dim) -> Dim:
    """A polynomial in which a number stands for a sum, wherever all parts of that have one factor."""
    first = term(*total.terms[0])
    for key, value in dim.terms:
        factor = quotient(term(key, value), first)
        product = times(factor, total) if factor is not None else ZERO
        if factor is not None and set(product.terms) <= set(dim.terms):
            return _factored(plus(plus(dim, product, -1), times(factor, whole)), total, whole)
    return dim


def _joined(coordinates: Mapping[Monomial, Dim]) -> dict[Monomial, Dim] | None:
    """Coordinates by their strides with two of them in one, by the widest stride that divides another; None where none
    does."""
    for stride in sorted(coordinates, key=len, reverse=True):
        for wider in coordinates:
            steps = quotient(term(wider, 1), term(stride, 1)) if wider != stride else None
            if steps is not None:
                found = {key: value for key, value in coordinates.items() if key != wider}
                found[stride] = plus(found[stride], times(coordinates[wider], steps))
                return found
    return None


def _counted_along(coordinates: dict[Monomial, Dim]) -> dict[Monomial, Dim]:
    """Coordinates by their strides, where what the launch alone moves a tile by (`(pid + OFFSET) * T`) is counted in
    the stride that it is a multiple of: as a stride of its own it might be zero."""
    for wider, coordinate in list(coordinates.items()):
        others = [one for one in coordinates if one != wider and coordinates[one].value is None]
        steps = {one: quotient(term(wider, 1), term(one, 1)) for one in others}
        widest = max((one for one in others if steps[one] is not None), key=len, default=None)
        by = steps[widest] if widest is not None else None
        if coordinate.value is not None and widest is not None and by is not None:
            del coordinates[wider]
            coordinates[widest] = plus(coordinates[widest], times(coordinate, by))
    return coordinates


def _moved_inside(inner: Sequence[Side], outer: Sequence[Side]) -> tuple[list[Side], list[Side]] | None:
    """The sides of a box with one less outside of the tile: a dimension that nothing bounds takes it up; None where no
    stride divides another."""
    for one in outer:
        for place, side in enumerate(inner):
            steps = quotient(one.stride, side.stride)
            if steps is not None and not side.extents:
                taken = replace(side, coordinate=plus(side.coordinate, times(one.coordinate, steps)))
                return [*inner[:place], taken, *inner[place + 1 :]], [rest for rest in outer if rest is not one]
    return None


def _holds_anyway(condition: Condition) -> bool:
    """Whether a condition asks only that a place in the tile is one: `tl.arange(0, BLOCK) < BLOCK`."""
    held = [axis for axis in condition.form.axes if axis is not None]
    if condition.operator != "<" or len(held) != 1 or condition.form.offset.terms:
        return False
    return not held[0].bent and held[0].stride.value == 1 and show(condition.bound.offset) == held[0].size


def _bounded_text(form: Form) -> str:
    """What a condition of a mask is about: `start`, or `0 to BLOCK` where that is all there is."""
    held = [axis for axis in form.axes if axis is not None]
    start = show(form.offset)
    return f"`{start}` to `{held[0].size}`" if len(held) == 1 and form.offset.value is not None else f"`{start}`"


def _is_below_something(number: str, access: Access) -> bool:
    """Whether an `if` around an access bounds a number from above: a copy has coordinates of 32 bits."""
    for fact in access.facts:
        less, more = (fact.form, fact.bound) if fact.operator in ("<", "<=") else (fact.bound, fact.form)
        counted = any(number in key and value > 0 for key, value in less.offset.terms)
        if counted and number not in more.offset.atoms():
            return True
    return False


class _Builder:
    def __init__(self, access: Access, kernel: Kernel, host: HostNames, like: Box | None, down: bool) -> None:
        assert isinstance(access.address, Form) and access.base is not None
        self.access, self.kernel, self.host = access, kernel, host
        self.form = _with_sums(_indexed(access.address, access.loops, down))
        self.base = access.base
        mask = access.mask or Mask()
        conditions = (
            replace(one, form=_indexed(one.form, access.loops, down), bound=_indexed(one.bound, access.loops, down))
            for one in mask.conditions
            if not _holds_anyway(one)
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
        while len(found) + len(outer) > MAX_TMA_RANK and (moved := _moved_inside(found, outer)):
            found, outer = moved
        if len(found) + len(outer) > MAX_TMA_RANK:
            raise Refusal(f"its address has {len(found) + len(outer)} strides, and a descriptor {MAX_TMA_RANK}")
        # Where there is a descriptor, its extents, strides and blocks are positive.
        positive = {side.size for side in found}
        for side in (*outer, *found):
            for part in (side.stride, *(one.size for one in side.extents if one.when == ALWAYS)):
                positive |= set(part.terms[0][0]) if len(part.terms) == 1 and len(part.terms[0][0]) == 1 else set()
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
                raise Refusal(f"the mask bounds {_bounded_text(condition.form)}, which is no coordinate of the tile")

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
        found = _counted_along(found)
        while len(found) + len(constant) > most and (joined := _joined(found)):
            found = joined
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
        if read is not None and relied is not None and not _is_below_something(read, self.access):
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


__all__ = ["Box", "Extent", "Side", "box_of"]
