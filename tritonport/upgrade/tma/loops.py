"""What every body with copies has: shared memory and barriers before its loops, the phase that each iteration turns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import libcst as cst

from tritonport.convert.names import Names
from tritonport.upgrade.edit import parsed


@dataclass(frozen=True)
class Room:
    """Where a tile is copied to: its descriptor, the shared memory, the barrier that says that it is there."""

    descriptor: str
    smem: str
    ready: str

    def made(self, gl: str) -> list[str]:
        """The statements that make it."""
        return [
            f"{self.smem} = {gl}.allocate_shared_memory({self.descriptor}.dtype, {self.descriptor}.block_shape, "
            f"{self.descriptor}.layout)",
            f"{self.ready} = {gl}.allocate_shared_memory({gl}.int64, [1], mbarrier.MBarrierLayout())",
            f"mbarrier.init({self.ready}, count=1)",
        ]


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
            for room in rooms:
                before += room.made(self.gl)
                after.append(f"mbarrier.invalidate({room.ready})")
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

    def code(self, node: cst.CSTNode) -> str:
        """The source text of a node."""
        return self.module.code_for_node(node).strip()

    def statement(self, text: str) -> cst.BaseStatement:
        """One statement from source text."""
        return parsed(text, self.module)


__all__ = ["CopyingWriter", "Room"]
