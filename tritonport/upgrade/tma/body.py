"""Writing the body of a kernel whose tiles are copied: shared memory, barriers, copies, waits."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import libcst as cst

from tritonport.analysis.access import Form, Loop
from tritonport.convert.names import Names
from tritonport.source.walk import assigned_names, replaced, walk
from tritonport.upgrade.dots import called, cast_of, is_dot
from tritonport.upgrade.slices import names_of
from tritonport.upgrade.tma.closing import closed_at_end
from tritonport.upgrade.tma.converted import conversions_of
from tritonport.upgrade.tma.loops import CopyingWriter, Room, memory_name
from tritonport.upgrade.tma.lying import left_of_branches, loads_of_branches
from tritonport.upgrade.tma.plan import KernelPlan, Tile
from tritonport.upgrade.tma.stored import value_of
from tritonport.upgrade.tma.unread import may_be_unread
from tritonport.upgrade.tma.wide import Wide

_HINTS = frozenset({"multiple_of", "max_contiguous", "max_constancy"})
_STAGING = frozenset({"dot_operand", "dot_operands"})


@dataclass(frozen=True)
class Spelling:
    """The names that the body uses.

    Attributes:
        load, store: `tma.async_load` and `tma.async_store` under the names of the Triton that is written for.
        helpers: the emitted functions under the names they have in the file.
        descriptors: per access, by the identity of its call, its descriptor.
    """

    gl: str
    load: str
    store: str
    helpers: Mapping[str, str]
    descriptors: Mapping[int, str]


@dataclass(frozen=True)
class _Copied:
    """A load on its way; `phase`: the name of its own phase, where not every iteration of its loop copies it."""

    tile: Tile
    room: Room
    order: str | None
    phase: str | None


class BodyWriter(CopyingWriter):
    """Writes one body. Copies begin where the loads were; what they bring is awaited before it is read."""

    def __init__(self, plan: KernelPlan, spelling: Spelling, names: Names, module: cst.Module) -> None:
        super().__init__(spelling.gl, names, module)
        self.plan, self.use = plan, spelling
        self.orders: dict[str, str] = {}
        self.order_lines: list[str] = []
        self.copied = {id(tile.access.node): self._prepared(tile) for tile in plan.loads}
        self.stored = {id(tile.access.node): tile for tile in plan.stores}
        self.elsewhere = loads_of_branches(plan.loads, plan.form.node)
        self.emptied = left_of_branches(plan.loads, self.elsewhere)
        around = [loop for one in self.copied.values() for loop in one.tile.access.loops]
        self.hints = {id(line) for loop in around for line in loop.node.body.body if _hints_at(line, loop)}
        self.changing = set(assigned_names(plan.form.node.body))
        self.index = "_"
        self.wide = Wide(plan.form)
        self.types = self._types()
        self.types |= self._casts()
        self.types |= self._in_place()
        self.wanted: dict[int, str] = {}
        self.types |= self._unconverted()

    def write(self) -> cst.BaseSuite:
        """The body in place of the kernel's own."""
        body = self.plan.form.node.body
        assert isinstance(body, cst.IndentedBlock)
        lines = self.block(body.body, outermost=True)
        place = 1 if self.plan.form.node.get_docstring() is not None else 0
        made = [self.statement(line) for line in self.order_lines]
        swapped = replaced(cst.IndentedBlock([*lines[:place], *made, *lines[place:]]), self.types)
        assert isinstance(swapped, cst.IndentedBlock)
        return body.with_changes(body=swapped.body)

    # -- names

    def _prepared(self, tile: Tile) -> _Copied:
        name = tile.access.target
        order = self._order(tile) if tile.order is None else None
        smem, ready = self.names.fresh(memory_name(name)), self.names.fresh(f"{name}_ready")
        phase = self.names.fresh(f"{name}_phase") if tile.turns else None
        room = Room(self.use.descriptors[id(tile.access.node)], smem, ready, tile.inside)
        return _Copied(tile, room, order, phase)

    def _order(self, tile: Tile) -> str:
        """The name of the order of a matrix that the strides of a launch decide; the kernel's own, where it has one."""
        if tile.lying is not None and tile.choice is not None:
            text = " else ".join((f"{tile.lying.orders[0]} if {tile.choice.test}", tile.lying.orders[1]))
        else:
            text = f"[0, 1] if {self.use.helpers['unit']}({tile.box.unit[len(tile.box.inner) - 2]}) else [1, 0]"
        if text in self.orders:
            return self.orders[text]
        for node in walk(self.plan.form.node.body):
            if not isinstance(node, cst.AnnAssign) or node.value is None or not isinstance(node.target, cst.Name):
                continue
            if self.code(node.value) == text:
                return self.orders.setdefault(text, node.target.value)
        wanted = tile.access.target or tile.box.base
        name = self.names.fresh(f"{wanted}_order")
        self.order_lines.append(f"{name}: {self.gl}.constexpr = {text}")
        return self.orders.setdefault(text, name)

    def _types(self) -> dict[cst.CSTNode, cst.CSTNode]:
        """`a_desc.dtype` where the kernel says `a_ptr.dtype.element_ty`."""
        # A descriptor that some launches have none of says no type where all of them come by.
        always = [(key, tile) for key, tile in self.stored.items() if not tile.switches]
        by_base = {tile.box.base: self.use.descriptors[key] for key, tile in always}
        by_base |= {one.tile.box.base: one.room.descriptor for one in self.copied.values() if not one.tile.switches}
        swaps: dict[cst.CSTNode, cst.CSTNode] = {}
        for node in walk(self.plan.form.node.body):
            if isinstance(node, cst.Attribute) and node.attr.value == "element_ty":
                base = self.code(node).removesuffix(".dtype.element_ty")
                if base in by_base:
                    swaps[node] = cst.parse_expression(f"{by_base[base]}.dtype")
        return swaps

    def _casts(self) -> dict[cst.CSTNode, cst.CSTNode]:
        """`of_type(a, dtype)` where a dot reads `a.to(dtype)` of a tile that it may read in place."""
        names = {one.tile.read_as for one in self.copied.values() if one.tile.operand.result is not None}
        swaps: dict[cst.CSTNode, cst.CSTNode] = {}
        for call in walk(self.plan.form.node.body):
            for argument in call.args[:2] if isinstance(call, cst.Call) and is_dot(call) else ():
                cast = cast_of(argument.value)
                if cast is not None and cast[0].value in names:
                    dtype = self.code(replaced(cast[1], self.types))
                    text = f"{self.use.helpers['of_type']}({cast[0].value}, {dtype})"
                    swaps[argument.value] = cst.parse_expression(text)
        return swaps

    def _in_place(self) -> dict[cst.CSTNode, cst.CSTNode]:
        """`in_place_or(tile, b, 0, layout)` where `b` is put where dots read it: they may read the copy itself."""
        swaps: dict[cst.CSTNode, cst.CSTNode] = {}
        for one in self.copied.values():
            if one.tile.beside is not None:
                call, operand = one.tile.beside.call, one.tile.beside.operand
                given = f"{self._view(one)}, {one.tile.access.target}, {operand.role}"
                swaps[call.args[0].value] = cst.parse_expression(f"{self.use.helpers['in_place_or']}({given})")
        return swaps

    def _unconverted(self) -> dict[cst.CSTNode, cst.CSTNode]:
        """`b` in place of `convert_layout(b, layout)` of a tile that is read from shared memory in that layout."""
        swaps: dict[cst.CSTNode, cst.CSTNode] = {}
        for key, one in self.copied.items():
            tile = one.tile
            if tile.operand.result is None and tile.beside is None and tile.choice is None and not tile.computed:
                found = conversions_of(tile.access, self.plan.form.node)
                if found is not None:
                    self.wanted[key] = found[0]
                    swaps |= {call: call.args[0].value for call in found[1]}
        return swaps

    # -- statements

    def block(self, statements: Sequence[cst.BaseStatement], outermost: bool) -> list[cst.BaseStatement]:
        lines: list[cst.BaseStatement] = []
        pending: list[tuple[set[str], list[cst.BaseStatement]]] = []
        for statement in [line for one in statements for line in (one, *self.emptied.get(id(one), ()))]:
            said = statement if isinstance(statement, cst.If) and id(statement) in self.emptied else None
            for chosen in self.copied.values():
                if chosen.tile.choice is not None and chosen.tile.choice.node is statement:
                    lines += self._begun(chosen, said)
                    said = None
                    awaited = [self.statement(line) for line in self._awaited(chosen, None)]
                    pending.append(({chosen.tile.access.target}, awaited))
            if any(id(statement) in some for some in (self.elsewhere, self.hints, self.emptied)):
                continue
            load = self._load_of(statement)
            if load is not None:
                assert isinstance(statement, cst.SimpleStatementLine)
                lines += self._begun(load, statement)
                awaited = [self.statement(line) for line in self._awaited(load, statement)]
                pending.append((self._held(load, statement), awaited))
                continue
            of = [one for one in pending if _is_staging(statement, one[0])]
            if len(of) == 1:
                of[0][0].update(assigned_names(cst.IndentedBlock([statement])))
                of[0][1].append(statement)
                continue
            touched = names_of(statement) | set(assigned_names(cst.IndentedBlock([statement])))
            # A program must not end while a copy goes on in shared memory that may be another's then.
            ends = any(isinstance(node, cst.Return) for node in walk(statement))
            needed = [place for place, (names, _) in enumerate(pending) if ends or names & touched]
            for _, awaited in pending[: max(needed, default=-1) + 1]:
                lines += awaited
            del pending[: max(needed, default=-1) + 1]
            lines += self._one(statement, outermost)
        return closed_at_end([*lines, *(line for _, awaited in pending for line in awaited)])

    def _one(self, statement: cst.BaseStatement, outermost: bool) -> list[cst.BaseStatement]:
        if isinstance(statement, (cst.For, cst.While)):
            return self._loop(statement, outermost)
        if isinstance(statement, cst.If):
            return [self.branches(statement, outermost)]
        if isinstance(statement, cst.SimpleStatementLine) and len(statement.body) == 1:
            small = statement.body[0]
            tile = self.stored.get(id(small.value)) if isinstance(small, cst.Expr) else None
            if tile is not None:
                return [self._store(tile, statement)]
        return [statement]

    def _loop(self, node: cst.For | cst.While, outermost: bool) -> list[cst.BaseStatement]:
        inside = [one for one in self.copied.values() if any(loop.node is node for loop in one.tile.access.loops)]
        body = node.body
        if not isinstance(body, cst.IndentedBlock):
            return [node]
        if not inside:
            return [node.with_changes(body=body.with_changes(body=self.block(body.body, False)))]
        self._name_index(node, inside)
        rooms = [one.room for one in inside]
        loops = [id(one.tile.access.loops[-1].node) for one in inside if one.phase is None]
        phases = [one.phase for one in inside if one.phase is not None]
        lines = self.copying(node, rooms, loops, outermost, phases)
        return [self._with_index(line) if isinstance(line, cst.For) else line for line in lines]

    def _name_index(self, node: cst.For | cst.While, inside: Sequence[_Copied]) -> None:
        """A name for an index that the kernel does not read and a coordinate does."""
        unread = isinstance(node, cst.For) and isinstance(node.target, cst.Name) and node.target.value == "_"
        if unread and any(re.search(r"\b_\b", text) for one in inside for text in one.tile.coordinates):
            self.index = self.names.fresh("start")

    def _with_index(self, node: cst.For) -> cst.For:
        unread = isinstance(node.target, cst.Name) and node.target.value == "_"
        return node.with_changes(target=cst.Name(self.index)) if unread else node

    # -- copies

    def _load_of(self, statement: cst.BaseStatement) -> _Copied | None:
        if not isinstance(statement, cst.SimpleStatementLine) or len(statement.body) != 1:
            return None
        small = statement.body[0]
        calls = walk(small.value) if isinstance(small, cst.Assign) else ()
        return next((self.copied[id(call)] for call in calls if id(call) in self.copied), None)

    def _held(self, one: _Copied, statement: cst.SimpleStatementLine) -> set[str]:
        """The names that no statement may touch before a tile is awaited: its own, and what is computed with it."""
        small = statement.body[0]
        assert isinstance(small, cst.Assign)
        call = one.tile.access.node
        with_it = names_of(replaced(small.value, {call: cst.Integer("0")})) if small.value is not call else set()
        return {one.tile.access.target, one.tile.read_as} | (with_it & self.changing)

    def _begun(self, one: _Copied, statement: cst.SimpleStatementLine | cst.If | None) -> list[cst.BaseStatement]:
        room = one.room
        lines = [] if one.tile.access.loops else room.made(self.gl)
        coordinates = self._coordinates(one.tile)
        if one.order is not None:
            helper = self.use.helpers["load_tile"]
            lines.append(f"{helper}({room.descriptor}, {coordinates}, {one.order}, {room.ready}, {room.smem})")
        else:
            lines.append(f"mbarrier.expect({room.ready}, {room.descriptor}.block_type.nbytes)")
            lines.append(f"{self.use.load}({room.descriptor}, {coordinates}, {room.ready}, {room.smem})")
        made = [self.statement(line) for line in lines]
        if statement is not None:
            made[0] = made[0].with_changes(leading_lines=statement.leading_lines)
        return made

    def _awaited(self, one: _Copied, statement: cst.SimpleStatementLine | None) -> list[str]:
        """The wait for a tile, and what its name stands for from then on: the tile, or what a line computes of it."""
        loops = one.tile.access.loops
        phase = one.phase or (self.phases[id(loops[-1].node)] if loops else "0")
        lines = [f"mbarrier.wait({one.room.ready}, {phase})"]
        if one.phase is not None:
            lines.append(f"{phase} ^= 1")
        if not loops:
            lines.append(f"mbarrier.invalidate({one.room.ready})")
        tile, view, operand = one.tile, self._view(one), one.tile.operand
        # Tensor cores read one matrix where it lies; several are read in registers.
        result = operand.result if one.order is None or len(tile.box.inner) == 2 else None
        if result is not None and operand.several is not None:
            indices, layouts = operand.several
            alike = f"{self.use.helpers['read_alike']}({one.room.descriptor}.dtype, {indices}, {layouts})"
            result = f"({operand.result} if {alike} else None)"
            # The body of an unrolled loop would define a name anew in each copy of it, which Triton refuses.
            if not any(loop.kind == "static_range" for loop in loops):
                layout = self.names.fresh(f"{one.tile.access.target}_result_layout")
                lines.append(f"{layout}: {self.gl}.constexpr = {result[1:-1]}")
                result = layout
        if result is not None:
            name = "landed_as_is" if may_be_unread(tile, self.plan.form.node) else "landed"
            helper = self.use.helpers.get(name, self.use.helpers["landed"])
            value = f"{helper}({view}, {replace(operand, result=result).role})"
            if tile.computed:
                value = f"{view}.load({tile.layout}) if {tile.computed} else {value}"
        else:
            value = f"{view}.load({self.wanted.get(id(tile.access.node), tile.layout)})"
        small = statement.body[0] if statement is not None else None
        if isinstance(small, cst.Assign) and small.value is not one.tile.access.node and tile.turned is None:
            place: cst.CSTNode = one.tile.access.node
            converted = _converted(small.value, one.tile.access.node) if result is None else None
            if converted is not None:
                # Shared memory is read in any layout: in the one that the tile is wanted in.
                place, value = converted, f"{view}.load({self.code(converted.args[1].value)})"
            read: dict[cst.CSTNode, cst.CSTNode] = {place: cst.parse_expression(value)}
            value = self.code(replaced(small.value, {**self.types, **read}))
        return [*lines, f"{tile.read_as} = {value}"]

    def _view(self, one: _Copied) -> str:
        """The tile in shared memory with the shape that the kernel knows."""
        tile = one.tile
        if one.order is not None:
            rank = len(tile.box.inner)
            sizes = ", ".join(f"{one.room.descriptor}.block_shape[{place}]" for place in range(-rank, 0))
            view = f"{one.room.smem}.reshape([{sizes}])" if tile.box.outer else one.room.smem
            view = f"{self.use.helpers['in_order' if rank == 2 else 'matrices_in_order']}({view}, {one.order})"
            return view if tile.turned is None else f"{view}.permute((1, 0))"
        assert tile.order is not None
        view = one.room.smem
        if tile.box.outer:
            sizes = ", ".join(tile.box.inner[place].size for place in tile.order)
            view = f"{view}.reshape([{sizes}])"
        places = [tile.order.index(place) for place in range(len(tile.order))]
        if tile.turned is not None:
            places.reverse()
        if places != sorted(places):
            view = f"{view}.permute(({', '.join(str(place) for place in places)}))"
        return view

    def _store(self, tile: Tile, statement: cst.SimpleStatementLine) -> cst.BaseStatement:
        value = _as_computed(value_of(tile.access))
        name = self.use.descriptors[id(tile.access.node)]
        order = self._order(tile) if tile.order is None else f"[{', '.join(str(place) for place in _last_first(tile))}]"
        helper = self.use.helpers["store_tile"]
        text = self.code(replaced(value, self.types))
        if tile.filled and isinstance(tile.access.address, Form):
            sizes = ", ".join(str(size) for size in tile.access.address.sizes)
            text = f"{self.gl}.full([{sizes}], {text}, {name}.dtype, layout={tile.layout})"
        made = self.statement(f"{helper}({name}, {self._coordinates(tile)}, {order}, {text})")
        return made.with_changes(leading_lines=statement.leading_lines)

    def _coordinates(self, tile: Tile) -> str:
        count = len(tile.box.outer)
        texts = [self._narrow(re.sub(r"\b_\b", self.index, text)) for text in tile.coordinates]
        # Where the launch decides the order, the helper exchanges them.
        order = tile.order if tile.order is not None else range(len(texts) - count)
        stored = tile.access.kind == "store"
        inner = texts[count:] if stored else [texts[count + place] for place in order]
        return f"[{', '.join([*texts[:count], *inner])}]"

    def _narrow(self, text: str) -> str:
        """A coordinate in the 32 bits that it has in the instruction."""
        node = cst.parse_expression(text)
        if not self.wide.may_be(node):
            return text
        simple = isinstance(node, (cst.Name, cst.Call))
        return f"{text if simple else f'({text})'}.to({self.gl}.int32)"


def _hints_at(line: cst.CSTNode, loop: Loop) -> bool:
    """Whether a line is `k = multiple_of(k, B)` of the index of a loop: it says how pointers are aligned, and a loop
    that assigns its index has no copies ahead."""
    small = line.body[0] if isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1 else None
    if not isinstance(small, cst.Assign) or len(small.targets) != 1 or called(small.value) not in _HINTS:
        return False
    assert isinstance(small.value, cst.Call)
    named = [small.targets[0].target, *(one.value for one in small.value.args[:1])]
    return len(named) == 2 and all(isinstance(one, cst.Name) and one.value == loop.target for one in named)


def _as_computed(value: cst.BaseExpression) -> cst.BaseExpression:
    """What is stored, in the layout that it is computed in: shared memory is written in any. A conversion before a
    cast goes as well: it would move the wider elements."""
    while called(value) == "convert_layout" and isinstance(value, cst.Call):
        value = value.args[0].value
    if called(value) == "to" and isinstance(value, cst.Call) and isinstance(value.func, cst.Attribute):
        return value.with_changes(func=value.func.with_changes(value=_as_computed(value.func.value)))
    return value


def _converted(value: cst.BaseExpression, load: cst.Call) -> cst.Call | None:
    """The call in an expression that converts what is loaded to another layout right away."""
    calls = [node for node in walk(value) if isinstance(node, cst.Call) and called(node) == "convert_layout"]
    of_it = [call for call in calls if len(call.args) == 2 and call.args[0].value is load]
    return next((call for call in of_it if call.args[1].keyword is None), None)


def _last_first(tile: Tile) -> tuple[int, ...]:
    assert tile.order is not None
    return tuple(reversed(tile.order))


def _is_staging(statement: cst.BaseStatement, waiting: set[str]) -> bool:
    """Whether a statement only puts a tile under way where dots read it."""
    if not isinstance(statement, cst.SimpleStatementLine) or len(statement.body) != 1:
        return False
    small = statement.body[0]
    if not isinstance(small, cst.Assign) or called(small.value).rstrip("_0123456789") not in _STAGING:
        return False
    return bool(names_of(small.value) & waiting)


__all__ = ["BodyWriter", "Spelling"]
