"""Vectors of a loop that are sums along one side of a tile and stand on both sides of it.

`a = tl.sum(tl.where(mask[:, None], A, 0), 0)`, `a += tl.sum(a[:, None] * A, 0)`, `A = tl.where(mask[:, None], a, A)`:
in the layout of a column, which the first tile that takes it wants, all but that one would be converted. What most of
the tiles and sums want decides, and the others are converted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from tritonport.analysis.values import Value
from tritonport.layouts.edges import Edge


def outvoted(edges: Iterable[Edge]) -> set[Edge]:
    """The edges between vectors of loops and tiles, or sums over tiles, where fewer want the side than the other."""
    users: dict[Value, list[Edge]] = {}
    operands: dict[Value, list[Edge]] = {}
    for edge in edges:
        users.setdefault(edge.producer, []).append(edge)
        operands.setdefault(edge.consumer, []).append(edge)
    found: set[Edge] = set()
    taken: set[Value] = set()
    for start in operands:
        if start in taken or not _is_member(start):
            continue
        members, work = {start}, [start]
        while work:
            value = work.pop()
            near = [edge.consumer for edge in users.get(value, ())]
            near += [edge.producer for edge in operands.get(value, ())]
            fresh = {other for other in near if _is_member(other)} - members
            members |= fresh
            work += fresh
        taken |= members
        sides: dict[Edge, int] = {}
        for value in members:
            for edge in operands.get(value, ()):
                if edge.producer.op == "reduce" and edge.producer.result_axis is not None:
                    sides[edge] = edge.producer.result_axis
            for edge in users.get(value, ()):
                if edge.consumer.rank == 2 and len(edge.operand.path) == 1 and not edge.operand.steps:
                    sides[edge] = edge.operand.path[0]
        votes = Counter(sides.values()).most_common(2)
        if len(votes) == 2 and votes[0][1] > votes[1][1]:
            found |= {edge for edge, side in sides.items() if side != votes[0][0]}
    return found


def _is_member(value: Value) -> bool:
    """Whether a vector is reckoned element by element in a loop, or is what a compile-time `if` makes of such."""
    return (
        value.is_tensor
        and value.focus is not None
        and value.rank == 1
        and value.depth > 0
        and value.arithmetic
        and (value.op != "phi" or value.choice)
    )


__all__ = ["outvoted"]
