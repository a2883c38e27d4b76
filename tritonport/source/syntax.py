"""Questions of syntax alone: dotted names, the statements of a scope, bodies that only return."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import libcst as cst

from tritonport.source.walk import children


def dotted(node: cst.BaseExpression) -> str | None:
    """`a.b.c` as text; None for anything else."""
    parts: list[str] = []
    while isinstance(node, cst.Attribute):
        parts.append(node.attr.value)
        node = node.value
    if not isinstance(node, cst.Name):
        return None
    return ".".join([node.value, *reversed(parts)])


def from_dotted(path: str) -> cst.Name | cst.Attribute:
    """The expression that a dotted name is: `dotted` the other way round."""
    first, *rest = path.split(".")
    node: cst.Name | cst.Attribute = cst.Name(first)
    for name in rest:
        node = cst.Attribute(node, cst.Name(name))
    return node


def only_returned(body: cst.IndentedBlock) -> cst.BaseExpression | None:
    """The value of a body that is one `return`, below a docstring; None for any other."""
    small = [one for line in body.body if isinstance(line, cst.SimpleStatementLine) for one in line.body]
    if len(small) != len(body.body) or not small or not isinstance(small[-1], cst.Return):
        return None
    return small[-1].value if all(_is_text(one) for one in small[:-1]) else None


def _is_text(small: cst.BaseSmallStatement) -> bool:
    return isinstance(small, cst.Expr) and isinstance(small.value, (cst.SimpleString, cst.ConcatenatedString))


def bare_call(statement: cst.BaseStatement) -> cst.Call | None:
    """The call that a statement is; None for any other."""
    if isinstance(statement, cst.SimpleStatementLine) and len(statement.body) == 1:
        small = statement.body[0]
        if isinstance(small, cst.Expr) and isinstance(small.value, cst.Call):
            return small.value
    return None


def arms(expressions: Iterable[cst.BaseExpression]) -> Iterator[cst.BaseExpression]:
    """The expressions, and both arms of `a if test else b`."""
    for expression in expressions:
        if isinstance(expression, cst.IfExp):
            yield from arms((expression.body, expression.orelse))
        else:
            yield expression


def suites(statement: cst.BaseStatement | cst.Else) -> Iterator[cst.BaseSuite]:
    for child in children(statement):
        if isinstance(child, cst.BaseSuite):
            yield child
        elif isinstance(child, (cst.Else, cst.ExceptHandler, cst.Finally, cst.If, cst.ExceptStarHandler)):
            yield from suites(child)  # type: ignore[arg-type]


def statements_of(tree: cst.CSTNode) -> Iterator[cst.BaseSmallStatement]:
    """The small statements of one scope, through `if`, `try` and `with`."""
    for child in children(tree):
        if isinstance(child, cst.SimpleStatementLine):
            yield from child.body
        elif isinstance(child, (cst.FunctionDef, cst.ClassDef)):
            continue
        elif isinstance(
            child,
            (
                cst.If,
                cst.Else,
                cst.Try,
                cst.ExceptHandler,
                cst.Finally,
                cst.With,
                cst.IndentedBlock,
                cst.For,
                cst.While,
            ),
        ):
            yield from statements_of(child)
