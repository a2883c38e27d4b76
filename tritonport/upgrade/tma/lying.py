"""A matrix that a launch gives by rows or by columns, as a compile-time argument says, loaded in both branches of an
`if` on it: one tile of one descriptor, in an order that the argument decides."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from dataclasses import replace
from typing import TypeVar

import libcst as cst

from tritonport.analysis.access import Access
from tritonport.analysis.dims import Dim
from tritonport.source.walk import assigned_names, walk
from tritonport.upgrade.edit import code
from tritonport.upgrade.legality import Reason
from tritonport.upgrade.tma.boxes import Side
from tritonport.upgrade.tma.tiles import Choice, Lying, Tile

_Part = TypeVar("_Part")


def lying_in_branches(
    node: cst.If, test: str, accesses: tuple[Access, Access], planned: Callable[[Access], Tile | list[Reason]]
) -> Tile | None:
    """The tile that both branches of an `if` load, in two orders of its memory; None where they are not one.

    Args:
        test: that of the `if`, which is decided when the kernel is compiled.
        accesses: the loads, in the order of the branches.
        planned: the tile of a load as if it stood before the `if`.
    """
    inside = set(assigned_names(cst.IndentedBlock([node])))
    found: list[Tile] = []
    for one in accesses:
        # What only a branch knows cannot be said before the `if`.
        numbers = {name: number for name, number in one.numbers.items() if name not in inside}
        tile = planned(replace(one, numbers=numbers))
        if not isinstance(tile, Tile) or tile.order is None or len(tile.order) != 2 or tile.operand.result is None:
            return None
        if tile.computed or tile.beside is not None or tile.operand.several is not None:
            return None
        found.append(tile)
    first, second = found
    if first.read_as != second.read_as or first.operand != second.operand:
        return None
    if _seen(first) != _seen(second) or _contiguous(first) == _contiguous(second):
        return None
    choice = Choice(node, test, second.access, second.box)
    access = replace(first.access, target=first.read_as)
    orders = ("[0, 1]", "[1, 0]") if _contiguous(first) == 0 else ("[1, 0]", "[0, 1]")
    lying = Lying((first, second), orders)
    coordinates = tuple(_dot_order(first, first.coordinates))
    return replace(first, access=access, choice=choice, lying=lying, order=None, coordinates=coordinates, turned=None)


def _contiguous(tile: Tile) -> int:
    """The dimension of a matrix, as dots read it, along which it lies in memory."""
    assert tile.order is not None
    return tile.order[-1] if tile.turned is None else 1 - tile.order[-1]


def _seen(tile: Tile) -> tuple[tuple[Side, ...], list[tuple[str, Dim]], list[str]]:
    """What the two have to have in common: everything but the strides and the bounds, as dots see it."""
    sides = [(side.size, side.coordinate) for side in _dot_order(tile, tile.box.inner)]
    return tile.box.outer, sides, _dot_order(tile, tile.coordinates)


def _dot_order(tile: Tile, parts: Sequence[_Part]) -> list[_Part]:
    """What is said per dimension, those outside of the matrix first, with the matrix as dots read it."""
    turned = list(parts)
    if tile.turned is not None:
        turned[-2:] = reversed(turned[-2:])
    return turned


def loads_of_branches(tiles: Sequence[Tile], function: cst.FunctionDef) -> set[int]:
    """The statements that load, or turn, what is copied before the `if` in whose branches they stand, by identity."""
    every = [one for tile in tiles for one in (tile.lying.tiles if tile.lying is not None else (tile,))]
    calls = {id(call) for tile in tiles if tile.choice for call in (tile.access.node, tile.choice.other.node)}
    found = {id(tile.turned.node) for tile in every if tile.turned is not None}
    for line in walk(function.body):
        small = line.body[0] if isinstance(line, cst.SimpleStatementLine) else None
        if isinstance(small, cst.Assign) and any(id(node) in calls for node in walk(small.value)):
            found.add(id(line))
    return found


def left_of_branches(tiles: Sequence[Tile], loads: Container[int]) -> dict[int, list[cst.BaseStatement]]:
    """What is left of `if`s that load one matrix in both of their branches, where that is the same in both.

    Args:
        loads: the statements that are left out.
    """
    found: dict[int, list[cst.BaseStatement]] = {}
    for tile in tiles:
        node = tile.choice.node if tile.choice is not None and tile.lying is not None else None
        if node is not None and isinstance(node.orelse, cst.Else):
            bodies = [body.body for body in (node.body, node.orelse.body) if isinstance(body, cst.IndentedBlock)]
            left = [[line for line in body if id(line) not in loads] for body in bodies]
            if len(left) == 2 and len({"\n".join(map(code, lines)) for lines in left}) == 1:
                found[id(node)] = left[0]
    return found


__all__ = ["left_of_branches", "loads_of_branches", "lying_in_branches"]
