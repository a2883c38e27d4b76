"""Tiles that are computed for dots further down, put in shared memory behind the last of their assignments.

`staging` has the tiles that one assignment makes. A tile that several assignments make, some of them under an `if`, is
finished behind the statement that holds the last one; so is what comes from another dot and is the right operand of
the next, which tensor cores read from shared memory in any case. Triton's compiler puts both there at once
(`ReorderInstructions.cpp`), before what is loaded or computed next takes registers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import libcst as cst

from tritonport.analysis.frame import Frame
from tritonport.analysis.terms import root_of
from tritonport.convert.staging import dot_tiles
from tritonport.convert.wants import Want
from tritonport.source.walk import assigned_names, walk


@dataclass(eq=False)
class FinishedTile:
    """A variable whose value dots further down in the block read.

    Attributes:
        variable: its name.
        after: the statement of the block behind which it is finished.
        staged: the dots that read it from shared memory, as those of a `Web`.
        staged_name: what it is called there.
    """

    variable: str
    after: cst.BaseStatement
    staged: dict[tuple[object, ...], tuple[int, Want, str]] = field(default_factory=dict)
    staged_name: str = ""

    def ask(self, wanted: tuple[object, ...], dot: tuple[int, Want, str]) -> bool:
        """Ask for it where a dot reads it; True where that is new."""
        new = wanted not in self.staged
        self.staged.setdefault(wanted, dot)
        self.staged_name = self.staged_name or f"{self.variable}_smem"
        return new


def finished_tiles(lines: Sequence[cst.BaseStatement], frames: Sequence[Frame]) -> dict[cst.Name, FinishedTile]:
    """The operands that dots of a block read from shared memory, with the tile that each of them is."""
    found: dict[cst.Name, FinishedTile] = {}
    made: dict[str, FinishedTile] = {}
    for place, line in enumerate(lines):
        assigned = set(assigned_names(line))
        for node, index in dot_tiles(line, frames):
            name = node.value
            if name not in made and (isinstance(line, cst.SimpleStatementLine) or _is_read_anyway(line, name, frames)):
                tile = _tile(name, lines[:place], frames)
                if tile is not None:
                    made[name] = tile
            # In a branch, a name may stand for what the branch makes of it.
            nested = not isinstance(line, cst.SimpleStatementLine) and name in assigned
            if name in made and not nested and _is_read_there(node, index, frames):
                found[node] = made[name]
        for name in assigned:
            made.pop(name, None)
    return found


def _is_read_anyway(line: cst.BaseStatement, name: str, frames: Sequence[Frame]) -> bool:
    """Whether dots read a variable in each branch of an `if`, which leaves it as it is."""
    if not isinstance(line, cst.If) or line.orelse is None or name in assigned_names(line):
        return False
    orelse = line.orelse
    branches = [line.body, orelse if isinstance(orelse, cst.If) else orelse.body]
    return all(
        any(node.value == name for node, _ in dot_tiles(branch, frames))
        and (not isinstance(branch, cst.If) or _is_read_anyway(branch, name, frames))
        for branch in branches
    )


def _tile(name: str, above: Sequence[cst.BaseStatement], frames: Sequence[Frame]) -> FinishedTile | None:
    """The tile that a name stands for below these statements, where others hold registers since it was finished."""
    last = next((place for place in range(len(above))[::-1] if name in assigned_names(above[place])), None)
    if last is None or not any(_holds_registers(line, frames) for line in above[last + 1 :]):
        return None
    return FinishedTile(name, above[last])


def _is_read_there(node: cst.Name, index: int, frames: Sequence[Frame]) -> bool:
    """Whether a dot reads an operand from shared memory: the right one always, the left one unless a dot left it in
    registers."""
    values = [definition.value for frame in frames if (definition := frame.reads.get(node)) is not None]
    return all(
        value.is_tensor
        and value.rank == 2
        and value.focus is not None
        and (index == 1 or root_of(value.term).dot is None)
        for value in values
    )


def _holds_registers(line: cst.BaseStatement, frames: Sequence[Frame]) -> bool:
    """Whether a statement loads tiles or works on them."""
    values = (frame.values[node] for node in walk(line) for frame in frames if node in frame.values)
    return any(
        value.is_tensor and value.rank > 1 and value.focus is not None and value.op != "permute" for value in values
    )
