"""Variables: the copy that has the layout a reader wants, and the conversions that make it.

An expensive variable has one layout. Where a loop wants it in another one, or a dot wants it in shared memory, a copy
is made where the variable is, once. A cheap one is computed once per layout.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import libcst as cst

from tritonport.analysis.frame import Definition, Frame
from tritonport.analysis.terms import root_of
from tritonport.convert.accumulators import AccumulatorWriter
from tritonport.convert.expressions import Recipe
from tritonport.convert.finished_tiles import FinishedTile
from tritonport.convert.function_layouts import HelperLayouts, KernelLayouts
from tritonport.convert.names import Names
from tritonport.convert.output import OutputFile
from tritonport.convert.staging import shared_arguments, turned
from tritonport.convert.syntax import assignment, transposed
from tritonport.convert.wants import Want, key, same_want
from tritonport.convert.webs import Web
from tritonport.layouts.solver import given_cheaply
from tritonport.source.kernel import Kernel
from tritonport.source.walk import walk


class VariableWriter(AccumulatorWriter):
    """Reads and writes the variables of a function.

    Attributes:
        final: whether this is the pass whose text counts; those before it find out what is asked for.
        changed: whether this pass has asked for something new.
        shared: arguments of a helper that are given in shared memory.
        again: arguments that are given once more, in another layout: the argument, the layout, the parameter for it.
        staged: statements whose tiles are put in shared memory at once.
        finished: operands of dots that may be put there once they are finished.
        branches: the `if` branches around what is being written.
    """

    def __init__(self, module: OutputFile, kernel: Kernel, frames: list[Frame], recipes: Mapping[str, Recipe]) -> None:
        super().__init__(module, frames, recipes)
        self.kernel = kernel
        self.is_entry = frames[0].caller is None
        self.names = Names({item.value for item in walk(kernel.node) if isinstance(item, cst.Name)} | module.taken)
        self.shared = {} if self.is_entry else shared_arguments(frames)
        self.layouts: KernelLayouts | HelperLayouts = (
            KernelLayouts(kernel, frames[0], self.names, module.gl)
            if self.is_entry
            else HelperLayouts(kernel, frames, self.names, module.gl, self.shared)
        )
        self.again: list[tuple[str, Want, str]] = []
        self.final = False
        self.changed = False
        self.branches: list[cst.BaseSuite] = []
        self.staged: set[cst.CSTNode] = set()
        self.finished: dict[cst.Name, FinishedTile] = {}
        self._written_copy: tuple[Web, str] | None = None

    def layout_text(self, want: Want) -> str:
        return self.layouts.text(want)

    # -- reading

    def reference(self, node: cst.Name, definitions: list[Definition | None], want: Want | None) -> cst.BaseExpression:
        definition = next(found for found in definitions if found is not None)
        web = self.webs.of_definition(definition)
        if not web.is_tensor:
            return node
        if not web.expensive:
            if want is None:
                if not web.copies:
                    return node
                name = next(iter(web.copies.values()))[1]
                # A number that is about to become a tensor: the copy before this one is a tensor already.
                if self._written_copy is not None and self._written_copy[0] is web:
                    name = self._written_copy[1]
                return node.with_changes(value=name)
            if web.ask(want):
                self.changed = True
            return node.with_changes(value=web.copy(want))
        bound = web.bound
        written: cst.BaseExpression = node
        accumulator = self.memory_of(web)
        summed = self.added_to(node, web)
        if summed is not None:
            return summed
        if accumulator is not None:
            written = self.loaded(accumulator)
        if want is None or same_want(want, bound):
            return written
        if self._can_hoist(definitions) or self._given_again(definitions, web):
            if web.ask(want):
                self.changed = True
                self.layout_text(want)
            return node.with_changes(value=web.copy(want))
        return self.coerce(written, bound, want, [one.value for one in definitions if one is not None])

    # -- tiles in shared memory

    def staged_operand(
        self, node: cst.BaseExpression, index: int, focus: Want, precision: str = ""
    ) -> cst.BaseExpression | None:
        """An operand of a dot that was put in shared memory further up, or its transpose: before the loop if it does
        not change in that, else where it is made, before the next tile takes registers."""
        value = self.first(node)
        inner = turned(value) if value is not None and not isinstance(node, cst.Name) else None
        if inner is not None:
            tile = self.staged_operand(inner, 1 - index, focus, precision) if isinstance(inner, cst.Name) else None
            if tile is None:
                return None
            return transposed(tile)
        if not isinstance(node, cst.Name):
            return None
        definitions = [frame.reads.get(node) for frame in self.frames]
        found = next((definition for definition in definitions if definition is not None), None)
        if found is not None and found.how == "parameter" and found.name in self.shared:
            return node
        if found is None:
            return None
        web = self.webs.of_definition(found)
        if not web.expensive or not web.is_tensor or any(other != precision for _, _, other in web.staged.values()):
            return None
        wanted = (index, *key(focus))
        if wanted not in web.staged:
            if not (
                self._can_hoist(definitions) or self._staged_at_once(definitions) or self._is_due(web, definitions)
            ):
                return self._finished_operand(node, web, wanted, (index, focus, precision))
            web.staged[wanted] = (index, focus, precision)
            web.staged_name = f"{web.name}_smem"
            self.changed = True
            self.layout_text(focus)
        return cst.Name(web.staged_name)

    def _finished_operand(
        self, node: cst.Name, web: Web, wanted: tuple[object, ...], dot: tuple[int, Want, str]
    ) -> cst.BaseExpression | None:
        """An operand that is put in shared memory behind the last statement that assigns it."""
        tile = self.finished.get(node)
        if tile is None or self.memory_of(web) is not None:
            return None
        if any(other != dot[2] for _, _, other in tile.staged.values()):
            return None
        if tile.ask(wanted, dot):
            self.changed = True
            self.layout_text(dot[1])
        return cst.Name(tile.staged_name)

    def staged_argument(self, node: cst.BaseExpression, index: int, focus: Want) -> cst.BaseExpression:
        """A variable that dots of a helper read, in shared memory since it was assigned."""
        for frame in self.frames:
            definition = frame.reads.get(node)
            if definition is not None and definition.statement is not None:
                self.staged.add(definition.statement)
        return self.staged_operand(node, index, focus) or self.emit(node)

    def _can_hoist(self, definitions: Sequence[Definition | None]) -> bool:
        """A value made outside of the loop that uses it is converted where it is made, once: an argument of a helper
        at its head."""
        found = [definition for definition in definitions if definition is not None]
        return all(
            (definition.how == "assign" and definition.depth - definition.frame.depth < self.depth)
            or (definition.how == "parameter" and self.depth > 0)
            for definition in found
        )

    def _given_again(self, definitions: Sequence[Definition | None], web: Web) -> bool:
        """Whether callers can give the copy of an argument that nothing else is assigned to."""
        assigned = [definition for frame in web.definitions for definition in frame]
        found = [definition for definition in definitions if definition is not None]
        return all(
            definition.how == "parameter" and self.given_cheaply(definition.name) for definition in found
        ) and all(definition.how == "parameter" for definition in assigned)

    def given_cheaply(self, name: str) -> bool:
        """Whether callers write an argument in any layout for nothing: it is given once more, not converted."""
        return not self.is_entry and all(given_cheaply(frame.parameters[name].value) for frame in self.frames)

    def _is_due(self, web: Web, definitions: Sequence[Definition | None]) -> bool:
        """Whether a tile from memory is made for the dot that is being written: no `if` lies between, and no loop
        carries the variable."""
        found = [definition for definition in definitions if definition is not None]
        if not all(_from_memory(definition) for definition in found):
            return False
        others = [definition for frame in web.definitions for definition in frame]
        if not all(definition.how == "assign" or definition.value.choice for definition in others):
            return False
        inside = [{id(node) for node in walk(branch)} for branch in self.branches]
        return all(id(definition.statement) in nodes for nodes in inside for definition in found)

    def _staged_at_once(self, definitions: Sequence[Definition | None]) -> bool:
        found = [definition for definition in definitions if definition is not None]
        return all(definition.how == "assign" and definition.statement in self.staged for definition in found)

    # -- writing

    def web(self, target: cst.Name) -> Web | None:
        """The variable that an assignment makes; None where nothing reaches it."""
        if not any(target in frame.targets for frame in self.frames):
            return None
        return self.webs.of_target(target, target.value)

    def copies(self, target: cst.Name) -> list[tuple[Want | None, str]]:
        """What an assignment assigns to, with the layout of each."""
        web = self.web(target)
        if web is None or not web.is_tensor:
            return [(None, target.value)]
        if web.expensive:
            accumulator = self.memory_of(web)
            return [(web.bound, target.value if accumulator is None else accumulator.memory)]
        return [(want, name) for want, name in web.copies.values()]

    @contextmanager
    def writing(self, web: Web, name: str) -> Iterator[None]:
        """While one of a variable's copies is written."""
        self._written_copy = (web, name)
        try:
            yield
        finally:
            self._written_copy = None

    def memory_name(self, name: str) -> str:
        return self.names.fresh(f"{name}_tmem") if self.final else f"{name}_tmem"

    def conversions(self, target: cst.Name, web: Web, at_head: bool = False) -> list[cst.BaseSmallStatement]:
        """Copies of an expensive variable that are made where it is: in other layouts, in shared memory for dots."""
        if not web.expensive:
            return []
        written: list[cst.BaseSmallStatement] = []
        given = {name for _, _, name in self.again} if at_head else ()
        for want, name in web.copies.values():
            if name in given:
                continue
            written.append(assignment(name, self.converted(cst.Name(target.value), want, web.values)))
        if web.staged:
            written.append(self.in_shared_memory(target.value, web))
        return written

    def in_shared_memory(self, variable: str, tile: Web | FinishedTile) -> cst.Assign:
        """`x_smem = dot_operand(x, index, layout)`, for the dots that ask for it."""
        # Statements are read from the last to the first, so the dots asked in that order.
        dots = list(tile.staged.values())[::-1]
        indices = [str(index) for index, _, _ in dots]
        layouts = [self.layout_text(focus) for _, focus, _ in dots]
        several = len(dots) > 1
        texts = [f"[{', '.join(column)}]" if several else column[0] for column in (indices, layouts)]
        texts += [precision for _, _, precision in dots[:1] if precision]
        arguments = [cst.Name(variable), *map(cst.parse_expression, texts)]
        function = "dot_operands" if several else "dot_operand"
        call = self.module.snippet_call(function, [cst.Arg(argument) for argument in arguments])
        return assignment(tile.staged_name, call)


def _from_memory(definition: Definition) -> bool:
    """Whether a tile is no dot's result, which may stay in registers, and has one assignment, or one in each branch of
    a compile-time `if`."""
    value = definition.value
    if not value.is_tensor or value.focus is None or root_of(value.term).dot is not None:
        return False
    if definition.how == "phi":
        assert definition.statement is not None
        inside = {id(node) for node in walk(definition.statement)}
        return value.loose and all(
            _from_memory(source) and id(source.statement) in inside for source in definition.sources
        )
    return definition.how == "assign"
