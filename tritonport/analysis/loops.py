"""The loops of a kernel: walked until the kinds of the values they carry stop changing, or once per item."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace

import libcst as cst

from tritonport.analysis import dims
from tritonport.analysis.frame import Definition
from tritonport.analysis.merging import adopt, alike, merge_values, tie
from tritonport.analysis.statements import Statements
from tritonport.analysis.values import Kind, Refusal, Value, constant, scalar
from tritonport.source.syntax import dotted
from tritonport.source.walk import assigned_names, walk

MAX_ROUNDS = 4
MAX_ITEMS = 8


class Loops(Statements):
    """Reads `for` and `while`."""

    def _loop(self, statement: cst.For | cst.While) -> None:
        if isinstance(statement, cst.For):
            self._for(statement)
        else:
            self._rounds(statement, lambda: self.evaluate(statement.test))

    def _for(self, statement: cst.For) -> None:
        target = statement.target
        iterable = statement.iter
        static = False
        if isinstance(iterable, cst.Call):
            kind = self.iterator_kind(iterable)
            static = kind == "static_range"
            for argument in iterable.args:
                self.evaluate(argument.value)
            if static and self._unroll(statement, iterable):
                return
        else:
            kind = None
        if kind is None:
            value = self.evaluate(iterable)
            if value.kind is not Kind.TUPLE:
                raise Refusal("TP105", f"a loop over {self.code(iterable)}", iterable)
            for item in value.items:
                self.assign(target, item, None, keep_constexpr=True)
                self._block(statement.body)
            return
        index = Value(Kind.CONSTEXPR) if static else scalar(multiples=self._index_multiples(iterable))
        copied = self._copied_items(statement) if static else None
        self._rounds(statement, lambda: self.assign(target, index, None, keep_constexpr=True), unrolled=static)
        if copied is not None:
            made, items = copied
            self.environment[made].value.pointers, self.environment[made].value.factor = items.pointers, items.factor
        if statement.orelse is not None:
            raise Refusal("TP105", "an else after a loop", statement.orelse)

    def _unroll(self, statement: cst.For, iterable: cst.Call) -> bool:
        """Read a static loop over the items of a tuple once per item; False for every other loop."""
        if self.frame.caller is None or len(iterable.args) != 1 or not isinstance(statement.target, cst.Name):
            return False
        count = self.frame.values[iterable.args[0].value].known
        if not isinstance(count, int) or not 0 < count <= MAX_ITEMS or not self._takes_items(statement):
            return False
        for index in range(count):
            self.assign(statement.target, constant(index, dims.number(index)), None, keep_constexpr=True)
            self._block(statement.body)
        self.frame.unrolled = True
        return True

    def _takes_items(self, statement: cst.For) -> bool:
        """Whether a loop takes items of tuples that are of different kinds: `indices[axis]`."""
        assert isinstance(statement.target, cst.Name)
        for node in walk(statement.body):
            if not isinstance(node, cst.Subscript) or not isinstance(node.value, cst.Name) or len(node.slice) != 1:
                continue
            index = node.slice[0].slice
            named = isinstance(index, cst.Index) and isinstance(index.value, cst.Name)
            holder = self.environment.get(node.value.value)
            if named and holder is not None and holder.value.kind is Kind.TUPLE:
                return True
        return False

    def _copied_items(self, statement: cst.For) -> tuple[str, Value] | None:
        """The name of the tuple that a static loop makes of all the items of a tuple argument, cast, and the argument:
        `for i in tl.static_range(len(x)): made += (tl.cast(x[i], tl.int64),)`. An item goes by its old spelling."""
        counted = statement.iter.args[0].value if isinstance(statement.iter, cst.Call) and statement.iter.args else None
        lines = statement.body.body if isinstance(statement.body, cst.IndentedBlock) else ()
        small = lines[0].body[0] if len(lines) == 1 and isinstance(lines[0], cst.SimpleStatementLine) else None
        if not isinstance(counted, cst.Call) or dotted(counted.func) != "len" or len(counted.args) != 1:
            return None
        if not isinstance(small, cst.AugAssign) or not isinstance(small.operator, cst.AddAssign):
            return None
        items, made, added = counted.args[0].value, small.target, small.value
        if not isinstance(items, cst.Name) or not isinstance(made, cst.Name) or not isinstance(added, cst.Tuple):
            return None
        source, before = self.environment.get(items.value), self.environment.get(made.value)
        if source is None or len(source.value.pointers) != 1 or source.value.kind is not Kind.SCALAR:
            return None
        if before is None or before.value.kind is not Kind.TUPLE or before.value.items or len(added.elements) != 1:
            return None
        item = added.elements[0].value
        if isinstance(item, cst.Call) and (dotted(item.func) or "").endswith(".cast") and item.args:
            item = item.args[0].value
        elif isinstance(item, cst.Call) and isinstance(item.func, cst.Attribute) and item.func.attr.value == "to":
            item = item.func.value
        if not isinstance(item, cst.Subscript) or len(item.slice) != 1 or not item.value.deep_equals(items):
            return None
        index = item.slice[0].slice
        is_item = isinstance(index, cst.Index) and index.value.deep_equals(statement.target)
        return (made.value, source.value) if is_item else None

    def _index_multiples(self, iterable: cst.BaseExpression) -> frozenset[str]:
        """Which arguments have to be multiples of 16 for a loop's index to be one: those of its start and its step."""
        if not isinstance(iterable, cst.Call):
            return frozenset()
        positional = [argument.value for argument in iterable.args if argument.keyword is None]
        found = [*(positional[:1] if len(positional) > 1 else []), *positional[2:3]]
        found += [
            argument.value
            for argument in iterable.args
            if argument.keyword is not None and argument.keyword.value == "step"
        ]
        values = [self.frame.values[node] for node in found if node in self.frame.values]
        return frozenset(name for value in values for name in value.multiples)

    def _rounds(self, statement: cst.For | cst.While, head: Callable[[], object], unrolled: bool = False) -> None:
        """Read a loop: a block of its own unless the compiler unrolls it."""
        with nullcontext() if unrolled else self.places.block():
            self._loop_body(statement, head, unrolled)

    def _loop_body(self, statement: cst.For | cst.While, head: Callable[[], object], unrolled: bool) -> None:
        """Read a body, `head` first, until what it shows of the names it carries is what was taken for granted."""
        carried = [name for name in dict.fromkeys(assigned_names(statement.body)) if name in self.environment]
        before = dict(self.environment)
        mark = len(self.frame.merges)
        self.depth += 1
        shapes: dict[str, Value] = {}
        try:
            for _ in range(MAX_ROUNDS):
                del self.frame.merges[mark:]
                self.environment = dict(before)
                phis: dict[str, Definition] = {}
                for name in carried:
                    phi = self._phi(name, [before[name]], statement)
                    if phi.value is before[name].value:
                        # What the end of the body shows of the name must not be said of it before the loop.
                        phi.value = replace(phi.value)
                    if name in shapes:
                        adopt(phi.value, shapes[name])
                    phis[name] = phi
                    self.environment[name] = phi
                head()
                self._block(statement.body)
                changed = False
                for name, phi in phis.items():
                    last = self.environment.get(name, phi)
                    if last is phi:
                        continue
                    phi.sources.append(last)
                    changed |= self._close(phi, last, shapes, unrolled)
                if not changed:
                    break
        finally:
            self.depth -= 1
        # A name first bound in the body of a loop that runs on the GPU is not there after it; one that the compiler
        # unrolls is Python's own (`CodeGenerator.visit_For`).
        self.environment = {**(self.environment if unrolled else {}), **before, **phis}

    def _close(self, phi: Definition, last: Definition, shapes: dict[str, Value], unrolled: bool) -> bool:
        """Tie the value at the end of a loop body to the one at its head; True where the head's kind was wrong."""
        first = phi.sources[0].value
        merged = merge_values([first, last.value], "phi", self.depth)
        if first.is_tensor and merged.is_tensor and not unrolled:
            # The compiler insists that what a loop of the GPU's carries keeps its type.
            merged.element = first.element or merged.element
        if alike(phi.value, merged):
            tie(phi.value, last.value)
            return False
        shapes[phi.name] = merged
        return True
