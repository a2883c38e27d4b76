"""Descriptors that a kernel has already: `tma_operand`, which copies and waits in one call, spelled out.

What later stages move is then there to be seen: the shared memory, the barrier, the copy and the wait.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import libcst as cst

from tritonport.convert.names import Names
from tritonport.source.kernel import Kernel
from tritonport.source.walk import replaced, walk
from tritonport.upgrade.dots import called
from tritonport.upgrade.slices import names_of
from tritonport.upgrade.tma.loops import CopyingWriter, Room, memory_name

OPERAND = "tma_operand"


@dataclass(frozen=True)
class _Copy:
    """One call: `x = tma_operand(desc, coord, along_k, precision)`, perhaps with a view of its result."""

    line: cst.SimpleStatementLine
    target: str
    call: cst.Call
    value: cst.BaseExpression
    loop: cst.For


def copies_of(kernel: Kernel) -> list[_Copy]:
    """The operands that every iteration of a loop copies, where the call is a statement of its own.

    Under an `if` on run-time values an iteration may leave the copy out, and the phase of the barrier would not be that
    of the iteration: such a call stays.
    """
    found: list[_Copy] = []
    constants = {one.name for one in kernel.parameters if one.constexpr}

    def visit(statements: Sequence[cst.CSTNode], loop: cst.For | None) -> None:
        for statement in statements:
            if isinstance(statement, cst.For) and isinstance(statement.body, cst.IndentedBlock):
                visit(statement.body.body, statement)
            elif isinstance(statement, cst.If):
                if names_of(statement.test) <= constants:
                    for branch in _branches(statement):
                        visit(branch.body, loop)
            elif isinstance(statement, cst.SimpleStatementLine) and loop is not None:
                copy = _copy(statement, loop)
                if copy is not None:
                    found.append(copy)

    visit(kernel.node.body.body, None)
    return found


def _branches(node: cst.If) -> list[cst.BaseSuite]:
    """The bodies of an `if`; an `elif` is an `if` in the second one."""
    if isinstance(node.orelse, cst.If):
        return [node.body, cst.IndentedBlock([node.orelse])]
    return [node.body, node.orelse.body] if node.orelse is not None else [node.body]


def _copy(line: cst.SimpleStatementLine, loop: cst.For) -> _Copy | None:
    small = line.body[0] if len(line.body) == 1 else None
    if not isinstance(small, cst.Assign) or len(small.targets) != 1:
        return None
    target = small.targets[0].target
    calls = [node for node in walk(small.value) if called(node).rstrip("_0123456789") == OPERAND]
    if not isinstance(target, cst.Name) or len(calls) != 1:
        return None
    call = calls[0]
    assert isinstance(call, cst.Call)
    return _Copy(line, target.value, call, small.value, loop) if len(call.args) == 4 else None


class SpelledWriter(CopyingWriter):
    """Writes a kernel with its copies spelled out."""

    def __init__(self, kernel: Kernel, copies: Sequence[_Copy], gl: str, load: str, helper: str) -> None:
        names = Names(item.value for item in walk(kernel.node) if isinstance(item, cst.Name))
        super().__init__(gl, names, kernel.module.tree)
        self.kernel, self.copies, self.load, self.helper = kernel, copies, load, helper
        self.by_line = {id(copy.line): copy for copy in copies}
        # The branches of an `if` that copy one operand share its shared memory.
        self.rooms: dict[tuple[int, str, str], Room] = {}
        for copy in copies:
            key = self._key(copy)
            if key not in self.rooms:
                smem, ready = names.fresh(memory_name(copy.target)), names.fresh(f"{copy.target}_ready")
                self.rooms[key] = Room(key[2], smem, ready)
        self.begun: set[int] = set()

    def write(self) -> cst.FunctionDef:
        """The function in the place of the kernel's own."""
        body = self.kernel.node.body
        assert isinstance(body, cst.IndentedBlock)
        return self.kernel.node.with_changes(body=body.with_changes(body=self.block(body.body, outermost=True)))

    def _key(self, copy: _Copy) -> tuple[int, str, str]:
        return id(copy.loop), copy.target, self.code(copy.call.args[0].value)

    def block(self, statements: Sequence[cst.BaseStatement], outermost: bool) -> list[cst.BaseStatement]:
        lines: list[cst.BaseStatement] = []
        pending: list[tuple[str, list[cst.BaseStatement]]] = []
        for statement in statements:
            common = self._common(statement)
            for both in common:
                lines += self._begun(both[0], both[1])
                self.begun |= {id(copy.line) for copy in both}
            if common:
                # The branches read what has been copied.
                lines += [line for _, awaited in pending for line in awaited]
                pending.clear()
                lines += [self._wait(both[0]) for both in common]
                assert isinstance(statement, cst.If)
                chosen = self._chosen(statement, common)
                if chosen is not None:
                    lines += chosen
                    continue
            copy = self.by_line.get(id(statement))
            if copy is not None and id(copy.line) in self.begun:
                lines += self._awaited(copy)[1:]
                continue
            if copy is not None:
                lines += self._begun(copy)
                pending.append((copy.target, self._awaited(copy)))
                continue
            touched = names_of(statement)
            if isinstance(statement, (cst.For, cst.While)) or any(name in touched for name, _ in pending):
                lines += [line for _, awaited in pending for line in awaited]
                pending.clear()
            if isinstance(statement, cst.For):
                lines += self._loop(statement, outermost)
            elif isinstance(statement, cst.If):
                lines.append(self.branches(statement, outermost))
            else:
                lines.append(statement)
        return lines + [line for _, awaited in pending for line in awaited]

    def _common(self, statement: cst.BaseStatement) -> list[tuple[_Copy, _Copy]]:
        """The operands that both branches of an `if` on compile-time values copy, from other places of a tensor."""
        if not isinstance(statement, cst.If) or not isinstance(statement.orelse, cst.Else):
            return []
        constants = {one.name for one in self.kernel.parameters if one.constexpr}
        if not names_of(statement.test) <= constants:
            return []
        branches = [
            {self._key(copy): copy for line in body.body if (copy := self.by_line.get(id(line))) is not None}
            for body in (statement.body, statement.orelse.body)
        ]
        found = [(copy, branches[1][key]) for key, copy in branches[0].items() if key in branches[1]]
        lists = [len(self._elements(copy.call.args[1].value)) for pair in found for copy in pair]
        return found if all(lists) and len(set(lists)) == 1 else []

    def _elements(self, node: cst.BaseExpression) -> list[str]:
        """The elements of a list; none for another expression."""
        return [self.code(one.value) for one in node.elements] if isinstance(node, (cst.List, cst.Tuple)) else []

    def _chosen(self, node: cst.If, common: Sequence[tuple[_Copy, _Copy]]) -> list[cst.BaseStatement] | None:
        """What the operands are, where the branches say nothing else; None where they do."""
        lines = [line for body in (node.body, node.orelse.body) for line in body.body]  # type: ignore[union-attr]
        if len(lines) != 2 * len(common) or any(first.target != second.target for first, second in common):
            return None
        test = self.code(node.test)
        return [
            self.statement(f"{one.target} = {self._value(one)} if {test} else {self._value(other)}")
            for one, other in common
        ]

    def _loop(self, node: cst.For, outermost: bool) -> list[cst.BaseStatement]:
        inside = {id(one) for one in walk(node)}
        here = [copy for copy in self.copies if id(copy.line) in inside]
        if not here or not isinstance(node.body, cst.IndentedBlock):
            return [node]
        rooms = [self.rooms[key] for key in dict.fromkeys(self._key(copy) for copy in here)]
        return self.copying(node, rooms, [id(copy.loop) for copy in here], outermost)

    def _begun(self, copy: _Copy, other: _Copy | None = None) -> list[cst.BaseStatement]:
        room = self.rooms[self._key(copy)]
        coordinates = self.code(copy.call.args[1].value)
        if other is not None:
            node = next(one for one in walk(self.kernel.node) if isinstance(one, cst.If) and copy.line in one.body.body)
            here, there = (self._elements(one.call.args[1].value) for one in (copy, other))
            test = self.code(node.test)
            chosen = [
                one if one == two else f"{one} if {test} else {two}" for one, two in zip(here, there, strict=True)
            ]
            coordinates = f"[{', '.join(chosen)}]"
        made = [
            self.statement(f"mbarrier.expect({room.ready}, {room.descriptor}.block_type.nbytes)"),
            self.statement(f"{self.load}({room.descriptor}, {coordinates}, {room.ready}, {room.smem})"),
        ]
        if other is None:
            made[0] = made[0].with_changes(leading_lines=copy.line.leading_lines)
        return made

    def _awaited(self, copy: _Copy) -> list[cst.BaseStatement]:
        return [self._wait(copy), self.statement(f"{copy.target} = {self._value(copy)}")]

    def _value(self, copy: _Copy) -> str:
        """What a copied operand is: the call without its copy, in the view that the source takes of it."""
        tile = self.rooms[self._key(copy)].smem
        along, precision = (self.code(argument.value) for argument in copy.call.args[2:])
        landed = cst.parse_expression(f"{self.helper}({tile}, {along}, {precision})")
        return self.code(landed if copy.value is copy.call else replaced(copy.value, {copy.call: landed}))

    def _wait(self, copy: _Copy) -> cst.BaseStatement:
        ready = self.rooms[self._key(copy)].ready
        return self.statement(f"mbarrier.wait({ready}, {self.phases[id(copy.loop)]})")


__all__ = ["OPERAND", "SpelledWriter", "copies_of"]
