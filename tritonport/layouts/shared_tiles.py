"""Tiles of descriptors that only dots read: they stay in shared memory, where the copy engine puts them.

Between a tile and its dot there may be a transposition, which is a view, and a compile-time `if` that chooses the tile.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import libcst as cst

from tritonport.analysis.frame import Frame
from tritonport.analysis.operations.dots import DEFAULT
from tritonport.analysis.terms import Permuted
from tritonport.analysis.values import Operand, Value


def mark_shared(frames: Iterable[Frame], values: list[Value]) -> None:
    """Set `shared` of such tiles: whether every dot sums along the dimension that is contiguous, and the precision."""
    users: Users = {}
    for value in values:
        for operand in value.operands:
            users.setdefault(id(operand.value), []).append((value, operand))
    reads: dict[int, list[cst.CSTNode]] = {}
    for frame in frames:
        for node, definition in frame.reads.items():
            reads.setdefault(id(definition.value), []).append(node)
    for value in values:
        if value.op == "descriptor_load" and value.rank == 2:
            _mark(value, users, reads)
    _all_or_none(values)


Users = dict[int, list[tuple[Value, Operand]]]


def _mark(value: Value, users: Users, reads: dict[int, list[cst.CSTNode]]) -> None:
    found: list[tuple[Value, Operand, bool]] = []
    views: list[Value] = []
    for user, operand in _chosen(value, users, views):
        if user.op == "permute" and operand.steps == (Permuted((1, 0)),):
            if id(user) in reads:
                return
            turned = list(_chosen(user, users, views))
            found += [(dot, inner, True) for dot, inner in turned]
            if any(inner.value is not user for _, inner in turned):
                views.append(user)
        else:
            found.append((user, operand, False))
    if not found or not all(_is_operand(dot, operand) for dot, operand, _ in found):
        return
    allowed = {id(operand.node) for _, operand, turned in found if not turned}
    allowed |= {id(user.operands[0].node) for user, _ in users[id(value)] if user.op == "permute"}
    if any(id(node) not in allowed for node in reads.get(id(value), [])):
        return
    precisions = {dot.dot.precision for dot, _, _ in found if dot.dot is not None}
    if len(precisions) != 1 or precisions & {DEFAULT, '"tf32"'} != precisions:
        return
    contiguous = all(turned == (dot.operands.index(operand) == 1) for dot, operand, turned in found)
    value.shared = (contiguous, precisions.pop())
    for view in views:
        view.shared = value.shared


def _all_or_none(values: list[Value]) -> None:
    """A choice between tiles stands in shared memory only where all of them do."""
    changed = True
    while changed:
        changed = False
        for value in values:
            if value.choice and value.shared is not None and any(o.value.shared is None for o in value.operands):
                _unmark(value)
                changed = True


def _unmark(value: Value) -> None:
    value.shared = None
    for operand in value.operands:
        if operand.value.shared is not None:
            _unmark(operand.value)


def _chosen(value: Value, users: Users, choices: list[Value]) -> Iterator[tuple[Value, Operand]]:
    """Who reads a tile, directly or where a compile-time `if` has chosen it; collects the choices on the way."""
    for user, operand in users.get(id(value), []):
        if user.choice:
            choices.append(user)
            yield from _chosen(user, users, choices)
        else:
            yield user, operand


def _is_operand(dot: Value, operand: Operand) -> bool:
    return dot.dot is not None and dot.rank == 2 and dot.operands.index(operand) < 2


__all__ = ["mark_shared"]
