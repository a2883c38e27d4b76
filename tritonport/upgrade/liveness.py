"""Which names a function still reads: backward over its statements, loops until nothing changes."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from tritonport.source.walk import assigned_names, walk
from tritonport.upgrade.slices import names_of, read_names


def live_at_end(function: cst.FunctionDef, loop: cst.For | cst.While) -> set[str]:
    """The names that are read, before they are assigned, behind an iteration of a loop: in the next one or later."""
    return _of(function, loop).at_end


def live_behind(function: cst.FunctionDef, loop: cst.For | cst.While) -> set[str]:
    """The names that are read, before they are assigned, when a loop has ended."""
    return _of(function, loop).behind


def _of(function: cst.FunctionDef, loop: cst.For | cst.While) -> _Liveness:
    liveness = _Liveness(loop)
    liveness.before(_statements(function.body), set())
    return liveness


class _Liveness:
    def __init__(self, loop: cst.For | cst.While) -> None:
        self.loop = loop
        self.at_end: set[str] = set()
        self.behind: set[str] = set()
        self.jumps: list[set[str]] = []

    def before(self, statements: Sequence[cst.CSTNode], after: set[str]) -> set[str]:
        """The names that are live before statements behind which those of `after` are."""
        live = set(after)
        for statement in reversed(statements):
            live = self._before_one(statement, live)
        return live

    def _before_one(self, statement: cst.CSTNode, after: set[str]) -> set[str]:
        if isinstance(statement, cst.SimpleStatementLine):
            for small in reversed(statement.body):
                after = self._before_small(small, after)
            return after
        if isinstance(statement, cst.If):
            arms = self.before(_statements(statement.body), after)
            if isinstance(statement.orelse, cst.If):
                arms |= self._before_one(statement.orelse, after)
            elif statement.orelse is not None:
                arms |= self.before(_statements(statement.orelse.body), after)
            else:
                arms |= after
            return arms | names_of(statement.test)
        if isinstance(statement, (cst.For, cst.While)):
            return self._before_loop(statement, after)
        # Anything else (with, try, a function inside) reads what it names and assigns nothing for sure.
        return after | {node.value for node in walk(statement) if isinstance(node, cst.Name)}

    def _before_loop(self, loop: cst.For | cst.While, after: set[str]) -> set[str]:
        head = names_of(loop.test) if isinstance(loop, cst.While) else set()
        targets = names_of(loop.target) if isinstance(loop, cst.For) else set()
        live = after | head
        while True:
            self.jumps.append(live)
            inside = self.before(_statements(loop.body), live) - targets
            self.jumps.pop()
            if inside <= live:
                break
            live = live | inside
        if loop is self.loop:
            self.at_end |= live
            self.behind |= after
        return live | (names_of(loop.iter) if isinstance(loop, cst.For) else set())

    def _before_small(self, small: cst.BaseSmallStatement, after: set[str]) -> set[str]:
        read = read_names(small)
        if isinstance(small, cst.Return):
            return read
        if isinstance(small, (cst.Break, cst.Continue)):
            return after | (self.jumps[-1] if self.jumps else set())
        assigned = set(assigned_names(cst.SimpleStatementLine([small])))
        return (after - assigned) | read


def _statements(suite: cst.BaseSuite) -> Sequence[cst.CSTNode]:
    return suite.body if isinstance(suite, cst.IndentedBlock) else [cst.SimpleStatementLine(list(suite.body))]  # type: ignore[arg-type]


__all__ = ["live_at_end", "live_behind"]
