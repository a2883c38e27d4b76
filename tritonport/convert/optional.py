"""Arguments of a kernel that a launch may pass as None, as far as the kernel shows it."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tritonport.source.kernel import Kernel
from tritonport.source.walk import walk


def optional_arguments(kernel: Kernel) -> set[str]:
    """The parameters that are None by default or that the kernel or one of its heuristics asks whether they are."""
    names = {parameter.name for parameter in kernel.parameters if not parameter.constexpr}
    unset = {one.name for one in kernel.parameters if isinstance(one.default, cst.Name) and one.default.value == "None"}
    return names & (unset | set(_asked(kernel.node)))


def _asked(kernel: cst.FunctionDef) -> Iterator[str]:
    for node in walk(kernel):
        if isinstance(node, cst.Comparison) and any(_is_none(one.comparator) for one in node.comparisons):
            yield from _named(node.left)
        elif isinstance(node, (cst.If, cst.IfExp)):
            test = node.test
            yield from _named(test.expression if isinstance(test, cst.UnaryOperation) else test)


def _is_none(node: cst.BaseExpression) -> bool:
    return isinstance(node, cst.Name) and node.value == "None"


def _named(node: cst.BaseExpression) -> Iterator[str]:
    """`x` of the expression `x`, and of `args["x"]`."""
    if isinstance(node, cst.Name):
        yield node.value
    elif isinstance(node, cst.Subscript) and len(node.slice) == 1:
        index = node.slice[0].slice
        if isinstance(index, cst.Index) and isinstance(index.value, cst.SimpleString):
            yield str(index.value.evaluated_value)


__all__ = ["optional_arguments"]
