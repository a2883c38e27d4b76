"""How a function counts the phases of its barriers, and where a ring can count them instead."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import libcst as cst

from tritonport.source.kernel import Kernel
from tritonport.source.walk import assigned_names, walk
from tritonport.upgrade.edit import code
from tritonport.upgrade.multibuffer.home import Home
from tritonport.upgrade.multibuffer.places import Place
from tritonport.upgrade.multibuffer.ring_loop import RingLoop
from tritonport.upgrade.slices import names_of


@dataclass(frozen=True, eq=False)
class Counter:
    """The variables that count the phases of a ring's barriers.

    Attributes:
        names: those that nothing else reads: the first becomes the ring's own, the others go.
        inits: their statements `phase = 0`, which stand in the block where the barriers are initialised.
        toggles: their statements `phase ^= 1`, one in each loop.
    """

    names: tuple[str, ...]
    inits: tuple[Place, ...]
    toggles: tuple[cst.CSTNode, ...]


def counter_of(
    kernel: Kernel,
    places: Mapping[cst.CSTNode, Place],
    loops: Sequence[RingLoop],
    home: Home,
    carried: bool,
) -> Counter | str:
    """The variables that count a ring's phases, or what about them is not the form that is known."""
    names: list[str] = []
    inits: list[Place] = []
    toggles: list[cst.CSTNode] = []
    reader = _Reader(kernel, places, loops, home)
    for loop in loops:
        for barrier in loop.barriers:
            phase = barrier.wait.given["phase"].value
            if isinstance(phase, cst.Name):
                if phase.value not in names:
                    found = reader.variable(phase.value)
                    if isinstance(found, str):
                        return found
                    names.append(phase.value)
                    inits.append(found[0])
                    toggles += found[1]
            elif carried or not _is_parity(phase, loop):
                return f"the phase of {barrier.name}, {code(phase)}, is not counted from 0 by every iteration"
    own = [name for name in names if not reader.shared(name)]
    kept = {id(place.statement) for name, place in zip(names, inits, strict=True) if name not in own}
    return Counter(
        tuple(own),
        tuple(place for place in inits if id(place.statement) not in kept),
        tuple(line for line in toggles if _toggled(line) in own),
    )


class _Reader:
    def __init__(
        self, kernel: Kernel, places: Mapping[cst.CSTNode, Place], loops: Sequence[RingLoop], home: Home
    ) -> None:
        self.kernel = kernel
        self.places = places
        self.loops = loops
        self.home = home
        self.order = {statement: number for number, statement in enumerate(places)}
        self.spans: dict[str, tuple[int, int]] = {}

    def variable(self, name: str) -> tuple[Place, list[cst.CSTNode]] | str:
        """Where a variable is set to 0 and toggled; or what else happens to it."""
        home = self.home
        zeros = [
            place
            for place in self.places.values()
            if place.block is home.block and place.index < home.first and _is_zero(place.statement, name)
        ]
        if not zeros:
            return f"the phase {name} does not begin with 0 where its barrier is initialised"
        begin, end = self._span(zeros[-1])
        self.spans[name] = (begin, end)
        toggles = []
        for loop in self.loops:
            own = [(place, line) for place, line in enumerate(loop.body) if _toggled(line) == name]
            waits = [one.wait.place for one in loop.barriers if code(one.wait.given["phase"].value) == name]
            if len(own) != 1 or loop.guards[own[0][0]] or any(own[0][0] < place for place in waits):
                return f"the phase {name} is not toggled once in an iteration, behind the waits"
            toggles.append(own[0][1])
        known = {*toggles, zeros[-1].statement}
        for statement, number in self.order.items():
            if begin <= number <= end and statement not in known and name in _targets(statement):
                return f"the phase {name} is assigned in other places too"
        return zeros[-1], list(toggles)

    def shared(self, name: str) -> bool:
        """Whether anything but the ring's own waits and toggles reads a variable."""
        own = {id(one.wait.given["phase"].value) for loop in self.loops for one in loop.barriers}
        begin, end = self.spans[name]
        for statement, number in self.order.items():
            if not begin <= number <= end or _toggled(statement) == name or _is_zero(statement, name):
                continue
            parts = [statement] if isinstance(statement, cst.SimpleStatementLine) else _heads(statement)
            reads = (node for part in parts for node in walk(part) if isinstance(node, cst.Name))
            if any(node.value == name and id(node) not in own for node in reads):
                return True
        return False

    def _span(self, zero: Place) -> tuple[int, int]:
        """From the statement that sets a variable to 0 to where it may be read last: the next such one, or the end."""
        name = _targets(zero.statement)[0]
        later = [
            self.order[place.statement]
            for place in self.places.values()
            if place.block is zero.block and place.index > self.home.last and _is_zero(place.statement, name)
        ]
        return self.order[zero.statement], min(later) - 1 if later else len(self.order)


def _is_parity(node: cst.BaseExpression, loop: RingLoop) -> bool:
    """`k & 1` or `k % 2` in a loop that counts its iterations."""
    begin, step = code(loop.loop.start) or "0", code(loop.loop.step) or "1"
    index = loop.loop.target
    return (begin, step) == ("0", "1") and code(node) in (f"{index} & 1", f"{index} % 2")


def _is_zero(statement: cst.CSTNode, name: str) -> bool:
    return _plain(statement) == f"{name} = 0"


def _toggled(statement: cst.CSTNode) -> str | None:
    """The variable that a statement flips between 0 and 1."""
    names = _targets(statement)
    if len(names) != 1:
        return None
    name = names[0]
    forms = (f"{name} ^= 1", f"{name} = {name} ^ 1", f"{name} = 1 - {name}")
    return name if _plain(statement) in forms else None


def _plain(statement: cst.CSTNode) -> str:
    if not isinstance(statement, cst.SimpleStatementLine) or len(statement.body) != 1:
        return ""
    return code(statement.body[0])


def _targets(statement: cst.CSTNode) -> list[str]:
    """The names that a statement assigns itself, a loop its index; not those of the statements in it."""
    if isinstance(statement, cst.For):
        return sorted(names_of(statement.target))
    if not isinstance(statement, cst.SimpleStatementLine):
        return []
    return list(assigned_names(cst.IndentedBlock([statement])))


def _heads(statement: cst.CSTNode) -> list[cst.CSTNode]:
    if isinstance(statement, (cst.If, cst.While)):
        return [statement.test]
    return [statement.iter] if isinstance(statement, cst.For) else []


__all__ = ["Counter", "counter_of"]
