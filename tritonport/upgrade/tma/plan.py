"""Which tiles of a kernel go through tensor descriptors; what is left, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import libcst as cst

from tritonport.analysis.access import Access, Form, accesses_of
from tritonport.source.kernel import Kernel
from tritonport.source.module import SourceModule
from tritonport.source.syntax import dotted
from tritonport.source.walk import assigned_names, walk
from tritonport.upgrade.async_copy.runs import unspecialised
from tritonport.upgrade.dots import Operand, feeds_dot, operand_of
from tritonport.upgrade.legality import NO_DESCRIPTOR, Reason, Refused, considered, reasons
from tritonport.upgrade.tma.assume import (
    WRITES,
    Assumed,
    choices,
    of_one_type,
    reached,
    specialised,
    touches_memory,
    without_loads,
)
from tritonport.upgrade.tma.boxes import Box, box_of
from tritonport.upgrade.tma.edges import unseen
from tritonport.upgrade.tma.opened import opened
from tritonport.upgrade.tma.terms import HostNames, KernelNames, Spelled
from tritonport.upgrade.values import readers_of

READ = "read from memory"
NO_BOUND, UNKNOWN_BOUND = "is no bound of a coordinate", "its mask ends at "
_TWO_FORMS = ("differs between the branches", " after an if", "memory that may be the same")


@dataclass(frozen=True)
class Choice:
    """Two loads of one tile, one in each branch of an `if` on what the launch knows.

    Attributes:
        test: its condition, as source text.
        box: the box that the load in the other branch reads; the tile's own is that of the first.
    """

    node: cst.If
    test: str
    other: Access
    box: Box


@dataclass(frozen=True)
class Tile:
    """A load or a store that goes through a descriptor.

    Attributes:
        coordinates: per side of the box, as source text of the kernel.
        order: the dimensions of the tile as the descriptor has them, the contiguous one last; None where the strides of
            a launch decide between the two orders of a matrix.
        operand: how dots read a loaded tile.
        choice: the `if` whose two branches both load the tile, with other masks: it is copied once, before the `if`.
    """

    access: Access
    box: Box
    coordinates: tuple[str, ...]
    order: tuple[int, ...] | None
    operand: Operand
    choice: Choice | None = None

    @property
    def layout(self) -> str:
        """The layout that the tile has in registers, as source text."""
        assert isinstance(self.access.address, Form) and self.access.address.layout is not None
        return self.access.address.layout


@dataclass(frozen=True)
class KernelPlan:
    """What the stage does with one kernel.

    Attributes:
        assumed: what holds of the launches whose tiles are copied.
        form: the kernel with the branches that these launches take, of which the copies are a part.
    """

    kernel: Kernel
    loads: tuple[Tile, ...]
    stores: tuple[Tile, ...]
    refused: tuple[Refused, ...]
    assumed: tuple[Assumed, ...]
    form: Kernel

    @property
    def whole(self) -> bool:
        """Whether no load of a dot's operand in a loop stays as it was, and none gets another type before the dot.

        A tile of another type goes through registers: TMA spares it nothing, and a barrier for its place costs more
        than groups of cp.async do.
        """
        stays = any(one.access.kind == "load" and one.access.loops for one in self.refused)
        return not stays and not any(_is_converted(tile.access) for tile in self.loads)


def _is_converted(access: Access) -> bool:
    """Whether a loop gives a tile that it loads another type: `w.to(x.dtype)`."""
    body = access.loops[-1].node.body if access.loops else cst.IndentedBlock([])
    return any(
        isinstance(node, cst.Call)
        and isinstance(node.func, cst.Attribute)
        and node.func.attr.value == "to"
        and isinstance(node.func.value, cst.Name)
        and node.func.value.value == access.target
        for node in walk(body)
    )


def plan_kernel(module: SourceModule, kernel: Kernel, triton: str) -> KernelPlan:
    """The tiles of a Gluon kernel that descriptors can move.

    Where addresses are read from memory in one branch of an `if` on what the launch knows, and not in the other
    (sequences of any lengths, or of one), the copies are for launches that take the other. Where the two branches give
    an address two forms, or load tiles of their own, they are for launches that take the one that leaves fewer loads.
    Where a function of the file hides what a tile is, its body takes the place of its calls.
    """
    plan = _decided(module, kernel, triton)
    if plan.refused or not plan.loads:
        form = opened(kernel)
        if form is not kernel:
            other = replace(_decided(module, form, triton), kernel=kernel)
            plan = other if len(other.loads) > len(plan.loads) else plan
    return plan


def _decided(module: SourceModule, kernel: Kernel, triton: str) -> KernelPlan:
    base = of_one_type(kernel, _operands(module, kernel))
    plan = _planned(module, kernel, triton, base)
    if _says(plan, READ, NO_BOUND, UNKNOWN_BOUND):
        more = without_loads(kernel, _operands(module, kernel), triton)
        base = (*base, *more)
        plan = _better(plan, _planned(module, kernel, triton, base)) if more else plan
    behind = _as_if_behind(plan)
    if behind or _says(plan, *_TWO_FORMS):
        asked = [*_operands(module, kernel), *behind, *_unknown_stores(module, kernel)]
        for ways in choices(kernel, asked, triton):
            decided = {known.test for known in base}
            tried = [_planned(module, kernel, triton, (*base, one)) for one in ways if one.test not in decided]
            for other in tried:
                plan = _better(plan, other)
            base = plan.assumed or base
    return plan


def _better(plan: KernelPlan, other: KernelPlan) -> KernelPlan:
    """The other plan where it leaves fewer loads and keeps the copies; a branch with copies of its own is no gain."""
    kept = {one.access.target for one in plan.loads} <= {one.access.target for one in other.loads}
    return other if kept and len(_left(other)) < len(_left(plan)) else plan


def _left(plan: KernelPlan) -> list[Refused]:
    """The loads that stay; those that branches before and behind the loops have weigh nothing."""
    loads = [one for one in plan.refused if one.access.kind == "load"]
    return [one for one in loads if one.access.loops or not one.access.branch]


def _says(plan: KernelPlan, *words: str) -> bool:
    return any(word in one.reason.text for one in plan.refused for word in words)


def _operands(module: SourceModule, kernel: Kernel) -> list[Access]:
    return [one for one in accesses_of(module, kernel) if one.kind == "load" and _is_operand(one, kernel)]


def _as_if_behind(plan: KernelPlan) -> list[Access]:
    """The loads that branches have, as if they stood behind them and read what the branches assign."""
    found = [one.access for one in _left(plan) if one.access.branch and one.access.target]
    return [replace(one, node=one.node.with_changes(args=[cst.Arg(cst.Name(one.target))])) for one in found]


def _unknown_stores(module: SourceModule, kernel: Kernel) -> list[Access]:
    """The stores that may go to any argument: their addresses have no form."""
    return [one for one in accesses_of(module, kernel) if one.kind == "store" and one.base is None]


def _planned(module: SourceModule, kernel: Kernel, triton: str, assumed: tuple[Assumed, ...]) -> KernelPlan:
    whole, kernel = kernel, specialised(kernel, assumed)
    accesses = accesses_of(module, kernel)
    planner = _Planner(kernel, accesses, _host(kernel, accesses, triton))
    loads: list[Tile] = []
    refused: list[Refused] = []
    operands = [access for access in accesses if access.kind == "load" and _is_operand(access, kernel)]
    merged: set[int] = set()
    for access in operands:
        if id(access) in merged:
            continue
        other = planner.in_other_branch(access, operands)
        found = planner.tile(access) if other is None else planner.chosen(access, other)
        merged |= {id(other)}
        if isinstance(found, Tile):
            loads.append(found)
        else:
            refused += [Refused(access, reason) for reason in found]
    stores: list[Tile] = []
    for access in accesses if loads else ():
        if access.kind == "store" and considered("tma", access):
            found = planner.tile(access)
            if isinstance(found, Tile):
                stores.append(found)
            else:
                refused += [Refused(access, reason) for reason in found]
    return KernelPlan(whole, tuple(loads), tuple(stores), tuple(refused), assumed, kernel)


def _host(kernel: Kernel, accesses: Sequence[Access], triton: str) -> HostNames:
    return HostNames(kernel, triton, {access.base for access in accesses if access.base is not None})


def _is_operand(access: Access, kernel: Kernel) -> bool:
    """Whether a load is of a tile that a dot reads."""
    if isinstance(access.address, Form) and access.address.rank < 2:
        return False
    return bool(access.target) and feeds_dot(access.target, list(kernel.node.body.body))  # type: ignore[arg-type]


class _Planner:
    def __init__(self, kernel: Kernel, accesses: Sequence[Access], host: HostNames) -> None:
        self.kernel, self.accesses, self.host = kernel, accesses, host
        self.constexprs = [one.name for one in kernel.parameters if one.constexpr]
        self.branches = _branches(kernel)
        self.assigned = _assignments(kernel.node)
        self.writers = _writers(kernel)

    def in_other_branch(self, access: Access, operands: Sequence[Access]) -> Access | None:
        """The load of the same name in the other branch of the `if` around an access."""
        own = self.branches.get(id(access.node))
        for other in operands if own is not None else ():
            theirs = self.branches.get(id(other.node))
            facing = theirs is not None and own is not None and theirs[0] is own[0] and theirs[1] != own[1]
            if facing and other.target == access.target and other.loops == access.loops:
                return other
        return None

    def chosen(self, access: Access, other: Access) -> Tile | list[Reason]:
        """The tile that both branches of an `if` load."""
        node = self.branches[id(access.node)][0]
        inside = set(assigned_names(cst.IndentedBlock([node])))
        tiles: dict[int, Tile] = {}
        like: Box | None = None
        # What the mask with more bounds says of the coordinates holds in the other branch too.
        for one in sorted((access, other), key=lambda one: -len(one.mask.conditions if one.mask is not None else ())):
            numbers = {name: number for name, number in one.numbers.items() if name not in inside}
            found = self.tile(replace(one, branch=False, numbers=numbers), loads=2, like=like)
            if not isinstance(found, Tile):
                return found
            tiles[id(one)], like = found, found.box
        first, second = tiles[id(access)], tiles[id(other)]
        test = self.kernel.module.tree.code_for_node(node.test).strip()
        alike = [replace(side, extents=()) for side in first.box.sides] == [
            replace(side, extents=()) for side in second.box.sides
        ]
        if not alike or (first.coordinates, first.order) != (second.coordinates, second.order):
            return [Reason(NO_DESCRIPTOR, f"the branches of `if {test}` load two tiles")]
        try:
            self.host.source(test)
        except Spelled as error:
            return [Reason(NO_DESCRIPTOR, f"it stands under an if, and {error}")]
        choice = Choice(node, test, other, second.box)
        return replace(first, access=access, choice=choice)

    def tile(self, access: Access, loads: int = 1, like: Box | None = None) -> Tile | list[Reason]:
        """The tile of an access, or the conditions that it fails.

        Args:
            loads: how many loads of it there are.
            like: the box of the tile with other bounds.
        """
        found = list(reasons("tma", access))
        if found:
            return found
        problem = self._problem(access)
        box = Reason(NO_DESCRIPTOR, problem) if problem is not None else box_of(access, self.kernel, self.host, like)
        if isinstance(box, Reason):
            return [box]
        if box.bent:
            seen = unseen(access, box, self.accesses, self.kernel)
            if seen is not None:
                return [Reason(NO_DESCRIPTOR, seen)]
        try:
            names = KernelNames(access, self.constexprs)
            coordinates = tuple(names.text(side.coordinate) for side in box.sides)
            for side in box.sides:
                for part in (side.stride, *(extent.size for extent in side.extents)):
                    self.host.text(part)
                self.host.source(side.size)
        except Spelled as error:
            return [Reason(NO_DESCRIPTOR, str(error))]
        order = self._order(box)
        if access.kind == "store" and (len(box.inner) != 2 or (box.outer and order != (0, 1))):
            return [Reason(NO_DESCRIPTOR, "its contiguous dimension is not the last of a matrix")]
        operand = Operand()
        readers = self._readers(access, loads)
        # Values that meet have one type: in registers.
        if readers is not None:
            operand = operand_of(access.target, readers, self.kernel.node, casts=True)
        return Tile(access, box, coordinates, order, operand)

    def _readers(self, access: Access, loads: int) -> list[cst.BaseStatement] | None:
        """The statements that read what an access loads, and no other value."""
        if access.kind != "load":
            return None
        if self.assigned[access.target] == loads:
            return self._lines()
        return readers_of(access.target, access.node, self.kernel.node)

    def _problem(self, access: Access) -> str | None:
        form = access.address
        assert isinstance(form, Form)
        if access.branch:
            return "it stands under an if"
        if access.kind == "load" and (form.layout is None or any(size is None for size in form.sizes)):
            return "the shape and the layout of its tile are not spelled in this kernel"
        if any(argument.keyword is not None and argument.keyword.value == "volatile" for argument in access.node.args):
            return "it is volatile"
        for other in self.accesses:
            writes = other.kind != "load" if access.kind == "load" else other is not access
            if writes and access.base in self._bases(other):
                does = "reads" if other.kind == "load" else "writes"
                return f"the kernel also {does} {other.base or 'memory that may be the same'}"
        for name, given in self.writers:
            if access.base in given:
                return f"the kernel gives {access.base} to {name}, which writes memory"
        return None

    def _bases(self, access: Access) -> set[str]:
        """The arguments that an address may begin at: of one that is not affine all that its pointer is made of."""
        if access.base is not None:
            return {access.base}
        return reached(access.node.args[0].value, self.kernel.node)

    def _order(self, box: Box) -> tuple[int, ...] | None:
        places = tuple(range(len(box.inner)))
        if len(box.unit) > 1 and len(places) == 2 and not box.outer and not self._unspecialised(box):
            return None
        last = max(box.unit)
        return (*(place for place in places if place != last), last)

    def _unspecialised(self, box: Box) -> bool:
        """Whether the kernel cannot tell which stride is one."""
        unknown = unspecialised(self.kernel)
        return unknown is None or any(name in unknown for name in box.unit.values() if name is not None)

    def _lines(self) -> list[cst.BaseStatement]:
        body = self.kernel.node.body
        return list(body.body) if isinstance(body, cst.IndentedBlock) else []


def _branches(kernel: Kernel) -> dict[int, tuple[cst.If, int]]:
    """Per call in a branch of an `if ... else`, by its identity, that statement and which of the two branches."""
    found: dict[int, tuple[cst.If, int]] = {}
    for node in walk(kernel.node.body):
        if isinstance(node, cst.If) and isinstance(node.orelse, cst.Else):
            for branch, body in enumerate((node.body, node.orelse.body)):
                for statement in body.body:
                    if isinstance(statement, cst.SimpleStatementLine):
                        calls = (call for call in walk(statement) if isinstance(call, cst.Call))
                        found.update((id(call), (node, branch)) for call in calls)
    return found


def _writers(kernel: Kernel) -> list[tuple[str, set[str]]]:
    """The functions that a kernel calls and that write memory, with the names that their arguments are made of."""
    found = []
    for call in walk(kernel.node.body):
        path = dotted(call.func) if isinstance(call, cst.Call) else None
        for meaning in kernel.module.lookup(path) if path is not None else ():
            if meaning.kernel is not None and touches_memory(meaning.kernel.node.body, meaning.kernel.module, WRITES):
                assert isinstance(call, cst.Call) and path is not None
                found.append((path, {name for one in call.args for name in reached(one.value, kernel.node)}))
    return found


def _assignments(node: cst.FunctionDef) -> Counter[str]:
    """How often each name is assigned."""
    targets = (one.target for one in walk(node) if isinstance(one, (cst.AssignTarget, cst.AugAssign, cst.AnnAssign)))
    return Counter(target.value for target in targets if isinstance(target, cst.Name))


__all__ = ["KernelPlan", "Tile", "plan_kernel"]
