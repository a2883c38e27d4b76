"""Where tiles and barriers begin and end: their allocations, and what initialises and invalidates the barriers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import libcst as cst

from tritonport.source.kernel import Kernel
from tritonport.source.module import SourceModule
from tritonport.source.walk import assigned_names, walk
from tritonport.upgrade.facts import Facts
from tritonport.upgrade.guards import Guard, arms_to, facts_of
from tritonport.upgrade.multibuffer.copies import Step
from tritonport.upgrade.multibuffer.operations import arguments, operation
from tritonport.upgrade.multibuffer.places import Place, statement_of


@dataclass(frozen=True, eq=False)
class Allocation:
    """A statement that allocates a tile or a barrier, and the expression of its shape; None: one barrier."""

    place: Place
    call: cst.Call
    shape: cst.BaseExpression | None


@dataclass(frozen=True, eq=False)
class Signal:
    """A statement that initialises a barrier or invalidates it.

    Attributes:
        own: where it stands.
        guard: the branches around it of `if`s in which alone the barrier is used.
        place: where the outermost of these `if`s stands; its own without one.
    """

    own: Place
    guard: Guard
    place: Place

    @property
    def line(self) -> cst.SimpleStatementLine:
        """The statement."""
        assert isinstance(self.own.statement, cst.SimpleStatementLine)
        return self.own.statement


@dataclass(frozen=True, eq=False)
class Home:
    """Where the tiles and barriers of a ring begin.

    Attributes:
        block: the block in which the barriers are initialised, once for all loops that use them.
        first: the index of the first statement there that holds such a loop.
        inits, invalidates: the statements, one per barrier; a barrier need not be invalidated.
    """

    block: cst.BaseSuite
    first: int
    last: int
    tiles: Mapping[str, Allocation]
    barriers: Mapping[str, Allocation]
    inits: Mapping[str, Signal]
    invalidates: Mapping[str, Signal]


def home_of(
    module: SourceModule,
    kernel: Kernel,
    places: Mapping[cst.CSTNode, Place],
    loops: Sequence[cst.CSTNode],
    barriers: Sequence[str],
    tiles: Mapping[str, Step],
    facts: Mapping[str, Facts],
) -> Home | str:
    """Where the tiles and barriers of some loops begin, or why they cannot become rings.

    Args:
        facts: per tile and barrier, under which `if`s that are decided when the kernel is compiled the loops use it.
    """
    finder = _Finder(module, kernel, places, loops)
    allocations: dict[str, Allocation] = {}
    for name in [*tiles, *barriers]:
        allocation = finder.allocation(name)
        if isinstance(allocation, str):
            return allocation
        allocations[name] = allocation
    # A ring's shape is the depth and the tile's; what is computed need not be a list.
    for name in tiles:
        if not isinstance(allocations[name].shape, (cst.List, cst.Tuple, cst.Name, cst.Attribute)):
            return f"the shape of {name} is not spelled"
    inits: dict[str, Signal] = {}
    invalidates: dict[str, Signal] = {}
    for name in barriers:
        found = [_signal(place, places[loops[0]], facts[name]) for place in finder.signals(name, "init")]
        if len(found) != 1:
            return f"{name} is not initialised once"
        inits[name] = found[0]
        ended = [_signal(place, places[loops[0]], facts[name]) for place in finder.signals(name, "invalidate")]
        if len(ended) > 1:
            return f"{name} is invalidated in several places"
        if ended:
            invalidates[name] = ended[0]
    block = inits[barriers[0]].place.block
    holders = [places[loop].within(block) for loop in loops]
    if any(holder is None for holder in holders):
        return f"{barriers[0]} is initialised in another block than the loop stands in"
    first, last = (pick(holder.index for holder in holders if holder is not None) for pick in (min, max))
    made = {name: _outside(one.place, places[loops[0]], facts[name])[0] for name, one in allocations.items()}
    problem = _order_problem(
        block,
        first,
        last,
        places[loops[0]],
        made,
        {name: one.place for name, one in inits.items()},
        {name: one.place for name, one in invalidates.items()},
    )
    problem = problem or finder.other_use(
        tiles, barriers, {one.line for one in (*inits.values(), *invalidates.values())}
    )
    if problem is not None:
        return problem
    return Home(
        block,
        first,
        last,
        {name: allocations[name] for name in tiles},
        {name: allocations[name] for name in barriers},
        inits,
        invalidates,
    )


def _order_problem(
    block: cst.BaseSuite,
    first: int,
    last: int,
    loop: Place,
    allocations: Mapping[str, Place],
    inits: Mapping[str, Place],
    invalidates: Mapping[str, Place],
) -> str | None:
    for name, place in inits.items():
        if place.block is not block or place.index >= first:
            return f"{name} is not initialised with the other barriers, before the loop"
    for name, place in invalidates.items():
        if place.block is not block or place.index <= last:
            return f"{name} is not invalidated behind the loop, in the block in which it is initialised"
    for name, place in allocations.items():
        holder = loop.within(place.block)
        if holder is None or place.index >= holder.index:
            return f"{name} is not allocated before the loop, in a block around it"
    return None


def _signal(place: Place, loop: Place, facts: Facts) -> Signal:
    outside, guard = _outside(place, loop, facts)
    return Signal(place, guard, outside)


def _outside(place: Place, loop: Place, facts: Facts) -> tuple[Place, Guard]:
    """The statement that a place is in, beside a loop: itself, or an `if` on what holds where the loop uses what it
    makes; with the branches from there to the place."""
    guard: Guard = ()
    while loop.within(place.block) is None and place.around:
        around = place.around[-1]
        arms = arms_to(around.statement, place.block) if isinstance(around.statement, cst.If) else ()
        if not arms or not facts_of(arms) <= facts:
            break
        place, guard = around, (*arms, *guard)
    return place, guard


class _Finder:
    def __init__(
        self,
        module: SourceModule,
        kernel: Kernel,
        places: Mapping[cst.CSTNode, Place],
        loops: Sequence[cst.CSTNode],
    ) -> None:
        self.module = module
        self.kernel = kernel
        self.places = places
        self.inside = {id(node) for loop in loops for node in walk(loop)}

    def allocation(self, name: str) -> Allocation | str:
        """The one statement that makes a tile or a barrier, alone."""
        made = [place for place in self.places.values() if name in _assigned(place.statement)]
        if len(made) != 1 or any(parameter.name == name for parameter in self.kernel.parameters):
            return f"{name} is not allocated in one place of {self.kernel.name}"
        line = made[0].statement
        assert isinstance(line, cst.SimpleStatementLine)
        small = line.body[0]
        call = small.value if isinstance(small, cst.Assign) and len(line.body) == len(small.targets) == 1 else None
        kind = operation(self.module, call) if call is not None else ""
        if call is None or kind not in ("allocate", "allocate_mbarrier"):
            return f"{name} is not made by allocate_shared_memory alone"
        assert isinstance(call, cst.Call)
        given = arguments(call, kind)
        if kind == "allocate_mbarrier":
            return Allocation(made[0], call, None) if not call.args else f"{name} is more than one barrier"
        if given is None or given.keys() != {"element_ty", "shape", "layout"}:
            return f"{name} is not allocated with a type, a shape and a layout"
        return Allocation(made[0], call, given["shape"].value)

    def signals(self, barrier: str, kind: str) -> list[Place]:
        """The statements that initialise a barrier for one arrival, or invalidate it."""
        found = []
        for place in self.places.values():
            line = place.statement
            if not isinstance(line, cst.SimpleStatementLine) or len(line.body) != 1:
                continue
            small = line.body[0]
            if not isinstance(small, cst.Expr) or operation(self.module, small.value) != kind:
                continue
            assert isinstance(small.value, cst.Call)
            given = arguments(small.value, kind) or {}
            said = given.get("mbarrier")
            if said is None or not isinstance(said.value, cst.Name) or said.value.value != barrier:
                continue
            count = given.get("count")
            if kind == "init" and (count is None or not _is_one(count.value)):
                continue
            found.append(place)
        return found

    def other_use(self, tiles: Mapping[str, Step], barriers: Sequence[str], known: set[cst.CSTNode]) -> str | None:
        """A use of a tile or a barrier that is none of the loops' own."""
        for node in walk(self.kernel.node.body):
            if not isinstance(node, cst.Name) or id(node) in self.inside:
                continue
            if node.value not in tiles and node.value not in barriers:
                continue
            place = statement_of(node, self.places)
            if place.statement in known or node.value in _assigned(place.statement):
                continue
            return f"{node.value} is used outside of the loop too"
        return None


def _assigned(statement: cst.CSTNode) -> list[str]:
    """The names that a statement assigns itself; not those of the statements in it."""
    if not isinstance(statement, cst.SimpleStatementLine):
        return []
    return list(assigned_names(cst.IndentedBlock([statement])))


def _is_one(node: cst.BaseExpression) -> bool:
    return isinstance(node, cst.Integer) and node.value == "1"


__all__ = ["Allocation", "Home", "home_of"]
