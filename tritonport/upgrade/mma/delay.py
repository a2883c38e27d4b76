"""Filling the places of a ring one iteration later, because the dot of an iteration still reads its tiles in the next.

The place that is free then is the one before, and the tile that goes there is one nearer: `k + NUM_BUFFERS - 1`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import libcst as cst

from tritonport.source.walk import replaced, walk
from tritonport.upgrade.edit import code, renamed
from tritonport.upgrade.mma.alike import PLACE, TILE, check_alike, definitions, expanded
from tritonport.upgrade.mma.prologue import PrologueLoop, prologues
from tritonport.upgrade.mma.rings import LoopText, Refusal, Ring, indexed
from tritonport.upgrade.mma.spelling import names_assigned, one_line, simple_assignment
from tritonport.upgrade.slices import NotSplit, check_pure, names_of, read_names


@dataclass(frozen=True)
class Delay:
    """What changes where rings are filled one iteration later; statements by their index in the loop's body.

    Attributes:
        slot, depth: the counter of places, and how many there are.
        advance: where the counter begins to move on.
        first: the place that is free in the first iteration, as source text: nothing has filled it yet.
        own: statements that serve these refills alone.
        shared: statements whose numbers other statements use too.
        prologues: the loops that fill the rings at first.
    """

    loop: LoopText
    rings: tuple[Ring, ...]
    slot: str
    depth: str
    advance: int
    first: str
    own: tuple[int, ...]
    shared: tuple[int, ...]
    prologues: tuple[PrologueLoop, ...]

    @property
    def refills(self) -> tuple[int, ...]:
        """The statements that begin to copy, of all the rings."""
        return tuple(sorted(place for ring in self.rings for place in ring.refills))

    @property
    def whole(self) -> bool:
        """Whether all that is copied ahead, is copied one iteration later."""
        return all(one.whole for one in self.prologues)

    def nearer(self, statement: cst.BaseStatement) -> cst.BaseStatement:
        """A statement that computes for the tile one iteration nearer."""
        swaps: dict[cst.CSTNode, cst.CSTNode] = {
            node: _one_less(node, self.depth) for node in _ahead(statement, self.loop, self.depth)
        }
        found: cst.BaseStatement = replaced(statement, swaps)
        return found


def delay_of(loop: LoopText, rings: Sequence[Ring], last_read: Mapping[str, int]) -> Delay:
    """How rings are filled one iteration later; `last_read`: the last dot that reads each, by its statement.

    Behind that dot, and the wait for those before it, the same dot of the iteration before is done with its place.

    Raises:
        Refusal: something of it cannot be shown.
    """
    slot, depth = rings[0].slot, rings[0].depth
    if any((ring.slot, ring.depth) != (slot, depth) for ring in rings):
        raise Refusal("its tiles are at different places of their rings")
    advance = _advance(loop, slot, depth)
    first, number = _first_place(loop, slot, depth)
    refills = sorted(place for ring in rings for place in ring.refills)
    for ring in rings:
        if not ring.refills:
            raise Refusal(f"the loop does not fill {ring.name} again")
        if min(ring.refills) <= last_read[ring.name] or max(ring.refills) >= advance:
            raise Refusal(f"the loop fills {ring.name} again before the dot, or after it has moved to the next place")
    found = _needed(loop, refills, {slot, *(ring.name for ring in rings), *(ring.ready or "" for ring in rings)})
    if not any(list(_ahead(loop.body[place], loop, depth)) for place in (*refills, *found)):
        sign = "-" if loop.backwards else "+"
        raise Refusal(f"the tile that {rings[0].name} gets is not that of {loop.index} {sign} {depth}")
    own, shared = _divided(loop, refills, found)
    carried = {name for place in own if _carries(loop, place) for name in names_assigned(loop.body[place])}
    filled = prologues(loop, rings, depth, carried)
    delay = Delay(loop, tuple(rings), slot, depth, advance, first, own, shared, filled)
    _check_prologues(delay, [*found], number)
    return delay


def _advance(loop: LoopText, slot: str, depth: str) -> int:
    """Where a counter of places moves on by one."""
    if not slot.isidentifier():
        raise Refusal(f"the place of its tiles, {slot}, is no counter")
    places = loop.assignments(slot)
    made = simple_assignment(loop.body[places[0]]) if len(places) == 1 else None
    if made is None:
        raise Refusal(f"the place of its tiles, {slot}, is not assigned once in the loop")
    if code(made[1]) == f"({slot} + 1) % {depth}":
        return places[0]
    call = made[1]
    if loop.reader.is_gl(call, "where"):
        assert isinstance(call, cst.Call)
        condition, *rest = (one.value for one in call.args)
        tested = loop.assignments(code(condition)) if isinstance(condition, cst.Name) else []
        named = simple_assignment(loop.body[tested[0]]) if len(tested) == 1 else None
        text = code(named[1]) if named is not None else code(condition)
        if text == f"{slot} == {one_less(depth)}" and [code(one) for one in rest] == ["0", f"{slot} + 1"]:
            return min(places[0], *tested) if tested else places[0]
    raise Refusal(f"the place of its tiles, {slot}, does not go round by one")


def _first_place(loop: LoopText, slot: str, depth: str) -> tuple[str, str]:
    """The place that is left free before the loop, and that of the iteration `PLACE`, as source text."""
    before = [statement for statement in loop.block[: loop.place] if slot in names_assigned(statement)]
    made = simple_assignment(before[-1]) if before else None
    if made is not None and code(made[1]) == "0":
        return one_less(depth), PLACE
    return f"({slot} + {one_less(depth)}) % {depth}", f"({slot} + {PLACE}) % {depth}"


def _check_prologues(delay: Delay, found: Sequence[int], number: str) -> None:
    """That the rings are filled before the loop as in it.

    Raises:
        Refusal: they are not, as far as the text shows.
    """
    loop = delay.loop
    made = definitions(loop.body[place] for place in found)
    for ring in delay.rings:
        names = {ring.name, ring.ready} - {None}
        refills = []
        for place in ring.refills:
            line = expanded(loop.body[place], made)
            swaps: dict[cst.CSTNode, cst.CSTNode] = {node: cst.Name(TILE) for node in _ahead(line, loop, delay.depth)}
            refills.append(renamed(replaced(line, swaps), {delay.slot: PLACE}))
        around = next(one for one in delay.prologues if any(ring.name in indexed(line) for line in one.lines))
        first = [around.lines[at] for at in around.delayed if indexed(around.lines[at]) & names]
        check_alike(loop, refills, first, around.node, number)
    for place in (one for one in delay.own if _carries(loop, one)):
        text = code(loop.body[place])
        count = sum(code(line) == text for one in delay.prologues for line in one.lines)
        if count != 1:
            raise Refusal(f"`{text}` does not move on with the tiles before the loop")


def _needed(loop: LoopText, refills: Sequence[int], known: set[str]) -> list[int]:
    """The statements that compute what refills need.

    Raises:
        Refusal: one does more than to compute a number.
    """
    needed = set().union(*(read_names(loop.body[place]) for place in refills)) - known
    found: set[int] = set()
    changed = True
    while changed:
        changed = False
        for place, statement in enumerate(loop.body):
            if place not in found and names_assigned(statement) & needed:
                try:
                    check_pure(statement)
                except NotSplit as error:
                    raise Refusal(f"the next tile cannot be found ahead: {error}") from error
                if (loop.index in names_of(statement)) and _carries(loop, place):
                    raise Refusal(f"`{one_line(statement)}` adds up numbers of the iterations")
                found.add(place)
                needed |= read_names(statement) - known
                changed = True
    return sorted(found)


def _divided(loop: LoopText, refills: Sequence[int], found: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The statements that serve these refills alone, and those that others need too."""
    served = {*refills, *found}
    elsewhere = set().union(*(read_names(line) for place, line in enumerate(loop.body) if place not in served), set())
    after = set().union(*(read_names(line) for line in loop.block[loop.place + 1 :]), set())
    shared: set[int] = set()
    for place in reversed(found):
        if names_assigned(loop.body[place]) & (elsewhere | after):
            if _carries(loop, place):
                raise Refusal(f"other statements read what `{one_line(loop.body[place])}` adds up for the next tile")
            shared.add(place)
            elsewhere |= read_names(loop.body[place])
    depth = _depth(loop, refills)
    for place in (*refills, *found):
        line = loop.body[place]
        ahead = {id(part) for node in _ahead(line, loop, depth) for part in walk(node)}
        index = (node for node in walk(line) if isinstance(node, cst.Name) and node.value == loop.index)
        if any(id(node) not in ahead for node in index):
            raise Refusal(f"`{one_line(line)}` is not for the tile of {loop.index} + {depth}")
    return tuple(place for place in found if place not in shared), tuple(sorted(shared))


def _depth(loop: LoopText, refills: Sequence[int]) -> str:
    """The depth of the ring that the first refill fills."""
    names = sorted(indexed(loop.body[refills[0]]))
    return next(depth for name in names if (depth := loop.depth(name)) is not None)


def _carries(loop: LoopText, place: int) -> bool:
    """Whether a statement continues a value of the iteration before."""
    statement = loop.body[place]
    for name in names_assigned(statement):
        earlier = [one for one in loop.assignments(name) if one < place]
        if name in read_names(statement) and not earlier:
            return True
        if any(name in read_names(line) for line in loop.body[:place]) and not earlier:
            return True
    return False


def _ahead(node: cst.CSTNode, loop: LoopText, depth: str) -> Iterator[cst.BinaryOperation]:
    """Sums of the loop's index and the depth of the ring, or that many steps; differences where it counts down."""
    size = loop.step.expression if loop.backwards and isinstance(loop.step, cst.UnaryOperation) else loop.step
    steps = code(size) or "1"
    for one in walk(node):
        if not isinstance(one, cst.BinaryOperation) or not isinstance(one.operator, (cst.Add, cst.Subtract)):
            continue
        back = isinstance(one.operator, cst.Subtract)
        for this, other in ((one.left, one.right), (one.right, one.left))[: 1 if back else 2]:
            factors = (
                [other.left, other.right]
                if isinstance(other, cst.BinaryOperation) and isinstance(other.operator, cst.Multiply)
                else [other]
            )
            far = sorted(map(code, factors)) == sorted([depth, steps] if len(factors) == 2 or steps != "1" else [depth])
            if back == loop.backwards and code(this) == loop.index and far:
                yield one
                break


def _one_less(node: cst.BinaryOperation, depth: str) -> cst.CSTNode:
    """`k + NUM_BUFFERS - 1`, `start + (NUM_BUFFERS - 1) * STEP`."""
    product = next(
        (
            part
            for part in (node.left, node.right)
            if isinstance(part, cst.BinaryOperation) and isinstance(part.operator, cst.Multiply)
        ),
        None,
    )
    if product is None and isinstance(node.operator, cst.Subtract) and not depth.isdigit():
        return node.with_changes(right=cst.parse_expression(f"({one_less(depth)})"))
    if product is None and not depth.isdigit():
        inner = node.with_changes(lpar=[], rpar=[])
        return cst.BinaryOperation(inner, cst.Subtract(), cst.Integer("1"), lpar=node.lpar, rpar=node.rpar)
    target = product if product is not None else node
    factor = next(part for part in (target.left, target.right) if code(part) == depth)
    less = one_less(depth)
    return replaced(node, {factor: cst.parse_expression(less if less.isdigit() else f"({less})")})  # type: ignore[no-any-return]


def one_less(depth: str) -> str:
    return str(int(depth) - 1) if depth.isdigit() else f"{depth} - 1"


__all__ = ["Delay", "delay_of"]
