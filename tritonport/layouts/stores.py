"""Stores whose rows may be unaligned although what is stored has a layout of 16 bytes per thread.

Triton's coalescing pass lets a tensor have as many elements per thread as the widest access that it takes part in, but
a store no more than its own address allows (`CoalescePass::setCoalescedEncoding`). Where a row of aligned weights is
read beside rows that start anywhere, everything is computed in the layout of the weights and converted just before the
store. So does the port: the sums have their order from the same layout, and the store is not written piece by piece.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from tritonport.analysis.terms import Root, equivalent, resolve
from tritonport.analysis.values import Value


def split_unaligned(values: Iterable[Value], depends: Callable[[frozenset[str]], bool]) -> list[Value]:
    """Give such stores a layout of their own, which is the layout of what they store where the rows are aligned.

    All that are stored from one layout share it: rows that lie differently in one launch are rare, and one name reads
    better than three.

    depends: whether an address is a multiple of 16 bytes only where some of these arguments are.

    Returns the stores.
    """
    made: dict[Root, Root] = {}
    split: list[Value] = []
    for value in values:
        if value.op != "store" or value.focus is None or value.access is None:
            continue
        wide = resolve(value.focus)
        order, pointers, multiples = value.access
        if order is None or not order.contiguous or not depends(multiples):
            continue
        if not isinstance(wide, Root) or not _always_wide(wide, depends):
            continue
        access = next(found for found in wide.accesses if (found.pointers, found.multiples) == (pointers, multiples))
        own = made.setdefault(wide, Root(wide.rank, wide.shape, wide.order, wide=wide))
        own.accesses.append(replace(access))
        value.focus = own
        split.append(value)
    return split


def split_types(values: Iterable[Value]) -> list[Value]:
    """Give stores of what has to be converted anyway, as the type it was computed in, a layout for that type.

    The float32 sum of a dot would be stored 32 bytes per thread in the layout of a tile of 16-bit elements. Where the
    types are equal after all, so are the layouts, and the compiler has them once. Returns the stores.
    """
    made: dict[tuple[Root, tuple[str, ...]], Root] = {}
    split: list[Value] = []
    for value in values:
        if value.op != "store" or value.focus is None or value.access is None or len(value.operands) < 2:
            continue
        root, stored = resolve(value.focus), value.operands[1].value
        order, pointers, multiples = value.access
        if order is None or not isinstance(root, Root) or root.pinned is not None or root.dot is not None:
            continue
        if not stored.is_tensor or stored.rank < 2 or stored.focus is None or equivalent(stored.term, root):
            continue
        if stored.element and set(stored.element) <= set(pointers):
            # It was cast to the type that is stored there, which is likely to be that of what was read.
            continue
        access = next(found for found in root.accesses if (found.pointers, found.multiples) == (pointers, multiples))
        if all(other.pointers == pointers for other in root.accesses):
            continue
        own = made.setdefault((root, pointers), Root(root.rank, root.shape, root.order))
        own.accesses.append(replace(access))
        root.accesses.remove(access)
        value.focus = own
        split.append(value)
    return split


def _always_wide(root: Root, depends: Callable[[frozenset[str]], bool]) -> bool:
    """Whether one of the accesses is aligned whatever the arguments are, and the order known."""
    if (
        root.pinned is not None
        or root.dot is not None
        or root.order is None
        or root.order.fixed is None
        or root.order.choices
    ):
        return False
    contiguous = [access for access in root.accesses if access.order.contiguous]
    return any(not depends(access.multiples) for access in contiguous)
