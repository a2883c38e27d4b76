"""The `if`s on compile-time values around an access: a launch that leaves it out needs no descriptor for it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

import libcst as cst

from tritonport.source.kernel import Kernel
from tritonport.source.walk import assigned_names, walk
from tritonport.upgrade.slices import names_of
from tritonport.upgrade.tma.branch import Branch, denied
from tritonport.upgrade.tma.terms import HostNames, Spelled, as_operand


class Switch(Branch):
    """The branch of an `if` that an access is in."""

    @property
    def in_kernel(self) -> str:
        """When a launch comes to the access, as the kernel writes it beside `and`."""
        return denied(self.test) if self.taken else as_operand(self.test)


Path = tuple[tuple[int, int], ...]
"""The `if`s around a place, from the outermost, each by its identity and the branch that the place is in."""


@dataclass
class Switches(dict[int, tuple[Switch, ...]]):
    """Per call, by its identity, the `if`s around it that are decided when the kernel is compiled.

    Attributes:
        tests: per call under any `if`s, the tests of all of them.
        paths: per call, the `if`s around it by their identity, and the branch of each that it is in.
        steady: the calls whose `if`s take one branch in all iterations of the loops around them, which only the kernel
            knows: a barrier that each iteration of such a loop turns is then awaited in all of them or in none.
        hidden: the calls of which the launch does not know whether a program comes to them.
    """

    tests: dict[int, tuple[str, ...]] = field(default_factory=dict)
    paths: dict[int, Path] = field(default_factory=dict)
    steady: set[int] = field(default_factory=set)
    hidden: set[int] = field(default_factory=set)


def switches_of(kernel: Kernel, host: HostNames) -> Switches:
    """The `if`s around each call of a kernel."""
    found = Switches()
    body = kernel.node.body
    tests: dict[int, str] = {}
    switches: dict[tuple[int, int], Switch | None] = {}
    known: dict[int, bool] = {}
    changed = frozenset(assigned_names(body))
    arguments = host.of_arguments()
    for call, path, changing in _calls(body.body if isinstance(body, cst.IndentedBlock) else (), (), frozenset()):
        for node, branch in path:
            if id(node) not in tests:
                tests[id(node)] = kernel.module.tree.code_for_node(node.test).strip()
                known[id(node)] = _known(tests[id(node)], arguments)
            if (id(node), branch) not in switches:
                switches[id(node), branch] = _switch(node, tests[id(node)], branch, kernel, changed, host)
        found.tests[id(call)] = tuple(tests[id(node)] for node, _ in path)
        found.paths[id(call)] = tuple((id(node), branch) for node, branch in path)
        made = [switches[id(node), branch] for node, branch in path]
        found[id(call)] = tuple(one for one in made if one is not None)
        if path and all(known[id(node)] for node, _ in path):
            continue
        found.hidden.add(id(call))
        if not any(names_of(node.test) & changing or _calls_any(node.test) for node, _ in path):
            found.steady.add(id(call))
    return found


def on_every_way(paths: Sequence[Path]) -> bool:
    """Whether a program comes to one of several places whatever branches it takes."""
    if any(not path for path in paths):
        return True
    return any(
        all(on_every_way([path[1:] for path in paths if path[0] == (test, branch)]) for branch in (0, 1))
        for test in {path[0][0] for path in paths}
    )


def _calls_any(test: cst.BaseExpression) -> bool:
    """Whether a test may be another wherever it is asked, as what is read from memory is."""
    return any(isinstance(one, cst.Call) for one in walk(test))


def _known(test: str, host: HostNames) -> bool:
    try:
        host.source(test)
    except Spelled:
        return False
    return True


def _calls(
    statements: Sequence[cst.CSTNode], path: tuple[tuple[cst.If, int], ...], changing: frozenset[str]
) -> Iterator[tuple[cst.Call, tuple[tuple[cst.If, int], ...], frozenset[str]]]:
    """Each call, the `if`s around it, and the names that the loops around it change."""
    for statement in statements:
        if isinstance(statement, cst.If):
            yield from _calls(statement.body.body, (*path, (statement, 0)), changing)
            orelse = statement.orelse
            behind = [orelse] if isinstance(orelse, cst.If) else orelse.body.body if orelse is not None else ()
            yield from _calls(behind, (*path, (statement, 1)), changing)
        elif isinstance(statement, (cst.For, cst.While)):
            inside = frozenset(assigned_names(cst.IndentedBlock([statement])))
            yield from _calls(statement.body.body, path, changing | inside)
        else:
            yield from ((call, path, changing) for call in walk(statement) if isinstance(call, cst.Call))


def _switch(
    node: cst.If, test: str, branch: int, kernel: Kernel, changed: Collection[str], host: HostNames
) -> Switch | None:
    """The switch of one `if`; None where the test is not decided when the kernel is compiled, or the launch cannot ask
    it."""
    constexprs = {one.name for one in kernel.parameters if one.constexpr}
    parameters = {one.name for one in kernel.parameters}
    fixed = constexprs | (parameters if _asks_for_none(node.test) else set())
    if not names_of(node.test) <= fixed - set(changed) | {"None"}:
        return None
    try:
        return Switch(test, host.source(test), branch)
    except Spelled:
        return None


def _asks_for_none(test: cst.BaseExpression) -> bool:
    """Whether a test is `x is None` or `x is not None`: what is None is known when the kernel is compiled."""
    if not isinstance(test, cst.Comparison) or len(test.comparisons) != 1:
        return False
    target = test.comparisons[0]
    nothing = isinstance(target.comparator, cst.Name) and target.comparator.value == "None"
    return nothing and isinstance(target.operator, (cst.Is, cst.IsNot)) and isinstance(test.left, cst.Name)


__all__ = ["Switch", "Switches", "on_every_way", "switches_of"]
