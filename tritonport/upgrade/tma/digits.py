"""Tiles of a loop of tasks that have no element in common, as each task has coordinates of its own.

A persistent program takes a task number apart, `row = task // (B * H)`, `head = task % (B * H) % H`, and works on the
tile with these coordinates. Two tasks have the same only if they are the same, as a number follows from its quotient
and its remainder; and tiles with other coordinates lie apart where every stride has room for all that the smaller ones
are multiplied by.
"""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from tritonport.analysis.access import Access, Loop
from tritonport.analysis.access.forms import ALWAYS, plus, show, times
from tritonport.analysis.access.indexed import goes_down, quotient, term
from tritonport.analysis.dims import Dim, symbol
from tritonport.source.walk import assigned_names
from tritonport.upgrade.tma.boxes import Box, Side
from tritonport.upgrade.tma.signs import in_whole_steps


@dataclass(frozen=True)
class _Moved:
    """A side whose coordinate is a digit, times a factor, plus what does not change; `digit`: as an expression."""

    side: Side
    digit: ast.expr
    factor: Dim


def by_digits(store: Access, box: Box) -> tuple[str, ...] | None:
    """What a launch is asked for the tiles of a store to lie apart in all iterations; None where it is not shown."""
    changing = {name for loop in store.loops for name in (loop.target, *assigned_names(loop.node))} - {""}
    moved: list[_Moved] = []
    for side in box.sides:
        if not changes(side.coordinate, store, changing):
            continue
        one = _digit(side, store, changing)
        if one is None:
            return None
        moved.append(one)
    digits = [one.digit for one in moved]
    if not all(_follows(ast.Name(loop.target), digits) for loop in store.loops) or not all(
        map(_is_counted, store.loops)
    ):
        return None
    return _room([*moved, *(side for side in box.inner if all(one.side is not side for one in moved))], store)


def _is_counted(loop: Loop) -> bool:
    """Whether no two iterations of a loop have one index."""
    return bool(loop.target) and loop.kind in ("range", "static_range") and loop.stride is not None


def _texts(dim: Dim, store: Access) -> list[str]:
    return [text for atom in dim.atoms() for text in (atom, store.origins.get(atom, ""))]


def changes(dim: Dim, store: Access, changing: Collection[str]) -> bool:
    """Whether a number is made of one of some names."""
    return any(set(re.findall(r"\w+", text)) & set(changing) for text in _texts(dim, store))


def _digit(side: Side, store: Access, changing: Collection[str]) -> _Moved | None:
    """The digit of a side that moves: by blocks in the tile, by ones outside of it."""
    parts = [(key, value) for key, value in side.coordinate.terms if changes(term(key, value), store, changing)]
    if len(parts) != 1:
        return None
    key, value = parts[0]
    atoms = [atom for atom in key if changes(symbol(atom), store, changing)]
    if len(atoms) != 1:
        return None
    others = list(key)
    others.remove(atoms[0])
    factor = term(tuple(others), value)
    loop = next((one for one in store.loops if one.target == atoms[0]), None)
    step = times(factor, loop.stride) if loop is not None and loop.stride is not None else factor
    size = "1" if side.axis is None else side.size
    if show(step) not in (size, f"-{size}"):
        return None
    try:
        node = ast.parse(atoms[0], mode="eval").body
    except SyntaxError:
        return None
    indices = {one.target for one in store.loops}
    names = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)} & set(changing)
    return _Moved(side, node, factor) if names <= indices and _divides_alone(node, indices) else None


def _divides_alone(node: ast.expr, indices: Collection[str]) -> bool:
    """Whether an expression is an index, or a quotient or a remainder of such a one by what does not change."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.FloorDiv, ast.Mod)):
        fixed = not any(isinstance(one, ast.Name) and one.id in indices for one in ast.walk(node.right))
        return fixed and _divides_alone(node.left, indices)
    return isinstance(node, ast.Name)


def _follows(number: ast.expr, digits: Sequence[ast.expr]) -> bool:
    """Whether a number follows from digits: it is one, or its quotient and its remainder by something follow."""
    text = ast.unparse(number)
    if any(ast.unparse(one) == text for one in digits):
        return True
    for one in (node for digit in digits for node in ast.walk(digit)):
        if isinstance(one, ast.BinOp) and isinstance(one.op, (ast.FloorDiv, ast.Mod)) and ast.unparse(one.left) == text:
            parts = [ast.BinOp(number, operator, one.right) for operator in (ast.FloorDiv(), ast.Mod())]
            if all(_follows(part, digits) for part in parts):
                return True
    return False


def _room(sides: Sequence[_Moved | Side], store: Access) -> tuple[str, ...] | None:
    """What is asked for every stride to have room for the extents of the sides with smaller ones."""
    known = {one.name for one in store.kernel.parameters}
    best: tuple[str, ...] | None = None
    for order in itertools.permutations(sides):
        asked: list[str] = []
        for wide, narrow in itertools.pairwise(order):
            needed, whole = _needed(narrow, store)
            stride = _side(wide).stride
            if needed is None:
                break
            asked += whole
            if quotient(stride, needed) is None if len(needed.terms) == 1 else stride != needed:
                # A stride that the extent is a multiple of is the smaller one.
                smaller = len(stride.terms) == 1 and quotient(needed, stride) is not None
                if smaller or not (stride.atoms() | needed.atoms()) <= known:
                    break
                asked.append(f"{show(stride)} >= {show(needed)}")
        else:
            if best is None or len(asked) < len(best):
                best = tuple(dict.fromkeys(asked))
    return best


def _side(one: _Moved | Side) -> Side:
    return one.side if isinstance(one, _Moved) else one


def _needed(one: _Moved | Side, store: Access) -> tuple[Dim | None, tuple[str, ...]]:
    """How many elements lie between the first of a side and the end of its last, None where nothing bounds it; and what
    is asked for that."""
    side, asked = _side(one), tuple[str, ...]()
    ends = [extent.size for extent in side.extents if extent.when == ALWAYS]
    if not ends and isinstance(one, _Moved):
        node = one.digit
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
            names = {part.id for part in ast.walk(node.right) if isinstance(part, ast.Name)}
            ends = [symbol(ast.unparse(node.right))] if names else []
        elif (blocks := _blocks(one, store)) is not None:
            ends, asked = [blocks[0]], blocks[1]
    if not ends and not isinstance(one, _Moved) and not side.coordinate.terms and side.size.isidentifier():
        ends = [symbol(side.size)]
    return (times(ends[0], side.stride) if ends else None), asked


def _blocks(one: _Moved, store: Access) -> tuple[Dim, tuple[str, ...]] | None:
    """How far the blocks of a loop that goes up reach from the first one, and what is asked for them to end there."""
    loop = next((loop for loop in store.loops if loop.target == ast.unparse(one.digit)), None)
    if loop is None or loop.first is None or loop.end is None or loop.stride is None or goes_down(loop):
        return None
    if show(times(one.factor, loop.stride)) != one.side.size:
        return None
    distance = plus(loop.end, loop.first, -1)
    asked = in_whole_steps(distance, loop.stride, store, store.kernel)
    return (times(one.factor, distance), asked) if asked is not None else None


__all__ = ["by_digits", "changes"]
