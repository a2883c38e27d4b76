"""What every body with copies has: shared memory and barriers before its loops, the phase that each iteration turns."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import libcst as cst

from tritonport.convert.names import Names
from tritonport.upgrade.decided import denied
from tritonport.upgrade.edit import parsed
from tritonport.upgrade.tma.switches import Switch


@dataclass(frozen=True)
class Room:
    """Where a tile is copied to: its descriptor, the shared memory, the barrier that says that it is there.

    Attributes:
        switches: the branches of `if`s on compile-time values in which alone loops copy it, the outermost first.
    """

    descriptor: str
    smem: str
    ready: str
    switches: tuple[Switch, ...] = ()

    def made(self, gl: str) -> list[str]:
        """The statements that make it."""
        return [
            f"{self.smem} = {gl}.allocate_shared_memory({self.descriptor}.dtype, {self.descriptor}.block_shape, "
            f"{self.descriptor}.layout)",
            f"{self.ready} = {gl}.allocate_shared_memory({gl}.int64, [1], mbarrier.MBarrierLayout())",
            f"mbarrier.init({self.ready}, count=1)",
        ]


def memory_name(target: str) -> str:
    """The name of the shared memory of a tile that is loaded to `target`: `x_tile` for `x`, `x_buffer` for `x_tile`."""
    return f"{target.removesuffix('_tile')}_buffer" if target.endswith("_tile") else f"{target}_tile"


def targets_of_memory(name: str) -> tuple[str, ...]:
    """What a load may be assigned to whose shared memory has this name, the likeliest first; names may be numbered."""
    found = re.sub(r"_(tile|buffer)(_\d+)?$", lambda end: "_tile" if end[1] == "buffer" else "", name)
    return found, re.sub(r"_\d+$", "", found)


class CopyingWriter(ABC):
    """Writes a body whose loops copy tiles; a subclass says what becomes of the statements of a block.

    Attributes:
        phases: of each loop that copies, by the identity of its node, the phase of its iteration.
    """

    def __init__(self, gl: str, names: Names, module: cst.Module) -> None:
        self.gl, self.names, self.module = gl, names, module
        self.phases: dict[int, str] = {}

    @abstractmethod
    def block(self, statements: Sequence[cst.BaseStatement], outermost: bool) -> list[cst.BaseStatement]:
        """The statements of a block anew; `outermost`: no loop is around it."""

    def branches(self, node: cst.If, outermost: bool) -> cst.If:
        """An `if` with the blocks of its branches anew."""
        body = node.body
        if isinstance(body, cst.IndentedBlock):
            node = node.with_changes(body=body.with_changes(body=self.block(body.body, outermost)))
        orelse = node.orelse
        if isinstance(orelse, cst.If):
            return node.with_changes(orelse=self.branches(orelse, outermost))
        if orelse is not None and isinstance(orelse.body, cst.IndentedBlock):
            inner = orelse.body.with_changes(body=self.block(orelse.body.body, outermost))
            return node.with_changes(orelse=orelse.with_changes(body=inner))
        return node

    def copying(
        self,
        node: cst.For | cst.While,
        rooms: Iterable[Room],
        loops: Iterable[int],
        outermost: bool,
        phases: Iterable[str] = (),
    ) -> list[cst.BaseStatement]:
        """A loop that copies, with what stands before and behind it.

        Args:
            rooms: where it copies to; made before the outermost loop.
            loops: the loops whose iterations copy, by the identity of their nodes, this one or inside of it.
            phases: of tiles that some iterations copy, which turn them where they are awaited.
        """
        body = node.body
        assert isinstance(body, cst.IndentedBlock)
        before: list[str] = []
        after: list[str] = []
        if outermost:
            rooms = list(rooms)
            before += self._switched([(room.switches, room.made(self.gl)) for room in rooms])
            after += self._switched([(room.switches, [f"mbarrier.invalidate({room.ready})"]) for room in rooms])
            for loop in dict.fromkeys(loops):
                self.phases[loop] = self.names.fresh("phase")
                before.append(f"{self.phases[loop]} = 0")
            before += [f"{phase} = 0" for phase in phases]
        lines = self.block(body.body, False)
        if id(node) in self.phases:
            lines.append(self.statement(f"{self.phases[id(node)]} ^= 1"))
        made: list[cst.BaseStatement] = [self.statement(line) for line in before]
        leading = list(node.leading_lines)
        if made:
            # A comment is about the loop, and stays above it; the blank line goes before what is made for it.
            blank = next((place for place, line in enumerate(leading) if line.comment is not None), len(leading))
            made[0] = made[0].with_changes(leading_lines=leading[:blank])
            leading = leading[blank:]
        loop_node = node.with_changes(body=body.with_changes(body=lines), leading_lines=leading)
        return [*made, loop_node, *(self.statement(line) for line in after)]

    def _switched(self, parts: Sequence[tuple[tuple[Switch, ...], list[str]]]) -> list[str]:
        """Statements, each under its `if`s: what every launch needs, and behind it one `if` for each test."""
        made = [line for switches, lines in parts if not switches for line in lines]
        left = [part for part in parts if part[0]]
        for test in dict.fromkeys(switches[0].test for switches, _ in left):
            branches = [
                self._switched([(switches[1:], lines) for switches, lines in left if switches[0].goes(test, taken)])
                for taken in (0, 1)
            ]
            made.append(self._if(test, *branches))
        return made

    def _if(self, test: str, lines: Sequence[str], others: Sequence[str]) -> str:
        """One `if`, with or without an `else`, as source text."""
        if not lines:
            return self._if(denied(test), others, ())
        body, orelse = (
            [f"{self.module.default_indent}{part}" for line in branch for part in line.split("\n")]
            for branch in (lines, others)
        )
        return "\n".join([f"if {test}:", *body, *(["else:", *orelse] if orelse else [])])

    def code(self, node: cst.CSTNode) -> str:
        """The source text of a node."""
        return self.module.code_for_node(node).strip()

    def statement(self, text: str) -> cst.BaseStatement:
        """One statement from source text."""
        return parsed(text, self.module)


__all__ = ["CopyingWriter", "Room"]
