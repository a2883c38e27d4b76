"""Walking a syntax tree without its whitespace: libcst's own `children` visits every space and costs most of a
conversion."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from functools import cache

import libcst as cst

_TRIVIA = frozenset(
    {
        "lpar",
        "rpar",
        "leading_lines",
        "lines_after_decorators",
        "trailing_whitespace",
        "comma",
        "semicolon",
        "header",
        "footer",
    }
    | {
        "lbracket",
        "rbracket",
        "lbrace",
        "rbrace",
        "equal",
        "colon",
        "dot",
        "indent",
        "first_line",
        "empty_lines",
        "asynchronous",
    }
)


@cache
def _fields(kind: type[cst.CSTNode]) -> tuple[str, ...]:
    return tuple(
        field.name
        for field in fields(kind)
        if field.name not in _TRIVIA and not field.name.startswith(("whitespace", "maybe_"))
    )


def children(node: cst.CSTNode) -> list[cst.CSTNode]:
    """The syntactic children of a node, in source order, without whitespace, parentheses and commas."""
    found: list[cst.CSTNode] = []
    for name in _fields(type(node)):
        value = getattr(node, name)
        if isinstance(value, cst.CSTNode):
            found.append(value)
        elif isinstance(value, (list, tuple)):
            found.extend(item for item in value if isinstance(item, cst.CSTNode))
    return found


def walk(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """A node and everything below it, parents first, in source order."""
    stack = [node]
    while stack:
        item = stack.pop()
        yield item
        stack.extend(reversed(children(item)))
