"""`if`s that are decided when a kernel is compiled: a launch has the code of one branch, and none of the other's."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection

import libcst as cst

from tritonport.source.kernel import Kernel
from tritonport.source.walk import assigned_names
from tritonport.upgrade.edit import code
from tritonport.upgrade.slices import names_of

_OPPOSITE: dict[type[cst.BaseCompOp], cst.BaseCompOp] = {
    cst.NotEqual: cst.Equal(),
    cst.IsNot: cst.Is(),
    cst.NotIn: cst.In(),
}


def decides(kernel: Kernel) -> Callable[[cst.BaseExpression], bool]:
    """Whether a test of a kernel is decided when it is compiled, and the same wherever the kernel asks."""
    constexprs = {one.name for one in kernel.parameters if one.constexpr}
    parameters = {one.name for one in kernel.parameters}
    changed = set(assigned_names(kernel.node.body))
    return lambda test: _is_decided(test, constexprs, parameters, changed)


def _is_decided(
    test: cst.BaseExpression, constexprs: Collection[str], parameters: Collection[str], changed: Collection[str]
) -> bool:
    fixed = {*constexprs, *(parameters if _asks_for_none(test) else ())}
    return names_of(test) <= fixed - set(changed) | {"None"}


def _asks_for_none(test: cst.BaseExpression) -> bool:
    """Whether a test is `x is None` or `x is not None`: what is None is known when the kernel is compiled."""
    if not isinstance(test, cst.Comparison) or len(test.comparisons) != 1:
        return False
    target = test.comparisons[0]
    nothing = isinstance(target.comparator, cst.Name) and target.comparator.value == "None"
    return nothing and isinstance(target.operator, (cst.Is, cst.IsNot)) and isinstance(test.left, cst.Name)


def asked_of(test: cst.BaseExpression) -> tuple[str, bool]:
    """A test without its negation, as source text, and whether it is to hold: `x is None` and False for
    `x is not None`."""
    if isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
        text, holds = asked_of(test.expression)
        return text, not holds
    if isinstance(test, cst.Comparison) and len(test.comparisons) == 1:
        target = test.comparisons[0]
        opposite = _OPPOSITE.get(type(target.operator))
        if opposite is not None:
            plain = test.with_changes(lpar=[], rpar=[], comparisons=[target.with_changes(operator=opposite)])
            return code(plain), False
    bare = test.with_changes(lpar=[], rpar=[]) if getattr(test, "lpar", ()) else test
    return code(bare), True


def denied(test: str) -> str:
    """The test that holds where another does not: `x == y` for `x != y`, `not x` for others."""
    node = ast.parse(test, mode="eval").body
    if isinstance(node, ast.Compare) and len(node.ops) == test.count(" != ") == 1:
        return test.replace(" != ", " == ")
    return f"not {test}" if isinstance(node, (ast.Name, ast.Subscript)) else f"not ({test})"


__all__ = ["asked_of", "decides", "denied"]
