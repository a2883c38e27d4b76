"""Layout terms.

While a kernel is read, the layout of a tensor is not known; it is a term:

* a `Root` is a layout of its own, chosen later from the memory accesses that use it;
* `Slice(axis, parent)` is what `gl.SliceLayout(axis, parent)` says: the parent without one of its dimensions. The sum
  of a tile along `axis` has it, and a vector must have it before `expand_dims(axis)` can make it part of a tile.
* `Permute(order, parent)`, `Reshape(source, shape, parent)` and `Join(shape, parent)` are the layouts that `permute`,
  `reshape` and `join` give a tensor of the parent's layout: every element stays in its register.
* `Turned(test, order, parent)` is `Permute(order, parent)` in the launches in which a compile-time test holds (or does
  not), and the parent in the others.

Two values that meet in one operation need the same term; `layouts.unification` makes two terms equal where it can.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tritonport.analysis.dims import Dim, chosen, number, product, quotient
from tritonport.analysis.pinned import Pinned
from tritonport.analysis.strides import Order


@dataclass(eq=False)
class Root:
    """A layout to be chosen: one `gl.constexpr` in the output unless it turns out to be a slice of another.

    `chained`: another dot takes the result of this one. `follows`: the shape of the first dot in the chain that leads
    to this one. `whole`: it must not be a slice. Triton's lowering of scans takes blocked layouts alone
    (`ScanLoweringHelper::isSupported`).
    `single`: it must not be one either, because an element that several warps hold would be read by each of them.
    `wide`: the layout that this one is where its rows are aligned; else it has one element per thread.
    `within`: of a vector that is read or written for a tile, the slice of the tile's layout that it has unless there
    is an element for each thread.
    `apart`: it is of such a vector, and what is moved there is converted, not computed again.
    `pinned`: it is not chosen but given.
    `rowwise`: the result of a dot whose rows are reduced.
    `beside`: of a tile that a dot takes, the layout of its other tile, whose elements may have another width.
    `either`: it is that of whichever branch of a compile-time `if` is compiled, and has no name.
    """

    rank: int
    shape: tuple[Dim | None, ...] = ()
    order: Order | None = None
    accesses: list[Access] = field(default_factory=list)
    dot: Dot | None = None
    chained: bool = False
    follows: tuple[Dim | None, ...] = ()
    rowwise: bool = False
    bound: Term | None = None
    whole: bool = False
    single: bool = False
    wide: Root | None = None
    within: Slice | None = None
    apart: bool = False
    pinned: Pinned | None = None
    beside: Root | None = None
    either: bool = False


@dataclass(frozen=True)
class Dot:
    """What the layout of a dot's result depends on: the size it sums over, the operands' type, and the precision.

    `element` is the operands' type as source text or the pointer arguments it is read through; `precision` is source
    text. `scaled`: which operands have scales, and then elements of 8 bits or fewer.
    """

    k: Dim
    element: tuple[str, ...]
    precision: str
    scaled: tuple[bool, bool] = field(default=(False, False), compare=False)


@dataclass(frozen=True)
class Slice:
    axis: int
    parent: Term


@dataclass(frozen=True)
class Permute:
    """Dimension i is the parent's dimension `order[i]`."""

    order: tuple[int, ...]
    parent: Term


@dataclass(frozen=True)
class Reshape:
    """The elements of a tensor of shape `source`, counted row by row, in another shape.

    One size follows from the others and the number of elements. The first takes no part in equality for that reason,
    and the last is compared as the others leave it: sizes that are spelled differently (`D` and `2 * (D // 2)`) are
    often one size.
    """

    source: tuple[Dim, ...] = field(compare=False)
    shape: tuple[Dim, ...] = field(compare=False)
    parent: Term
    tails: tuple[int, tuple[Dim, ...], int, tuple[Dim, ...]]


@dataclass(frozen=True)
class Join:
    """One more dimension, the last, of two elements in one thread. `shape` is that of the parent's tensor."""

    shape: tuple[Dim, ...] = field(compare=False)
    parent: Term


@dataclass(frozen=True)
class Turned:
    """The parent with its dimensions permuted where a compile-time test holds, and as it is where it does not; the
    other way round unless `holds`. `test`: source text that can stand at the head of the kernel."""

    test: str
    holds: bool
    order: tuple[int, ...]
    parent: Term


Term = Root | Slice | Permute | Reshape | Join | Turned


@dataclass(frozen=True)
class Access:
    """One global-memory access that a layout has to serve.

    `joined` of its elements stand where the layout has one: it moves what is joined from tensors of the layout.
    """

    pointers: tuple[str, ...]
    order: Order
    position: int
    multiples: frozenset[str] = frozenset()
    joined: int = 1


# -- steps: from the layout of a tensor to that of what an operation makes of it


@dataclass(frozen=True)
class Permuted:
    order: tuple[int, ...]

    def apply(self, term: Term) -> Term:
        return permute(self.order, term)


@dataclass(frozen=True)
class Reshaped:
    source: tuple[Dim, ...]
    shape: tuple[Dim, ...]

    def apply(self, term: Term) -> Term:
        return reshape(self.source, self.shape, term)


@dataclass(frozen=True)
class Joined:
    """The pairs of two tensors of this shape."""

    shape: tuple[Dim, ...]

    def apply(self, term: Term) -> Term:
        return Join(self.shape, resolve(term))


Step = Permuted | Reshaped | Joined


def inverse_order(order: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(order.index(axis) for axis in range(len(order)))


def permute(order: tuple[int, ...], term: Term) -> Term:
    """The term of a permuted tensor; permutations of permutations are one, and none is written for the identity."""
    term = resolve(term)
    if isinstance(term, Permute):
        return permute(tuple(term.order[axis] for axis in order), term.parent)
    return term if order == tuple(range(len(order))) else Permute(order, term)


def reshape(source: tuple[Dim, ...], shape: tuple[Dim, ...], term: Term) -> Term:
    """The term of a reshaped tensor; there and back is nothing."""
    term = resolve(term)
    if isinstance(term, Reshape):
        return reshape(term.source, shape, term.parent)
    tails = (len(source), source[1:], len(shape), _tail(source, shape))
    return term if tails[:2] == tails[2:] else Reshape(source, shape, term, tails)


def _tail(source: tuple[Dim, ...], shape: tuple[Dim, ...]) -> tuple[Dim, ...]:
    """The sizes behind the first, the last of them as the number of elements in `source` leaves it."""
    if len(shape) < 2:
        return ()
    last = quotient(product(source), product(shape[:-1]), shape[-1].text)
    return (*shape[1:-1], last or shape[-1])


def rank(term: Term) -> int:
    term = resolve(term)
    if isinstance(term, Root):
        return term.rank
    if isinstance(term, (Permute, Turned)):
        return len(term.order)
    if isinstance(term, Reshape):
        return len(term.shape)
    return rank(term.parent) + (1 if isinstance(term, Join) else -1)


def shape_of(term: Term) -> tuple[Dim | None, ...]:
    """The shape of the tensors that a term is the layout of, as far as it is known."""
    term = resolve(term)
    if isinstance(term, Root):
        return term.shape
    if isinstance(term, Reshape):
        return term.shape
    if isinstance(term, Join):
        return (*term.shape, number(2))
    shape = shape_of(term.parent)
    if isinstance(term, Permute):
        return tuple(shape[axis] for axis in term.order) if shape else ()
    if isinstance(term, Turned):
        sides = (tuple(shape[axis] for axis in term.order), shape) if shape else ((), ())
        where, elsewhere = sides if term.holds else sides[::-1]
        return tuple(
            None if one is None or other is None else chosen(term.test, one, other)
            for one, other in zip(where, elsewhere, strict=True)
        )
    return shape[: term.axis] + shape[term.axis + 1 :]


def resolve(term: Term) -> Term:
    """The term with bound roots replaced, at the top level only."""
    while isinstance(term, Root) and term.bound is not None:
        term = term.bound
    return term


def normal(term: Term) -> Term:
    """The term with bound roots replaced everywhere: equal layouts have equal normal forms."""
    term = resolve(term)
    if isinstance(term, Root):
        return term
    if isinstance(term, Slice):
        return Slice(term.axis, normal(term.parent))
    if isinstance(term, Permute):
        return permute(term.order, normal(term.parent))
    if isinstance(term, Reshape):
        return reshape(term.source, term.shape, normal(term.parent))
    if isinstance(term, Turned):
        return Turned(term.test, term.holds, term.order, normal(term.parent))
    return Join(term.shape, normal(term.parent))


def root_of(term: Term) -> Root:
    term = resolve(term)
    while not isinstance(term, Root):
        term = resolve(term.parent)
    return term


def base_of(term: Term) -> Term:
    """What a term slices and permutes: a root, a reshaped layout, a joined one or one that a test turns. These have
    names in the output."""
    term = normal(term)
    while isinstance(term, (Slice, Permute)):
        term = term.parent
    return term


def same(left: Term, right: Term) -> bool:
    return normal(left) == normal(right)


def is_narrow(term: Term) -> bool:
    """Whether a term is of a layout that stores alone have, for rows that may be unaligned."""
    return root_of(term).wide is not None


def kept_dimensions(term: Term) -> tuple[int, ...]:
    """The dimensions of its base that a term still has, in its own order."""
    term = normal(term)
    if isinstance(term, Slice):
        kept = kept_dimensions(term.parent)
        return kept[: term.axis] + kept[term.axis + 1 :]
    if isinstance(term, Permute):
        kept = kept_dimensions(term.parent)
        return tuple(kept[axis] for axis in term.order)
    return tuple(range(rank(term)))


def equivalent(left: Term, right: Term) -> bool:
    """Whether two terms place every element in the same registers, however they are spelled: nothing moves."""
    return base_of(left) == base_of(right) and kept_dimensions(left) == kept_dimensions(right)
