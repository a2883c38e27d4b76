"""Moving loads down to their first use, and masks up to theirs.

Gluon schedules nothing: a tile that is loaded at the top of a loop and used at its end sits in registers for the whole
iteration. Triton's compiler moves such a load down where nothing between could write what it reads; so does this, for
the tiles of a loop that has dots. What the dots themselves read goes to shared memory instead (`staging`).
"""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from tritonport.analysis.frame import Frame
from tritonport.convert.staging import computes, has_dot, loaded_tile, read_by_dots
from tritonport.source.walk import assigned_names, walk

WRITES = ("store", "atomic", "barrier", "asm")


def sink_loads(lines: Sequence[cst.BaseStatement], frames: list[Frame]) -> list[cst.BaseStatement]:
    """The statements of a loop body with tile loads moved down to where their values are first read, behind the work
    that would have to go on around them."""
    ordered = list(lines)
    if not any(has_dot(line, frames) for line in ordered):
        return ordered
    for place, line in enumerate(lines):
        target = loaded_tile(line, frames)
        if target is None or read_by_dots(lines, place, frames)[0]:
            continue
        name = target.value
        start = ordered.index(line)
        place = start
        needed = names_read(line)
        for position in range(start + 1, len(ordered)):
            other = ordered[position]
            if name in names_read(other) or name in set(assigned_names(other)):
                break
            if _writes(other, frames) or needed & names_bound(other):
                break
            place = position
        if any(computes(passed, frames) for passed in ordered[start + 1 : place + 1]):
            ordered.insert(place, ordered.pop(start))
    return ordered


def raise_masks(lines: Sequence[cst.BaseStatement], frames: list[Frame]) -> list[cst.BaseStatement]:
    """The statements of a loop body with each mask that a load above a dot has too, word for word, moved up to it.

    Triton's compiler computes an expression once, where it is first written, and in another layout beside it; the mask
    of the scores is then ready before the dot that the scores come from.
    """
    ordered = list(lines)
    for line in lines:
        mask = _mask(line, frames)
        start = ordered.index(line)
        if mask is None:
            continue
        needed, bound = names_read(line), names_bound(line)
        place = start
        for position in range(start - 1, -1, -1):
            other = ordered[position]
            if _writes(other, frames) or needed & names_bound(other) or bound & names_read(other):
                break
            if loaded_tile(other, frames) is not None and any(mask.deep_equals(node) for node in walk(other)):
                place = position
        if any(has_dot(passed, frames) for passed in ordered[place:start]):
            ordered.insert(place, ordered.pop(start))
    return ordered


def _mask(line: cst.BaseStatement, frames: list[Frame]) -> cst.BaseExpression | None:
    """The comparison of indices that a statement assigns to a name; None for any other statement."""
    if not isinstance(line, cst.SimpleStatementLine) or len(line.body) != 1:
        return None
    small = line.body[0]
    if not isinstance(small, cst.Assign) or not isinstance(small.value, cst.Comparison):
        return None
    value = next((frame.values[small.value] for frame in frames if small.value in frame.values), None)
    named = len(small.targets) == 1 and isinstance(small.targets[0].target, cst.Name)
    return small.value if named and value is not None and value.is_tensor and value.cheap else None


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
        if any(part in operation for operation in operations for part in WRITES):
            return True
    return False


def names_read(line: cst.CSTNode) -> set[str]:
    return {node.value for node in walk(line) if isinstance(node, cst.Name)}


def names_bound(line: cst.BaseStatement) -> set[str]:
    return set(assigned_names(line))
