"""Which statements read the value that one assignment gives a name that has others too."""

from __future__ import annotations

from collections.abc import Container, Sequence
from itertools import pairwise

import libcst as cst

from tritonport.source.walk import assigned_names, walk
from tritonport.upgrade.liveness import live_behind
from tritonport.upgrade.slices import read_names


def readers_of(
    name: str, value: cst.BaseExpression, function: cst.FunctionDef, decided: Container[int] = ()
) -> list[cst.BaseStatement] | None:
    """The statements that read a value, of all those that a name stands for; None where one may read another too.

    Triton gives a name one type where its values meet: behind an `if`, and in a loop that begins with a value of it.
    A name that only the iterations of a loop know has no value before the loop and none behind it.

    Args:
        decided: the `if`s that are decided when the kernel is compiled, by identity: no values meet behind these.
    """
    path = path_to(value, function.body)
    if path is None:
        return None
    *outer, (block, place) = path
    for statements, index in outer:
        statement = statements[index]
        if isinstance(statement, cst.If) and id(statement) in decided:
            if name in live_behind(function, statement) or _meet(statements[index + 1 :], name, decided):
                return None
        elif not isinstance(statement, (cst.For, cst.While)) or any(_outlasts(one, name) for one in statements[:index]):
            return None
    if _meet(block[place + 1 :], name, decided):
        return None
    readers = []
    for before, statement in pairwise(block[place:]):
        assigns = _assigns(statement, name)
        if assigns and isinstance(statement, cst.If):
            if name in live_behind(function, before):
                return None
            continue
        if name in read_names(statement):
            readers.append(statement)
        if assigns:
            break
    return readers


def _meet(statements: Sequence[cst.CSTNode], name: str, decided: Container[int]) -> bool:
    """Whether another value of a name meets the one that it has before some statements, until it gets a new one."""
    for statement in statements:
        if isinstance(statement, cst.SimpleStatementLine):
            if _assigns(statement, name):
                return False
        elif isinstance(statement, cst.If) and id(statement) in decided:
            if any(_meet(one.body, name, decided) for one in _blocks(statement)):
                return True
        elif _assigns(statement, name):
            return True
    return False


_Place = tuple[Sequence[cst.BaseStatement], int]


def path_to(value: cst.BaseExpression, suite: cst.BaseSuite) -> list[_Place] | None:
    """The blocks around a value from the outermost one, with the index of the statement that holds it."""
    if not isinstance(suite, cst.IndentedBlock):
        return None
    for index, statement in enumerate(suite.body):
        if not any(node is value for node in walk(statement)):
            continue
        if isinstance(statement, cst.SimpleStatementLine):
            return [(suite.body, index)]
        inner = [one for one in _blocks(statement) if any(node is value for node in walk(one))]
        below = path_to(value, inner[0]) if inner else None
        return [(suite.body, index), *below] if below is not None else None
    return None


def _blocks(statement: cst.CSTNode) -> list[cst.BaseSuite]:
    """The blocks of a statement; an `elif` is a block of its own."""
    if isinstance(statement, cst.If) and isinstance(statement.orelse, cst.If):
        return [statement.body, cst.IndentedBlock([statement.orelse])]
    orelse = statement.orelse if isinstance(statement, cst.If) else None
    found = [node for node in statement.children if isinstance(node, cst.BaseSuite)]
    return [*found, orelse.body] if isinstance(orelse, cst.Else) else found


def _assigns(statement: cst.CSTNode, name: str) -> bool:
    return isinstance(statement, cst.BaseStatement) and name in assigned_names(cst.IndentedBlock([statement]))


def _outlasts(statement: cst.BaseStatement, name: str) -> bool:
    """Whether a name has a value of a statement behind it: what only a loop assigns has not."""
    return not isinstance(statement, (cst.For, cst.While)) and _assigns(statement, name)


__all__ = ["path_to", "readers_of"]
