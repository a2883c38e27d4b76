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


def may_be_none(helper: Kernel, name: str, depth: int = 4) -> bool:
    """Whether a call of a helper may pass None for a parameter.

    The helper's default or its tests say so, or its callers in the file: they write None there, or a name that they
    assign None, or pass on a parameter of theirs for which that holds.
    """
    if name in optional_arguments(helper):
        return True
    place = [one.name for one in helper.parameters].index(name)
    for caller, call in helper.module.calls.get(helper.name, ()):
        given = _argument(call, name, place)
        if given is None:
            continue
        passed = {one.value for one in _chosen(given) if isinstance(one, cst.Name)}
        if "None" in passed or passed & _assigned_none(caller.node):
            return True
        own = passed & {one.name for one in caller.parameters} if depth and caller is not helper else set()
        if any(may_be_none(caller, one, depth - 1) for one in own):
            return True
    return False


def _argument(call: cst.Call, name: str, place: int) -> cst.BaseExpression | None:
    named = (one.value for one in call.args if one.keyword is not None and one.keyword.value == name)
    plain = [one.value for one in call.args if one.keyword is None and not one.star]
    return next(named, plain[place] if place < len(plain) else None)


def _assigned_none(node: cst.FunctionDef) -> set[str]:
    """The names that a function gives None anywhere."""
    found: set[str] = set()
    for one in walk(node):
        if not isinstance(one, cst.Assign):
            continue
        for target in one.targets:
            for name, value in _pairs(target.target, one.value):
                if any(_is_none(part) for part in _chosen(value)):
                    found.add(name)
    return found


def _pairs(target: cst.BaseExpression, value: cst.BaseExpression) -> Iterator[tuple[str, cst.BaseExpression]]:
    if isinstance(target, cst.Name):
        yield target.value, value
    elif isinstance(target, cst.Tuple) and isinstance(value, cst.Tuple):
        for left, right in zip(target.elements, value.elements, strict=False):
            yield from _pairs(left.value, right.value)


def _chosen(node: cst.BaseExpression) -> list[cst.BaseExpression]:
    """The expressions of which an expression is one."""
    return [*_chosen(node.body), *_chosen(node.orelse)] if isinstance(node, cst.IfExp) else [node]


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


__all__ = ["may_be_none", "optional_arguments"]
