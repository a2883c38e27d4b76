"""When a launch takes one of several ways through the `if`s of a kernel, as the text of its heuristic."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Mapping

from tritonport.analysis.access.forms import Paths
from tritonport.upgrade.tma.terms import HostNames

_MOST = 6
"""How many flags a truth table is made for."""


def asked(ways: Paths, host: HostNames) -> str:
    """The condition under which a launch takes one of the ways, shortened where it is that of a single flag.

    Raises:
        Spelled: a test has a part that the launch does not know.
    """
    tests = {test: ast.parse(test, mode="eval").body for way in ways for test, _ in way}
    flags = list(dict.fromkeys(ast.unparse(flag) for test in tests.values() for flag in _flags(test)))
    if len(flags) <= _MOST:
        found = [
            any(all(_holds(tests[test], given) != bool(branch) for test, branch in way) for way in ways)
            for given in _tables(flags)
        ]
        for flag in flags:
            for negated in (False, True):
                if found == [given[flag] != negated for given in _tables(flags)]:
                    return host.source(f"not {_grouped(flag)}" if negated else flag)
    texts = [" and ".join(f"not ({test})" if branch else f"({test})" for test, branch in way) or "True" for way in ways]
    return host.source(" or ".join(f"({text})" for text in texts))


def _tables(flags: list[str]) -> list[dict[str, bool]]:
    values = itertools.product((False, True), repeat=len(flags))
    return [dict(zip(flags, row, strict=True)) for row in values]


def _flags(node: ast.expr) -> list[ast.expr]:
    """The parts of a test that are true or false on their own."""
    if isinstance(node, ast.BoolOp):
        return [flag for value in node.values for flag in _flags(value)]
    return _flags(node.operand) if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not) else [node]


def _holds(node: ast.expr, given: Mapping[str, bool]) -> bool:
    if isinstance(node, ast.BoolOp):
        values = [_holds(value, given) for value in node.values]
        return all(values) if isinstance(node.op, ast.And) else any(values)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return not _holds(node.operand, given)
    return given[ast.unparse(node)]


def _grouped(flag: str) -> str:
    return flag if flag.isidentifier() else f"({flag})"


__all__ = ["asked"]
