"""Making two layout terms equal.

`unify` binds roots where that is possible and changes nothing where it is not: a row statistic and a column statistic
of the same tile cannot share a layout, nor can two tiles whose memory is contiguous along different dimensions. There
a conversion has to be written.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tritonport.analysis.dims import Dim, decided
from tritonport.analysis.pinned import Pinned
from tritonport.analysis.strides import Order, row_major
from tritonport.analysis.terms import (
    Join,
    Permute,
    Reshape,
    Root,
    Slice,
    Term,
    Turned,
    inverse_order,
    normal,
    permute,
    rank,
    reshape,
    root_of,
    shape_of,
)


def unify(left: Term, right: Term) -> bool:
    """Make two terms equal; False (and no change) where a conversion is needed."""
    left, right = normal(left), normal(right)
    if left == right:
        return True
    if not _both_within(left, right):
        return False
    core, seen = _peeled(left, right)
    if isinstance(core, Slice) and isinstance(seen, Slice):
        return core.axis == seen.axis and unify(core.parent, seen.parent)
    if isinstance(core, Join) and isinstance(seen, Join):
        return unify(core.parent, seen.parent)
    if isinstance(left, Root) and isinstance(right, Root):
        if left.rank != right.rank or not _compatible(left, right):
            return False
        _bind(right, left)
        return True
    candidates = [_peeled(right, left), (core, seen)]
    roots = [(root, term) for root, term in candidates if isinstance(root, Root)]
    # The root with less to say gives way; of two equal ones the second.
    for root, term in sorted(roots, key=lambda item: _burden(item[0])):
        if _may_be(root, term):
            _bind(root, term)
            return True
    return False


def _both_within(left: Term, right: Term) -> bool:
    """Vectors that have a layout of their own beside a tile's share it only where they belong to one tile."""
    first, second = (term.within if isinstance(term, Root) else None for term in (left, right))
    if first is None or second is None:
        return first is second
    return normal(first) == normal(second)


def _burden(root: Root) -> tuple[bool, bool, bool]:
    return root.dot is not None, root.order is not None and root.order.contiguous, bool(root.accesses)


def _peeled(term: Term, other: Term) -> tuple[Term, Term]:
    """A term without the permutations and reshapes around it, and the other one as seen from there."""
    while isinstance(term, (Permute, Reshape)):
        if isinstance(term, Permute):
            other = permute(inverse_order(term.order), other)
        else:
            other = reshape(term.shape, term.source, other)
        term = term.parent
    return term, normal(other)


def _may_be(root: Root, term: Term) -> bool:
    """Whether a root may turn out to be this term."""
    source = root_of(term)
    if root.rank != rank(term) or source is root:
        return False
    if not _pins_agree(root.pinned, term):
        return False
    if isinstance(term, Root):
        return _compatible(root, term)
    if isinstance(term, Permute) and isinstance(term.parent, Root):
        # Tensor cores give no permuted layout, and the lowering of scans takes none of a dot.
        if root.dot is not None or (root.whole and term.parent.dot):
            return False
        return _compatible(_permuted(root, term.order), term.parent)
    if root.whole or root.dot is not None:
        return False
    if root.single and _is_slice(term):
        return False
    if isinstance(term, Slice) and not rearranged(term):
        # A tile with its own place in memory is not read or written through a slice of a larger one: the elements
        # that a slice repeats would cost more than one conversion.
        return root.rank == 1 or root.order is None
    if isinstance(term, Turned) and not _shapes_agree(root.shape, shape_of(term)):
        return False
    if any(_is_one(a) != _is_one(b) for a, b in zip(root.shape, shape_of(term), strict=False)):
        # Tiles of one row may share a layout with wider ones, but what is a reshape of them may not.
        return False
    if root.order is None or not root.order.contiguous:
        return True
    return _leading(root) in runs(term)


def _is_slice(term: Term) -> bool:
    """Whether some of its elements are in several warps because a larger tile has them there."""
    while not isinstance(term, Root):
        if isinstance(term, Slice):
            return True
        term = term.parent
    return False


def _pins_agree(pin: Pinned | None, term: Term) -> bool:
    """Whether a layout that is given (None: none is) may be the one that a term has."""
    term = normal(term)
    if pin is None:
        return True
    if isinstance(term, Slice):
        return pin.parent is not None and pin.axis == term.axis and _pins_agree(pin.parent, term.parent)
    return isinstance(term, Root) and term.pinned in (None, pin)


def _pin(term: Term, pin: Pinned | None) -> None:
    """Give a term's root the layout that makes the term the given one."""
    term = normal(term)
    while pin is not None and isinstance(term, Slice):
        term, pin = normal(term.parent), pin.parent
    if pin is not None and isinstance(term, Root):
        term.pinned = pin


def _is_one(size: Dim | None) -> bool:
    return size is not None and size.is_one


def rearranged(term: Term) -> bool:
    """Whether there is more to a term than dimensions that are left away."""
    term = normal(term)
    while isinstance(term, Slice):
        term = term.parent
    return not isinstance(term, Root)


def _leading(root: Root) -> int | None:
    """The dimension along which a root's memory is contiguous; None where run-time strides decide."""
    if root.order is None or root.rank == 1:
        return root.rank - 1
    return root.order.fixed[0] if root.order.fixed is not None else None


def runs(term: Term) -> frozenset[int]:
    """The dimensions along which a thread holds neighbours, as memory wants them."""
    term = normal(term)
    if isinstance(term, Root):
        lead = _leading(term)
        return frozenset() if term.dot is not None or lead is None else frozenset({lead})
    inner = runs(term.parent)
    if isinstance(term, Slice):
        return frozenset(axis - (axis > term.axis) for axis in inner if axis != term.axis)
    if isinstance(term, Permute):
        return frozenset(position for position, axis in enumerate(term.order) if axis in inner)
    if isinstance(term, Join):
        return inner | {rank(term.parent)} if rank(term.parent) - 1 in inner else inner
    if isinstance(term, Turned):
        return frozenset(axis for position, axis in enumerate(term.order) if {position, axis} <= inner)
    return frozenset({len(term.shape) - 1}) if len(term.source) - 1 in inner else frozenset()


def holds_neighbours(term: Term) -> bool:
    """Whether a thread has neighbours of a vector in this layout, or may have: run-time strides decide."""
    return _leading(root_of(term)) is None or 0 in runs(term)


def _permuted(root: Root, order: tuple[int, ...]) -> Root:
    """What a root says of memory, said of a root that it is `order` of."""
    back = inverse_order(order)
    made = Root(root.rank, tuple(root.shape[axis] for axis in back) if root.shape else ())
    made.order = _permuted_order(root.order, order)
    made.dot, made.chained, made.follows, made.whole = root.dot, root.chained, root.follows, root.whole
    made.single = root.single
    for access in root.accesses:
        turned = _permuted_order(access.order, order)
        assert turned is not None
        made.accesses.append(replace(access, order=turned))
    return made


def _permuted_order(found: Order | None, order: tuple[int, ...]) -> Order | None:
    if found is None:
        return None
    fixed = None if found.fixed is None else tuple(order[axis] for axis in found.fixed)
    return replace(found, fixed=fixed, choices=tuple((order[axis], names) for axis, names in found.choices))


def _bind(root: Root, term: Term) -> None:
    _pin(term, root.pinned)
    if isinstance(term, Root):
        _merge(term, root)
    elif isinstance(term, Permute) and isinstance(term.parent, Root):
        _merge(term.parent, _permuted(root, term.order))
    elif rearranged(term):
        source = root_of(term)
        parts = [] if isinstance(term, Turned) else list(_parts(term))
        source.shape = _join_shapes(source.shape, _needed(parts))
        if parts and not any(isinstance(part, Slice) for part in parts):
            joins = sum(isinstance(part, Join) for part in parts)
            _serve(source, root, not any(isinstance(part, Permute) for part in parts), 2**joins)
    root.bound = term


def _needed(parts: list[Term]) -> tuple[Dim | None, ...]:
    """The shape of the innermost tensor, from what was made of it; empty where that does not say."""
    shape: tuple[Dim | None, ...] = ()
    for part in parts:
        if isinstance(part, (Reshape, Join)):
            shape = part.source if isinstance(part, Reshape) else part.shape
        elif isinstance(part, Permute):
            shape = tuple(shape[axis] for axis in inverse_order(part.order)) if shape else ()
        else:
            shape = ()
    return shape


def _parts(term: Term) -> Iterator[Term]:
    while not isinstance(term, Root):
        yield term
        term = normal(term.parent)


def _serve(source: Root, root: Root, in_order: bool, joined: int) -> None:
    """The accesses of a root that became a reshape of another one: they go on along the last dimension of that.

    joined: elements of the root that stand where the other has one, if it lies in order.
    """
    order = Order(row_major(source.rank))
    for access in root.accesses:
        if access.order.contiguous:
            factor = joined if in_order else 1
            source.accesses.append(replace(access, order=order, joined=access.joined * factor))
    if in_order and source.order is None and source.dot is None and root.order is not None and root.order.contiguous:
        source.order = order


def _merge(term: Root, root: Root) -> None:
    term.shape = _join_shapes(term.shape, root.shape)
    term.order = _preferred(term.order, root.order)
    term.dot = term.dot or root.dot
    term.chained |= root.chained
    term.follows = term.follows or root.follows
    term.accesses.extend(root.accesses)
    order = term.order
    if order is not None and order.fixed is not None and order.contiguous:
        # What gives way to this order is not contiguous in it.
        scattered = Order(row_major(term.rank), contiguous=False)
        term.accesses[:] = [replace(one, order=scattered) if one.order.unlikely else one for one in term.accesses]
    term.whole |= root.whole
    term.single |= root.single
    term.either |= root.either


def _join_shapes(left: tuple[Dim | None, ...], right: tuple[Dim | None, ...]) -> tuple[Dim | None, ...]:
    if not left or not right:
        return left or right
    return tuple(
        a if b is None or (a is not None and _says_more(a, b)) else b for a, b in zip(left, right, strict=True)
    )


def _says_more(size: Dim, other: Dim) -> bool:
    """Whether a size stands for another one that meets it: that may be 1, or is what a test picks of it, or is as
    good."""
    if other.choice is not None and size in other.picked:
        return False
    return not size.is_one and (other.may_be_one or not size.may_be_one)


def _compatible(left: Root, right: Root) -> bool:
    first, second = left.order, right.order
    if not _pins_agree(left.pinned, right):
        return False
    if not _shapes_agree(left.shape, right.shape):
        # Two tiles that share a row vector need not be of one size: `x[:, None]` serves both.
        return False
    if (left.whole and right.dot is not None) or (right.whole and left.dot is not None):
        return False
    if left.dot is not None or right.dot is not None:
        # Tensor cores and memory want different layouts; two dots share one where they are alike.
        return left.dot == right.dot or (first is None and second is None and (left.dot is None or right.dot is None))
    if left.rank == 1 or first is None or second is None or first == second or left.pinned is not None:
        return True
    return not (first.contiguous and second.contiguous) or _gives_way(first, second) or _gives_way(second, first)


def _shapes_agree(left: tuple[Dim | None, ...], right: tuple[Dim | None, ...]) -> bool:
    pairs = [(a, b) for a, b in zip(left, right, strict=False) if a is not None and b is not None and a != b]
    return all(a.may_be_one or b.may_be_one for a, b in pairs) or _is_row_of_branch(pairs)


def _is_row_of_branch(pairs: list[tuple[Dim, Dim]]) -> bool:
    """Whether one of two tiles is a row or column whose size a compile-time test picks for the other.

    `state * decay[None, :]` where a flag transposes the state: what is as wide as one branch's state is compiled with
    that branch alone.
    """
    tests = {size.choice[0] for pair in pairs for size in pair if size.choice is not None}
    if len(tests) != 1 or not any(a.is_one or b.is_one for a, b in pairs):
        return False
    (test,) = tests
    sides = [[(decided(a, {test: holds}), decided(b, {test: holds})) for a, b in pairs] for holds in (True, False)]
    return any(all(a == b or a.is_one or b.is_one for a, b in side) for side in sides)


def _gives_way(first: Order, second: Order) -> bool:
    """Whether an order that only sizes of 1 could make contiguous meets one that is contiguous as the source says.

    Triton's coalescing pass gives all accesses that share indices the elements per thread that the widest has.
    """
    return first.unlikely and second.contiguous and second.fixed is not None


def _preferred(first: Order | None, second: Order | None) -> Order | None:
    """Of two compatible orders the one that says more: a fixed one, then a run-time choice, then none."""
    orders = [order for order in (first, second) if order is not None]
    return max(orders, key=lambda order: (order.contiguous, order.fixed is not None, not order.unlikely), default=None)
