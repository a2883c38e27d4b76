"""The accesses of a kernel, in source order."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

import libcst as cst

from tritonport.analysis import dims
from tritonport.analysis.access.forms import ALWAYS, ZERO, Axis, Condition, Form, Mask, Opaque, plus, show, times
from tritonport.analysis.access.loops import Loop, iteration_of
from tritonport.analysis.dims import Dim
from tritonport.source.kernel import Kernel


@dataclass(frozen=True, eq=False)
class Access:
    """One load, store or atomic.

    Attributes:
        kind: "load", "store" or "atomic".
        target: the name a load is assigned to, alone; empty otherwise.
        address: the affine form, or why there is none.
        mask: the bounds; None without a mask.
        other: the fill value's expression; None where the call has none.
        loops: the loops around it, outermost first.
        branch: it stands under an `if` inside of the innermost loop (or of the kernel, without one).
        loop_atom, loop_step: the index of the innermost loop in `address`, and what an iteration adds to it.
        numbers: the scalars that have a name at this place, as polynomials.
        origins: the call behind each atom that is one of several results: `_tile(gl.program_id(0), M)` for `pid_m`.
        partial: names that only one branch of an `if` before gives a value.
        facts: what the `if`s around it say of numbers.
        counts: of the loops before it, the names that they move, and how often: right where that is zero or more.
    """

    kernel: Kernel
    node: cst.Call
    kind: str
    target: str
    address: Form | Opaque
    mask: Mask | None
    other: cst.BaseExpression | None
    loops: tuple[Loop, ...]
    branch: bool
    loop_atom: str = ""
    loop_step: Dim = ZERO
    numbers: Mapping[str, Dim] = field(default_factory=dict)
    origins: Mapping[str, str] = field(default_factory=dict)
    partial: frozenset[str] = frozenset()
    facts: tuple[Condition, ...] = ()
    counts: tuple[tuple[frozenset[str], Dim], ...] = ()

    @property
    def base(self) -> str | None:
        """The pointer argument at the left end of the address."""
        return self.address.head if isinstance(self.address, Form) else None

    @property
    def advance(self) -> Dim | None:
        """Elements the tile moves from one iteration of the innermost loop to the next; None without an affine form.

        Zero is a tile that every iteration reads again.
        """
        if not self.loops or not isinstance(self.address, Form):
            return None
        return difference(self.address, self.loop_atom, self.loop_step)

    @property
    def extents(self) -> tuple[str | None, ...]:
        """Per dimension the bound its coordinate is held to, as text: from the mask, `% M` or a clamp."""
        if not isinstance(self.address, Form):
            return ()
        found: list[str | None] = []
        for dimension, axis in enumerate(self.address.axes):
            parts = [] if axis is None else _bounds(axis)
            parts += [
                f"{condition.operator} {show(condition.bound.offset)}" + _where(condition)
                for condition in (self.mask.conditions if self.mask is not None else ())
                if _dimension(condition.form, self.address.rank) == dimension
            ]
            found.append(", ".join(parts) or None)
        return tuple(found)

    @property
    def fill(self) -> str:
        """What masked elements are: "none" without a mask, "any" without `other`, else the expression."""
        if self.kind != "load" or self.mask is None:
            return "none"
        return "any" if self.other is None else cst.Module([]).code_for_node(self.other)


def difference(form: Form, atom: str, step: Dim) -> Dim | None:
    """How the offset changes from one iteration to the next of the loop over `atom`; None where it is not linear."""
    change = ZERO
    for name, amount in ((atom, step), (iteration_of(atom), dims.ONE)):
        for monomial, factor in form.offset.terms:
            if monomial.count(name) == 1:
                rest = list(monomial)
                rest.remove(name)
                change = plus(change, times(Dim(((tuple(rest), factor),), ""), amount))
    inside = [
        monomial for axis in form.axes if axis is not None for monomial, _ in (*axis.stride.terms, *axis.start.terms)
    ]
    counted = {atom, iteration_of(atom)}
    for monomial in [*inside, *(monomial for monomial, _ in form.offset.terms)]:
        depends = [part for part in monomial if re.search(rf"\b{re.escape(atom)}\b", part)] if atom else []
        if len(depends) > 1 or any(part not in counted for part in depends) or (depends and monomial in inside):
            return None
    return change


def _where(condition: Condition) -> str:
    return "" if condition.when == ALWAYS else " in some branches"


def _bounds(axis: Axis) -> list[str]:
    parts = [f"% {show(axis.wrap)}"] if axis.wrap is not None else []
    return [*parts, f"<= {show(axis.clamp)}"] if axis.clamp is not None else parts


def _dimension(form: Form, rank: int) -> int | None:
    held = [index for index, axis in enumerate(form.axes) if axis is not None]
    return held[0] + rank - form.rank if len(held) == 1 else None


__all__ = ["Access", "difference"]
