"""Tiles that dots read from shared memory, put there where they are loaded.

A tile that is loaded for a dot further down would stand in registers until then. Triton's compiler puts it in shared
memory at once (`ReorderInstructions.cpp` moves each `local_alloc` up to its operand), and several dots read one copy.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst

from tritonport.analysis.frame import Frame
from tritonport.analysis.operations.dots import DEFAULT
from tritonport.analysis.terms import Permuted, Term, normal
from tritonport.analysis.values import Value
from tritonport.convert.wants import Want
from tritonport.source.walk import assigned_names, walk

STAGED_PRECISIONS = (DEFAULT, '"tf32"')
"""Dots that read both operands from shared memory as they are."""


def turned(value: Value) -> cst.BaseExpression | None:
    """`x` of a tile's transpose `tl.trans(x)` or `x.T`; None for anything else."""
    if value.op != "permute" or value.rank != 2 or value.operands[0].steps != (Permuted((1, 0)),):
        return None
    return value.operands[0].node


def loaded_tile(line: cst.BaseStatement, frames: Sequence[Frame]) -> cst.Name | None:
    """The target of `x = tl.load(...)` where x is a tile; None for any other statement."""
    if not isinstance(line, cst.SimpleStatementLine) or len(line.body) != 1:
        return None
    small = line.body[0]
    if not isinstance(small, cst.Assign) or len(small.targets) != 1:
        return None
    target = small.targets[0].target
    value = next((frame.values[small.value] for frame in frames if small.value in frame.values), None)
    if value is None or not value.is_tensor or value.op != "load" or value.rank < 2 or value.volatile:
        return None
    return target if isinstance(target, cst.Name) else None


def has_dot(line: cst.BaseStatement, frames: Sequence[Frame]) -> bool:
    return any(isinstance(node, cst.Call) and _operands_of(node, frames) for node in walk(line))


def read_by_dots(lines: Sequence[cst.BaseStatement], start: int, frames: Sequence[Frame]) -> tuple[int, bool]:
    """How many dots read the tile that a statement of a block loads, before anything else does, and whether its place
    is far from the first of them."""
    target = loaded_tile(lines[start], frames)
    if target is None:
        return 0, False
    count, far = 0, False
    for other in lines[start + 1 :]:
        found = [name for name, _ in dot_tiles(other, frames) if name.value == target.value]
        if not count and not found:
            if target.value in _values_read(other):
                return 0, False
            far |= computes(other, frames)
        count += len(found)
        if target.value in assigned_names(other):
            break
    return count, far


def tiles_to_stage(lines: Sequence[cst.BaseStatement], frames: Sequence[Frame]) -> set[cst.CSTNode]:
    """The targets of a block's loads that go to shared memory at once: a dot further down reads them, or several do."""
    found: set[cst.CSTNode] = set()
    for place, line in enumerate(lines):
        count, far = read_by_dots(lines, place, frames)
        target = loaded_tile(line, frames)
        if target is not None and (count > 1 or (count and far)):
            found.add(target)
    return found


def shared_arguments(frames: Sequence[Frame]) -> dict[str, tuple[int, Want]]:
    """The arguments of a helper that its dots alone read, all as one operand: callers give them in shared memory.

    Per parameter the index of the operand and the layouts of the dots' results. Every caller has to pass a variable
    that it assigns.
    """
    found: dict[str, tuple[int, Want]] = {}
    for name in frames[0].parameters:
        roles = [_role_of(name, frame) for frame in frames]
        indices = {role[0] for role in roles if role is not None}
        if None not in roles and len(indices) == 1 and all(_is_assigned(name, frame) for frame in frames):
            found[name] = (indices.pop(), tuple(role[1] for role in roles if role is not None))
    return found


def _role_of(name: str, frame: Frame) -> tuple[int, Term] | None:
    """The operand of dots that a parameter is in one call, and the layout of their results; None if it is more."""
    definition = frame.parameters[name]
    if definition.value.op != "parameter" or definition.value.rank != 2:
        return None
    if any(definition in merge.sources for merge in frame.merges):
        return None
    typed = {id(node.value) for node in frame.values if isinstance(node, cst.Attribute) and node.attr.value == "dtype"}
    reads = [node for node, read in frame.reads.items() if read is definition and id(node) not in typed]
    roles = {}
    for call, value in frame.values.items():
        if value.dot is None or value.dot.precision not in STAGED_PRECISIONS or value.focus is None:
            continue
        for index, operand in enumerate(value.operands[:2] if isinstance(call, cst.Call) else ()):
            inner = turned(operand.value) if not isinstance(operand.node, cst.Name) else None
            place = operand.node if inner is None else inner
            if place is not None:
                roles[id(place)] = (index if inner is None else 1 - index, normal(value.focus))
    asked = {roles.get(id(node)) for node in reads}
    return asked.pop() if len(asked) == 1 else None


def _is_assigned(name: str, frame: Frame) -> bool:
    """Whether a call passes a variable of the caller that holds a tile of its own."""
    given = frame.parameters[name].value.operands[0].value
    if frame.call is None or frame.caller is None or given.focus is None:
        return False
    nodes = [argument.value for argument in frame.call.args if frame.caller.values.get(argument.value) is given]
    read = frame.caller.reads.get(nodes[0]) if nodes else None
    return read is not None and read.how == "assign"


def _operands_of(call: cst.Call, frames: Sequence[Frame]) -> list[cst.BaseExpression]:
    """The two operands of a dot, where it reads them from shared memory; empty for another call."""
    for frame in frames:
        value = frame.values.get(call)
        if frame.operations.get(call) == "dot" and value is not None and value.dot is not None:
            return [operand.node for operand in value.operands[:2] if operand.node is not None]
    return []


def dot_tiles(line: cst.CSTNode, frames: Sequence[Frame]) -> Iterator[tuple[cst.Name, int]]:
    """The names of tiles that dots in a statement take as operands, as they are or transposed.

    With each the index of the operand that the tile itself is: a transposed left one is a right one.
    """
    for call in walk(line):
        if not isinstance(call, cst.Call):
            continue
        precisions = {frame.values[call].dot for frame in frames if call in frame.values}
        if any(dot is not None and dot.precision not in STAGED_PRECISIONS for dot in precisions):
            continue
        for index, node in enumerate(_operands_of(call, frames)):
            value = next((frame.values[node] for frame in frames if node in frame.values), None)
            inner = turned(value) if value is not None and not isinstance(node, cst.Name) else None
            if isinstance(node, cst.Name):
                yield node, index
            if isinstance(inner, cst.Name):
                yield inner, 1 - index


def _values_read(line: cst.CSTNode) -> set[str]:
    """The names whose values a statement reads: not those of which it only asks the type."""
    types = {
        id(node.value)
        for node in walk(line)
        if isinstance(node, cst.Attribute) and node.attr.value in ("dtype", "type")
    }
    return {node.value for node in walk(line) if isinstance(node, cst.Name) and id(node) not in types}


def computes(line: cst.BaseStatement, frames: Sequence[Frame]) -> bool:
    """Whether a statement works on tiles, beyond loading them: what waits for it waits in registers."""
    values = (frame.values[node] for node in walk(line) for frame in frames if node in frame.values)
    return any(
        value.is_tensor and value.rank > 1 and value.focus is not None and value.op not in ("load", "permute")
        for value in values
    )


__all__ = [
    "STAGED_PRECISIONS",
    "computes",
    "dot_tiles",
    "has_dot",
    "loaded_tile",
    "read_by_dots",
    "shared_arguments",
    "tiles_to_stage",
    "turned",
]
