"""Sums that are rescaled in the call of the dot that adds to them: `acc = dot_added(p, v, acc * alpha[:, None])`."""

from __future__ import annotations

import libcst as cst

from tritonport.source.walk import walk
from tritonport.upgrade.edit import with_arguments
from tritonport.upgrade.mma.spelling import ADDS, FileReader, simple_assignment
from tritonport.upgrade.slices import names_of


def rescaled_before(node: cst.For, reader: FileReader) -> cst.For:
    """A loop in which what is done to a sum stands before the dot that adds to it, as a statement of its own.

    The other arguments read nothing of it, so that the order in which all are computed says nothing.
    """
    assert isinstance(node.body, cst.IndentedBlock)
    lines: list[cst.BaseStatement] = []
    for line in node.body.body:
        lines += _apart(line, reader) or [line]
    if len(lines) == len(node.body.body):
        return node
    return node.with_changes(body=node.body.with_changes(body=lines))


def _apart(line: cst.BaseStatement, reader: FileReader) -> list[cst.BaseStatement] | None:
    made = simple_assignment(line)
    if made is None or not isinstance(made[1], cst.Call) or reader.emitted(made[1]) not in ADDS:
        return None
    name, call = made[0], made[1]
    given = list(call.args)
    if len(given) < 3 or any(one.keyword is not None or one.star for one in given[:3]):
        return None
    value = given[2].value
    others = (read for place, one in enumerate(given) if place != 2 for read in names_of(one.value))
    if isinstance(value, cst.Name) or name not in names_of(value) or name in others or _has_dot(value, reader):
        return None
    assert isinstance(line, cst.SimpleStatementLine) and isinstance(line.body[0], cst.Assign)
    given[2] = given[2].with_changes(value=cst.Name(name))
    first = line.with_changes(
        body=[line.body[0].with_changes(value=value)], trailing_whitespace=cst.TrailingWhitespace()
    )
    second = line.body[0].with_changes(value=with_arguments(call, given))
    return [first, line.with_changes(body=[second], leading_lines=[])]


def _has_dot(node: cst.BaseExpression, reader: FileReader) -> bool:
    return any(reader.is_dot(one) for one in walk(node))


__all__ = ["rescaled_before"]
