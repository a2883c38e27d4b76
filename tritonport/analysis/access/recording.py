"""The accesses of a kernel, where its reader comes to them."""

from __future__ import annotations

from dataclasses import replace

import libcst as cst

from tritonport.analysis import dims
from tritonport.analysis.access import forms
from tritonport.analysis.access.accesses import Access
from tritonport.analysis.access.behind import is_number
from tritonport.analysis.access.calls import CallReader
from tritonport.analysis.access.expressions import WIDE
from tritonport.analysis.access.forms import Condition, Form, Mask, Opaque, Value
from tritonport.analysis.access.indexed import by_count, by_index, goes_down, quotient
from tritonport.analysis.access.inlined import followed
from tritonport.analysis.access.loops import Loop, visible
from tritonport.analysis.dims import Dim
from tritonport.analysis.effects import LOADS, STORES, effects_in, spans
from tritonport.source.kernel import Kernel
from tritonport.source.module import SourceModule
from tritonport.source.walk import calls_in, walk

_BY_SIZE = (cst.LessThan, cst.LessThanEqual, cst.GreaterThan, cst.GreaterThanEqual)


def is_called(module: SourceModule, kernel: Kernel) -> bool:
    """Whether other kernels of the file call one, so that its arguments may be tiles."""
    return any(caller is not kernel for caller, _ in module.calls.get(kernel.name, ()))


class AccessReader(CallReader):
    """Records each access with what is known at its place."""

    def __init__(self, module: SourceModule, kernel: Kernel, loose: bool = False) -> None:
        super().__init__(module, kernel, loose)
        self.found: list[Access] = []
        self.calls: list[Access] = []
        self.recording = True
        self.loops: tuple[Loop, ...] = ()
        self.branches = 0
        self.target = ""
        self.made = set(self.parameters)
        self.origins: dict[str, str] = {}
        self.parts: dict[tuple[str, int], str] = {}
        self.joins: dict[str, list[int]] = {}
        self.partial: frozenset[str] = frozenset()
        self.decided: dict[str, dict[str, tuple[Value, Value, Value]]] = {}
        self.facts: tuple[Condition, ...] = ()
        self.loads: dict[int, tuple[Form | Opaque, str]] = {}
        self.counts: tuple[tuple[frozenset[str], Dim], ...] = ()
        called = is_called(module, kernel)
        no_pointers = _numbers_in(kernel.node.body)
        for parameter in kernel.parameters:
            # The pointer of `first + x_ptr` is `x_ptr`.
            number = parameter.constexpr or parameter.name in no_pointers
            value: Value = forms.scalar(parameter.name, None if number else parameter.name)
            if called and not parameter.constexpr:
                value = Opaque(f"`{parameter.name}` is what the callers of {kernel.name} pass")
            self.environment[parameter.name] = value

    def indexed(self, number: Dim) -> Dim:
        return by_index(number, self.loops)

    def divided(self, number: Dim, divisor: Dim) -> Dim | None:
        # `start // BLOCK` of a loop over whole blocks counts its iterations; a sum stays one number.
        up = [loop for loop in visible(self.loops) if not goes_down(loop)]
        found = quotient(by_count(number, up), divisor)
        return found if found is not None and len(found.terms) == 1 else None

    def loaded(self, node: cst.Call, found: Opaque) -> Value:
        """A number that is read has a name of its own, of this load in this iteration of the loops around it."""
        address, target = self.loads.get(id(node), (found, ""))
        if self.loose or not isinstance(address, Form) or not address.is_scalar:
            return found
        return self._numbered(node, found, target)

    def returned(self, node: cst.Call, found: Opaque) -> Value:
        return self._numbered(node, found, "")

    def _numbered(self, node: cst.Call, found: Opaque, target: str) -> Opaque:
        key = (f"load {id(node)}", 0)
        if key not in self.parts:
            around = "".join(f" in {loop.target or 'iteration'}" for loop in self.loops)
            self.parts[key] = self._own_name(f"{target or 'a number'}{WIDE}{around}")
        return replace(found, number=forms.scalar(self.parts[key]))

    def followed(self, node: cst.Call, callee: Kernel) -> Value | None:
        if self.recording:
            self._note(node, callee)
        return followed(self, node, callee)

    def _note(self, node: cst.Call, callee: Kernel) -> None:
        """Note a call of a function that reads or writes memory, as an access by its first pointer; that of one which
        makes the tile itself is of no form here."""
        effects = effects_in(callee.module, callee.node.body)
        kind = "load" if LOADS in effects else "store" if STORES in effects else ""
        # What an argument calls has been read already.
        plain = [one.value for one in node.args if next(calls_in(one.value), None) is None] if kind else []
        given = map(self.evaluate, plain)
        address: Form | Opaque | None = next(
            (one for one in given if isinstance(one, Form) and one.head is not None), None
        )
        if not isinstance(address, Form) or (address.is_scalar and spans(callee)):
            address = Opaque("it is what a function is called for", node)
        if kind:
            under = self.branches > 0
            target = self.target if kind == "load" else ""
            self.calls.append(Access(self.kernel, node, kind, target, address, None, None, self.loops, under))

    def _own_name(self, wanted: str) -> str:
        """A name for a number that a call returns: the variable's, unless that stands for something else already."""
        name, number = wanted, 2
        while name in self.made:
            name, number = f"{wanted}#{number}", number + 1
        self.made.add(name)
        return name

    def memory(self, node: cst.Call, kind: str) -> Value:
        """Record a load, a store or an atomic; its address."""
        names = ("pointer", "value", "mask", "other") if kind != "load" else ("pointer", "mask", "other")
        given: dict[str, cst.BaseExpression] = {}
        for place, argument in enumerate(node.args):
            name = (
                argument.keyword.value if argument.keyword is not None else names[place] if place < len(names) else ""
            )
            given[name] = argument.value
        target = self.target
        self.target = ""
        address = self.evaluate(given["pointer"]) if "pointer" in given else Opaque("there is no pointer", node)
        if not isinstance(address, (Form, Opaque)):
            address = Opaque(f"`{self.text(given['pointer'])}` is no address", node)
        self.loads[id(node)] = (address, target)
        mask = self._mask(given.get("mask"))
        for name in ("value", "other"):
            if name in given:
                self.evaluate(given[name])
        if not self.recording:
            return address
        loop = self.loops[-1] if self.loops else None
        self.found.append(
            Access(
                self.kernel,
                node,
                kind,
                target if kind == "load" else "",
                address,
                mask,
                given.get("other"),
                self.loops,
                self.branches > 0,
                (loop.target or "iteration") if loop is not None else "",
                self._step(loop),
                self._numbers(),
                dict(self.origins),
                self.partial,
                self.facts,
                self.counts,
            )
        )
        return address

    def _numbers(self) -> dict[str, Dim]:
        """The names that stand for a number, or for what may be one that is read from memory."""
        values = {
            name: value.number if isinstance(value, Opaque) else value for name, value in self.environment.items()
        }
        return {name: value.offset for name, value in values.items() if value is not None and is_number(value)}

    def _step(self, loop: Loop | None) -> Dim:
        if loop is None or loop.step is None:
            return dims.ONE
        return loop.stride if loop.stride is not None else dims.ONE

    def _mask(self, node: cst.BaseExpression | None) -> Mask | None:
        if node is None or (isinstance(node, cst.Name) and node.value == "None"):
            return None
        value = self.evaluate(node)
        if value in (forms.NOTHING, forms.TRUE):
            return None
        if isinstance(value, Mask):
            return value
        flag = isinstance(value, Form) and not any(value.axes)
        return Mask(flags=(self.text(node),)) if flag else Mask(opaque=(self.text(node),))


def _numbers_in(body: cst.BaseSuite) -> set[str]:
    """The names that a kernel multiplies, divides, compares by size or counts to: what no pointer is."""
    found: set[str] = set()
    for node in walk(body):
        parts: list[cst.BaseExpression] = []
        if isinstance(node, cst.BinaryOperation) and not isinstance(node.operator, (cst.Add, cst.Subtract)):
            parts = [node.left, node.right]
        elif isinstance(node, cst.Comparison) and isinstance(node.comparisons[0].operator, _BY_SIZE):
            parts = [node.left, *(one.comparator for one in node.comparisons)]
        elif isinstance(node, cst.For) and isinstance(node.iter, cst.Call):
            parts = [one.value for one in node.iter.args]
        found |= {one.value for one in parts if isinstance(one, cst.Name)}
    return found


__all__ = ["AccessReader", "is_called"]
