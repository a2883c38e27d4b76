"""Vectors that a loop reads and reckons with before a tile takes them.

`v = tl.load(v_ptrs)`, `v -= tl.sum(state * k[None, :], 1)`, `v *= beta`, `state += v[:, None] * k[None, :]`: Triton's
compiler does all of this in the layout in which the vector is read. The sum is converted to it and what comes out is
converted back; each thread has an element or two, where in the slice of the tile it would have a whole column. So it
is with what is summed up to a number, `tl.sum(q * k)`: what takes no part in the tile is not converted at all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tritonport.analysis.values import Value
from tritonport.layouts.edges import Edge
from tritonport.layouts.vectors import is_read_in_loop, may_be_number


@dataclass(eq=False)
class VectorGroup:
    """Loads of vectors and what is reckoned of them.

    Attributes:
        loads: the loads, which decide on the layout.
        inner: the edges among the group's values, and from them to sums over all of a vector.
        cut: the edges where a conversion stands: from sums into the group, and from it to tiles.
        stored: the edges to stores, which have layouts of their own.
    """

    loads: list[Value]
    inner: list[Edge] = field(default_factory=list)
    cut: list[Edge] = field(default_factory=list)
    stored: list[Edge] = field(default_factory=list)


def vector_groups(edges: Sequence[Edge]) -> list[VectorGroup]:
    """The groups among the operations that these edges join."""
    users: dict[Value, list[Edge]] = {}
    operands: dict[Value, list[Edge]] = {}
    for edge in edges:
        users.setdefault(edge.producer, []).append(edge)
        operands.setdefault(edge.consumer, []).append(edge)
    found: list[VectorGroup] = []
    taken: dict[Value, None] = {}
    for load in dict.fromkeys(edge.producer for edge in edges if is_read_in_loop(edge.producer)):
        if load in taken:
            continue
        members = _reached(load, users, operands)
        taken |= members
        group = _group(members, users, operands)
        if group is not None:
            found.append(group)
    return found


def _reached(load: Value, users: Mapping[Value, list[Edge]], operands: Mapping[Value, list[Edge]]) -> dict[Value, None]:
    """What is reckoned of a load, element by element, and the other loads that take part."""
    members: dict[Value, None] = {load: None}
    work = [load]
    while work:
        value = work.pop()
        near = [edge.consumer for edge in users.get(value, ()) if _is_reckoned(edge.consumer, load)]
        near += [
            edge.producer
            for edge in operands.get(value, ())
            if value.op != "load"
            and (
                _is_reckoned(edge.producer, load) or is_read_in_loop(edge.producer) or _is_outside(edge.producer, load)
            )
        ]
        fresh = [other for other in near if other not in members]
        members |= dict.fromkeys(fresh)
        work += fresh
    return members


def _is_reckoned(value: Value, load: Value) -> bool:
    """Whether a vector is the result of an elementwise operation in the loop of a load, or what a compile-time `if`
    makes of such."""
    chosen = value.choice and not value.unread and not may_be_number(value)
    elementwise = value.arithmetic and (value.op != "phi" or chosen)
    return value.is_tensor and elementwise and value.rank == 1 and value.depth == load.depth


def _is_outside(value: Value, load: Value) -> bool:
    """Whether a vector is read, or reckoned element by element, before the loop of a load."""
    simple = (value.op == "load" and not value.once) or (value.arithmetic and value.op != "phi")
    return value.is_tensor and simple and value.rank == 1 and value.depth < load.depth


def _group(
    inside: Mapping[Value, None], users: Mapping[Value, list[Edge]], operands: Mapping[Value, list[Edge]]
) -> VectorGroup | None:
    """The group of these values; None where no sum meets them, or something else takes them than tiles, stores and sums
    of all of a vector."""
    group: VectorGroup = VectorGroup([value for value in inside if is_read_in_loop(value)])
    sums = 0
    for value in inside:
        for edge in operands.get(value, ()) if value.op != "load" else ():
            if edge.producer in inside:
                group.inner.append(edge)
            elif edge.producer.op == "reduce" and edge.producer.rank == 1:
                group.cut.append(edge)
                sums += 1
            else:
                return None
        for edge in users.get(value, ()):
            user = edge.consumer
            if user in inside:
                continue
            if user.op == "reduce" and value.rank == 1:
                group.inner.append(edge)
                sums += 1
            elif user.op == "store" and user.rank == 1:
                group.stored.append(edge)
            elif user.rank > 1 and edge.operand.path:
                group.cut.append(edge)
            else:
                return None
    return group if sums else None
