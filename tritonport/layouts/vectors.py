"""Rows and columns of tiles that are read or written as vectors.

In a slice of the tile's layout each element of a vector is in many threads, and a thread's elements may lie apart in
memory. That costs nothing worth mentioning for a vector with fewer elements than there are threads; any other one
Triton's compiler moves once, in a layout of its own, and converts it (`isExpensiveLoadOrStore` of its Utility.cpp). How
many elements and threads there are is decided at compile time, and so is the layout (`vector_layout`). What is written
has the layout of memory however many elements there are: no layout is handed on to a store.

So does the port with what a loop writes, and with what it reads through addresses that it carries: those take two
registers for each element of a thread. Elsewhere, and with the result of a dot, of which a thread has few rows, the
slice reads better and costs little.
"""

from __future__ import annotations

from collections.abc import Iterable

from tritonport.analysis.terms import Root, Slice, Term, equivalent, normal, resolve, root_of
from tritonport.analysis.values import Operand, Value
from tritonport.layouts.edges import Edge
from tritonport.layouts.unification import rearranged


def is_vector_load(value: Value) -> bool:
    return value.op == "load" and _is_alone(value) and _is_carried(value.operands[0].value)


def vectors_before_loops(edges: Iterable[Edge]) -> set[Value]:
    """Vectors that are read before the loops whose tiles take them: what is reckoned of them, element by element, is
    used nowhere else.

    The conversion stands before the loop as well, where it costs nothing.
    """
    users: dict[Value, list[Edge]] = {}
    for edge in edges:
        users.setdefault(edge.producer, []).append(edge)
    found: set[Value] = set()
    for load in users:
        if load.op != "load" or load.depth > 0 or not (_is_vector_in_order(load) and _is_contiguous(load)):
            continue
        work, seen, inside = [load], {load}, True
        while work and inside:
            for edge in users.get(work.pop(), ()):
                user = edge.consumer
                if user.depth > 0:
                    inside = user.rank == 2 and bool(edge.operand.path)
                else:
                    inside = user.arithmetic and user.op != "phi" and user.rank == 1
                    if user not in seen:
                        seen.add(user)
                        work.append(user)
                if not inside:
                    break
        if inside:
            found.add(load)
    return found


def _is_contiguous(value: Value) -> bool:
    """Whether the elements of a vector lie side by side in memory, as the source says."""
    order = value.access[0] if value.access is not None else None
    return order is not None and order.contiguous and order.fixed is not None and not order.choices


def is_read_in_loop(value: Value) -> bool:
    """Whether a value is a vector that a loop reads."""
    return value.op == "load" and _is_alone(value)


def is_vector_store(value: Value, operand: Operand) -> bool:
    """Whether an operand is the vector that is stored."""
    return value.op == "store" and _is_alone(value) and len(value.operands) > 1 and operand is value.operands[1]


def _is_carried(address: Value) -> bool:
    """Whether a loop carries an address, or a vector that it is computed from."""
    work, seen = [address], {id(address)}
    while work:
        value = work.pop()
        if value.op == "phi" and value.is_tensor and not value.choice and value.depth > 0:
            return True
        for operand in value.operands:
            if operand.value.arithmetic and id(operand.value) not in seen and value.op != "phi":
                seen.add(id(operand.value))
                work.append(operand.value)
    return False


def _is_alone(value: Value) -> bool:
    return value.depth > 0 and _is_vector_in_order(value)


def _is_vector_in_order(value: Value) -> bool:
    """Whether a load or store moves a vector whose addresses say how it lies in memory."""
    return (
        value.focus is not None
        and value.rank == 1
        and not value.once
        and value.access is not None
        and value.access[0] is not None
        and any(_is_vector(operand.value) for operand in value.operands)
    )


def _is_vector(operand: Value) -> bool:
    """Whether an operand of an access, its mask say, is no number whatever the flags are: then none of them is."""
    return operand.is_tensor and operand.rank == 1 and not may_be_number(operand)


_TILES = frozenset({"broadcast", "dot", "permute", "reduce", "reshape"})
"""What is never given a number, or gives a tile all the same."""


def may_be_number(value: Value, computed: bool = False, known: dict[int, bool] | None = None) -> bool:
    """Whether compile-time flags decide if a value is a vector or a tile: a number has no layout to convert it to.

    Args:
        computed: whether what costs something to compute from such a value is asked about too.
        known: of values on the way, what was found.
    """
    known = {} if known is None else known
    if not value.is_tensor:
        return False
    if id(value) not in known:
        known[id(value)] = False  # for what a loop computes from itself
        known[id(value)] = _may_be_number(value, computed, known)
    return known[id(value)]


def _may_be_number(value: Value, computed: bool, known: dict[int, bool]) -> bool:
    found = (may_be_number(operand.value, computed, known) for operand in value.operands if operand.value.is_tensor)
    if value.partial or value.op in ("phi", "parameter"):
        return value.partial or any(found)
    tensors = [operand for operand in value.operands if operand.value.is_tensor]
    if not value.arithmetic and (not computed or value.op in _TILES):
        return False
    if value.op == "select" and len(tensors) < len(value.operands):
        return True  # one of two values, of which the other is a number
    return bool(tensors) and all(found)


def keep_apart(value: Value, sliced: Iterable[Term]) -> bool:
    """Give a load or store a layout of its own beside the slices that others want of it; False where it has none.

    They have to be one slice: where two tiles want a vector, it is read for each of them.
    """
    terms = [normal(term) for term in sliced]
    root = resolve(value.focus) if value.focus is not None else None
    if not isinstance(root, Root) or root.pinned is not None or root.apart or root.whole or not terms:
        return False
    first = terms[0]
    if not all(isinstance(term, Slice) and equivalent(term, first) for term in terms) or rearranged(first):
        return False
    if root_of(first).dot is not None:
        return False
    if any(size is None or size.is_one for size in root.shape):
        return False
    assert isinstance(first, Slice)
    if value.op == "load":
        root.within = first
    root.apart = True
    return True


def is_apart(value: Value) -> bool:
    """Whether a load or store was given a layout of its own."""
    root = resolve(value.focus) if value.focus is not None else None
    return isinstance(root, Root) and root.apart


__all__ = ["is_apart", "is_read_in_loop", "is_vector_load", "is_vector_store", "keep_apart", "may_be_number"]
