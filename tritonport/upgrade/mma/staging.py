"""Operands as they have been copied, without the buffer that each iteration may write for them.

`dot_operand(x, ...)` is x where x is in shared memory. Where the kernel is compiled for dots that cannot read the tile
there, x is in registers, and the buffer would be written again while a dot under way reads it. A dot that takes x
itself puts it there alone, and is not left under way.
"""

from __future__ import annotations

import libcst as cst

from tritonport.source.walk import walk
from tritonport.upgrade.edit import renamed
from tritonport.upgrade.mma.spelling import FileReader, names_assigned, simple_assignment

COPIED = ("arrived", "landed", "landed_as_is", "landed_operand", "operand_beside")
"""Functions of the port that give a copied tile: where it is, or in registers."""
STAGED = ("dot_operand", "dot_operands")


def unstaged(node: cst.For, reader: FileReader) -> cst.For:
    """A loop whose dots take copied tiles themselves."""
    assert isinstance(node.body, cst.IndentedBlock)
    lines = list(node.body.body)
    copied = {
        made[0] for line in lines if (made := simple_assignment(line)) is not None and reader.emitted(made[1]) in COPIED
    }
    names: dict[str, str] = {}
    kept: list[cst.BaseStatement] = []
    for line in lines:
        made = simple_assignment(line)
        source = _source(line, made, reader) if made is not None else None
        once = made is not None and sum(made[0] in names_assigned(one) for one in lines) == 1
        if made is not None and once and source in copied:
            names[made[0]] = source
        else:
            kept.append(line)
    if not names:
        return node
    return node.with_changes(body=node.body.with_changes(body=[renamed(line, names) for line in kept]))


def _source(line: cst.BaseStatement, made: tuple[str, cst.BaseExpression], reader: FileReader) -> str:
    """The variable whose tile a statement makes ready for a dot; empty for other statements, and for commented ones."""
    assert isinstance(line, cst.SimpleStatementLine)
    comments = [one.comment for one in line.leading_lines] + [line.trailing_whitespace.comment]
    if any(one is not None for one in comments) or reader.emitted(made[1]) not in STAGED:
        return ""
    assert isinstance(made[1], cst.Call)
    first = made[1].args[0].value
    return first.value if isinstance(first, cst.Name) else ""


def is_copied(node: cst.BaseExpression, reader: FileReader) -> bool:
    """Whether an expression gives a tile that may be in registers."""
    return any(reader.emitted(one) in COPIED for one in walk(node))


__all__ = ["COPIED", "STAGED", "is_copied", "unstaged"]
