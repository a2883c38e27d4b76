"""Where the imports that a port needs go among those of the file."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import libcst as cst

from tritonport.source.syntax import dotted


def is_standard(statement: cst.BaseStatement) -> bool:
    """Whether a statement imports modules of Python's own library."""
    if not isinstance(statement, cst.SimpleStatementLine) or len(statement.body) != 1:
        return False
    small = statement.body[0]
    if isinstance(small, cst.Import):
        names = [dotted(alias.name) or "" for alias in small.names]
    elif isinstance(small, cst.ImportFrom) and small.module is not None and not small.relative:
        names = [dotted(small.module) or ""]
    else:
        return False
    return all(name.split(".")[0] in sys.stdlib_module_names for name in names) and names != ["__future__"]


def place_standard(body: list[cst.BaseStatement], line: cst.SimpleStatementLine) -> None:
    """Put `import os` where a person looks for it: behind the imports of Python's own library that head the file, or in
    front of the first import of anything else, with a blank line between."""
    imports = [index for index, statement in enumerate(body) if _is_import(statement)]
    standard = [index for index in imports if is_standard(body[index])]
    if standard:
        run = next((index for index in imports if index > standard[0] and not is_standard(body[index])), len(body))
        body.insert(max(index for index in standard if index < run) + 1, line)
        return
    first = next((index for index in imports if not _is_future(body[index])), None)
    if first is None:
        body.insert(import_place(body), line)
        return
    head = body[first]
    assert isinstance(head, cst.SimpleStatementLine)
    blank = cst.EmptyLine(indent=False)
    if any(above.comment is not None for above in head.leading_lines):
        body.insert(first, line.with_changes(leading_lines=[blank]))
    else:
        body[first] = head.with_changes(leading_lines=[blank])
        body.insert(first, line.with_changes(leading_lines=head.leading_lines))


def _is_import(statement: cst.BaseStatement) -> bool:
    kinds = (cst.Import, cst.ImportFrom)
    return isinstance(statement, cst.SimpleStatementLine) and isinstance(statement.body[0], kinds)


def _is_future(statement: cst.BaseStatement) -> bool:
    small = statement.body[0] if isinstance(statement, cst.SimpleStatementLine) else None
    return isinstance(small, cst.ImportFrom) and small.module is not None and dotted(small.module) == "__future__"


def import_place(body: Sequence[cst.BaseStatement], before: int | None = None) -> int:
    """After the last top-level import of triton, else after the last import.

    `before`: the statement that needs what is imported; imports further down do not count.
    """
    last = triton = 0
    for index, statement in enumerate(body[:before]):
        if not isinstance(statement, cst.SimpleStatementLine):
            continue
        for small in statement.body:
            if isinstance(small, cst.Import):
                last = index + 1
                if any((dotted(alias.name) or "").split(".")[0] == "triton" for alias in small.names):
                    triton = index + 1
            elif isinstance(small, cst.ImportFrom):
                last = index + 1
                if small.module is not None and (dotted(small.module) or "").split(".")[0] == "triton":
                    triton = index + 1
    return triton or last
