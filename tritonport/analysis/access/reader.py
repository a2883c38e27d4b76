"""Reading a kernel from its first statement to its last: what each name is, and each access on the way.

A loop is read twice: once to learn how the names it carries move, then with their forms at any iteration.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import replace

import libcst as cst

from tritonport.analysis import dims
from tritonport.analysis.access import forms
from tritonport.analysis.access.accesses import Access
from tritonport.analysis.access.behind import (
    at_iteration,
    either_value,
    facts_of,
    is_number,
    marked,
    opposite_of,
    trips_of,
)
from tritonport.analysis.access.expressions import Environment
from tritonport.analysis.access.forms import Form, Mask, Opaque, Several, Value
from tritonport.analysis.access.hidden import Hiding
from tritonport.analysis.access.loops import Loop, iteration_of, read_loop
from tritonport.analysis.access.recording import AccessReader, is_called
from tritonport.analysis.dims import Dim
from tritonport.source.kernel import Kernel
from tritonport.source.module import SourceModule
from tritonport.source.walk import assigned_names, walk


def accesses_of(module: SourceModule, kernel: Kernel, *, loose: bool = False) -> list[Access]:
    """Every load, store and atomic of one kernel's own body.

    loose: forms may have coordinates that are not affine (`Axis.parts`), and numbers out of memory: what divides an
    address, not where it points.
    """
    return Reader(module, kernel, loose).read()


def calls_of(module: SourceModule, kernel: Kernel) -> list[Access]:
    """The calls in one kernel's own body of jit functions that read or write memory, each as an access by the pointer
    that it is given."""
    reader = Reader(module, kernel)
    reader.read()
    return reader.calls


class Reader(AccessReader):
    """Reads one kernel; `read` gives its accesses."""

    def read(self) -> list[Access]:
        """The accesses in source order."""
        self._block(self.kernel.node.body)
        return self.found

    # -- statements

    def _block(self, body: cst.BaseSuite) -> None:
        for statement in body.body:
            if isinstance(statement, cst.SimpleStatementLine):
                for small in statement.body:
                    self._small(small)
            elif isinstance(statement, cst.BaseSmallStatement):
                self._small(statement)
            elif isinstance(statement, cst.If):
                self._if(statement)
            elif isinstance(statement, (cst.For, cst.While)):
                self._loop(statement)

    def _small(self, small: cst.BaseSmallStatement) -> None:
        if isinstance(small, cst.Expr):
            self.evaluate(small.value)
        elif isinstance(small, cst.Assign):
            first = small.targets[0].target
            self.target = first.value if isinstance(first, cst.Name) and len(small.targets) == 1 else ""
            value = self.evaluate(small.value)
            self.target = ""
            for target in small.targets:
                self._assign(target.target, value)
        elif isinstance(small, cst.AnnAssign) and small.value is not None:
            self._assign(small.target, self.evaluate(small.value))
        elif isinstance(small, cst.AugAssign):
            self._augmented(small)
        elif isinstance(small, cst.Return) and small.value is not None:
            self.evaluate(small.value)

    def _assign(self, target: cst.BaseExpression, value: Value) -> None:
        if isinstance(target, cst.Name):
            self.environment[target.value] = value
            self.partial -= {target.value}
        elif isinstance(target, (cst.Tuple, cst.List)):
            items = value.items if isinstance(value, Several) and len(value.items) == len(target.elements) else None
            for place, element in enumerate(target.elements):
                one = items[place] if items is not None else self._part(element.value, value, place)
                self._assign(element.value, one)

    def _part(self, target: cst.BaseExpression, value: Value, place: int) -> Value:
        """One of several results of a call: a number of its own where the call was of numbers. A schedule that is
        asked again with the same numbers says the same place again."""
        if isinstance(value, Form) and value.is_scalar:
            call = forms.show(value.offset)
            name = self.parts.get((call, place)) or self._own_name(self.text(target))
            self.parts[call, place], self.origins[name] = name, call
            return forms.scalar(name)
        return (
            forms.unnumbered(value)
            if isinstance(value, Opaque)
            else Opaque(f"`{self.text(target)}` is one of several results", target)
        )

    def _augmented(self, small: cst.AugAssign) -> None:
        operators: dict[type[cst.BaseAugOp], cst.BaseBinaryOp] = {
            cst.AddAssign: cst.Add(),
            cst.SubtractAssign: cst.Subtract(),
            cst.MultiplyAssign: cst.Multiply(),
            cst.BitAndAssign: cst.BitAnd(),
        }
        operator = operators.get(type(small.operator))
        value: Value
        if operator is not None and isinstance(small.target, cst.Name):
            value = self.evaluate(cst.BinaryOperation(small.target, operator, small.value))
        else:
            self.evaluate(small.value)
            value = Opaque(f"`{self.text(small)}` is no sum of coordinates", small)
        self._assign(small.target, value)

    def _if(self, statement: cst.If) -> None:
        known_facts, holds = self.facts, self.evaluate(statement.test)
        before, partial = dict(self.environment), self.partial
        known = self._known_in(statement, before)
        self.branches += 1
        self.environment.update({name: branches[0] for name, branches in known.items()})
        self.facts = (*known_facts, *facts_of(holds))
        self._block(statement.body)
        self.facts = (*known_facts, *opposite_of(holds))
        then, self.environment = self.environment, {**before, **{name: both[1] for name, both in known.items()}}
        first, self.partial = self.partial, partial
        if isinstance(statement.orelse, cst.If):
            self._if(statement.orelse)
        elif statement.orelse is not None:
            self._block(statement.orelse.body)
        self.branches -= 1
        self.facts = known_facts
        self.partial |= first | (then.keys() ^ self.environment.keys())
        merged: Environment = {}
        for name in dict.fromkeys([*then, *self.environment]):
            one, other = then.get(name), self.environment.get(name)
            if name in known and (one, other) == known[name]:
                merged[name] = before[name]
            elif one is None or other is None or one == other:
                found = one if one is not None else other
                assert found is not None
                merged[name] = found
            else:
                atom = self._joined(name, statement)
                merged[name] = self._masks(statement, one, other) or either_value(name, atom, one, other, self.loose)
                if is_number(one) and is_number(other):
                    self.origins[atom] = f"min({forms.show(one.offset)}, {forms.show(other.offset)})"
                if self._is_fixed(statement.test):
                    self.decided.setdefault(self.text(statement.test), {})[name] = (merged[name], one, other)
        self.environment = merged

    def _known_in(self, statement: cst.If, before: Environment) -> dict[str, tuple[Value, Value]]:
        """What names are in the two branches of an `if` that an earlier one on the same test has given two values."""
        decided = self.decided.get(self.text(statement.test), {}) if self._is_fixed(statement.test) else {}
        return {name: (one, other) for name, (merged, one, other) in decided.items() if before.get(name) is merged}

    def _is_fixed(self, test: cst.BaseExpression) -> bool:
        """Whether a test is the same wherever it is asked: of arguments that stay what they are, or whether one is
        None."""
        names = {node.value for node in walk(test) if isinstance(node, cst.Name)}
        if not names <= {*(parameter.name for parameter in self.kernel.parameters), "None"}:
            return False
        of_none = isinstance(test, cst.Comparison) and isinstance(test.comparisons[0].operator, (cst.Is, cst.IsNot))
        return of_none or not names & self.reassigned

    def _masks(self, statement: cst.If, one: Value, other: Value) -> Mask | None:
        """One mask of two, where the test is the same wherever it is asked; None where one of them is no mask."""
        masks = [Mask() if value in (forms.NOTHING, forms.TRUE) else value for value in (one, other)]
        names = {node.value for node in walk(statement.test) if isinstance(node, cst.Name)}
        if names & self.reassigned or not names <= {parameter.name for parameter in self.kernel.parameters}:
            return None
        first, second = masks
        if not isinstance(first, Mask) or not isinstance(second, Mask):
            return None
        return forms.either(self.text(statement.test), first, second)

    def _joined(self, name: str, statement: cst.If | cst.For | cst.While, behind: str = "after an if") -> str:
        """An atom for what a name is after an `if` or a loop: of each one that changes it another."""
        places = self.joins.setdefault(f"{name} {behind}", [])
        if id(statement) not in places:
            places.append(id(statement))
        number = places.index(id(statement)) + 1
        return f"{name} {behind}" if number == 1 else f"{name} {behind} #{number}"

    # -- loops

    def _loop(self, node: cst.For | cst.While) -> None:
        loop = read_loop(node, self.loops)
        loop.end = self._bound(loop.stop, forms.ZERO) if loop.stop is not None else None
        loop.ends = tuple(one.offset for one in self._bounds(Form(loop.end))) if loop.end is not None else ()
        start = self.evaluate(loop.start) if loop.start is not None else Form(forms.ZERO)
        loop.first = start.offset if is_number(start) else None
        loop.unknown = start.reason if isinstance(start, Opaque) else ""
        loop.stride = self._bound(loop.step, dims.ONE)
        before = dict(self.environment)
        carried = [name for name in dict.fromkeys(assigned_names(node.body)) if name in before and name != loop.target]
        recording, outer, branches = self.recording, self.loops, self.branches
        facts = self.facts
        self.recording, self.loops, self.branches = False, (*outer, loop), 0
        atom = loop.target or "iteration"
        self.made.add(atom)
        # An index hides another one of its name, and an argument.
        hiding = Hiding(atom, self.origins)
        self.facts = tuple(one for one in facts if not hiding.is_about(one))
        known = hiding.seen(before)
        self.environment = {**known, **{name: marked(name, known[name]) for name in carried}}
        counts = self.counts
        self._iterate(node, loop, atom)
        changing = {atom, *assigned_names(node.body)}
        moved = {name: self._movement(name, known[name], changing) for name in carried}
        # How loops inside move a name is behind how an iteration moves it.
        inside = {name for name, change in moved.items() if change is not None}
        self.counts = tuple(one for one in self.counts if one in counts or one[0] & inside)
        for name in self._steady(node, loop, atom, known, moved):
            moved[name] = forms.ZERO
        self._begin(known, moved, loop, atom)
        self.recording = recording
        self._iterate(node, loop, atom)
        self.loops, self.branches, self.facts = outer, branches, facts
        trips = trips_of(loop)
        after = {
            name: self._after(self._joined(name, node, "after a loop"), before[name], moved[name], trips)
            for name in carried
            if moved[name] != forms.ZERO
        }
        if trips is not None:
            self._count(frozenset(name for name in after if moved[name] is not None), trips)
        self.environment = {**before, **after}
        if loop.target:
            # Triton gives an index no value behind its loop.
            self.environment[loop.target] = Opaque(f"`{loop.target}` is the index of a loop before it")

    def _count(self, names: frozenset[str], trips: Dim) -> None:
        """Note that a loop moves names as often as it has iterations."""
        known = not any("movement of" in atom for atom in trips.atoms())
        if names and known and (names, trips) not in self.counts:
            self.counts = (*self.counts, (names, trips))

    def _after(self, atom: str, before: Value, change: Dim | None, trips: Dim | None) -> Value:
        """What a carried name is behind a loop: moved as often as the loop has iterations, where their number is
        known, of which an access says that it has to be none below zero."""
        if not isinstance(before, Form):
            name = atom.partition(" after")[0]
            return forms.unnumbered(before) if isinstance(before, Opaque) else Opaque(f"`{name}` comes out of a loop")
        if change is not None and trips is not None:
            return replace(before, offset=forms.plus(before.offset, forms.times(change, trips)))
        return replace(before, offset=forms.plus(before.offset, dims.opaque(atom, "")))

    def _movement(self, name: str, before: Value, changing: Collection[str]) -> Dim | None:
        """What one iteration adds to a carried form; None where it does more than add a number, or another number in
        each iteration: one that is made of what the loop changes."""
        after = self.environment[name]
        if not isinstance(before, Form) or not isinstance(after, Form) or before.axes != after.axes:
            return None
        began = marked(name, before)
        assert isinstance(began, Form)
        change = forms.plus(after.offset, began.offset, -1)
        parts = [text for part in change.atoms() for text in (part, self.origins.get(part, ""))]
        if any("movement of" in text or " after an if" in text for text in parts):
            return None
        words = {word for text in parts for word in re.findall(r"\w+", text)}
        return None if words & set(changing) else change

    def _begin(self, before: Environment, moved: Mapping[str, Dim | None], loop: Loop, atom: str) -> None:
        """The environment at the head of an iteration."""
        self.environment = dict(before)
        for name, change in moved.items():
            self.environment[name] = at_iteration(before[name], change, self._iteration(loop, atom))

    def _steady(
        self, node: cst.For | cst.While, loop: Loop, atom: str, before: Environment, moved: Mapping[str, Dim | None]
    ) -> set[str]:
        """The names that a body assigns, under an `if` or not, and leaves with the value they have before the loop.

        An induction over the iterations: where all of them have that value at the head, and then at the end too, they
        always have it. One that does not is left out, and the others are asked again.
        """
        steady = {name for name, change in moved.items() if change is None and isinstance(before[name], (Form, Mask))}
        while steady:
            self._begin(before, {**moved, **dict.fromkeys(steady, forms.ZERO)}, loop, atom)
            self._iterate(node, loop, atom)
            kept = {name for name in steady if self.environment[name] == before[name]}
            if kept == steady:
                break
            steady = kept
        return steady

    def _bound(self, node: cst.BaseExpression | None, missing: Dim) -> Dim | None:
        value = self.evaluate(node) if node is not None else Form(missing)
        return value.offset if isinstance(value, Form) and value.is_scalar else None

    def _iterate(self, node: cst.For | cst.While, loop: Loop, atom: str) -> None:
        if loop.target in self.parameters:
            self.environment[loop.target] = Opaque(f"the index `{loop.target}` has the name of an argument")
        elif loop.target:
            self.environment[loop.target] = forms.scalar(atom)
        self._block(node.body)

    def _iteration(self, loop: Loop, atom: str) -> Dim:
        """How many iterations have passed, as a polynomial: the index itself where the loop counts from zero by one."""
        if loop.kind == "range" and loop.start is None and loop.step is None:
            return dims.symbol(atom)
        return dims.symbol(iteration_of(atom))


__all__ = ["Reader", "accesses_of", "calls_of", "is_called"]
