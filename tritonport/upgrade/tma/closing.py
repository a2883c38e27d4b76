"""Where barriers end: behind everything else of the block that they begin in.

Invalidating a barrier takes a thread of its own and two barriers of all threads. Right behind a loop these stand
between its last dot and what the kernel loads for its epilogue; a kernel of few iterations loses a tenth of its time
there (products of keys of a chunk on an H200: 0.95x of Triton without, 0.84x with them). Triton gives the memory of a
barrier to nothing else before it is invalidated, so that the end of the block is as good a place.
"""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from tritonport.source.syntax import dotted
from tritonport.source.walk import walk

_CLOSES = "mbarrier.invalidate"


def closed_at_end(lines: Sequence[cst.BaseStatement]) -> list[cst.BaseStatement]:
    """The statements of a block with those that only invalidate barriers last, or before one that leaves the block."""
    ordered: list[cst.BaseStatement] = []
    closing: list[cst.BaseStatement] = []
    for line in lines:
        if _only_closes(line):
            closing.append(line)
            continue
        if closing and _leaves(line):
            ordered += closing
            closing = []
        ordered.append(line)
    return ordered + closing


def _only_closes(line: cst.BaseStatement) -> bool:
    if isinstance(line, cst.SimpleStatementLine):
        return all(isinstance(one, cst.Expr) and _closes(one.value) for one in line.body)
    if not isinstance(line, cst.If):
        return False
    orelse = line.orelse
    branches: list[cst.BaseSuite] = [line.body]
    if isinstance(orelse, cst.If):
        return _only_closes_all(line.body) and _only_closes(orelse)
    if orelse is not None:
        branches.append(orelse.body)
    return all(_only_closes_all(one) for one in branches)


def _only_closes_all(block: cst.BaseSuite) -> bool:
    return isinstance(block, cst.IndentedBlock) and all(map(_only_closes, block.body))


def _closes(node: cst.BaseExpression) -> bool:
    return isinstance(node, cst.Call) and dotted(node.func) == _CLOSES


def _leaves(line: cst.BaseStatement) -> bool:
    return any(isinstance(node, (cst.Return, cst.Break, cst.Continue)) for node in walk(line))


__all__ = ["closed_at_end"]
