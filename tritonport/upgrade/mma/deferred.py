"""Dots that a loop starts where they stand, and awaits no earlier than something needs them.

The form for loops that the others do not fit: their statements keep their order, but for the waits and the copies of
tiles (see `gathered`). Only the dots that add to a sum which the loop does not read otherwise stay under way; each is
done when the next of them is begun, or where its tile is filled again. The last one of an iteration runs under the
next iteration.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import libcst as cst

from tritonport.source.syntax import bare_call
from tritonport.source.walk import calls_in, walk
from tritonport.upgrade.dots import called
from tritonport.upgrade.edit import code
from tritonport.upgrade.mma.delay import Delay, delay_of
from tritonport.upgrade.mma.gathered import gathered
from tritonport.upgrade.mma.plan import (
    KeptUnderWay,
    Plan,
    check_straight,
    dots_in_order,
    is_tensor,
    only_adds,
    plan_loop,
    rings_of,
    shorter_waits,
)
from tritonport.upgrade.mma.registers import is_of_dot
from tritonport.upgrade.mma.rings import LoopText, Refusal, Ring, Tile, indexed
from tritonport.upgrade.mma.spelling import Dot, names_assigned, simple_assignment
from tritonport.upgrade.slices import is_pure, names_of, read_names


@dataclass(frozen=True)
class Deferred(KeptUnderWay):
    """A loop with sums, `dots`, among other dots; statements by their index in the body.

    Attributes:
        buffers: per sum the rings that it reads, and their barriers.
        first: the dot under which `early` runs; None without one.
        early: loads of vectors, and what their addresses need, that nothing keeps from running before the first result.
    """

    buffers: tuple[frozenset[str], ...]
    first: Dot | None
    early: tuple[int, ...]

    def read_by(self, dot: Dot) -> frozenset[str]:
        """The rings that a sum's dot reads, and their barriers."""
        return self.buffers[self.dots.index(dot)]

    @property
    def delayed(self) -> frozenset[str]:
        """The rings that are filled one iteration later, and their barriers."""
        return _buffers(self.delay.rings) if self.delay is not None else frozenset()


def plan_or_defer(loop: LoopText) -> Plan:
    """What the stage does with a loop: one of the forms that write it anew, else its sums stay under way in place.

    Raises:
        Refusal: its dots stay synchronous; the reason is why they are not in one of the other forms.
    """
    try:
        return plan_loop(loop)
    except Refusal as why:
        try:
            check_straight(loop)
            loop = gathered(loop)
            return deferred(loop, dots_in_order(loop))
        except Refusal:
            raise why from None


def deferred(loop: LoopText, dots: Sequence[Dot]) -> Deferred:
    """How the sums of a loop stay under way where they stand.

    Raises:
        Refusal: none can.
    """
    sums: list[tuple[Dot, list[Tile]]] = []
    for dot in dots:
        alone = sum(one.target == dot.target for one in dots) == 1
        if alone and only_adds(loop, dot, dots) and (tiles := tiles_of(loop, dot)) is not None:
            sums.append((dot, tiles))
    if not sums:
        raise Refusal("none of its dots adds to a sum that the loop does not use otherwise")
    try:
        delay, waits = _carried(loop, sums)
    except Refusal:
        if sums[-1][0] is dots[-1] and len(sums) == 1:
            raise
        delay, waits = None, ()
    first = next((dot for dot in dots if not only_adds(loop, dot, dots)), None)
    early = _early(loop, first.place) if first is not None and tiles_of(loop, first, ends=True) is not None else []
    return Deferred(
        loop,
        tuple(dot for dot, _ in sums),
        delay,
        waits,
        tuple(_buffers(rings_of(loop, tiles)) for _, tiles in sums),
        first if early else None,
        tuple(early),
    )


def tiles_of(loop: LoopText, dot: Dot, ends: bool = False) -> list[Tile] | None:
    """The rings' tiles that a dot reads; None where an operand may be written again while the dot is under way.

    Args:
        ends: whether the dot ends in its iteration, which writes no operand in registers twice.
    """
    found: list[Tile] = []
    for node in (dot.left, dot.right):
        try:
            tile = loop.tile(node, dot.place)
        except Refusal:
            if node is dot.right or not is_tensor(loop, node, dot.place):
                return None
            if not ends and not is_of_dot(node, loop.body[: dot.place]):
                return None
        else:
            found += [tile] if tile is not None else []
    return found


def _buffers(rings: Iterable[Ring]) -> frozenset[str]:
    return frozenset(name for ring in rings for name in (ring.name, ring.ready) if name is not None)


def _carried(loop: LoopText, sums: Sequence[tuple[Dot, list[Tile]]]) -> tuple[Delay | None, tuple[int, ...]]:
    """What changes for the rings where the last sum runs on into the next iteration.

    Raises:
        Refusal: it cannot.
    """
    last, tiles = sums[-1]
    rings = rings_of(loop, tiles)
    if any(ring.ready is None for ring in rings):
        # One group of cp.async holds the tiles of all the rings.
        rings = rings_of(loop, list(_all_tiles(loop)))
    last_read = {tile.ring: dot.place for dot, read in sums for tile in read}
    delay = (
        delay_of(loop, rings, {ring.name: last_read.get(ring.name, last.place) for ring in rings}) if rings else None
    )
    if delay is not None and delay.depth == "1":
        raise Refusal("a ring of one tile has no place to fill while the dot reads it")
    return delay, shorter_waits(loop, delay)


def _all_tiles(loop: LoopText) -> Iterator[Tile]:
    """A tile of each ring that the loop reads."""
    for place, statement in enumerate(loop.body):
        for node in calls_in(statement) if simple_assignment(statement) is not None else ():
            if indexed(node) and called(node) == "index":
                tile = loop.tile(node, place)
                if tile is not None:
                    yield tile


# -- what runs under the first dot


def _early(loop: LoopText, first: int) -> list[int]:
    """The loads of vectors behind a dot that can run under it, with the statements that they need."""
    found: set[int] = set()
    for place in range(first + 1, len(loop.body)):
        if _writes_memory(loop, place):
            break
        if _is_vector_load(loop, place):
            needed = _needed(loop, first, place, found)
            found |= needed if needed is not None else set()
    return sorted(found)


def _is_vector_load(loop: LoopText, place: int) -> bool:
    """Whether a statement loads what the loop reads as one row or column of a tile alone."""
    made = simple_assignment(loop.body[place])
    if made is None or not loop.reader.is_gl(made[1], "load") or any(code(one) == "volatile" for one in walk(made[1])):
        return False
    name = made[0]
    if len(loop.assignments(name)) != 1:
        return False
    reads = sum(_counts(line, name) for line in loop.body)
    expanded = sum(
        isinstance(node, cst.Subscript)
        and code(node.value) == name
        and any(isinstance(one.slice, cst.Index) and code(one.slice.value) == "None" for one in node.slice)
        for line in loop.body
        for node in walk(line)
    )
    # Its own statement names it once.
    return expanded > 0 and reads == expanded + 1


def _counts(statement: cst.CSTNode, name: str) -> int:
    return sum(isinstance(node, cst.Name) and node.value == name for node in walk(statement))


def _needed(loop: LoopText, first: int, place: int, moved: set[int]) -> set[int] | None:
    """A load and what it needs of the statements behind a dot; None where one of them cannot run before its result."""
    found = {place}
    needed = read_names(loop.body[place])
    for other in range(place - 1, first, -1):
        if other not in moved and names_assigned(loop.body[other]) & needed:
            if simple_assignment(loop.body[other]) is None or not is_pure(loop.body[other]):
                return None
            found.add(other)
            needed |= read_names(loop.body[other])
    staying = [other for other in range(first, place) if other not in found | moved]
    made = set().union(*(names_assigned(loop.body[other]) for other in found))
    touched = set().union(*(names_of(loop.body[other]) for other in staying))
    changed = set().union(*(names_assigned(loop.body[other]) for other in staying))
    return None if made & touched or needed & changed else found


def _writes_memory(loop: LoopText, place: int) -> bool:
    """Whether a statement may write what a load reads: a store, an atomic, a function that is none of the port."""
    kernels = loop.reader.module.bindings.kernels
    for call in calls_in(loop.body[place]):
        name = called(call)
        if "store" in name or name.startswith("atomic") or "reduce" in name:
            return True
        if code(call.func) in kernels and loop.reader.emitted(call) is None:
            return True
    return False


def fills(loop: LoopText, place: int, buffers: frozenset[str]) -> bool:
    """Whether a statement begins to copy into one of these rings, or tells a barrier of it."""
    call = bare_call(loop.body[place])
    if call is None or loop.reader.is_hopper(call, "mbarrier.wait"):
        return False
    return bool(indexed(call) & buffers)


__all__ = ["Deferred", "deferred", "fills", "plan_or_defer", "tiles_of"]
