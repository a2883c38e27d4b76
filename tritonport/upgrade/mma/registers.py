"""Operands in registers: which of them a dot may read while it is under way.

WGMMA reads registers after the instruction has been issued, and the next iteration writes them again. It has the
result of what another dot of the iteration gives only when that dot has ended; dots end in order, so the one before,
which is under way, has read its operands by then. Of an operand that is made of anything else (of a tile that each
iteration reads from memory, of what an iteration before has left) nothing says that.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import libcst as cst

from tritonport.source.walk import assigned_names, walk
from tritonport.upgrade.dots import is_written_dot
from tritonport.upgrade.slices import names_of

_KINDS = frozenset({"dtype", "shape", "type"})
"""What a tile is: no part of what is in it."""


def is_of_dot(node: cst.BaseExpression, before: Sequence[cst.BaseStatement]) -> bool:
    """Whether an expression is made of what a dot gives, in whatever branches.

    Args:
        before: the statements of its iteration that stand before it.
    """
    if any(is_written_dot(one) for one in walk(node)):
        return True
    kinds = {id(one.value) for one in walk(node) if isinstance(one, cst.Attribute) and one.attr.value in _KINDS}
    names = {one.value for one in walk(node) if isinstance(one, cst.Name) and id(one) not in kinds}
    return any(_holds_dot(name, tuple(before)) for name in sorted(names))


@lru_cache(maxsize=1024)
def _holds_dot(name: str, before: tuple[cst.BaseStatement, ...]) -> bool:
    """The same of a variable, behind some statements."""
    for place in reversed(range(len(before))):
        line, earlier = before[place], before[:place]
        if name not in assigned_names(cst.IndentedBlock([line])):
            continue
        if isinstance(line, cst.If):
            return all(_holds_dot(name, (*earlier, *branch)) for branch in _branches(line))
        if not isinstance(line, cst.SimpleStatementLine) or len(line.body) != 1:
            return False
        small = line.body[0]
        if isinstance(small, cst.AugAssign):
            return is_of_dot(small.value, earlier) or _holds_dot(name, earlier)
        plain = isinstance(small, cst.Assign) and all(name in names_of(one.target) for one in small.targets)
        return plain and isinstance(small, cst.Assign) and is_of_dot(small.value, earlier)
    return False


def _branches(node: cst.If) -> list[list[cst.BaseStatement]]:
    """The statements of an `if`'s branches; none where there is no `else`."""
    orelse = node.orelse
    if isinstance(orelse, cst.If):
        return [_lines(node.body), [orelse]]
    return [_lines(node.body), _lines(orelse.body) if orelse is not None else []]


def _lines(body: cst.BaseSuite) -> list[cst.BaseStatement]:
    if isinstance(body, cst.IndentedBlock):
        return list(body.body)
    assert isinstance(body, cst.SimpleStatementSuite)
    return [cst.SimpleStatementLine(body.body)]


__all__ = ["is_of_dot"]
