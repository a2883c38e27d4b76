"""Moving loads down to their first use.

Gluon schedules nothing: a tile that is loaded at the top of a loop and used at its end sits in registers for the whole
iteration. Triton's compiler moves such a load down where nothing between could write what it reads; so does this, for
the tiles that a dot of the same loop takes.
"""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from tritonport.analysis.frame import Frame
from tritonport.analysis.interpreter import assigned_names
from tritonport.source.walk import walk

_WRITES = ("store", "atomic", "barrier", "asm")


def sink_loads(lines: Sequence[cst.BaseStatement], frames: list[Frame]) -> list[cst.BaseStatement]:
    """The statements of a loop body with tile loads moved down to where their values are first read."""
    ordered = list(lines)
    if not any(_has_dot(line, frames) for line in ordered):
        return ordered
    for line in list(lines):
        name = _loaded_name(line, frames)
        if name is None:
            continue
        start = ordered.index(line)
        place = start
        needed = _names_read(line)
        for position in range(start + 1, len(ordered)):
            other = ordered[position]
            if name in _names_read(other) or name in set(assigned_names(other)):
                break
            if _writes(other, frames) or needed & _names_bound(other):
                break
            place = position
        if place > start:
            ordered.insert(place, ordered.pop(start))
    return ordered


def _loaded_name(line: cst.BaseStatement, frames: list[Frame]) -> str | None:
    """`x` of `x = tl.load(...)` where x is a tile; None for any other statement."""
    if not isinstance(line, cst.SimpleStatementLine) or len(line.body) != 1:
        return None
    small = line.body[0]
    if (
        not isinstance(small, cst.Assign)
        or len(small.targets) != 1
        or not isinstance(small.targets[0].target, cst.Name)
    ):
        return None
    value = next((frame.values[small.value] for frame in frames if small.value in frame.values), None)
    if value is None or not value.is_tensor or value.op != "load" or value.rank < 2 or value.volatile:
        return None
    return small.targets[0].target.value


def _has_dot(line: cst.BaseStatement, frames: list[Frame]) -> bool:
    return any(
        isinstance(node, cst.Call) and any(frame.operations.get(node) == "dot" for frame in frames)
        for node in walk(line)
    )


def _writes(line: cst.BaseStatement, frames: list[Frame]) -> bool:
    """Whether a statement may write memory, wait, or leave the straight line."""
    if not isinstance(line, (cst.SimpleStatementLine, cst.If)):
        return True
    for node in walk(line):
        if isinstance(node, (cst.For, cst.While, cst.Return)):
            return True
        if not isinstance(node, cst.Call):
            continue
        if any(node in frame.calls for frame in frames):
            return True
        operations = [frame.operations[node] for frame in frames if node in frame.operations]
        if any(part in operation for operation in operations for part in _WRITES):
            return True
    return False


def _names_read(line: cst.CSTNode) -> set[str]:
    return {node.value for node in walk(line) if isinstance(node, cst.Name)}


def _names_bound(line: cst.BaseStatement) -> set[str]:
    return set(assigned_names(line))
