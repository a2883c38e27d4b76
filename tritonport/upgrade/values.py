"""Which statements read the value that one assignment gives a name that has others too."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from tritonport.source.walk import assigned_names, walk
from tritonport.upgrade.slices import read_names


def readers_of(name: str, value: cst.BaseExpression, function: cst.FunctionDef) -> list[cst.BaseStatement] | None:
    """The statements that read a value, of all those that a name stands for; None where one may read another too.

    Triton gives a name one type where its values meet: behind an `if`, and in a loop that begins with a value of it.
    A name that only the iterations of a loop know has no value before the loop and none behind it.
    """
    path = _path(value, function.body)
    if path is None:
        return None
    *outer, (block, place) = path
    for statements, index in outer:
        if not isinstance(statements[index], (cst.For, cst.While)):
            return None
        if any(_outlasts(one, name) for one in statements[:index]):
            return None
    readers = []
    for statement in block[place + 1 :]:
        assigns = _assigns(statement, name)
        if assigns and not isinstance(statement, cst.SimpleStatementLine):
            return None
        if name in read_names(statement):
            readers.append(statement)
        if assigns:
            break
    return readers


_Place = tuple[Sequence[cst.BaseStatement], int]


def _path(value: cst.BaseExpression, suite: cst.BaseSuite) -> list[_Place] | None:
    """The blocks around a value from the outermost one, with the index of the statement that holds it."""
    if not isinstance(suite, cst.IndentedBlock):
        return None
    for index, statement in enumerate(suite.body):
        if not any(node is value for node in walk(statement)):
            continue
        if isinstance(statement, cst.SimpleStatementLine):
            return [(suite.body, index)]
        inner = [one for one in _suites(statement) if any(node is value for node in walk(one))]
        below = _path(value, inner[0]) if inner else None
        return [(suite.body, index), *below] if below is not None else None
    return None


def _suites(statement: cst.BaseStatement) -> list[cst.BaseSuite]:
    return [node for node in statement.children if isinstance(node, cst.BaseSuite)]


def _assigns(statement: cst.BaseStatement, name: str) -> bool:
    return name in assigned_names(cst.IndentedBlock([statement]))


def _outlasts(statement: cst.BaseStatement, name: str) -> bool:
    """Whether a name has a value of a statement behind it: what only a loop assigns has not."""
    return not isinstance(statement, (cst.For, cst.While)) and _assigns(statement, name)


__all__ = ["readers_of"]
