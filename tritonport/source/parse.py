"""Text to syntax tree and back, for files that are parsed and printed again after every step of an upgrade.

A step changes a function or two, and libcst takes a third of a second to parse a file of 70 kB and a tenth to print it.
So functions at the top of a file are parsed by themselves, and what is inside of them is kept by their text: where the
same function stands in the next text, the nodes below it are the same objects. No step changes a node of a tree.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from functools import lru_cache

import libcst as cst

_PLACE = "_tritonport_function_"
"""Stands in the text for each function, while the rest of the file is parsed."""
_KEPT = 512
"""Functions that are kept: a tree takes about 110 bytes for each character of its text."""


class _Whole(Exception):
    """The file is parsed in one piece: its functions cannot be told from what is around them."""


_printed: dict[cst.CSTNode, tuple[str, str]] = {}
"""The indentation of the file of each of the functions read last, and its text with the lines above it."""


@lru_cache(maxsize=4)
def parsed(text: str) -> cst.Module:
    """The tree of a file, as `cst.parse_module` gives it; what is inside of its functions may stand in other trees.

    Raises cst.ParserSyntaxError.
    """
    try:
        return _in_pieces(text)
    except _Whole:
        return cst.parse_module(text)


def printed(tree: cst.Module) -> str:
    """The text of a file, as `tree.code` gives it."""
    if not tree.has_trailing_newline or not tree.body or tree.default_newline != "\n":
        return tree.code
    return "".join(_text_of(part, tree) for part in (*tree.header, *tree.body, *tree.footer))


def _text_of(node: cst.CSTNode, tree: cst.Module) -> str:
    indent, text = _printed.get(node, (None, ""))
    return text if indent == tree.default_indent else tree.code_for_node(node)


def _in_pieces(text: str) -> cst.Module:
    if not text.endswith("\n") or "\r" in text or "\f" in text or _PLACE in text:
        raise _Whole
    lines = text.split("\n")
    rest: list[str] = []
    functions: list[str] = []
    behind = 0
    for start, end in _spans(text, lines):
        rest += [*lines[behind:start], _PLACE]
        functions.append("\n".join(lines[start:end]) + "\n")
        behind = end
    if not functions:
        raise _Whole
    around = cst.parse_module("\n".join([*rest, *lines[behind:]]))
    return around.with_changes(body=_put_back(around, functions))


def _spans(text: str, lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """The lines of each function at the top of a file, decorators included: the first one, and the one behind it."""
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError):
        raise _Whole from None
    starts = [min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", ()))]) - 1 for node in body]
    for node, start, after in zip(body, starts, [*starts, len(lines)][1:], strict=True):
        if not isinstance(node, ast.FunctionDef):
            continue
        end = node.end_lineno or start + 1
        if not lines[start].startswith(("@", "def ")) or any(line[:1].isspace() for line in lines[end:after]):
            # A decorator in parentheses of its own; a comment that may be the last line of the function.
            raise _Whole
        yield start, end


def _put_back(around: cst.Module, functions: Sequence[str]) -> list[cst.BaseStatement]:
    """The statements of a file, with its functions where their places are."""
    left = iter(functions)
    body: list[cst.BaseStatement] = []
    seen: set[str] = set()
    for statement in around.body:
        if isinstance(statement, cst.SimpleStatementLine) and _is_place(statement):
            text = next(left)
            # A tree has each node once: the second of two functions alike is parsed anew.
            found = _function(text) if text not in seen else _function.__wrapped__(text)
            seen.add(text)
            if found.default_indent != around.default_indent:
                raise _Whole
            (function,) = found.body
            above = statement.leading_lines
            statement = function.with_changes(leading_lines=above)
            over = "".join(around.code_for_node(line) for line in above)
            _printed[statement] = (around.default_indent, over + text)
            if len(_printed) > _KEPT:
                del _printed[next(iter(_printed))]
        body.append(statement)
    return body


@lru_cache(maxsize=_KEPT)
def _function(text: str) -> cst.Module:
    return cst.parse_module(text)


def _is_place(line: cst.SimpleStatementLine) -> bool:
    small = line.body[0]
    return isinstance(small, cst.Expr) and isinstance(small.value, cst.Name) and small.value.value == _PLACE


__all__ = ["parsed", "printed"]
