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
from tritonport.convert.names import Names
from tritonport.source.kernel import Kernel
from tritonport.source.module import SourceModule
from tritonport.source.parse import printed
from tritonport.source.walk import assigned_names, replaced, walk
from tritonport.upgrade.bounds import Bounds
from tritonport.upgrade.dots import is_written_dot
from tritonport.upgrade.edit import code, parsed, renamed, spliced
from tritonport.upgrade.liveness import live_behind
from tritonport.upgrade.multibuffer.callers import argument_names
from tritonport.upgrade.multibuffer.narrowed import narrowed
from tritonport.upgrade.multibuffer.operations import arguments
from tritonport.upgrade.multibuffer.pipelined import pipelined
from tritonport.upgrade.multibuffer.steps import step_sign
from tritonport.upgrade.multibuffer.writes import function_with_effects, may_run_ahead, written_to
from tritonport.upgrade.ranks import Ranks
from tritonport.upgrade.slices import NotSplit, Split, asks_for_more, made_anew, names_of, read_names, split

Statement = cst.SimpleStatementLine | cst.BaseCompoundStatement


@dataclass(frozen=True, eq=False)
class Loaded:
    """A load of a vector or a number: the only call of `target = ...` that reads memory.

    Attributes:
        place: the index of its statement in the loop's body.
    """

    place: int
    target: str
    call: cst.Call


@dataclass(frozen=True, eq=False)
class Plan:
    """The loads of one loop that run ahead, and the statements that they need."""

    loop: Loop
    body: tuple[cst.BaseStatement, ...]
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
            plan.loop.node: _Writer(plan, module, taken, gl).write() for plan in plans
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
    body = tuple(node.body.body)
    found = tuple(one for one in _candidates(module, kernel, node, body) if _split(module, kernel, loop, body, [one]))
    together = _split(module, kernel, loop, body, found) if found else None
    return Plan(loop, body, found, together, sign > 0) if together is not None else None


def _candidates(module: SourceModule, kernel: Kernel, node: cst.For, body: Sequence[cst.BaseStatement]) -> list[Loaded]:
    launched = (one.name for one in kernel.parameters if argument_names(module, kernel, one.name))
    ranks = Ranks(module, kernel, frozenset(launched))
    assigned = [name for line in body for name in assigned_names(cst.IndentedBlock([line]))]
    found = []
    for place, line in enumerate(body):
        one = _loaded(module, place, line)
        if one is None or assigned.count(one.target) > 1 or ranks.of(one.call) not in (0, 1):
            continue
        # Read before its statement, it is the value of the iteration before.
        if any(one.target in read_names(earlier) for earlier in body[: place + 1]):
            continue
        # Read behind a dot alone, it comes while the dot runs: see stage mma.
        if any(is_written_dot(node) for line in body[: _first_read(body, one)] for node in walk(line)):
            continue
        pointer = (arguments(one.call, "global_load") or {})["pointer"].value
        if written_to(module, kernel, node, pointer) is None:
            found.append(one)
    return found


def _first_read(body: Sequence[cst.BaseStatement], one: Loaded) -> int:
    """The statement that reads a load first; its own, where it makes something of it there."""
    if _value_of(body[one.place]) is not one.call:
        return one.place
    places = (place for place in range(one.place + 1, len(body)) if one.target in read_names(body[place]))
    return next(places, len(body))


def _loaded(module: SourceModule, place: int, line: cst.BaseStatement) -> Loaded | None:
    small = line.body[0] if isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1 else None
    if not isinstance(small, cst.Assign) or len(small.targets) != 1:
        return None
    target = small.targets[0].target
    calls = [node for node in walk(small.value) if isinstance(node, cst.Call) and may_run_ahead(module, node)]
    if not isinstance(target, cst.Name) or len(calls) != 1:
        return None
    return Loaded(place, target.value, calls[0])


def _split(
    module: SourceModule, kernel: Kernel, loop: Loop, body: Sequence[cst.BaseStatement], loads: Sequence[Loaded]
) -> Split | None:
    """The statements of a body around loads that run ahead; None where one of them does more than compute."""
    needed: dict[int, list[cst.CSTNode]] = {one.place: [argument.value for argument in one.call.args] for one in loads}
    kept = [part for one in loads for part in _around(body[one.place], one.call)]
    try:
        found = split(body, needed, kept, live_behind(kernel.node, loop.node), loop.target)
    except NotSplit:
        return None
    pure = all(function_with_effects(module, body[place]) is None for place in found.ahead if place not in needed)
    return found if pure and not _assigned(body, found) & {loop.target} else None


def _around(line: cst.BaseStatement, call: cst.Call) -> list[cst.CSTNode]:
    """What a statement reads beside its load."""
    return [replaced(line, {call: cst.Name("None")})]


def _assigned(body: Sequence[cst.BaseStatement], found: Split) -> set[str]:
    return {name for place in found.ahead for name in assigned_names(cst.IndentedBlock([body[place]]))}


def _value_of(line: cst.BaseStatement) -> cst.BaseExpression:
    assert isinstance(line, cst.SimpleStatementLine) and isinstance(line.body[0], cst.Assign)
    return line.body[0].value


class _Writer:
    """Writes one loop anew."""

    def __init__(self, plan: Plan, module: SourceModule, names: Names, gl: str) -> None:
        self.plan = plan
        self.module = module
        self.names = names
        self.gl = gl
        self.index = plan.loop.target
        self.values = {one.place: names.fresh(f"{one.target}_ahead") for one in plan.loads}
        self.bounds = Bounds(plan.loop, plan.body, names, module.tree)
        self.calls = {one.place: one.call for one in plan.loads}
        self.anew = made_anew(plan.body, plan.split.ahead, self.calls)
        # A pointer that nothing else reads any more is advanced under its own name.
        own = dict.fromkeys([*self.anew, *plan.split.renamed])
        self.ahead = {name: names.fresh(f"{name}_ahead") for name in own}

    def write(self) -> list[cst.BaseStatement]:
        """The statements in the place of the loop, the loop itself last."""
        node = self.plan.loop.node
        carried = [f"{self.ahead[name]} = {name}" for name in self.plan.split.carried]
        before = [*map(self._statement, [*self.bounds.lines, *carried]), *self._first()]
        before[0] = before[0].with_changes(leading_lines=node.leading_lines)
        assert isinstance(node, cst.For)
        body = node.body.with_changes(body=self._body())
        return [*before, node.with_changes(iter=self.bounds.iterator(), body=body, leading_lines=[])]

    def _first(self) -> list[Statement]:
        """The loads of the first iteration."""
        first = self.bounds.index_of("0")
        # Names of their own: what is known before a loop and assigned in it would be carried by it.
        early = {**self.ahead, **{name: self.names.fresh(f"first_{name}") for name in self.anew}}
        made = (
            f"{self.gl}.to_tensor({first})"
            if asks_for_more(self.plan.body, self.plan.split.ahead, self.index)
            else first
        )
        index = self.names.fresh(f"first_{self.index}")
        start = self._statement(f"{index} = {made}")
        return [start, *self._sequence(early, index, f"{index} {self._before} {self.bounds.stop}")]

    def _body(self) -> list[cst.BaseStatement]:
        following, follows = self.names.fresh(f"following_{self.index}"), self.names.fresh("follows")
        made: list[Statement] = []
        kept: dict[int, str] = {}
        said = [cst.EmptyLine(comment=cst.Comment("# Loaded an iteration ago; the loads here are for the next one."))]
        for one in self.plan.loads:
            line = self.plan.body[one.place]
            assert isinstance(line, cst.SimpleStatementLine)
            whole = _value_of(line) is one.call
            kept[one.place] = one.target if whole else self.names.fresh(f"{one.target}_loaded")
            if whole:
                said += [comment for comment in line.leading_lines if comment.comment is not None]
            value = self._statement(f"{kept[one.place]} = {self.values[one.place]}")
            made.append(value.with_changes(leading_lines=said))
            said = []
        lines: list[cst.BaseStatement] = [*made]
        lines += [
            self._statement(f"{following} = {self.bounds.after(self.index, '1')}"),
            self._statement(f"{follows} = {following} {self._before} {self.bounds.stop}"),
            *self._sequence(self.ahead, following, follows),
        ]
        for place, line in enumerate(self.plan.body):
            call = self.calls.get(place)
            if call is None and place in self.plan.split.stays:
                lines.append(line)
            elif call is not None and call is not _value_of(line):
                found: cst.BaseStatement = replaced(line, {call: cst.Name(kept[place])})
                lines.append(found)
        return lines

    def _sequence(self, names: Mapping[str, str], index: str, more: str) -> list[Statement]:
        """What runs ahead, for the iteration of an index, in its order."""
        found: list[Statement] = []
        exchanged = {**names, self.index: index}
        for place in self.plan.split.ahead:
            if place in self.values:
                call = renamed(self.calls[place], exchanged)
                found.append(self._statement(f"{self.values[place]} = {code(narrowed(call, more))}"))
            else:
                line = renamed(self.plan.body[place], exchanged)
                assert isinstance(line, cst.SimpleStatementLine)
                found.append(line.with_changes(leading_lines=[], trailing_whitespace=cst.TrailingWhitespace()))
        return found

    @property
    def _before(self) -> str:
        return "<" if self.plan.upward else ">"

    def _statement(self, text: str) -> Statement:
        return parsed(text, self.module.tree)


__all__ = ["Loaded", "Plan", "plan_loop", "with_loads_ahead"]
