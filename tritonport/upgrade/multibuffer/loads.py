"""Vectors and numbers that a pipelined loop loads: into registers, one iteration ahead of their use.

Triton's pipeliner copies them into shared memory where dots depend on them. They are small enough for registers, where
they need neither a ring nor a wait: the decays of linear attention, the bounds of a block.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import libcst as cst

from tritonport.analysis.access import Loop
from tritonport.analysis.access.loops import read_loop
from tritonport.analysis.effects import acting
from tritonport.convert.names import Names
from tritonport.source.kernel import Kernel
from tritonport.source.module import SourceModule
from tritonport.source.parse import printed
from tritonport.source.walk import assigned_names, replaced, walk
from tritonport.upgrade.bounds import Bounds
from tritonport.upgrade.decided import decides
from tritonport.upgrade.dots import is_written_dot
from tritonport.upgrade.edit import code, parsed, renamed, spliced
from tritonport.upgrade.facts import Facts
from tritonport.upgrade.guards import Guard, facts_of, put_apart, put_together
from tritonport.upgrade.liveness import live_behind
from tritonport.upgrade.multibuffer.callers import argument_names
from tritonport.upgrade.multibuffer.narrowed import narrowed
from tritonport.upgrade.multibuffer.operations import arguments
from tritonport.upgrade.multibuffer.pipelined import pipelined
from tritonport.upgrade.multibuffer.steps import step_sign
from tritonport.upgrade.multibuffer.writes import may_run_ahead, written_to
from tritonport.upgrade.ranks import Ranks
from tritonport.upgrade.slices import NotSplit, Split, around, asks_for_more, made_anew, names_of, read_names, split

Statement = cst.SimpleStatementLine | cst.BaseCompoundStatement
Line = tuple[cst.BaseStatement, Guard]
"""A statement, and the branches around it that are decided when the kernel is compiled."""


@dataclass(frozen=True, eq=False)
class Loaded:
    """A load of a vector or a number: the only call of `target = ...` that reads memory.

    Attributes:
        place: the index of its statement in the loop's body.
        whole: whether its target is the loaded value and nothing else in the loop.
    """

    place: int
    target: str
    call: cst.Call
    whole: bool


@dataclass(frozen=True, eq=False)
class Plan:
    """The loads of one loop that run ahead, and the statements that they need.

    Attributes:
        body: the loop's statements, one by one also those of `if`s in which something is loaded: see `guards`.
        guards: per statement, the branches of such `if`s around it.
    """

    loop: Loop
    body: tuple[cst.BaseStatement, ...]
    guards: tuple[Guard, ...]
    loads: tuple[Loaded, ...]
    split: Split
    upward: bool


def with_loads_ahead(module: SourceModule, names: set[str], gl: str) -> SourceModule:
    """The file with such loads of these functions one iteration ahead; the file itself without any.

    Args:
        gl: what the file calls Gluon's language.
    """
    changed: dict[cst.CSTNode, cst.CSTNode] = {}
    for kernel in module.kernels:
        if kernel.qualified not in names:
            continue
        taken = Names({*names_of(kernel.node), *assigned_names(kernel.node), *module.bindings.functions})
        plans = [plan for node in pipelined(module, kernel) if (plan := plan_loop(module, kernel, node)) is not None]
        swaps: dict[cst.CSTNode, Sequence[cst.BaseStatement]] = {
            plan.loop.node: _Writer(plan, module, kernel, taken, gl).write() for plan in plans
        }
        if swaps:
            changed[kernel.node] = kernel.node.with_changes(body=spliced(kernel.node.body, swaps))
    if not changed:
        return module
    tree: cst.Module = replaced(module.tree, changed)
    return SourceModule(printed(tree), module.path, module.project)


def plan_loop(module: SourceModule, kernel: Kernel, node: cst.For) -> Plan | None:
    """The loads of a loop that may run ahead; None without one."""
    loop = read_loop(node, ())
    sign = step_sign(loop.step, module, kernel)
    if loop.kind != "range" or not loop.target or loop.stop is None or node.orelse is not None or not sign:
        return None
    if any(isinstance(one, (cst.Break, cst.Continue, cst.Return)) for one in walk(node.body)):
        return None
    assert isinstance(node.body, cst.IndentedBlock)
    decided = decides(kernel)
    lines = put_apart(
        node.body.body,
        lambda one: decided(one.test) and any(may_run_ahead(module, inner) for inner in walk(one)),
    )
    body, guards = tuple(line for line, _ in lines), tuple(guard for _, guard in lines)
    facts = [facts_of(guard) for guard in guards]
    found = tuple(
        one for one in _candidates(module, kernel, node, body) if _split(module, kernel, loop, body, facts, [one])
    )
    together = _split(module, kernel, loop, body, facts, found) if found else None
    return Plan(loop, body, guards, found, together, sign > 0) if together is not None else None


def _candidates(module: SourceModule, kernel: Kernel, node: cst.For, body: Sequence[cst.BaseStatement]) -> list[Loaded]:
    asynchronous = not _dots_stay(node)
    launched = (one.name for one in kernel.parameters if argument_names(module, kernel, one.name))
    ranks = Ranks(module, kernel, frozenset(launched))
    assigned = [name for line in body for name in assigned_names(cst.IndentedBlock([line]))]
    found = []
    for place, line in enumerate(body):
        one = _loaded(module, place, line, assigned)
        if one is None or ranks.of(one.call) not in (0, 1):
            continue
        # Read before its statement, it is the value of the iteration before.
        if any(one.target in read_names(earlier) for earlier in body[: place + 1]):
            continue
        # Read behind a dot alone, it comes while the dot runs: see stage mma. A dot that stays is over before a load
        # behind it begins.
        if _comes_under_dot(body, one, 0 if asynchronous else one.place):
            continue
        pointer = (arguments(one.call, "global_load") or {})["pointer"].value
        if written_to(module, kernel, node, pointer) is None:
            found.append(one)
    return found


def _dots_stay(node: cst.For) -> bool:
    """Whether dots of a loop stand under an `if` or in another loop, so that the stage mma leaves all of them as they
    are: see its plan."""
    assert isinstance(node.body, cst.IndentedBlock)
    compound = (line for line in node.body.body if not isinstance(line, cst.SimpleStatementLine))
    return any(is_written_dot(inner) for line in compound for inner in walk(line))


def _comes_under_dot(body: Sequence[cst.BaseStatement], one: Loaded, start: int) -> bool:
    """Whether a dot stands before the first read of a load, from a statement on; or in that statement, and what it
    multiplies and adds to is something else."""
    read = _first_read(body, one)
    if any(is_written_dot(node) for line in body[start:read] for node in walk(line)):
        return True
    calls = [node for line in body[read : read + 1] for node in walk(line) if is_written_dot(node)]
    given = (argument for call in calls if isinstance(call, cst.Call) for argument in call.args)
    return bool(calls) and read != one.place and not any(one.target in names_of(argument) for argument in given)


def _first_read(body: Sequence[cst.BaseStatement], one: Loaded) -> int:
    """The statement that reads a load first; its own, where it makes something of it there."""
    if _value_of(body[one.place]) is not one.call:
        return one.place
    places = (place for place in range(one.place + 1, len(body)) if one.target in read_names(body[place]))
    return next(places, len(body))


def _loaded(module: SourceModule, place: int, line: cst.BaseStatement, assigned: Sequence[str]) -> Loaded | None:
    """The load of a statement; `assigned`: the names that the loop's statements assign, as often as they do."""
    small = line.body[0] if isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1 else None
    if not isinstance(small, cst.Assign) or len(small.targets) != 1:
        return None
    target = small.targets[0].target
    calls = [node for node in walk(small.value) if isinstance(node, cst.Call) and may_run_ahead(module, node)]
    if not isinstance(target, cst.Name) or len(calls) != 1:
        return None
    whole = small.value is calls[0] and assigned.count(target.value) == 1
    return Loaded(place, target.value, calls[0], whole)


def _split(
    module: SourceModule,
    kernel: Kernel,
    loop: Loop,
    body: Sequence[cst.BaseStatement],
    facts: Sequence[Facts],
    loads: Sequence[Loaded],
) -> Split | None:
    """The statements of a body around loads that run ahead; None where one of them does more than compute."""
    needed: dict[int, list[cst.CSTNode]] = {one.place: [argument.value for argument in one.call.args] for one in loads}
    kept = [around(body[one.place], one.call) for one in loads]
    try:
        found = split(body, needed, kept, live_behind(kernel.node, loop.node), loop.target, facts=facts)
    except NotSplit:
        return None
    pure = all(acting(module, body[place]) is None for place in found.ahead if place not in needed)
    return found if pure and not _assigned(body, found) & {loop.target} else None


def _assigned(body: Sequence[cst.BaseStatement], found: Split) -> set[str]:
    return {name for place in found.ahead for name in assigned_names(cst.IndentedBlock([body[place]]))}


def _value_of(line: cst.BaseStatement) -> cst.BaseExpression:
    assert isinstance(line, cst.SimpleStatementLine) and isinstance(line.body[0], cst.Assign)
    return line.body[0].value


class _Writer:
    """Writes one loop anew."""

    def __init__(self, plan: Plan, module: SourceModule, kernel: Kernel, names: Names, gl: str) -> None:
        self.plan, self.kernel = plan, kernel
        self.module = module
        self.names = names
        self.gl = gl
        self.index = plan.loop.target
        self.values = {one.place: names.fresh(f"{one.target}_ahead") for one in plan.loads}
        self.bounds = Bounds(plan.loop, plan.body, names, module.tree)
        self.loads = {one.place: one for one in plan.loads}
        facts = [facts_of(guard) for guard in plan.guards]
        self.anew = made_anew(plan.body, plan.split.ahead, self.loads, facts)
        # A pointer that nothing else reads any more is advanced under its own name.
        own = dict.fromkeys([*self.anew, *plan.split.renamed])
        self.ahead = {name: names.fresh(f"{name}_ahead") for name in own}

    def write(self) -> list[cst.BaseStatement]:
        """The statements in the place of the loop, the loop itself last."""
        node = self.plan.loop.node
        carried = [f"{self.ahead[name]} = {name}" for name in self.plan.split.carried]
        first = put_together(self._first(), bare=True)
        before = [*map(self._statement, [*self.bounds.lines, *carried]), *first]
        before[0] = before[0].with_changes(leading_lines=node.leading_lines)
        assert isinstance(node, cst.For)
        body = node.body.with_changes(body=self._body())
        return [*before, node.with_changes(iter=self.bounds.iterator(), body=body, leading_lines=[])]

    def _first(self) -> list[Line]:
        """The loads of the first iteration."""
        first = self.bounds.index_of("0")
        # Names of their own: what is known before a loop and assigned in it would be carried by it.
        early = {**self.ahead, **{name: self.names.fresh(f"first_{name}") for name in self.anew}}
        made = (
            f"{self.gl}.to_tensor({first})"
            if asks_for_more(self.plan.body, self.plan.split.ahead, self.plan.loop, self.kernel)
            else first
        )
        index = self.names.fresh(f"first_{self.index}")
        start = self._statement(f"{index} = {made}")
        return [(start, ()), *self._sequence(early, index, f"{index} {self._before} {self.bounds.stop}")]

    def _body(self) -> list[cst.BaseStatement]:
        following, follows = self.names.fresh(f"following_{self.index}"), self.names.fresh("follows")
        made: list[Line] = []
        kept: dict[int, str] = {}
        said = [cst.EmptyLine(comment=cst.Comment("# Loaded an iteration ago; the loads here are for the next one."))]
        for one in self.plan.loads:
            line = self.plan.body[one.place]
            assert isinstance(line, cst.SimpleStatementLine)
            kept[one.place] = one.target if one.whole else self.names.fresh(f"{one.target}_loaded")
            if one.whole:
                said += [comment for comment in line.leading_lines if comment.comment is not None]
            value = self._statement(f"{kept[one.place]} = {self.values[one.place]}")
            made.append((value.with_changes(leading_lines=said), self.plan.guards[one.place]))
            said = []
        made += [
            (self._statement(f"{following} = {self.bounds.after(self.index, '1')}"), ()),
            (self._statement(f"{follows} = {following} {self._before} {self.bounds.stop}"), ()),
            *self._sequence(self.ahead, following, follows),
        ]
        lines: list[Line] = []
        for place, line in enumerate(self.plan.body):
            load, guard = self.loads.get(place), self.plan.guards[place]
            if load is None and place in self.plan.split.stays:
                lines.append((line, guard))
            elif load is not None and not load.whole:
                found: cst.BaseStatement = replaced(line, {load.call: cst.Name(kept[place])})
                lines.append((found, guard))
        return [*put_together(made, bare=True), *put_together(lines)]

    def _sequence(self, names: Mapping[str, str], index: str, more: str) -> list[Line]:
        """What runs ahead, for the iteration of an index, in its order."""
        found: list[Line] = []
        exchanged = {**names, self.index: index}
        for place in self.plan.split.ahead:
            guard = self.plan.guards[place]
            if place in self.values:
                call = renamed(self.loads[place].call, exchanged)
                found.append((self._statement(f"{self.values[place]} = {code(narrowed(call, more))}"), guard))
            else:
                line = renamed(self.plan.body[place], exchanged)
                assert isinstance(line, cst.SimpleStatementLine)
                line = line.with_changes(leading_lines=[], trailing_whitespace=cst.TrailingWhitespace())
                found.append((line, guard))
        return found

    @property
    def _before(self) -> str:
        return "<" if self.plan.upward else ">"

    def _statement(self, text: str) -> Statement:
        return parsed(text, self.module.tree)


__all__ = ["Loaded", "Plan", "plan_loop", "with_loads_ahead"]
