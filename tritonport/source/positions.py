"""Lines and columns of the nodes of a file's kernels.

Only the kernel around a node is measured: positions of a whole file take longer than its conversion.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from functools import cached_property

import libcst as cst

from tritonport.source.kernel import Kernel
from tritonport.source.walk import walk

Span = tuple[int, int, int, int]
"""Line and column of the first character, line and column behind the last, all from 1."""


class Positions:
    """Measures nodes in the text that they were parsed from."""

    def __init__(self, text: str, tree: cst.Module) -> None:
        self.text = text
        self.tree = tree
        self._kernel_spans: dict[Kernel, dict[cst.CSTNode, Span]] = {}

    def span(self, node: cst.CSTNode, kernels: Sequence[Kernel]) -> Span | None:
        """Where a node of one of some kernels begins and ends; None for anything else."""
        for kernel in kernels:
            spans = self._kernel_spans.get(kernel)
            if spans is None:
                if not any(item is node for item in walk(kernel.node)):
                    continue
                spans = self._kernel_spans[kernel] = self._measure(kernel)
            if node in spans:
                return spans[node]
        return None

    def line_of(self, function: cst.FunctionDef) -> int:
        """The line of a `def`; 1 where that is not known."""
        return self._functions.get(function, (1, 0))[0]

    def _measure(self, kernel: Kernel) -> dict[cst.CSTNode, Span]:
        from libcst.metadata import MetadataWrapper, PositionProvider

        alone = self.tree.with_changes(header=[], footer=[], body=[kernel.node])
        ranges = MetadataWrapper(alone, unsafe_skip_copy=True).resolve(PositionProvider)
        line, indent = self._functions.get(kernel.node, (1, 0))
        shift = line - ranges[kernel.node.name].start.line
        return {
            node: (
                where.start.line + shift,
                where.start.column + indent + 1,
                where.end.line + shift,
                where.end.column + indent + 1,
            )
            for node, where in ranges.items()
            if isinstance(node, cst.CSTNode)
        }

    @cached_property
    def _functions(self) -> dict[cst.CSTNode, tuple[int, int]]:
        """Line (from 1) and indentation of every function, from Python's own parser."""
        ours = [node for node in walk(self.tree) if isinstance(node, cst.FunctionDef)]
        try:
            tree = ast.parse(self.text)
        except (SyntaxError, ValueError):
            return {}
        theirs = sorted((node.lineno, node.col_offset) for node in _functions_of(tree))
        return dict(zip(ours, theirs, strict=True)) if len(ours) == len(theirs) else {}


def _functions_of(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Every function of a file by Python's own parser. They stand in statements alone: expressions are passed over."""
    for name in ("body", "handlers", "orelse", "finalbody", "cases"):
        for child in getattr(tree, name, ()):
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
                yield child
            yield from _functions_of(child)
