"""Sums of dots in a loop, on targets whose tensor cores add up in tensor memory.

In registers such a sum would be copied to tensor memory and back in every iteration. So the variable that a loop
carries stands in tensor memory from before the loop to behind it, under a name of its own; what else the loop does
with it loads it, and stores what it makes of it. Whether there is tensor memory to stand in depends on the layout,
which is chosen at compile time: the emitted functions `tmem_alloc`, `tmem_load` and `tmem_store` do nothing to a sum
that stays in registers.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import libcst as cst

from tritonport.analysis.frame import Frame
from tritonport.analysis.terms import Root, normal
from tritonport.convert.expressions import ExpressionWriter, Recipe
from tritonport.convert.output import OutputFile
from tritonport.convert.recipes.dot import accumulated
from tritonport.convert.snippets import family
from tritonport.convert.syntax import assignment
from tritonport.convert.webs import Web, Webs
from tritonport.source.walk import walk

Loop = cst.For | cst.While
Binding = cst.Assign | cst.AugAssign


@dataclass(frozen=True, eq=False)
class Accumulator:
    """A variable of a loop and the name under which it stands in tensor memory.

    `scaled`: what the loop makes of it for its dots alone to add to, `acc * alpha` for instance.
    """

    web: Web
    memory: str
    scaled: tuple[Web, ...] = ()

    def holds(self, web: Web) -> bool:
        return web is self.web or web in self.scaled


class AccumulatorWriter(ExpressionWriter):
    """What a function writer does for sums in tensor memory.

    Attributes:
        depth: how many loops of the function surround what is being written.
        held: the variables that stand in tensor memory there.
        in_place: the operand of the dot that is being written which is added to in tensor memory.
    """

    def __init__(self, module: OutputFile, frames: list[Frame], recipes: Mapping[str, Recipe]) -> None:
        super().__init__(module, frames, recipes)
        self.webs = Webs(frames)
        self.depth = 0
        self.held: list[Accumulator] = []
        self.in_place: tuple[cst.BaseExpression, Accumulator] | None = None

    @property
    def uses_tensor_memory(self) -> bool:
        return family(self.module.target) == "sm_100"

    def memory_of(self, web: Web) -> Accumulator | None:
        return next((found for found in self.held if found.holds(web)), None)

    @abstractmethod
    def memory_name(self, name: str) -> str:
        """A name for a variable that stands in tensor memory."""

    def sums(self, loop: Loop) -> list[tuple[str, Accumulator]]:
        """The variables that stand in tensor memory during a loop."""
        if not self.uses_tensor_memory:
            return []
        found: list[tuple[str, Accumulator]] = []
        for definition in self.frames[0].merges:
            if definition.statement is not loop or not definition.value.is_tensor:
                continue
            web = self.webs.of_definition(definition)
            if self.memory_of(web) is None and self._is_candidate(loop, definition.name, web):
                added = self._added(loop, definition.name, web)
                if added:
                    scaled = self._scaled(loop, definition.name, web, added)
                    found.append((definition.name, Accumulator(web, self.memory_name(definition.name), scaled)))
        return found

    def _is_candidate(self, loop: Loop, name: str, web: Web) -> bool:
        """Whether a loop does nothing to a dot's result that tensor memory cannot follow."""
        if not web.expensive or web.copies or web.staged:
            return False
        terms = [normal(term) for term in web.bound if term is not None]
        if not all(isinstance(term, Root) and term.dot is not None and term.rank == 2 for term in terms):
            return False
        return all(isinstance(binding, (cst.Assign, cst.AugAssign)) for binding in _bindings(loop.body, name))

    def _added(self, loop: Loop, name: str, web: Web) -> list[cst.BaseExpression]:
        """The operands of the loop's dots that the dots add to for a variable."""
        operands = [
            self.summand(binding, web)
            for binding in _bindings(loop.body, name)
            if isinstance(binding, (cst.Assign, cst.AugAssign)) and self.webs.of_target(_target(binding), name) is web
        ]
        return [operand for operand in operands if operand is not None]

    def _scaled(self, loop: Loop, name: str, web: Web, added: list[cst.BaseExpression]) -> tuple[Web, ...]:
        """Other assignments to a variable's name that only those dots read."""
        targets = [
            _target(binding)
            for binding in _bindings(loop.body, name)
            if isinstance(binding, (cst.Assign, cst.AugAssign))
        ]
        readers: dict[Web, list[cst.CSTNode]] = {}
        for frame in self.frames:
            for node, definition in frame.reads.items():
                readers.setdefault(self.webs.of_definition(definition), []).append(node)
        found = dict.fromkeys(self.webs.of_target(target, name) for target in targets)
        return tuple(
            other
            for other in found
            if other is not web
            and other.expensive
            and not other.copies
            and not other.staged
            and all(reader in added for reader in readers.get(other, ()))
            and all(
                definition.how == "assign" and definition.statement in targets
                for definitions in other.definitions
                for definition in definitions
            )
        )

    def summand(self, binding: Binding, web: Web) -> cst.BaseExpression | None:
        """The operand `acc` of `acc = dot(a, b, acc)`, in any spelling, where it has the layout of the variable."""
        target = _target(binding)
        operand = accumulated(self, binding)
        if not isinstance(target, cst.Name) or not isinstance(operand, cst.Name) or operand.value != target.value:
            return None
        for frame, bound in zip(self.frames, web.bound, strict=True):
            value = frame.values.get(binding.value if isinstance(binding, cst.Assign) else binding)
            read = frame.reads.get(operand)
            if value is None or read is None or bound is None:
                continue
            have = self.webs.of_definition(read).bound
            place = self.frames.index(frame)
            terms = [value.focus, have[place] if have else None]
            if any(term is None or normal(term) != normal(bound) for term in terms):
                return None
        return operand

    @contextmanager
    def adding(self, binding: Binding, web: Web) -> Iterator[bool]:
        """While an assignment is written: whether it adds a dot to a variable in tensor memory."""
        accumulator = self.memory_of(web)
        operand = self.summand(binding, web) if accumulator is not None else None
        if accumulator is not None and operand is not None:
            self.in_place = (operand, accumulator)
        try:
            yield self.in_place is not None
        finally:
            self.in_place = None

    def stored(self, web: Web, value: cst.BaseExpression) -> cst.BaseExpression:
        """A new value for a variable: into tensor memory, where that is where it stands."""
        accumulator = self.memory_of(web)
        if accumulator is None:
            return value
        return self._memory_call("tmem_store", accumulator.memory, value)

    def added_to(self, operand: cst.Name, web: Web) -> cst.BaseExpression | None:
        """The variable in tensor memory that a dot adds to, with the operand in it; None for any other operand."""
        if self.in_place is None or operand is not self.in_place[0]:
            return None
        accumulator = self.in_place[1]
        if accumulator.holds(web):
            return cst.Name(accumulator.memory)
        return self._memory_call("tmem_store", accumulator.memory, operand)

    def loaded(self, accumulator: Accumulator) -> cst.BaseExpression:
        layout = cst.parse_expression(self.layout_text(accumulator.web.bound))
        return self._memory_call("tmem_load", accumulator.memory, layout)

    def _memory_call(self, function: str, memory: str, *others: cst.BaseExpression) -> cst.Call:
        return self.module.snippet_call(function, [cst.Arg(cst.Name(memory)), *map(cst.Arg, others)])

    def before_loop(self, name: str, accumulator: Accumulator) -> cst.SimpleStatementLine:
        allocated = self.module.snippet_call("tmem_alloc", [cst.Arg(cst.Name(name))])
        return cst.SimpleStatementLine([assignment(accumulator.memory, allocated)])

    def after_loop(self, name: str, accumulator: Accumulator) -> cst.SimpleStatementLine:
        return cst.SimpleStatementLine([assignment(name, self.loaded(accumulator))])


def _target(binding: Binding) -> cst.BaseExpression:
    return binding.targets[0].target if isinstance(binding, cst.Assign) else binding.target


def _bindings(body: cst.CSTNode, name: str) -> Iterator[cst.CSTNode]:
    """What binds a name in a body: assignments to the name alone as such, anything else as the node that does it."""
    for node in walk(body):
        if isinstance(node, cst.Assign):
            for target in node.targets:
                if any(isinstance(part, cst.Name) and part.value == name for part in walk(target.target)):
                    alone = len(node.targets) == 1 and isinstance(target.target, cst.Name)
                    yield node if alone else target
        elif isinstance(node, (cst.AugAssign, cst.AnnAssign, cst.For, cst.NamedExpr)) and any(
            isinstance(part, cst.Name) and part.value == name for part in walk(node.target)
        ):
            yield node
