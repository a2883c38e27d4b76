"""Walking a syntax tree without its whitespace: libcst's own `children` visits every space and costs most of a
conversion.

Where every node of a file is looked at, `type(node) is cst.Name` costs a tenth of `isinstance`, which asks an abstract
base class; nobody derives from these types.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any

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


class _Fields(dict[type, tuple[str, ...]]):
    """The fields of a type of node that hold its syntactic children."""

    def __missing__(self, kind: type) -> tuple[str, ...]:
        self[kind] = tuple(
            field.name
            for field in fields(kind)
            if field.name not in _TRIVIA
            and field.type is not str
            and not field.name.startswith(("whitespace", "maybe_"))
        )
        return self[kind]


class _FieldsBackwards(dict[type, tuple[str, ...]]):
    """The same fields, the last one first."""

    def __missing__(self, kind: type) -> tuple[str, ...]:
        self[kind] = _FIELDS[kind][::-1]
        return self[kind]


_FIELDS = _Fields()
_FIELDS_BACKWARDS = _FieldsBackwards()


class _NodeTypes(dict[type, bool]):
    """Whether a type is one of nodes: asking `isinstance` of an abstract base class costs ten times a dictionary."""

    def __missing__(self, kind: type) -> bool:
        self[kind] = issubclass(kind, cst.CSTNode)
        return self[kind]


_IS_NODE = _NodeTypes()


def children(node: cst.CSTNode) -> list[cst.CSTNode]:
    """The syntactic children of a node, in source order, without whitespace, parentheses and commas."""
    found: list[cst.CSTNode] = []
    for name in _FIELDS[type(node)]:
        value = getattr(node, name)
        if _IS_NODE[type(value)]:
            found.append(value)
        elif isinstance(value, (list, tuple)):
            found += [item for item in value if _IS_NODE[type(item)]]
    return found


def replaced(node: cst.CSTNode, swaps: Mapping[cst.CSTNode, cst.CSTNode]) -> Any:
    """A node with some of those below it exchanged. What holds none of them stays the same object."""
    if not swaps:
        return node
    if node in swaps:
        return swaps[node]
    changes: dict[str, Any] = {}
    for name in _FIELDS[type(node)]:
        value = getattr(node, name)
        if _IS_NODE[type(value)]:
            changed = replaced(value, swaps)
            if changed is not value:
                changes[name] = changed
        elif isinstance(value, (list, tuple)):
            items = [replaced(item, swaps) if _IS_NODE[type(item)] else item for item in value]
            if any(new is not old for new, old in zip(items, value, strict=True)):
                changes[name] = items
    return node.with_changes(**changes) if changes else node


def walk(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """A node and everything below it, parents first, in source order."""
    stack = [node]
    while stack:
        item = stack.pop()
        yield item
        # As `children`, backwards and without a list for each node: this is a quarter of what a stage does.
        for name in _FIELDS_BACKWARDS[type(item)]:
            value = getattr(item, name)
            if _IS_NODE[type(value)]:
                stack.append(value)
            elif isinstance(value, (list, tuple)):
                for below in reversed(value):
                    if _IS_NODE[type(below)]:
                        stack.append(below)


def calls_in(node: cst.CSTNode) -> Iterator[cst.Call]:
    """The calls in a node, outer ones first."""
    for one in walk(node):
        if type(one) is cst.Call:
            assert isinstance(one, cst.Call)
            yield one


class _Inner(dict[type, tuple[str, ...]]):
    """The fields of a type of node that hold statements, the last one first: none in an expression."""

    def __missing__(self, kind: type) -> tuple[str, ...]:
        holds = issubclass(kind, _HOLDERS)
        self[kind] = tuple(name for name in _FIELDS_BACKWARDS[kind] if name in _SUITES) if holds else ()
        return self[kind]


_HOLDERS = (
    cst.Module,
    cst.BaseSuite,
    cst.BaseStatement,
    cst.Else,
    cst.ExceptHandler,
    cst.ExceptStarHandler,
    cst.Finally,
    cst.MatchCase,
    cst.Assign,
)
_SUITES = frozenset({"body", "orelse", "handlers", "finalbody", "cases", "targets"})
_INNER = _Inner()
_BINDING = frozenset({cst.AssignTarget, cst.AnnAssign, cst.AugAssign, cst.For})


def assigned_names(node: cst.CSTNode) -> Iterator[str]:
    """Names that a body binds, in source order. As in `walk`, but that expressions are passed over."""
    stack = [node]
    while stack:
        item = stack.pop()
        if type(item) in _BINDING and item is not node:
            yield from target_names(item.target)  # type: ignore[attr-defined]
        for name in _INNER[type(item)]:
            value = getattr(item, name)
            if _IS_NODE[type(value)]:
                stack.append(value)
            elif value is not None:
                stack += reversed(value)


def target_names(target: cst.CSTNode) -> Iterator[str]:
    """The names that an assignment to a target binds."""
    if isinstance(target, cst.Name):
        yield target.value
    elif isinstance(target, (cst.Tuple, cst.List)):
        for element in target.elements:
            yield from target_names(element.value)
