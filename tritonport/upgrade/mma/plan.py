"""Which dots of a loop can stay under way, and what has to change with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import libcst as cst

from tritonport.source.walk import calls_in, walk
from tritonport.upgrade.dots import called
from tritonport.upgrade.edit import code
from tritonport.upgrade.liveness import live_behind
from tritonport.upgrade.mma.alike import bounds_of
from tritonport.upgrade.mma.delay import Delay, delay_of
from tritonport.upgrade.mma.rings import LoopText, Refusal, Ring, Tile, indexed
from tritonport.upgrade.mma.spelling import Dot, names_assigned, one_line, simple_assignment
from tritonport.upgrade.slices import names_of, read_names

LONGEST_HEAD = 12
"""Statements before the last dot but one, which a rotated loop has twice."""
ALLOCATES = ("dot_operand", "dot_operands", "allocate_shared_memory", "operand_smem", "staged", "exact_smem")


@dataclass(frozen=True)
class KeptUnderWay:
    """A loop that only adds up: one dot stays under way from an iteration to the next.

    Attributes:
        delay: what changes for the rings; None where no operand stands in one.
        waits: the statements that wait for groups of cp.async, which are one fewer.
    """

    loop: LoopText
    dots: tuple[Dot, ...]
    delay: Delay | None
    waits: tuple[int, ...]


@dataclass(frozen=True)
class Rotated:
    """A loop whose last dot of an iteration runs under the next iteration; statements by their index in the body.

    Attributes:
        first: the dot behind which the last one of the iteration before is started.
        operand: the left operand, where each iteration computes it; None where it stands in memory.
        moved: the statements that wait for the tiles of the last dot and find them.
        rescales: those that work on its accumulator.
        phase: the variable that the moved waits compare with; None without one.
        step: what an iteration adds to the index.
        copies: whether the loop waits for groups of cp.async.
    """

    loop: LoopText
    first: Dot
    last: Dot
    operand: cst.BaseExpression | None
    moved: tuple[int, ...]
    rescales: tuple[int, ...]
    phase: str | None
    delay: Delay | None
    start: str
    stop: str
    step: str
    copies: bool

    @property
    def shares_ring(self) -> bool:
        """Whether other statements of an iteration read a ring that the last dot of the one before reads."""
        read = {ring.name for ring in self.delay.rings} if self.delay is not None else set()
        return any(set(indexed(self.loop.body[place])) & read for place in self._others())

    def _others(self) -> list[int]:
        known = {*self.moved, *(self.delay.refills if self.delay is not None else ())}
        return [place for place in range(len(self.loop.body)) if place not in known]


Plan = KeptUnderWay | Rotated


def dots_of(loop: LoopText) -> list[cst.Call]:
    """The dots of a loop, as it stands in the file, that belong to no inner one."""
    inner = {
        id(node) for one in walk(loop.original.body) if isinstance(one, (cst.For, cst.While)) for node in walk(one)
    }
    found = [call for call in calls_in(loop.original.body) if id(call) not in inner]
    return [call for call in found if loop.reader.is_dot(call)]


def is_started(loop: LoopText) -> bool:
    """Whether a loop starts dots, or waits for them, already."""
    return any(loop.reader.is_started(call) for line in loop.body for call in calls_in(line))


def plan_loop(loop: LoopText) -> Plan:
    """What the stage does with a loop.

    Raises:
        Refusal: its dots stay synchronous.
    """
    check_straight(loop)
    dots = dots_in_order(loop)
    if all(only_adds(loop, dot, dots) for dot in dots):
        return _kept(loop, dots)
    last = dots[-1]
    if last.adds != last.target:
        raise Refusal(f"its result {last.target} is read in the same iteration")
    if not _is_carried(loop, last.target):
        raise Refusal(
            f"its accumulator {last.target} is made by no statement of {loop.function.name.value} in front of it"
        )
    if len(dots) == 1:
        at = next(place for place in _mentions(loop, last.target) if place != last.place)
        raise Refusal(f"its accumulator is used elsewhere in the loop: `{one_line(loop.body[at])}`")
    return _rotated(loop, dots[-2], last)


def check_straight(loop: LoopText) -> None:
    """That each iteration ends at its end.

    Raises:
        Refusal: it may end before.
    """
    for node in walk(loop.node.body):
        if isinstance(node, (cst.Break, cst.Continue, cst.Return)):
            raise Refusal(f"its loop has a {code(node)}")


def dots_in_order(loop: LoopText) -> list[Dot]:
    """The dots of a loop as statements of its own body.

    Raises:
        Refusal: one is more than that, or is none that can be started.
    """
    found: list[Dot] = []
    for place, statement in enumerate(loop.body):
        calls = [call for call in calls_in(statement) if loop.reader.is_dot(call)]
        made = simple_assignment(statement)
        if calls and (made is None or len(calls) > 1):
            raise Refusal(f"`{one_line(loop.body[place])}` is not one assignment of a dot in the loop itself")
        for call in calls:
            assert made is not None
            dot = loop.reader.dot(call, place, made[0])
            if dot is None:
                raise Refusal(f"{called(call)} is no dot that can be left under way")
            found.append(dot)
    return found


def _mentions(loop: LoopText, name: str) -> list[int]:
    return [place for place, line in enumerate(loop.body) if name in names_of(line)]


def _is_carried(loop: LoopText, name: str) -> bool:
    return any(name in names_assigned(line) for line in loop.block[: loop.place]) or name in _outer(loop)


def _outer(loop: LoopText) -> set[str]:
    inside = {id(node) for node in walk(loop.original)}
    lines = (node for node in walk(loop.function.body) if id(node) not in inside)
    return {name for node in lines if isinstance(node, cst.SimpleStatementLine) for name in names_assigned(node)}


def only_adds(loop: LoopText, dot: Dot, dots: Sequence[Dot]) -> bool:
    """Whether a dot adds to an accumulator that the loop carries and does not use otherwise."""
    made = simple_assignment(loop.body[dot.place])
    own = {one.place for one in dots if one.adds == one.target == dot.target}
    return (
        dot.adds == dot.target
        and made is not None
        and made[1] is dot.call
        and set(_mentions(loop, dot.target)) <= own
        and _is_carried(loop, dot.target)
    )


# -- a loop that only adds up


def _kept(loop: LoopText, dots: list[Dot]) -> KeptUnderWay:
    read = [(dot, tile) for dot in dots for node in (dot.left, dot.right) if (tile := loop.tile(node, dot.place))]
    last_read = {tile.ring: dot.place for dot, tile in read}
    delay = delay_of(loop, rings_of(loop, [tile for _, tile in read]), last_read) if read else None
    if delay is not None and delay.depth == "1":
        raise Refusal("a ring of one tile has no place to fill while the dot reads it")
    return KeptUnderWay(loop, tuple(dots), delay, shorter_waits(loop, delay))


def shorter_waits(loop: LoopText, delay: Delay | None) -> tuple[int, ...]:
    """The wait for groups of cp.async of a loop that copies one iteration later: all but one fewer are to be done.

    Raises:
        Refusal: it is not the wait that is known.
    """
    if delay is None or all(ring.ready is not None for ring in delay.rings):
        return ()
    if not delay.whole:
        raise Refusal("a group of its copies holds other tiles too, which are those of another iteration")
    waits = [place for place, line in enumerate(loop.body) if "wait_group" in map(called, calls_in(line))]
    if len(waits) != 1:
        raise Refusal("its loop does not wait once for its tiles")
    waited = next(call for call in calls_in(loop.body[waits[0]]) if called(call) == "wait_group")
    if [code(one.value) for one in waited.args] != [f"{delay.depth} - 1"]:
        raise Refusal(f"its loop waits with {code(waited)} and not with wait_group({delay.depth} - 1)")
    return tuple(waits)


def rings_of(loop: LoopText, tiles: list[Tile]) -> list[Ring]:
    """The rings that these tiles stand in."""
    return [loop.ring(tile) for tile in {tile.ring: tile for tile in tiles}.values()]


# -- a loop with a chain of dots


def _rotated(loop: LoopText, first: Dot, last: Dot) -> Rotated:
    made = simple_assignment(loop.body[last.place])
    if made is None or made[1] is not last.call:
        raise Refusal("its statement computes more than the dot")
    changing = {loop.index} | {name for line in loop.body for name in names_assigned(line)}
    for given in last.call.args:
        if given.keyword is not None and names_of(given.value) & changing:
            raise Refusal(f"{code(given)} is not the same in the next iteration")
    for node in (first.left, first.right):
        loop.tile(node, first.place)
    if first.place > LONGEST_HEAD:
        raise Refusal(
            f"{first.place} statements before the dot `{one_line(first.call)}` would have to be written twice"
        )
    rescales = [place for place in _mentions(loop, last.target) if place != last.place]
    for place in rescales:
        if names_assigned(loop.body[place]) != {last.target} or not first.place < place < last.place:
            raise Refusal(f"its accumulator is used elsewhere in the loop: `{one_line(loop.body[place])}`")
    tiles = [tile for tile in (_left_tile(loop, last), loop.tile(last.right, last.place)) if tile is not None]
    operand = last.left if _left_is_computed(loop, last) else None
    chain = tuple(sorted({place for tile in tiles for place in tile.chain}))
    _check_private(loop, chain, last)
    rings = rings_of(loop, tiles)
    delay = delay_of(loop, rings, {ring.name: last.place for ring in rings}) if rings else None
    start, stop, step = bounds_of(loop)
    if loop.index in live_behind(loop.function, loop.original):
        raise Refusal(f"{loop.index} is read behind the loop")
    copies = any(called(call) == "wait_group" for line in loop.body for call in calls_in(line))
    plan = Rotated(loop, first, last, operand, chain, tuple(rescales), None, delay, start, stop, step, copies)
    if plan.shares_ring:
        if delay is not None and delay.depth == "1":
            raise Refusal("a ring of one tile has no place to fill while the dot reads it")
        return plan
    waits = tuple(place for ring in rings for place in ring.waits)
    moved = tuple(sorted({*chain, *waits}))
    return replace(plan, moved=moved, phase=_phase(loop, plan, moved))


def _left_is_computed(loop: LoopText, last: Dot) -> bool:
    try:
        loop.tile(last.left, last.place)
    except Refusal:
        return True
    return False


def _left_tile(loop: LoopText, last: Dot) -> Tile | None:
    """The ring's tile that the left operand is; None for what no iteration changes and for what is in registers.

    Raises:
        Refusal: each iteration may write it to shared memory, where the dot would still read it.
    """
    try:
        return loop.tile(last.left, last.place)
    except Refusal:
        if not is_tensor(loop, last.left, last.place):
            raise
    return None


def is_tensor(loop: LoopText, node: cst.BaseExpression, before: int) -> bool:
    """Whether an expression is certainly a tensor in registers."""
    if isinstance(node, cst.Name):
        made = [simple_assignment(loop.body[place]) for place in loop.assignments(node.value) if place < before]
        return bool(made) and all(one is not None and is_tensor(loop, one[1], before) for one in made)
    if isinstance(node, (cst.BinaryOperation, cst.UnaryOperation, cst.Comparison)):
        return True
    if not isinstance(node, cst.Call) or called(node) in ALLOCATES:
        return False
    method = isinstance(node.func, cst.Attribute) and node.func.attr.value == "to"
    names = loop.reader.module.qualified_names(node.func)
    return method or any(name.startswith("triton.experimental.gluon.language.") for name in names)


def _check_private(loop: LoopText, chain: tuple[int, ...], last: Dot) -> None:
    """The names of the tiles that the last dot reads must be its own, and follow from the place alone."""
    names = set().union(*(names_assigned(loop.body[place]) for place in chain), set())
    typed = {
        id(node.value) for node in walk(last.left) if isinstance(node, cst.Attribute) and node.attr.value == "dtype"
    }
    for node in walk(last.left) if _left_is_computed(loop, last) else ():
        if isinstance(node, cst.Name) and node.value in names and id(node) not in typed:
            raise Refusal(f"its left operand is computed from the tile {node.value}")
    allowed = {*chain, last.place}
    for place, line in enumerate(loop.body):
        if place not in allowed and names & names_of(line):
            raise Refusal(f"its tile is read elsewhere in the loop: `{one_line(loop.body[place])}`")
    behind = names & live_behind(loop.function, loop.original)
    for line in loop.block[loop.place + 1 :] if behind else ():
        if behind & names_of(line):
            raise Refusal(f"its tile is read behind the loop: `{one_line(line)}`")


def _phase(loop: LoopText, plan: Rotated, moved: tuple[int, ...]) -> str | None:
    """The variable beside the place that the moved statements read, of those that the loop changes."""
    own = set().union(*(names_assigned(loop.body[place]) for place in moved), set())
    changing = {loop.index} | {name for line in loop.body for name in names_assigned(line)}
    read = set().union(*(read_names(loop.body[place]) for place in moved), set())
    found = (read & changing) - own - ({plan.delay.slot} if plan.delay is not None else set())
    if len(found) > 1 or loop.index in found:
        raise Refusal(f"where its tiles are depends on {', '.join(sorted(found))}")
    name = next(iter(found), None)
    if name is not None and (plan.delay is None or min(loop.assignments(name)) < plan.delay.advance):
        raise Refusal(f"{name} changes before the end of the iteration")
    return name


__all__ = [
    "KeptUnderWay",
    "Plan",
    "Rotated",
    "check_straight",
    "dots_in_order",
    "dots_of",
    "is_started",
    "is_tensor",
    "only_adds",
    "plan_loop",
    "rings_of",
    "shorter_waits",
]
