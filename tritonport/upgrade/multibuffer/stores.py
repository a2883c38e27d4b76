"""Tiles that a pipelined loop stores through a descriptor: their copies are read while the next iteration computes.

A copy out of shared memory that is awaited where it begins costs each iteration its latency. Here the tile stands
outside of the loop, and an iteration waits for the copy of the one before, just before it fills the tile again.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import libcst as cst

from tritonport.convert.names import Names
from tritonport.source.module import SourceModule
from tritonport.source.syntax import dotted
from tritonport.source.walk import assigned_names, replaced
from tritonport.upgrade.edit import code, parsed, spliced
from tritonport.upgrade.multibuffer.pipelined import pipelined
from tritonport.upgrade.slices import names_of

HELPER = "begin_store"
_AWAITED = re.compile(r"store_tile(_\d+)?")
_PARAMETERS = 4
"""`store_tile(desc, coord, order, value)`."""


@dataclass(frozen=True)
class Stored:
    """A statement of a loop that stores a tile and waits for its copy."""

    line: cst.SimpleStatementLine
    call: cst.Call
    descriptor: str


def stores_in(loop: cst.For, module: SourceModule) -> list[Stored]:
    """The stores of a loop's own body that may go on while it does: through descriptors that are made before it."""
    assigned = set(assigned_names(loop))
    found = []
    for line in loop.body.body:
        small = line.body[0] if isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1 else None
        call = small.value if isinstance(small, cst.Expr) else None
        if not isinstance(call, cst.Call) or not isinstance(line, cst.SimpleStatementLine):
            continue
        name = dotted(call.func) or ""
        plain = len(call.args) == _PARAMETERS and all(one.keyword is None and not one.star for one in call.args)
        if not _AWAITED.fullmatch(name) or name not in module.bindings.functions or not plain:
            continue
        if not names_of(call.args[0].value) & assigned:
            found.append(Stored(line, call, code(call.args[0].value)))
    return found


def stored_descriptors(loops: Sequence[cst.For | cst.While], module: SourceModule) -> list[str]:
    """The descriptors of these loops' stores: their tiles take shared memory beside the rings."""
    found = [one.descriptor for loop in loops if isinstance(loop, cst.For) for one in stores_in(loop, module)]
    return list(dict.fromkeys(found))


@dataclass(frozen=True)
class Spelling:
    """What the file calls Gluon's language, its module `tma`, and `begin_store`."""

    gl: str
    tma: str
    helper: str


def with_stores_under_way(module: SourceModule, names: set[str], spelling: Spelling) -> SourceModule:
    """The file with the stores of these functions' pipelined loops left under way; the file itself without any."""
    changed: dict[cst.CSTNode, cst.CSTNode] = {}
    for kernel in module.kernels:
        if kernel.qualified not in names:
            continue
        taken = Names({*names_of(kernel.node), *assigned_names(kernel.node), *module.bindings.functions})
        swaps: dict[cst.CSTNode, Sequence[cst.BaseStatement]] = {}
        for loop in pipelined(module, kernel):
            if stored := stores_in(loop, module):
                swaps[loop] = _under_way(module, loop, stored, taken, spelling)
        if swaps:
            changed[kernel.node] = kernel.node.with_changes(body=spliced(kernel.node.body, swaps))
    if not changed:
        return module
    tree: cst.Module = replaced(module.tree, changed)
    return SourceModule(tree.code, module.path, module.project)


def _under_way(
    module: SourceModule, loop: cst.For, stored: Sequence[Stored], names: Names, spelling: Spelling
) -> list[cst.BaseStatement]:
    """The statements in the place of a loop."""
    wait = parsed(f"{spelling.tma}.store_wait(0)", module.tree)
    tiles: list[cst.SimpleStatementLine | cst.BaseCompoundStatement] = []
    lines: dict[cst.CSTNode, list[cst.SimpleStatementLine | cst.BaseCompoundStatement]] = {}
    for one in stored:
        desc, *rest = (code(argument.value) for argument in one.call.args)
        tile = names.fresh(f"{desc.removesuffix('_desc') if desc.isidentifier() else 'stored'}_tile")
        shared = f"{spelling.gl}.allocate_shared_memory({desc}.dtype, {desc}.block_shape, {desc}.layout)"
        tiles.append(parsed(f"{tile} = {shared}", module.tree))
        lines[one.line] = [parsed(f"{spelling.helper}({', '.join([desc, tile, *rest])})", module.tree)]
    said = cst.EmptyLine(comment=cst.Comment("# The copies that the iteration before began have read their tiles."))
    lines[stored[0].line].insert(0, wait.with_changes(leading_lines=[said]))
    for one in stored:
        first, *others = lines[one.line]
        first = first.with_changes(leading_lines=[*one.line.leading_lines, *first.leading_lines])
        lines[one.line] = [first, *others]
    tiles[0] = tiles[0].with_changes(leading_lines=loop.leading_lines)
    return [*tiles, loop.with_changes(leading_lines=[], body=spliced(loop.body, lines)), wait]


__all__ = ["HELPER", "Spelling", "stored_descriptors", "stores_in", "with_stores_under_way"]
