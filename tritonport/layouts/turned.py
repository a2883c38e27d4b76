"""States that a compile-time flag keeps as they are or transposed, and that dots add to either way.

Such a state is a loop's variable of two shapes: `state += tl.trans(tl.dot(a, b))` is compiled where the flag is set,
and `state = tl.dot(a, b, state)` where it is not. Its layout is that of the dot's result, transposed where the flag is
set, so that no launch moves it between threads. Triton's compiler, which sees one of the two alone, finds the same.
"""

from __future__ import annotations

from collections.abc import Iterable

from tritonport.analysis.terms import Permuted, Root, Term, Turned, inverse_order, normal
from tritonport.analysis.values import Value
from tritonport.layouts.unification import unify

Order = tuple[int, ...]


def turn_states(values: Iterable[Value]) -> None:
    """Give the states that dots add to on both sides of a compile-time `if` of a loop the layout of their dots."""
    found = list(values)
    heads = [value for value in found if value.op == "phi" and not value.choice and value.focus is not None]
    for value in found:
        term = _layout_of(value)
        if term is not None and unify(term, value.term):
            for head in heads:
                if any(operand.value is value for operand in head.operands):
                    _carry(term, head, {value})


def _carry(term: Term, value: Value, seen: set[Value]) -> None:
    """Give the layout to a variable of a loop, and to what it is made of before: a tile that is added to it there is
    converted once, not the sum twice."""
    seen.add(value)
    if value.focus is None or not unify(term, value.term) or value.op != "phi":
        return
    for operand in value.operands:
        if operand.value not in seen:
            _carry(term, operand.value, seen)


def _layout_of(merge: Value) -> Term | None:
    """The layout of a tile that a compile-time `if` leaves in one of two shapes; None for any other."""
    tests = {size.choice[0] if size.choice is not None else "" for size in merge.shape}
    if not merge.choice or merge.focus is None or merge.depth == 0 or len(merge.operands) != 2:
        return None
    if len(tests) != 1 or "" in tests:
        return None
    sides = [_dot_behind(operand.value) for operand in merge.operands]
    if sides[0] is None or sides[1] is None:
        return None
    orders, dots = [side[0] for side in sides if side], [side[1] for side in sides if side]
    plain = tuple(range(merge.rank))
    if (orders[0] == plain) == (orders[1] == plain):
        return None
    if not unify(dots[0].term, dots[1].term):
        return None
    holds = orders[0] != plain
    return Turned(tests.pop(), holds, orders[0] if holds else orders[1], normal(dots[0].term))


def _dot_behind(value: Value) -> tuple[Order, Value] | None:
    """The one dot of its shape that a tile is made of, element by element, and how its dimensions are permuted."""
    found: dict[tuple[Order, Value], None] = {}
    work: list[tuple[Order, Value]] = [(tuple(range(value.rank)), value)]
    seen: set[tuple[Order, Value]] = set()
    while work:
        order, one = work.pop()
        if (order, one) in seen or one.depth != value.depth:
            continue
        seen.add((order, one))
        if one.dot is not None and isinstance(one.focus, Root):
            found[order, one] = None
        elif one.op == "permute" and len(one.operands) == 1 and len(one.operands[0].steps) == 1:
            step = one.operands[0].steps[0]
            if isinstance(step, Permuted):
                turn = inverse_order(step.order)
                work.append((tuple(turn[axis] for axis in order), one.operands[0].value))
        elif one.arithmetic and one.op != "phi":
            work += [
                (order, operand.value)
                for operand in one.operands
                if operand.value.rank == one.rank and not operand.path and not operand.steps
            ]
    return next(iter(found)) if len(found) == 1 else None


__all__ = ["turn_states"]
