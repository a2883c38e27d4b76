"""Which loops of a kernel are pipelined, with which loads; what is left, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import libcst as cst

from tritonport.analysis.access import Access, Form, Loop, accesses_of
from tritonport.analysis.effects import WRITES, acting, effects_in
from tritonport.source.kernel import Kernel
from tritonport.source.module import SourceModule
from tritonport.source.syntax import dotted
from tritonport.source.walk import walk
from tritonport.upgrade.async_copy.runs import Runs, runs_of
from tritonport.upgrade.async_copy.widened import Widened, widened_of
from tritonport.upgrade.dots import Operand, called, operand_of
from tritonport.upgrade.legality import COPY_STAYS, HINTS, LOOP_STAYS, Reason, Refused, considered, reasons
from tritonport.upgrade.liveness import live_behind
from tritonport.upgrade.slices import NotSplit, Split, around, is_pure, split
from tritonport.upgrade.tma.assume import pointing, reached

ZEROS = ("none", "any", "0", "0.0")


@dataclass(frozen=True)
class Copy:
    """A load that becomes a copy into a ring.

    Attributes:
        place: the index of its statement in the loop's body.
        pointer, mask: the expressions of its address and mask.
        hints: what the load says of caches.
        widened: how a dot reads it, cast.
    """

    access: Access
    place: int
    pointer: cst.BaseExpression
    mask: cst.BaseExpression | None
    operand: Operand
    runs: Runs
    hints: Mapping[str, cst.BaseExpression] = field(default_factory=dict)
    widened: Widened | None = None

    @property
    def refill(self) -> bool:
        """Whether masked elements are something else than the zeros of cp.async."""
        return self.access.fill not in ZEROS

    @property
    def shape(self) -> list[str]:
        """The extents of the tile as source text."""
        assert isinstance(self.access.address, Form)
        return [size or "1" for size in self.access.address.sizes]

    @property
    def layout(self) -> str:
        """The layout that the load had, as source text."""
        assert isinstance(self.access.address, Form) and self.access.address.layout is not None
        return self.access.address.layout


@dataclass(frozen=True)
class LoopPlan:
    """One loop that is pipelined."""

    loop: Loop
    body: tuple[cst.BaseStatement, ...]
    copies: tuple[Copy, ...]
    split: Split


@dataclass(frozen=True)
class KernelPlan:
    """What the stage does with one kernel."""

    kernel: Kernel
    loops: tuple[LoopPlan, ...]
    refused: tuple[Refused, ...]


def plan_kernel(module: SourceModule, kernel: Kernel) -> KernelPlan:
    """The loops of a Gluon kernel that can be pipelined."""
    # cp.async copies from wherever the pointers of a thread point: an address need not be affine.
    accesses = accesses_of(module, kernel, loose=True)
    by_loop: dict[int, list[Access]] = {}
    for access in accesses:
        if considered("async-copy", access):
            by_loop.setdefault(id(access.loops[-1]), []).append(access)
    plans: list[LoopPlan] = []
    refused: list[Refused] = []
    for members in by_loop.values():
        made, left = _plan_loop(kernel, members, accesses)
        refused += left
        if made is not None:
            plans.append(made)
    return KernelPlan(kernel, tuple(plans), tuple(refused))


def _plan_loop(
    kernel: Kernel, members: Sequence[Access], accesses: Sequence[Access]
) -> tuple[LoopPlan | None, list[Refused]]:
    loop = members[0].loops[-1]
    body = _statements(loop)
    refused: list[Refused] = []
    copies: list[Copy] = []
    for access in members:
        found = reasons("async-copy", access)
        copy = None if found else _copy(access, loop, body, kernel)
        if isinstance(copy, Reason):
            found = [copy]
        elif copy is not None:
            copies.append(copy)
        refused += [Refused(access, reason) for reason in found]
    if not copies:
        return None, refused
    problem = _loop_problem(kernel, loop, copies, accesses) or _written_by_function(kernel, loop, copies)
    if problem is None:
        try:
            return LoopPlan(loop, tuple(body), tuple(copies), _split(kernel, loop, body, copies)), refused
        except NotSplit as error:
            problem = str(error)
    return None, [*refused, *(Refused(copy.access, Reason(LOOP_STAYS, problem)) for copy in copies)]


def _statements(loop: Loop) -> list[cst.BaseStatement]:
    """The statements of a loop, one to a line; of a body on the loop's own line none."""
    return list(loop.node.body.body) if isinstance(loop.node.body, cst.IndentedBlock) else []


def _copy(access: Access, loop: Loop, body: Sequence[cst.BaseStatement], kernel: Kernel) -> Copy | Reason:
    place = next((index for index, line in enumerate(body) if any(node is access.node for node in walk(line))), None)
    line = body[place] if place is not None else None
    if place is None or not isinstance(line, cst.SimpleStatementLine) or len(line.body) != 1:
        return Reason(COPY_STAYS, "its statement holds more than the load")
    small = line.body[0]
    alone = isinstance(small, cst.Assign) and small.value is access.node
    if not alone and not _computes_with(small, access.node):
        return Reason(COPY_STAYS, "its statement computes more than the load")
    form = access.address
    assert isinstance(form, Form)
    if form.layout is None or any(size is None for size in form.sizes):
        return Reason(COPY_STAYS, "the shape and the layout of its tile are not spelled in this kernel")
    runs = runs_of(access)
    if runs is None:
        return Reason(
            COPY_STAYS, "nothing in the launch shows that a thread has 4 bytes in one piece, the least cp.async copies"
        )
    given = _arguments(access)
    if access.fill not in ZEROS and not _is_number(access.other):
        return Reason(COPY_STAYS, f"what it fills in, {access.fill}, is no constant")
    operand = operand_of(access.target, body, kernel.node) if alone else Operand()
    widened = widened_of(access.target, body, kernel.node) if alone and form.rank == 2 else None
    if access.fill not in ZEROS or access.target in _names_outside(kernel, loop):
        operand, widened = Operand(), None
    hints = {name: given[name] for name in HINTS if name in given}
    if unknown := sorted(given.keys() - {"pointer", "mask", "other", "volatile", *HINTS}):
        return Reason(COPY_STAYS, f"it has the argument {unknown[0]}=, which a copy does not take")
    return Copy(access, place, given["pointer"], given.get("mask"), operand, runs, hints, widened)


def _computes_with(small: cst.BaseSmallStatement, load: cst.Call) -> bool:
    """Whether a statement gives one name what it computes of a load, and does nothing else: `x = load(p).to(t)`."""
    if not isinstance(small, cst.Assign) or [isinstance(one.target, cst.Name) for one in small.targets] != [True]:
        return False
    return is_pure(small.value, lambda node: node is load)


def _names_outside(kernel: Kernel, loop: Loop) -> set[str]:
    """The names in a kernel outside of a loop: a tile that goes by one of them has the type that it has there.

    What a loop beside this one assigns first is gone behind it.
    """
    around = {id(parent.node) for parent in loop.parents}
    loops = (node for node in walk(kernel.node) if isinstance(node, (cst.For, cst.While)) and id(node) not in around)
    inside = {id(node) for other in loops for node in walk(other.body)} | {id(node) for node in walk(loop.node)}
    return {node.value for node in walk(kernel.node) if isinstance(node, cst.Name) and id(node) not in inside}


def _arguments(access: Access) -> dict[str, cst.BaseExpression]:
    names = ("pointer", "mask", "other")
    found = {}
    for place, argument in enumerate(access.node.args):
        found[argument.keyword.value if argument.keyword is not None else names[place]] = argument.value
    return found


def _is_number(node: cst.BaseExpression | None) -> bool:
    if isinstance(node, cst.UnaryOperation):
        return _is_number(node.expression)
    if isinstance(node, cst.Call):
        return isinstance(node.func, cst.Name) and node.func.value == "float"
    return isinstance(node, (cst.Integer, cst.Float))


def _loop_problem(kernel: Kernel, loop: Loop, copies: Sequence[Copy], accesses: Sequence[Access]) -> str | None:
    if not loop.target:
        return "its loop has no index"
    if loop.stop is None:
        return "its loop has no upper bound"
    if loop.step is not None and not _is_positive(loop.step, kernel, copies):
        return f"the step {cst.Module([]).code_for_node(loop.step)} of its loop may be negative"
    if any(called(node) in ("commit_group", "wait_group") for node in walk(loop.node)):
        return "its loop waits for copies of its own"
    bases = {copy.access.base for copy in copies}
    for other in accesses:
        if other.kind != "load" and loop in other.loops and (other.base is None or other.base in bases):
            return f"its loop writes to {other.base or 'memory that may be the same'}"
    return None


def _is_positive(step: cst.BaseExpression, kernel: Kernel, copies: Sequence[Copy]) -> bool:
    """A positive number, or the size of a tile."""
    if isinstance(step, cst.Integer):
        return int(step.value, 0) > 0
    text = cst.Module([]).code_for_node(step)
    return any(text == size for copy in copies for size in copy.shape)


def _split(kernel: Kernel, loop: Loop, body: Sequence[cst.BaseStatement], copies: Sequence[Copy]) -> Split:
    loads = {copy.place: [copy.pointer, *([copy.mask] if copy.mask is not None else [])] for copy in copies}
    kept = [around(body[copy.place], copy.access.node) for copy in copies]
    for copy in copies:
        # Elements that are not there have their value put in again.
        kept += [part for part in (copy.mask, copy.access.other) if copy.refill and part is not None]
    found = split(body, loads, kept, live_behind(kernel.node, loop.node), loop.target)
    for place in found.ahead:
        for part in loads.get(place, [body[place]]):
            function = acting(kernel.module, part)
            if function is not None:
                raise NotSplit(f"where it is copied from depends on {function}, which does more than compute a number")
    return found


def _written_by_function(kernel: Kernel, loop: Loop, copies: Sequence[Copy]) -> str | None:
    """That a loop gives a tensor that it copies to a function that writes memory."""
    bases = {copy.access.base for copy in copies}
    names = partial(pointing, module=kernel.module)
    for call in walk(loop.node):
        path = dotted(call.func) if isinstance(call, cst.Call) else None
        called_ = (
            [one.kernel for one in kernel.module.lookup(path) if one.kernel is not None] if path is not None else []
        )
        if not isinstance(call, cst.Call) or not any(effects_in(one.module, one.node.body) & WRITES for one in called_):
            continue
        given = {name for one in call.args for name in reached(one.value, kernel.node, names)}
        for base in sorted(given & {base for base in bases if base is not None}):
            return f"its loop gives {base} to {path}, which writes memory"
    return None


__all__ = ["Copy", "KernelPlan", "LoopPlan", "plan_kernel"]
