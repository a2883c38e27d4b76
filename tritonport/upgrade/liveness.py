"""Which names a function still reads: backward over its statements, loops until nothing changes."""

from __future__ import annotations

from collections.abc import Container, Sequence

import libcst as cst

from tritonport.source.walk import assigned_names, walk
from tritonport.upgrade.decided import asked_of
from tritonport.upgrade.facts import Facts
from tritonport.upgrade.slices import names_of, read_names


def live_at_end(function: cst.FunctionDef, loop: cst.For | cst.While, facts: Facts = frozenset()) -> set[str]:
    """The names that are read, before they are assigned, behind an iteration of a loop: in the next one or later.

    Args:
        facts: what is known of tests: the other branch of an `if` on one of them does not count.
    """
    return _of(function, loop, facts).at_end


def live_behind(function: cst.FunctionDef, statement: cst.BaseStatement) -> set[str]:
    """The names that are read, before they are assigned, behind a statement: of a loop, when it has ended."""
    return _of(function, statement).behind


def read_first(statements: Sequence[cst.BaseStatement]) -> set[str]:
    """The names that statements may read before they assign them."""
    return _Liveness(None, frozenset()).before(statements, set())


def unread(function: cst.FunctionDef, computing: Container[int]) -> tuple[list[cst.BaseSmallStatement], set[str]]:
    """The assignments whose names nothing reads any more, and the names that are read before all others.

    What such an assignment reads itself does not count: a pointer that only moves itself is read by nothing.

    Args:
        computing: the assignments, by identity, that do nothing but compute a value; others count as they stand.
    """
    liveness = _Liveness(None, frozenset(), computing)
    entry = liveness.before(_statements(function.body), set())
    return list(liveness.unread.values()), entry


def _of(function: cst.FunctionDef, statement: cst.BaseStatement, facts: Facts = frozenset()) -> _Liveness:
    liveness = _Liveness(statement, facts)
    liveness.before(_statements(function.body), set())
    return liveness


class _Liveness:
    def __init__(
        self,
        statement: cst.BaseStatement | None,
        facts: Facts,
        computing: Container[int] = (),
    ) -> None:
        self.statement = statement
        self.computing = computing
        self.unread: dict[int, cst.BaseSmallStatement] = {}
        self.known = dict(facts)
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
        if statement is self.statement:
            self.behind |= after
        if isinstance(statement, cst.SimpleStatementLine):
            for small in reversed(statement.body):
                after = self._before_small(small, after)
            return after
        if isinstance(statement, cst.If):
            return self._before_if(statement, after)
        if isinstance(statement, (cst.For, cst.While)):
            return self._before_loop(statement, after)
        # Anything else (with, try, a function inside) reads what it names and assigns nothing for sure.
        return after | {node.value for node in walk(statement) if isinstance(node, cst.Name)}

    def _before_if(self, statement: cst.If, after: set[str]) -> set[str]:
        test, plain = asked_of(statement.test)
        holds = None if test not in self.known else self.known[test] == plain
        arms: set[str] = set()
        if holds is not False:
            arms |= self.before(_statements(statement.body), after)
        if holds is not True:
            if isinstance(statement.orelse, cst.If):
                arms |= self._before_one(statement.orelse, after)
            elif statement.orelse is not None:
                arms |= self.before(_statements(statement.orelse.body), after)
            else:
                arms |= after
        return arms | names_of(statement.test)

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
        if loop is self.statement:
            self.at_end |= live
        return live | (names_of(loop.iter) if isinstance(loop, cst.For) else set())

    def _before_small(self, small: cst.BaseSmallStatement, after: set[str]) -> set[str]:
        read = read_names(small)
        if isinstance(small, cst.Return):
            return read
        if isinstance(small, (cst.Break, cst.Continue)):
            return after | (self.jumps[-1] if self.jumps else set())
        assigned = set(assigned_names(cst.SimpleStatementLine([small])))
        # A loop is gone through until its names do not grow: the last time says what is read.
        self.unread.pop(id(small), None)
        if assigned and not assigned & after and id(small) in self.computing:
            self.unread[id(small)] = small
            return after
        return (after - assigned) | read


def _statements(suite: cst.BaseSuite) -> Sequence[cst.CSTNode]:
    return suite.body if isinstance(suite, cst.IndentedBlock) else [cst.SimpleStatementLine(list(suite.body))]  # type: ignore[arg-type]


__all__ = ["live_at_end", "live_behind", "read_first", "unread"]
