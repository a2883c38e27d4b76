"""Tiles that dots read in place in the launches that leave out the `if`s which compute with them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container

import libcst as cst

from tritonport.analysis.access import Access
from tritonport.source.walk import assigned_names, walk
from tritonport.upgrade.dots import Operand, operand_of, reads_of
from tritonport.upgrade.edit import code
from tritonport.upgrade.tma.terms import as_operand


def operand_unless(access: Access, function: cst.FunctionDef, decided: Container[int]) -> tuple[Operand, str]:
    """How dots read a tile that a loop loads, where only `if`s that are decided when the kernel is compiled do more.

    `if USE_GK: b_k = b_k * decay` needs it in registers: `USE_GK` is the test that is given with the operand.
    """
    name = access.target
    body = access.loops[-1].node.body if access.loops else None
    if not name or not isinstance(body, cst.IndentedBlock):
        return Operand(), ""
    place = next((at for at, line in enumerate(body.body) if _loads(line, access.node)), None)
    behind = list(body.body[place + 1 :]) if place is not None else []
    computing = [line for line in behind if _computes(line, name, decided)]
    others = [line for line in behind if line not in computing]
    # All else that the kernel says of the name is said by dots of this iteration.
    assigned = Counter(assigned_names(function.body))[name]
    inside = Counter(assigned_names(cst.IndentedBlock(computing)))[name] if computing else 0
    if (
        not computing
        or assigned != inside + 1
        or len(reads_of(function, name)) != sum(len(reads_of(line, name)) for line in behind)
    ):
        return Operand(), ""
    operand = operand_of(name, others, function, casts=True)
    if operand.result is None or operand.several is not None:
        return Operand(), ""
    tests = " or ".join(dict.fromkeys(as_operand(code(line.test)) for line in computing if isinstance(line, cst.If)))
    return operand, tests


def _loads(line: cst.BaseStatement, call: cst.Call) -> bool:
    small = line.body[0] if isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1 else None
    return isinstance(small, cst.Assign) and small.value is call


def _computes(line: cst.BaseStatement, name: str, decided: Container[int]) -> bool:
    """Whether a statement is such an `if`, in whose first branch alone the name stands."""
    if not isinstance(line, cst.If) or id(line) not in decided or line.orelse is not None:
        return False
    return any(isinstance(node, cst.Name) and node.value == name for node in walk(line.body))


__all__ = ["operand_unless"]
