"""Which variables of a loop's body differ between its iterations."""

from __future__ import annotations

import libcst as cst

from tritonport.source.walk import assigned_names, walk
from tritonport.upgrade.dots import called
from tritonport.upgrade.liveness import read_first
from tritonport.upgrade.slices import names_of


def differing(loop: cst.For | cst.While) -> set[str]:
    """The names whose values an iteration of a loop may have from its index, from the iteration before, or from an
    atomic operation: what a loop inside it counts begins anew each time, and is none of them.
    """
    body = loop.body
    lines: list[cst.BaseStatement] = []
    if isinstance(body, cst.IndentedBlock):
        lines += body.body
    elif isinstance(body, cst.SimpleStatementSuite):
        lines.append(cst.SimpleStatementLine(body.body))
    found = names_of(loop.target) if isinstance(loop, cst.For) else set()
    found |= read_first(lines) & set(assigned_names(body))
    made = [one for line in lines for one in _made(line)]
    while True:
        fresh = {name for names, read, counts in made if counts or read & found for name in names} - found
        if not fresh:
            return found
        found |= fresh


def _made(statement: cst.BaseStatement) -> list[tuple[set[str], set[str], bool]]:
    """What a statement assigns, with all that decides it, and whether it is another value each time it is run."""
    if isinstance(statement, cst.SimpleStatementLine):
        counts = any(called(node).startswith(("atomic_", "inline_asm")) for node in walk(statement))
        return [(set(assigned_names(cst.IndentedBlock([statement]))), names_of(statement), counts)]
    if not isinstance(statement, (cst.For, cst.While, cst.If)):
        return [(set(assigned_names(cst.IndentedBlock([statement]))), names_of(statement), True)]
    head = statement.iter if isinstance(statement, cst.For) else statement.test
    inside = set(assigned_names(cst.IndentedBlock([statement])))
    blocks: list[cst.CSTNode] = [statement.body]
    orelse = statement.orelse if isinstance(statement, cst.If) else None
    if orelse is not None:
        blocks.append(orelse.body if isinstance(orelse, cst.Else) else cst.IndentedBlock([orelse]))
    found = [(inside, names_of(head), any(called(node).startswith("atomic_") for node in walk(head)))]
    for block in blocks:
        lines = block.body if isinstance(block, cst.IndentedBlock) else ()
        found += [one for line in lines for one in _made(line)]
    return found


__all__ = ["differing"]
