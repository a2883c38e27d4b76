"""The sides of a box: what a descriptor has along each dimension, and the sums that an address is made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tritonport.analysis import dims
from tritonport.analysis.access import Access, Condition, Form, Loop
from tritonport.analysis.access.forms import ALWAYS, ZERO, Paths, plus, show, times
from tritonport.analysis.dims import Dim, Monomial
from tritonport.upgrade.tma.terms import by_index, quotient, term


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


def indexed(form: Form, loops: Sequence[Loop], down: bool) -> Form:
    """The form without counts of iterations, where the index of the loop says the same."""
    axes = tuple(None if axis is None else replace(axis, start=by_index(axis.start, loops, down)) for axis in form.axes)
    return replace(form, offset=by_index(form.offset, loops, down), axes=axes)


def with_sums(form: Form) -> Form:
    """The form with each stride that is a sum (`K + V`) as one number, and so what the offset has times it."""
    sums = [axis.stride for axis in form.axes if axis is not None and len(axis.stride.terms) > 1]
    for stride in dict.fromkeys(sums):
        whole = dims.opaque(show(stride), "")
        axes = tuple(
            replace(one, stride=whole) if one is not None and one.stride == stride else one for one in form.axes
        )
        form = replace(form, axes=axes, offset=factored(form.offset, stride, whole))
    return form


def factored(dim: Dim, total: Dim, whole: Dim) -> Dim:
    """A polynomial in which a number stands for a sum, wherever all parts of that have one factor."""
    first = term(*total.terms[0])
    for key, value in dim.terms:
        factor = quotient(term(key, value), first)
        product = times(factor, total) if factor is not None else ZERO
        if factor is not None and set(product.terms) <= set(dim.terms):
            return factored(plus(plus(dim, product, -1), times(factor, whole)), total, whole)
    return dim


def joined(coordinates: Mapping[Monomial, Dim]) -> dict[Monomial, Dim] | None:
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


def counted_along(coordinates: dict[Monomial, Dim]) -> dict[Monomial, Dim]:
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


def moved_inside(inner: Sequence[Side], outer: Sequence[Side]) -> tuple[list[Side], list[Side]] | None:
    """The sides of a box with one less outside of the tile: a dimension that nothing bounds takes it up; None where no
    stride divides another."""
    for one in outer:
        for place, side in enumerate(inner):
            steps = quotient(one.stride, side.stride)
            if steps is not None and not side.extents:
                taken = replace(side, coordinate=plus(side.coordinate, times(one.coordinate, steps)))
                return [*inner[:place], taken, *inner[place + 1 :]], [rest for rest in outer if rest is not one]
    return None


def holds_anyway(condition: Condition) -> bool:
    """Whether a condition asks only that a place in the tile is one: `tl.arange(0, BLOCK) < BLOCK`."""
    held = [axis for axis in condition.form.axes if axis is not None]
    if condition.operator != "<" or len(held) != 1 or condition.form.offset.terms:
        return False
    return not held[0].bent and held[0].stride.value == 1 and show(condition.bound.offset) == held[0].size


def bounded_text(form: Form) -> str:
    """What a condition of a mask is about: `start`, or `0 to BLOCK` where that is all there is."""
    held = [axis for axis in form.axes if axis is not None]
    start = show(form.offset)
    return f"`{start}` to `{held[0].size}`" if len(held) == 1 and form.offset.value is not None else f"`{start}`"


def is_below_something(number: str, access: Access) -> bool:
    """Whether an `if` around an access bounds a number from above: a copy has coordinates of 32 bits."""
    for fact in access.facts:
        less, more = (fact.form, fact.bound) if fact.operator in ("<", "<=") else (fact.bound, fact.form)
        counted = any(number in key and value > 0 for key, value in less.offset.terms)
        if counted and number not in more.offset.atoms():
            return True
    return False


__all__ = [
    "Box",
    "Extent",
    "Refusal",
    "Side",
    "bounded_text",
    "counted_along",
    "factored",
    "holds_anyway",
    "indexed",
    "is_below_something",
    "joined",
    "moved_inside",
    "with_sums",
]
