"""Dots that a variable holds until something is added to it.

`z = tl.dot(x, y)`, then `z += bias`: where that is all that reads the dot, Triton's compiler moves the dot down to the
addition and adds inside the instruction, which rounds otherwise (`CombineDotAddPattern` of its Combine.cpp). A
compile-time `if` is decided before that, so what a branch adds counts there, and a branch that adds nothing has the
dot at its head.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import libcst as cst

from tritonport.analysis.frame import Definition, Frame
from tritonport.analysis.values import Kind
from tritonport.convert.dot_calls import dot_of, dot_onto_zeros, uncast
from tritonport.convert.sinking import WRITES, names_bound, names_read
from tritonport.layouts.solver import frames_of
from tritonport.source.walk import target_names, walk

_READS = ("load", "gather", "clock", "random")


@dataclass
class MovedDots:
    """The dots of a function that are not written where they stand.

    Attributes:
        calls: by the name that an addition reads, the dot that is added up there, or a cast of it that does nothing.
        lines: the assignments that are left out, with the statement that each of them moves into.
        heads: by the `if` or the branch that does not add, the assignments at its head.
    """

    calls: dict[cst.BaseExpression, cst.BaseExpression] = field(default_factory=dict)
    lines: dict[cst.BaseStatement, cst.BaseStatement] = field(default_factory=dict)
    heads: dict[cst.CSTNode, list[cst.SimpleStatementLine]] = field(default_factory=dict)

    def in_order(self, lines: Sequence[cst.BaseStatement]) -> list[cst.BaseStatement]:
        """The statements of a block with each of its dots in front of the one that it moves into."""
        into: dict[cst.BaseStatement, list[cst.BaseStatement]] = {}
        for line in lines:
            if line in self.lines:
                into.setdefault(self.lines[line], []).append(line)
        stay = [line for line in lines if line not in self.lines]
        return [one for line in stay for one in (*into.get(line, ()), line)]


@dataclass(frozen=True)
class _Dot:
    """`name = call` in `line`; its definitions in the frames that reach it, and the nodes that read them."""

    line: cst.SimpleStatementLine
    target: cst.Name
    call: cst.BaseExpression
    readers: frozenset[cst.CSTNode]


def moved_dots(body: cst.BaseSuite, frames: Sequence[Frame]) -> MovedDots:
    """The dots of a function's body that move down to an addition."""
    moved = MovedDots()
    for block in _blocks(body):
        for place, line in enumerate(block):
            dot = _held_dot(line, frames)
            # What moves into a dot's operand is written with that dot, which stays: it would have to go on with it.
            if dot is not None and line not in moved.lines.values():
                _move(dot, block[place + 1 :], frames, moved)
    return moved


def _blocks(body: cst.CSTNode) -> Iterator[Sequence[cst.BaseStatement]]:
    for node in walk(body):
        if isinstance(node, cst.IndentedBlock):
            yield node.body


def _held_dot(line: cst.BaseStatement, frames: Sequence[Frame]) -> _Dot | None:
    """The dot that a statement assigns to a name; None for any other statement."""
    if not isinstance(line, cst.SimpleStatementLine) or len(line.body) != 1:
        return None
    small = line.body[0]
    call: cst.BaseExpression | None = None
    if isinstance(small, cst.Assign) and len(small.targets) == 1:
        target = small.targets[0].target
        if isinstance(small.value, cst.BinaryOperation) and isinstance(small.value.operator, cst.Add):
            call = dot_onto_zeros(small.value.left, small.value.right, frames)
        elif dot_of(small.value, frames) is not None:
            call = small.value
    elif isinstance(small, cst.AugAssign) and isinstance(small.operator, cst.AddAssign):
        target = small.target
        call = dot_onto_zeros(small.target, small.value, frames)
    if call is None or not isinstance(target, cst.Name):
        return None
    definitions = [frame.targets[target] for frame in frames if target in frame.targets]
    readers = frozenset(node for frame in frames for node, read in frame.reads.items() if read in definitions)
    return _Dot(line, target, call, readers) if definitions and readers else None


def _move(dot: _Dot, below: Sequence[cst.BaseStatement], frames: Sequence[Frame], moved: MovedDots) -> None:
    """Note that a dot moves, where the first statement that reads it adds to it and nothing stands in the way."""
    first = next((line for line in below if _reads(line, dot)), None)
    if first is None or any(node not in set(walk(first)) for node in dot.readers):
        return
    if not _may_pass(dot, below[: below.index(first)], frames):
        return
    found = MovedDots()
    if isinstance(first, cst.If):
        inside = set(walk(first))
        # Behind the `if` nothing may ask for the dot but through what the branches make of the name.
        if not all(merge.value.choice and merge.statement in inside for merge in _merges(dot, frames)):
            return
        if not _move_into(first, dot, frames, found):
            return
    elif _merges(dot, frames) or not _add(first, dot, frames, found):
        return
    moved.lines[dot.line] = first
    moved.calls |= found.calls
    for branch, lines in found.heads.items():
        moved.heads.setdefault(branch, []).extend(lines)


def _move_into(line: cst.If, dot: _Dot, frames: Sequence[Frame], found: MovedDots) -> bool | None:
    """Whether a branch of a compile-time `if` adds to the dot; notes for each branch what becomes of it there.

    None where a test is one at run time, or reads the dot.
    """
    tests = [frame.values[line.test] for frame in frames if line.test in frame.values]
    if set(walk(line.test)) & dot.readers or any(test.kind is not Kind.CONSTEXPR for test in tests):
        return None
    adds = _move_to_branch(line.body, dot, frames, found)
    if line.orelse is None:
        found.heads[line] = [dot.line]
    elif isinstance(line.orelse, cst.Else):
        adds |= _move_to_branch(line.orelse.body, dot, frames, found)
    else:
        further = _move_into(line.orelse, dot, frames, found)
        if further is None:
            return None
        adds |= further
    return adds


def _move_to_branch(body: cst.BaseSuite, dot: _Dot, frames: Sequence[Frame], found: MovedDots) -> bool:
    readers = set(walk(body)) & dot.readers
    lines = body.body if isinstance(body, cst.IndentedBlock) else ()
    place = next((place for place, line in enumerate(lines) if _reads(line, dot)), None)
    only = _Dot(dot.line, dot.target, dot.call, frozenset(readers))
    added = place is not None and isinstance(lines[place], cst.SimpleStatementLine)
    if (
        place is not None
        and added
        and dot.target.value in names_bound(lines[place])
        and _may_pass(dot, lines[:place], frames)
        and _add(lines[place], only, frames, found)
    ):
        return True
    found.heads[body] = [dot.line]
    return False


def _add(line: cst.BaseStatement, dot: _Dot, frames: Sequence[Frame], found: MovedDots) -> bool:
    """Whether one addition in a statement is all that reads a dot."""
    if len(dot.readers) != 1 or not isinstance(line, cst.SimpleStatementLine):
        return False
    (reader,) = dot.readers
    assert isinstance(reader, cst.Name)
    for node in walk(line):
        sides: tuple[cst.BaseExpression, ...] = ()
        if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Add):
            sides = (node.left, node.right)
        elif isinstance(node, cst.AugAssign) and isinstance(node.operator, cst.AddAssign):
            sides = (node.target, node.value)
        if reader in sides:
            right = [frame.values[sides[1]] for frame in frames if sides[1] in frame.values]
            if reader is sides[0] and all(uncast(value).op == "dot" for value in right):
                # The right one is added to this one.
                return False
            found.calls[reader] = dot.call
            return True
    return False


def _reads(line: cst.CSTNode, dot: _Dot) -> bool:
    return any(node in dot.readers for node in walk(line))


def _merges(dot: _Dot, frames: Sequence[Frame]) -> list[Definition]:
    """Where paths meet of which one has the dot."""
    definitions = {frame.targets[dot.target] for frame in frames if dot.target in frame.targets}
    return [merge for frame in frames for merge in frame.merges if definitions.intersection(merge.sources)]


def _may_pass(dot: _Dot, lines: Sequence[cst.BaseStatement], frames: Sequence[Frame]) -> bool:
    """Whether a dot computes the same behind these statements: they assign nothing that it reads, and where it loads
    its operands itself they write no memory."""
    needed = names_read(dot.call)
    loads = bool(_operations_with(_READS, dot.call, frames))
    return not any(needed & _bound(line) or (loads and _operations_with(WRITES, line, frames)) for line in lines)


def _operations_with(parts: Sequence[str], node: cst.CSTNode, frames: Sequence[Frame]) -> list[str]:
    """The operations below a node, those of the helpers that it calls too, whose names have one of these parts."""
    inside = list(walk(node))
    found = [frame.operations[part] for frame in frames for part in inside if part in frame.operations]
    called = (
        frame.calls[part] for frame in frames for part in inside if isinstance(part, cst.Call) and part in frame.calls
    )
    found += [operation for start in called for callee in frames_of(start) for operation in callee.operations.values()]
    return [operation for operation in found if any(part in operation for part in parts)]


def _bound(line: cst.BaseStatement) -> set[str]:
    return names_bound(line) | (set(target_names(line.target)) if isinstance(line, cst.For) else set())
