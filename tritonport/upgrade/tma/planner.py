"""Whether one access of a kernel is a tile of a descriptor, and how it is copied; else why not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache, partial

import libcst as cst

from tritonport.analysis.access import Access, Form
from tritonport.analysis.access.forms import masks_alike
from tritonport.analysis.effects import ATOMICS, LOADS, WRITES, effects_in
from tritonport.source.kernel import Kernel
from tritonport.source.module import SourceModule
from tritonport.source.syntax import dotted
from tritonport.source.walk import assigned_names, calls_in, walk
from tritonport.upgrade.async_copy.runs import unspecialised
from tritonport.upgrade.dots import Operand, called, operand_of
from tritonport.upgrade.facts import on_every_way
from tritonport.upgrade.legality import NO_DESCRIPTOR, Reason, Refused, considered, reasons
from tritonport.upgrade.tma.assume import pointing, reached
from tritonport.upgrade.tma.boxes import Box, box_of
from tritonport.upgrade.tma.edges import unseen
from tritonport.upgrade.tma.in_place import operand_unless, read_beside, turned_first
from tritonport.upgrade.tma.lying import lying_in_branches
from tritonport.upgrade.tma.regions import no_row_in_common
from tritonport.upgrade.tma.stored import parts_of
from tritonport.upgrade.tma.switches import switches_of
from tritonport.upgrade.tma.terms import HostNames, KernelNames, Spelled
from tritonport.upgrade.tma.tiles import Choice, Tile
from tritonport.upgrade.tma.updates import apart, is_read_first, repeats, writes_again
from tritonport.upgrade.values import readers_of


class Planner:
    """Plans the accesses of one form of a kernel."""

    def __init__(self, kernel: Kernel, accesses: Sequence[Access], host: HostNames) -> None:
        self.kernel, self.accesses, self.host = kernel, accesses, host
        self.constexprs = [one.name for one in kernel.parameters if one.constexpr]
        self.branches, self.lines = _branches(kernel)
        self.switches = switches_of(kernel, host)
        self.together: set[int] = set()
        self.assigned = _assignments(kernel.node)
        self.alone = {id(node.value) for node in walk(kernel.node.body) if isinstance(node, cst.Assign)}
        self.writers = _given_to(kernel, WRITES)
        self.readers = _given_to(kernel, frozenset({LOADS}))
        self.described = _described(kernel)
        self.regions: dict[tuple[int, int], tuple[str, ...] | None] = {}
        # Where programs take turns, a copy that nobody has seen to its end may come after the next one's load.
        self.locks = _waits(kernel.node.body, kernel.module)

    def in_other_branch(self, access: Access, operands: Sequence[Access]) -> Access | None:
        """The load of the same name in the other branch of the `if` around an access."""
        own = self.branches.get(id(access.node))
        for other in operands if own is not None else ():
            theirs = self.branches.get(id(other.node))
            facing = theirs is not None and own is not None and theirs[0] is own[0] and theirs[1] != own[1]
            if facing and other.target == access.target and other.loops == access.loops:
                return other
        return None

    def lying(self, access: Access, operands: Sequence[Access]) -> tuple[Tile, Access] | None:
        """The tile that both branches of an `if` on a compile-time value load, by rows in one and by columns in the
        other, and the load in the other branch."""
        node, place = self.lines.get(id(access.node), (None, 0))
        if node is None or id(node) not in self.switches.decided or place != 0:
            return None
        branch = id(node) in self.switches.branches
        test = self.kernel.module.tree.code_for_node(node.test).strip()
        for other in operands:
            alike = (access.loops, access.base) == (other.loops, other.base)
            if alike and self.lines.get(id(other.node)) == (node, 1):
                found = lying_in_branches(
                    node, test, (access, other), lambda one: self.tile(replace(one, branch=branch), copied=node)
                )
                if found is not None:
                    return found, other
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
            branch = id(node) in self.switches.branches
            found = self.tile(replace(one, branch=branch, numbers=numbers), loads=2, like=like, copied=node)
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

    def tile(
        self, access: Access, loads: int = 1, like: Box | None = None, copied: cst.If | None = None
    ) -> Tile | list[Reason]:
        """The tile of an access, or the conditions that it fails.

        Args:
            loads: how many loads of it there are.
            like: the box of the tile with other bounds.
            copied: the `if` before which it is copied; where it is loaded, without one.
        """
        found = list(reasons("tma", access))
        if found:
            return found
        key = id(copied or access.node)
        problem = self._problem(access, key)
        box = problem if problem is not None else box_of(access, self.kernel, self.host, like)
        if isinstance(box, Reason):
            return [box]
        alike = [one for one in self.accesses if one.base == access.base]
        read = [one for one in alike if self._read_first(one, access) or self._written_over(access, one)]
        if read:
            asked = apart(access, box)
            if asked is None:
                return [self._meets(read[0])]
            box = replace(box, checked=(*box.checked, *asked))
        met = (self.regions.get((id(one.node), id(access.node))) for one in self.accesses)
        box = replace(box, checked=(*box.checked, *(asked for regions in met for asked in regions or ())))
        again = repeats(access, box) if access.kind == "store" else None
        if again is not None:
            return [Reason(NO_DESCRIPTOR, again)]
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
        if access.kind == "store" and len(box.inner) != 2:
            return [Reason(NO_DESCRIPTOR, "it is no matrix")]
        parts = parts_of(access, self.kernel) if access.kind == "store" else None
        spelled = isinstance(access.address, Form) and access.address.layout and all(access.address.sizes)
        if parts is not None and len(parts) < 2 and (parts or not spelled):
            return [Reason(NO_DESCRIPTOR, "what it stores is spread over the tile")]
        operand, computed = Operand(), ""
        readers = self._readers(access, loads)
        switches = self.switches.get(key, ()) if access.branch else ()
        optional = len(self.switches.tests.get(key, ())) > len(switches) and not self._needed(access)
        # Values that meet have one type: in registers.
        if readers is not None and (not access.branch or self.switches.compile_time(key)):
            operand = operand_of(access.target, readers, self.kernel.node, casts=True)
        if operand.result is None and access.kind == "load" and not access.branch and loads == 1:
            operand, computed = operand_unless(access, self.kernel.node, self.switches.decided)
        turned = None
        if operand.result is None and not computed and loads == 1 and self._may_be_turned(access, key):
            turned = turned_first(access, self.kernel.node, self.switches.decided)
            operand = operand if turned is None else turned.operand
        beside = None
        read_alone = operand.result is None and access.kind == "load" and not access.branch and loads == 1
        # Of several matrices in either order none is read where it lies.
        if read_alone and (order is not None or len(box.inner) == 2):
            beside = read_beside(access, self.kernel.node)
        inside = self.switches.inside.get(key, ()) if access.branch and access.loops else ()
        turns = bool(access.loops) and access.branch and key not in self.switches.steady
        filled = parts is not None and not parts
        told = (switches, inside, optional, turns, computed, beside, filled, turned)
        return Tile(access, box, coordinates, order, operand, None, *told)

    def _may_be_turned(self, access: Access, key: int) -> bool:
        """Whether a tile is a matrix that only compile-time values keep from being loaded."""
        form = access.address
        matrix = access.kind == "load" and isinstance(form, Form) and len(form.sizes) == 2
        return matrix and (not access.branch or self.switches.compile_time(key))

    def _needed(self, access: Access) -> bool:
        """Whether every program reads or writes what an access does."""
        alike = [id(one.node) for one in self.accesses if one.base == access.base]
        return on_every_way([self.switches.paths[node] for node in alike if node in self.switches.paths])

    def _may_branch(self, access: Access, key: int) -> bool:
        """Whether an access may stand under its `if`s: all threads of a program take one branch, and what is begun in
        it is awaited in it. What is decided while the kernel runs, on what the launch knows, is not asked in a loop:
        the copies are for launches that take it."""
        return not access.loops or access.kind == "store" or key not in self.switches.asked

    def under(self, access: Access) -> str:
        """That an access stands under an `if`, and which."""
        tests = self.switches.tests.get(id(access.node), ())
        named = f" ({', '.join(f'`{test}`' for test in tests)})" if tests else ""
        return f"it stands under an if{named}"

    def stores(self) -> tuple[list[Tile], list[Refused]]:
        """The stores that go through descriptors, and those that stay."""
        every = [one for one in self.accesses if one.kind == "store" and considered("tma", one)]
        # One thread begins every copy to memory and awaits it, so that copies to one tensor keep their order. What
        # other threads write beside them has none.
        self.together = {id(one.node) for one in every if one.base is not None}
        found = {id(one.node): self.tile(one) for one in every}
        failed = {one.base for one in every if not isinstance(found[id(one.node)], Tile)}
        self.together = {id(one.node) for one in every if one.base is not None and one.base not in failed}
        tiles: list[Tile] = []
        stay: list[Refused] = []
        for one in every:
            # Of a store that fails by itself, why; of the others to that tensor, that they are not alone.
            tile = found[id(one.node)]
            if isinstance(tile, Tile) and one.base in failed:
                tile = self.tile(one)
            if isinstance(tile, Tile):
                tiles.append(tile)
            else:
                stay += [Refused(one, reason) for reason in tile]
        return tiles, stay

    def beside(self, loads: Sequence[Tile]) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
        """The arguments that loops with copies read, and the others that they write to; None where these are none.

        Copies run ahead of the loop, and vectors beside them: where a launch gives one tensor for both, an iteration
        would read what is there before the one before it has written.
        """
        loops = {id(tile.access.loops[0].node): tile.access.loops[0].node for tile in loads if tile.access.loops}
        pointers = [one.name for one in self.kernel.parameters if not one.constexpr]
        pairs: set[tuple[str, str]] = set()
        for key, loop in loops.items():
            inside = [one for one in self.accesses if one.loops and id(one.loops[0].node) == key]
            calls = {id(node) for node in walk(loop)}
            written = {name for one in inside if one.kind != "load" for name in self._bases(one)}
            written |= {name for _, call, given in self.writers if id(call) in calls for name in given}
            read = {name for one in inside if one.kind == "load" for name in self._bases(one)}
            pairs |= {(one, other) for one in read for other in written if one != other}
        first, second = ({pair[side] for pair in pairs if set(pair) <= set(pointers)} for side in (0, 1))
        found = tuple(one for one in pointers if one in first), tuple(one for one in pointers if one in second)
        return found if all(found) else None

    def _readers(self, access: Access, loads: int) -> list[cst.BaseStatement] | None:
        """The statements that read what an access loads, and no other value."""
        if access.kind != "load" or id(access.node) not in self.alone:
            return None
        if self.assigned[access.target] == loads:
            return self._lines()
        return readers_of(access.target, access.node, self.kernel.node, self.switches.decided)

    def _problem(self, access: Access, key: int) -> Reason | None:
        form = access.address
        assert isinstance(form, Form)
        if access.branch and not self._may_branch(access, key):
            return Reason(NO_DESCRIPTOR, self.under(access))
        if form.rank > 1 and any(axis is None for axis in form.axes):
            return Reason(NO_DESCRIPTOR, "it is a vector: one of its dimensions does not move in memory")
        if access.kind == "load" and (form.layout is None or any(size is None for size in form.sizes)):
            return Reason(NO_DESCRIPTOR, "the shape and the layout of its tile are not spelled in this kernel")
        if any(argument.keyword is not None and argument.keyword.value == "volatile" for argument in access.node.args):
            return Reason(NO_DESCRIPTOR, "it is volatile")
        for other in self.accesses:
            together = {id(access.node), id(other.node)} <= self.together
            if access.kind == "store" and other.kind == "store" and together and not writes_again(access, other):
                continue
            writes = other.kind != "load" if access.kind == "load" else other is not access
            if self.switches.apart(other.node, access.node, self.locks):
                continue
            if not writes or access.base not in self._bases(other):
                continue
            if self._read_first(other, access) or self._written_over(access, other):
                continue
            if self._no_row_in_common(other, access) is None:
                return self._meets(other)
        for made, named in self.described:
            described = access.kind == "store" and access.base in named
            if described and not self.switches.apart(made, access.node, self.locks):
                return Reason(NO_DESCRIPTOR, f"the kernel also has a descriptor of {access.base}")
        for name, call, given in self.writers:
            if access.base in given and not self.switches.apart(call, access.node, self.locks):
                return Reason(NO_DESCRIPTOR, f"the kernel gives {access.base} to {name}, which writes memory")
        # Nothing awaits that a copy can be read, wherever the call stands: a loop may come back to it.
        for name, call, given in self.readers if access.kind == "store" else ():
            if access.base in given and not self.switches.apart(call, access.node, self.locks):
                return Reason(NO_DESCRIPTOR, f"the kernel gives {access.base} to {name}, which reads memory")
        return None

    def _meets(self, other: Access) -> Reason:
        """What is said of an access to the memory of another one."""
        does = "reads" if other.kind == "load" else "writes"
        what = f"the kernel also {does} {other.base or 'memory that may be the same'}"
        return Reason(NO_DESCRIPTOR, what, other)

    def _read_first(self, other: Access, access: Access) -> bool:
        """Whether an access is a load of the elements that a store then writes over, and no lock keeps other programs
        from them meanwhile."""
        if (other.kind, access.kind) != ("load", "store") or self.locks:
            return False
        return is_read_first(other, access)

    def _written_over(self, access: Access, other: Access) -> bool:
        """Whether an access is a load of all elements that a store behind it writes over, and of no others."""
        facing = (access.kind, other.kind) == ("load", "store") and masks_alike(access.mask, other.mask)
        return facing and self._read_first(access, other)

    def _no_row_in_common(self, other: Access, access: Access) -> tuple[str, ...] | None:
        """What a launch is asked for two accesses of a program to have no row in common; None where locks may tell
        programs when to read what others write, or it is not shown."""
        key = id(other.node), id(access.node)
        if key not in self.regions:
            self.regions[key] = None if self.locks else no_row_in_common(other, access, self.kernel)
        return self.regions[key]

    def _bases(self, access: Access) -> set[str]:
        """The arguments that an address may begin at: of one that is not affine all that its pointer is made of."""
        if access.base is not None:
            return {access.base}
        return reached(access.node.args[0].value, self.kernel.node)

    def _order(self, box: Box) -> tuple[int, ...] | None:
        places = tuple(range(len(box.inner)))
        # The two orders of a matrix, or of each of several.
        if set(places[-2:]) <= box.unit.keys() and len(places) in (2, 3) and not self._unspecialised(box):
            return None
        last = max(box.unit)
        return (*(place for place in places if place != last), last)

    def _unspecialised(self, box: Box) -> bool:
        """Whether the kernel cannot tell which stride is one."""
        unknown = unspecialised(self.kernel)
        names = [name for name in box.unit.values() if name is not None]
        return unknown is None or any(name in unknown or not name.isidentifier() for name in names)

    def _lines(self) -> list[cst.BaseStatement]:
        body = self.kernel.node.body
        return list(body.body) if isinstance(body, cst.IndentedBlock) else []


_Branches = dict[int, tuple[cst.If, int]]


def _branches(kernel: Kernel) -> tuple[_Branches, _Branches]:
    """Per load that is a line of a branch of an `if ... else`, by its identity: that `if`, and which branch; then those
    of loads that are a part of such a line too."""
    found: _Branches = {}
    parts: _Branches = {}
    for node in walk(kernel.node.body):
        if isinstance(node, cst.If) and isinstance(node.orelse, cst.Else):
            for branch, body in enumerate((node.body, node.orelse.body)):
                for statement in body.body:
                    small = statement.body[0] if isinstance(statement, cst.SimpleStatementLine) else None
                    if isinstance(small, (cst.Assign, cst.Expr)):
                        found[id(small.value)] = (node, branch)
                        parts |= {id(call): (node, branch) for call in calls_in(small.value)}
    return found, parts


def _given_to(kernel: Kernel, effects: frozenset[str]) -> list[tuple[str, cst.Call, set[str]]]:
    """The functions that a kernel calls and that do such things to memory, with the names that their arguments may
    point to."""
    found = []
    names = partial(pointing, module=kernel.module)
    for call in walk(kernel.node.body):
        path = dotted(call.func) if isinstance(call, cst.Call) else None
        for meaning in kernel.module.lookup(path) if path is not None else ():
            if meaning.kernel is not None and _does(meaning.kernel, effects):
                assert isinstance(call, cst.Call) and path is not None
                found.append(
                    (path, call, {name for one in call.args for name in reached(one.value, kernel.node, names)})
                )
    return found


def _does(function: Kernel, effects: frozenset[str]) -> bool:
    return bool(effects_in(function.module, function.node.body) & effects)


def _described(kernel: Kernel) -> list[tuple[cst.Call, set[str]]]:
    """The descriptors that a kernel makes, with the names that they may point to."""
    calls = [node for node in calls_in(kernel.node.body) if called(node) == "make_tensor_descriptor" and node.args]
    return [(one, reached(one.args[0].value, kernel.node)) for one in calls]


@lru_cache(maxsize=256)
def _waits(node: cst.CSTNode, module: SourceModule, depth: int = 4) -> bool:
    """Whether programs may wait for each other in a node, or in a jit function that it calls: by atomics, or in a
    `while` that reads memory."""
    if ATOMICS in effects_in(module, node):
        return True
    for one in walk(node):
        if isinstance(one, cst.While) and LOADS in effects_in(module, one.test):
            return True
        path = dotted(one.func) if isinstance(one, cst.Call) and depth else None
        meanings = module.lookup(path) if path is not None else ()
        if any(found.kernel and _waits(found.kernel.node.body, found.kernel.module, depth - 1) for found in meanings):
            return True
    return False


def _assignments(node: cst.FunctionDef) -> Counter[str]:
    """How often each name is assigned."""
    targets = (one.target for one in walk(node) if isinstance(one, (cst.AssignTarget, cst.AugAssign, cst.AnnAssign)))
    return Counter(target.value for target in targets if isinstance(target, cst.Name))


__all__ = ["Planner"]
