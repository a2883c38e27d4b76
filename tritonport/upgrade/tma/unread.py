"""Copied tiles of loops whose dots some iterations do not run.

What a tile is written in, the other way than it was copied, is ordered before the next copy by the fence that the dot
has. An iteration without the dot has no fence, so there the tile stays as it is.
"""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from tritonport.source.walk import walk
from tritonport.upgrade.dots import called, is_written_dot
from tritonport.upgrade.slices import names_of
from tritonport.upgrade.tma.tiles import Tile
from tritonport.upgrade.values import path_to


def may_be_unread(tile: Tile, function: cst.FunctionDef) -> bool:
    """Whether an iteration of the loop that copies a tile may have no dot that reads it."""
    if not tile.access.loops:
        return False
    node, names = tile.choice.node if tile.choice is not None else None, {tile.read_as}
    inside = False
    for block, place in reversed(path_to(tile.access.node, function.body) or ()):
        if isinstance(block[place], (cst.For, cst.While)):
            break  # the iteration ends
        # An `if` around the load is behind it where it has run: what follows it is run too.
        first = inside or node is None or block[place] is node
        if first and _always_read(block[place + inside :], names):
            return False
        inside = first
    return True


def _always_read(lines: Sequence[cst.BaseStatement], names: set[str]) -> bool:
    """Whether some of the statements that are run in any case is a dot of one of the names.

    Args:
        names: those of the tile; those that statements put it under for the dots are added.
    """
    for line in lines:
        if isinstance(line, cst.If):
            branches = [line.body, line.orelse.body if isinstance(line.orelse, cst.Else) else line.orelse]
            read = [_always_read(_lines(one), names) for one in branches]
            if all(read):
                return True
        elif isinstance(line, cst.SimpleStatementLine):
            for small in line.body:
                if any(is_written_dot(one) and names_of(one) & names for one in walk(small)):
                    return True
                if isinstance(small, cst.Assign) and called(small.value).startswith("dot_operand"):
                    names |= names_of(small.targets[0].target) if names_of(small.value) & names else set()
    return False


def _lines(node: cst.CSTNode | None) -> list[cst.BaseStatement]:
    if isinstance(node, cst.IndentedBlock):
        return list(node.body)
    return [node] if isinstance(node, cst.If) else []


__all__ = ["may_be_unread"]
