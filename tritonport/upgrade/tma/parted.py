"""Stores whose address an earlier `if` on the same arguments has given two forms: each form gets a store of its own.

`if FIRST: p = a else: p = b` and, behind it, `store(p, x)` is `if FIRST: store(p, x) else: store(p, x)`, where each
branch knows which form it has.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

import libcst as cst

from tritonport.analysis.access import Access, Opaque
from tritonport.analysis.access.reader import Reader
from tritonport.source.kernel import Kernel
from tritonport.source.walk import replaced, walk
from tritonport.upgrade.slices import names_of


def two_forms(kernel: Kernel) -> dict[int, str]:
    """The stores whose address or mask differs between the branches of an `if`, by the identity of their calls, with
    the test of that `if`: one that is the same wherever it is asked."""
    reader = _Reader(kernel)
    stores = [one for one in reader.read() if one.kind == "store" and _has_no_form(one)]
    return {id(one.node): reader.tests[id(one.node)] for one in stores if id(one.node) in reader.tests}


class _Reader(Reader):
    """Reads a kernel with, for each store, the test that decides the form of its pointer or its mask."""

    def __init__(self, kernel: Kernel) -> None:
        super().__init__(kernel.module, kernel)
        self.tests: dict[int, str] = {}

    def memory(self, node: cst.Call, kind: str) -> None:
        names = {name for place in _places(node) for name in names_of(place)}
        decided = [
            test
            for test, values in self.decided.items()
            if any(self.environment.get(name) is values[name][0] for name in names & values.keys())
        ]
        if len(decided) == 1:
            self.tests[id(node)] = decided[0]
        super().memory(node, kind)


def _places(call: cst.Call) -> list[cst.BaseExpression]:
    """The pointer and the mask of a store."""
    named = {one.keyword.value: one.value for one in call.args if one.keyword is not None}
    placed = [one.value for one in call.args if one.keyword is None]
    found = dict(zip(("pointer", "value", "mask"), placed, strict=False)) | named
    return [found[name] for name in ("pointer", "mask") if name in found]


def _has_no_form(access: Access) -> bool:
    return isinstance(access.address, Opaque) or (access.mask is not None and bool(access.mask.opaque))


def parted(kernel: Kernel, tests: Mapping[int, str]) -> tuple[Kernel, dict[int, tuple[cst.Call, cst.Call]]]:
    """The kernel with some stores in both branches of an `if` on their tests,
    and the two calls that each has become."""
    parter = _Parter(tests)
    node = kernel.node.visit(parter)
    assert isinstance(node, cst.FunctionDef)
    # What is visited is made anew where something in it changes: the calls are those of the new kernel.
    return replace(kernel, node=node), parter.made


def both_planned(made: Mapping[int, tuple[cst.Call, cst.Call]], planned: Collection[int]) -> set[int]:
    """The stores of which both calls are planned, by identity."""
    return {key for key, calls in made.items() if all(id(call) in planned for call in calls)}


class _Parter(cst.CSTTransformer):
    def __init__(self, tests: Mapping[int, str]) -> None:
        super().__init__()
        self.tests = tests
        self.made: dict[int, tuple[cst.Call, cst.Call]] = {}

    def visit_SimpleStatementLine(self, node: cst.SimpleStatementLine) -> bool:
        return False  # a store is a line of its own

    def leave_SimpleStatementLine(
        self, original_node: cst.SimpleStatementLine, updated_node: cst.SimpleStatementLine
    ) -> cst.BaseStatement:
        small = original_node.body[0] if len(original_node.body) == 1 else None
        call = small.value if isinstance(small, cst.Expr) else None
        if not isinstance(call, cst.Call) or id(call) not in self.tests:
            return updated_node
        test = cst.parse_expression(self.tests[id(call)])
        lines = [_in_branch(updated_node, test, branch) for branch in (0, 1)]
        first, second = (next(one for one in walk(line) if isinstance(one, cst.Call)) for line in lines)
        self.made[id(call)] = (first, second)
        return cst.If(
            test=test,
            body=cst.IndentedBlock([lines[0]]),
            orelse=cst.Else(cst.IndentedBlock([lines[1]])),
            leading_lines=updated_node.leading_lines,
        )


def _in_branch(line: cst.SimpleStatementLine, test: cst.BaseExpression, branch: int) -> cst.SimpleStatementLine:
    """A line of its own for one branch of an `if`, with what it chooses by the same test chosen."""
    line = line.with_changes(leading_lines=[]).deep_clone()
    swaps: dict[cst.CSTNode, cst.CSTNode] = {
        one: (one.body, one.orelse)[branch]
        for one in walk(line)
        if isinstance(one, cst.IfExp) and one.test.deep_equals(test)
    }
    found = replaced(line, swaps) if swaps else line
    assert isinstance(found, cst.SimpleStatementLine)
    return found


__all__ = ["both_planned", "parted", "two_forms"]
