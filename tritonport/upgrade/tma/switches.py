"""The `if`s on compile-time values around an access: a launch that leaves it out needs no descriptor for it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import libcst as cst

from tritonport.source.kernel import Kernel
from tritonport.source.walk import assigned_names, walk
from tritonport.upgrade.decided import decides, denied
from tritonport.upgrade.facts import Path
from tritonport.upgrade.slices import names_of
from tritonport.upgrade.tma.branch import Branch
from tritonport.upgrade.tma.terms import HostNames, Spelled, as_operand


class Switch(Branch):
    """The branch of an `if` that an access is in."""

    @property
    def in_kernel(self) -> str:
        """When a launch comes to the access, as the kernel writes it beside `and`."""
        return denied(self.test) if self.taken else as_operand(self.test)

    def goes(self, test: str, taken: int) -> bool:
        """Whether it is this branch of an `if` on this test."""
        return (self.test, self.taken) == (test, taken)


@dataclass
class Switches(dict[int, tuple[Switch, ...]]):
    """Per call and per `if`, by its identity, the `if`s around it that are decided when the kernel is compiled.

    Attributes:
        tests: per call under any `if`s, the tests of all of them.
        paths: per call, the `if`s around it by their identity, and the branch of each that it is in.
        inside: per call in a loop, those of its switches that stand in the outermost loop around it.
        branches: the calls under an `if` inside of the innermost loop around them (or of the kernel, without one).
        steady: the calls whose `if`s take one branch in all iterations of the loops around them: a barrier that each
            iteration of such a loop turns is then awaited in all of them or in none.
        asked: the calls under `if`s that are decided while the kernel runs, all of them on what the launch knows.
        decided: the `if`s that are decided when the kernel is compiled.
        once: the `if`s outside of all loops, of which a program takes one branch.
    """

    tests: dict[int, tuple[str, ...]] = field(default_factory=dict)
    paths: dict[int, Path] = field(default_factory=dict)
    inside: dict[int, tuple[Switch, ...]] = field(default_factory=dict)
    steady: set[int] = field(default_factory=set)
    branches: set[int] = field(default_factory=set)
    asked: set[int] = field(default_factory=set)
    decided: set[int] = field(default_factory=set)
    once: set[int] = field(default_factory=set)

    def compile_time(self, call: int) -> bool:
        """Whether all `if`s around a call are decided when the kernel is compiled."""
        return len(self[call]) == len(self.paths[call])

    def apart(self, one: cst.Call, other: cst.Call, locks: bool = False) -> bool:
        """Whether a program that comes to one call does not come to the other: a compile-time value decides, or it
        takes one branch alone. With locks a program of the other branch may wait for what this one writes."""
        ways = dict(self.paths.get(id(other), ()))
        return any(
            (test in self.decided or (test in self.once and not locks)) and ways.get(test, branch) != branch
            for test, branch in self.paths.get(id(one), ())
        )


def switches_of(kernel: Kernel, host: HostNames) -> Switches:
    """The `if`s around each call and each `if` of a kernel."""
    found = Switches()
    body = kernel.node.body
    tests: dict[int, str] = {}
    switches: dict[tuple[int, int], Switch | None] = {}
    known: dict[int, bool] = {}
    decided = decides(kernel)
    arguments = host.of_arguments()
    statements = body.body if isinstance(body, cst.IndentedBlock) else ()
    for call, path, loops in _places(statements, (), _Around()):
        for node, branch in path:
            if id(node) not in tests:
                tests[id(node)] = kernel.module.tree.code_for_node(node.test).strip()
                known[id(node)] = _known(tests[id(node)], arguments)
            if (id(node), branch) not in switches:
                made_here = _switch(tests[id(node)], branch, host) if decided(node.test) else None
                switches[id(node), branch] = made_here
        found.once |= {id(node) for node, _ in path[: loops.outermost]}
        found.tests[id(call)] = tuple(tests[id(node)] for node, _ in path)
        found.paths[id(call)] = tuple((id(node), branch) for node, branch in path)
        made = [switches[id(node), branch] for node, branch in path]
        found[id(call)] = tuple(one for one in made if one is not None)
        found.inside[id(call)] = tuple(one for one in made[loops.outermost :] if one is not None)
        found.decided |= {id(node) for (node, _), one in zip(path, made, strict=True) if one is not None}
        if len(path) > loops.innermost:
            found.branches.add(id(call))
        running = [node for (node, _), one in zip(path, made, strict=True) if one is None]
        if running and all(known[id(node)] for node in running):
            found.asked.add(id(call))
        elif not any(names_of(node.test) & loops.changes or _calls_any(node.test) for node in running):
            found.steady.add(id(call))
    return found


def _calls_any(test: cst.BaseExpression) -> bool:
    """Whether a test may be another wherever it is asked, as what is read from memory is."""
    return any(isinstance(one, cst.Call) for one in walk(test))


def _known(test: str, host: HostNames) -> bool:
    try:
        host.source(test)
    except Spelled:
        return False
    return True


@dataclass(frozen=True)
class _Around:
    """The loops around a place.

    Attributes:
        changes: the names that they change.
        outermost, innermost: how many `if`s stand around all of them, and around the innermost one.
    """

    changes: frozenset[str] = frozenset()
    outermost: int | None = None
    innermost: int = 0

    def within(self, loop: cst.For | cst.While, ifs: int) -> _Around:
        """The loops around a place in one more loop, which stands under a number of `if`s."""
        changed = frozenset(assigned_names(cst.IndentedBlock([loop])))
        return _Around(self.changes | changed, ifs if self.outermost is None else self.outermost, ifs)


def _places(
    statements: Sequence[cst.CSTNode], path: tuple[tuple[cst.If, int], ...], loops: _Around
) -> Iterator[tuple[cst.Call | cst.If, tuple[tuple[cst.If, int], ...], _Around]]:
    """Each call and each `if`, with the `if`s and the loops around it."""
    for statement in statements:
        if isinstance(statement, cst.If):
            yield statement, path, loops
            yield from _places(statement.body.body, (*path, (statement, 0)), loops)
            orelse = statement.orelse
            behind = [orelse] if isinstance(orelse, cst.If) else orelse.body.body if orelse is not None else ()
            yield from _places(behind, (*path, (statement, 1)), loops)
        elif isinstance(statement, (cst.For, cst.While)):
            yield from _places(statement.body.body, path, loops.within(statement, len(path)))
        else:
            yield from ((call, path, loops) for call in walk(statement) if isinstance(call, cst.Call))


def _switch(test: str, branch: int, host: HostNames) -> Switch | None:
    """The switch of one `if` that is decided when the kernel is compiled; None where the launch cannot ask it."""
    try:
        return Switch(test, host.source(test), branch)
    except Spelled:
        return None


__all__ = ["Switch", "Switches", "switches_of"]
