"""Layout terms and their unification.

While a kernel is read, the layout of a tensor is not known; it is a term:

* a `Root` is a layout of its own, chosen later from the memory accesses that use it;
* `Slice(axis, parent)` is what `gl.SliceLayout(axis, parent)` says: the parent without one of its dimensions. The sum
  of a tile along `axis` has it, and a vector must have it before `expand_dims(axis)` can make it part of a tile.

Two values that meet in one operation need the same term. `Layouts.unify` makes two terms equal where that is possible
and changes nothing where it is not: a row statistic and a column statistic of the same tile cannot share a layout,
nor can two tiles whose memory is contiguous along different dimensions. There a conversion has to be written.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from tritonport.analysis.dims import Dim
from tritonport.analysis.strides import Order


@dataclass(eq=False)
class Root:
    """A layout to be chosen: one `gl.constexpr` in the output unless it turns out to be a slice of another.

    `whole`: it must not be one. Triton's lowering of scans takes blocked layouts alone
    (`ScanLoweringHelper::isSupported`).
    """

    rank: int
    shape: tuple[Dim | None, ...] = ()
    order: Order | None = None
    accesses: list[Access] = field(default_factory=list)
    dot: Dot | None = None
    chained: bool = False
    follows: bool = False
    bound: Term | None = None
    whole: bool = False


@dataclass(frozen=True)
class Dot:
    """What the layout of a dot's result depends on: the size it sums over, the operands' type, and the precision.

    `element` is the operands' type as source text or the pointer arguments it is read through; `precision` is source
    text.
    """

    k: Dim
    element: tuple[str, ...]
    precision: str


@dataclass(frozen=True)
class Slice:
    axis: int
    parent: Term


Term = Root | Slice


@dataclass(frozen=True)
class Access:
    """One global-memory access that a layout has to serve."""

    pointers: tuple[str, ...]
    order: Order
    position: int


def rank(term: Term) -> int:
    term = resolve(term)
    return term.rank if isinstance(term, Root) else rank(term.parent) - 1


def resolve(term: Term) -> Term:
    """The term with bound roots replaced, at the top level only."""
    while isinstance(term, Root) and term.bound is not None:
        term = term.bound
    return term


def normal(term: Term) -> Term:
    """The term with bound roots replaced everywhere: equal layouts have equal normal forms."""
    term = resolve(term)
    return Slice(term.axis, normal(term.parent)) if isinstance(term, Slice) else term


def root_of(term: Term) -> Root:
    term = resolve(term)
    while isinstance(term, Slice):
        term = resolve(term.parent)
    return term


def same(left: Term, right: Term) -> bool:
    return normal(left) == normal(right)


def kept_dimensions(term: Term) -> tuple[int, ...]:
    """The dimensions of its root that a term still has."""
    axes: list[int] = []
    term = resolve(term)
    while isinstance(term, Slice):
        axes.append(term.axis)
        term = resolve(term.parent)
    kept = list(range(term.rank))
    for axis in reversed(axes):
        kept.pop(axis)
    return tuple(kept)


def equivalent(left: Term, right: Term) -> bool:
    """Whether two terms place every element in the same registers, however they are spelled: converting moves
    nothing."""
    return root_of(left) is root_of(right) and kept_dimensions(left) == kept_dimensions(right)


def _join_shapes(left: tuple[Dim | None, ...], right: tuple[Dim | None, ...]) -> tuple[Dim | None, ...]:
    if not left or not right:
        return left or right
    return tuple(b if a is None or a.is_one else a for a, b in zip(left, right, strict=True))


def _plan(left: Term, right: Term) -> Iterator[tuple[Root, Term]] | None:
    """The bindings that would make the two terms equal, or None."""
    left, right = resolve(left), resolve(right)
    if left is right:
        return iter(())
    if isinstance(left, Slice) and isinstance(right, Slice):
        return _plan(left.parent, right.parent) if left.axis == right.axis else None
    if isinstance(left, Root) and isinstance(right, Root):
        if left.rank != right.rank or not _compatible(left, right):
            return None
        return iter(((right, left),))
    if isinstance(left, Slice):
        left, right = right, left
    assert isinstance(left, Root)
    if left.rank != rank(right):
        return None
    if left.whole:
        return None
    if left.dot is not None or (left.rank > 1 and left.order is not None):
        # A tile with its own place in memory is not read or written through a slice of a larger one: the elements
        # that a slice repeats would cost more than one conversion.
        return None
    return iter(((left, right),))


def _compatible(left: Root, right: Root) -> bool:
    first, second = left.order, right.order
    if any(
        a != b and not a.is_one and not b.is_one
        for a, b in zip(left.shape, right.shape, strict=False)
        if a is not None and b is not None
    ):
        # Two tiles that share a row vector need not be of one size: `x[:, None]` serves both.
        return False
    if left.dot is not None or right.dot is not None:
        # Tensor cores and memory want different layouts; two dots share one where they are alike.
        return left.dot == right.dot or (first is None and second is None and (left.dot is None or right.dot is None))
    if left.rank == 1 or first is None or second is None or first == second:
        return True
    return not (first.contiguous and second.contiguous)


def _preferred(first: Order | None, second: Order | None) -> Order | None:
    """Of two compatible orders the one that says more: a fixed one, then a run-time choice, then none."""
    orders = [order for order in (first, second) if order is not None]
    return max(orders, key=lambda order: (order.contiguous, order.fixed is not None), default=None)


def unify(left: Term, right: Term) -> bool:
    """Make two terms equal; False (and no change) where a conversion is needed."""
    plan = _plan(left, right)
    if plan is None:
        return False
    for root, term in plan:
        if isinstance(term, Root):
            term.shape = _join_shapes(term.shape, root.shape)
            term.order = _preferred(term.order, root.order)
            term.dot = term.dot or root.dot
            term.chained |= root.chained
            term.follows |= root.follows
            term.accesses.extend(root.accesses)
            term.whole |= root.whole
        root.bound = term
    return True
