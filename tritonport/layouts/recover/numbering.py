"""Source locations that tell any two expressions of a kernel apart.

Triton gives every operation the line and the column where its expression begins, so `a`, `a + b` and `(a + b).to(t)`
have one location. Here the column is replaced by a number: the place of the node in a walk of its function. The
compiler carries it to the end as it does any column.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

_STEP = 1000
# Triton adds the column of the function itself to that of a node, which is less than a step.


def numbered(function: ast.FunctionDef) -> Iterator[tuple[int, ast.AST]]:
    """The nodes of a function with their numbers; its decorators, which a jit function does not keep, have none."""
    decorators, function.decorator_list = function.decorator_list, []
    try:
        yield from enumerate(ast.walk(function))
    finally:
        function.decorator_list = decorators


def number_from_column(column: int) -> int:
    """The number of a node, from the column in a location of the IR; -1 where it has none."""
    return column // _STEP - 1


def number_locations() -> None:
    """Make the compiler of this process write numbers for columns. For a child that compiles one kernel and ends."""
    from triton.runtime.jit import JITFunction

    owner = next(kind for kind in JITFunction.__mro__ if "parse" in vars(kind))
    original = owner.parse

    def parse(self: object) -> ast.Module:
        tree: ast.Module = original(self)
        function = tree.body[0]
        assert isinstance(function, ast.FunctionDef)
        for number, node in numbered(function):
            if hasattr(node, "col_offset"):
                node.col_offset = (number + 1) * _STEP
        return tree

    owner.parse = parse
    _restore_locations()


def _restore_locations() -> None:
    """Have an operation located at its own expression: Triton 3.6 leaves the location at the operand it read last."""
    from triton.compiler.code_generator import CodeGenerator

    original = CodeGenerator.visit

    def visit(self: Any, node: ast.AST) -> Any:
        before = self.builder.get_loc()
        result = original(self, node)
        if before:
            self.builder.set_loc(before)
        return result

    CodeGenerator.visit = visit


class FileNumbers:
    """The numbers of the expressions of a file, by where they stand in its text."""

    def __init__(self, text: str) -> None:
        self._lines = text.splitlines()
        self._functions = {node.lineno: node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)}
        self._known: dict[int, dict[tuple[int, int, int, int], int]] = {}

    def number(self, function_line: int, span: tuple[int, int, int, int]) -> int | None:
        """The number of the expression (or augmented assignment) at a span; None where no such thing stands there.

        function_line: the line of the `def` it stands in. span: line and column of its begin and of its end, from 1.
        """
        if function_line not in self._functions:
            return None
        if function_line not in self._known:
            self._known[function_line] = {
                self._span(node): number
                for number, node in numbered(self._functions[function_line])
                if isinstance(node, ast.expr | ast.AugAssign)
            }
        return self._known[function_line].get(span)

    def _span(self, node: ast.expr | ast.AugAssign) -> tuple[int, int, int, int]:
        assert node.end_lineno is not None and node.end_col_offset is not None
        return (
            node.lineno,
            self._column(node.lineno, node.col_offset),
            node.end_lineno,
            self._column(node.end_lineno, node.end_col_offset),
        )

    def _column(self, line: int, offset: int) -> int:
        """A column of `ast`, which counts UTF-8 bytes from 0, in characters from 1."""
        text = self._lines[line - 1] if line <= len(self._lines) else ""
        return (offset if text.isascii() else len(text.encode()[:offset].decode(errors="replace"))) + 1


__all__ = ["FileNumbers", "number_from_column", "number_locations", "numbered"]
