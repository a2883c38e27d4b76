"""Dots that add up in tensor memory (Blackwell): which of them can stay under way.

What they read and which places of a ring are free then is as for Hopper's instructions. What is different: the end of
a dot is told by an mbarrier, and a sum stands in tensor memory from before its loop to behind it.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import libcst as cst

from tritonport.source.walk import walk
from tritonport.upgrade.edit import code
from tritonport.upgrade.mma.plan import KeptUnderWay, Rotated, plan_loop
from tritonport.upgrade.mma.rings import LoopText, Refusal
from tritonport.upgrade.mma.spelling import Dot, names_assigned, simple_assignment
from tritonport.upgrade.slices import names_of


@dataclass(frozen=True)
class Sum:
    """A variable that stands in tensor memory while a loop adds dots to it.

    Attributes:
        made: the statement that puts it there, `acc_tmem = tmem_alloc(acc)`.
        zeros: whether it begins with zeros: then its first dot need not add, and nothing has to be stored before.
        read: the one statement behind the loop that reads it then, `acc = tmem_load(acc_tmem, layout)`.
    """

    name: str
    made: cst.BaseStatement
    zeros: bool
    read: cst.BaseStatement | None


@dataclass(frozen=True)
class KeptInMemory(KeptUnderWay):
    """A loop that only adds up, in tensor memory."""

    sums: tuple[Sum, ...]

    def sum_of(self, dot: Dot) -> Sum:
        """What a dot adds to."""
        return next(one for one in self.sums if one.name == dot.target)


@dataclass(frozen=True)
class RotatedInMemory(Rotated):
    """A loop whose last dot of an iteration adds up in tensor memory under the next iteration."""


MemoryPlan = KeptInMemory | RotatedInMemory


def plan_in_memory(loop: LoopText) -> MemoryPlan:
    """What the stage does with a loop whose dots add up in tensor memory.

    Raises:
        Refusal: its dots stay synchronous.
    """
    plan = plan_loop(loop)
    if any(ring.ready is None for ring in (plan.delay.rings if plan.delay is not None else ())):
        raise Refusal("its tiles are copied by cp.async, for which there is no form in tensor memory")
    return _kept(plan) if isinstance(plan, KeptUnderWay) else _rotated(plan)


def _rotated(plan: Rotated) -> RotatedInMemory:
    if plan.loop.reader.emitted(plan.first.call) != "dot_new" or plan.last.starter != "dot_started":
        raise Refusal("it is no chain of dots of the port, of which the last one adds up in tensor memory")
    _sum(plan.loop, plan.last.target)
    beside = [
        made[0]
        for node in walk(plan.loop.function)
        if isinstance(node, cst.SimpleStatementLine) and (made := simple_assignment(node)) is not None
        if made[0] != plan.last.target and plan.loop.reader.emitted(made[1]) == "tmem_alloc"
    ]
    if beside:
        raise Refusal(f"{beside[0]} stands in tensor memory beside it, and nothing says what room is left there")
    return RotatedInMemory(**{one.name: getattr(plan, one.name) for one in fields(plan)})


def _kept(plan: KeptUnderWay) -> KeptInMemory:
    loop = plan.loop
    if plan.delay is None:
        raise Refusal("none of its operands is a tile of a ring")
    if any(dot.starter != "dot_started" for dot in plan.dots):
        raise Refusal("it is no dot of the port that adds up in tensor memory")
    sums = tuple(_sum(loop, name) for name in dict.fromkeys(dot.target for dot in plan.dots))
    return KeptInMemory(plan.loop, plan.dots, plan.delay, plan.waits, sums)


def _sum(loop: LoopText, name: str) -> Sum:
    """How a variable gets into tensor memory before a loop, and out of it behind.

    Raises:
        Refusal: it stands in registers.
    """
    before, behind = loop.block[: loop.place], loop.block[loop.place + 1 :]
    made = [line for line in before if name in names_assigned(line)]
    assigned = simple_assignment(made[-1]) if made else None
    if assigned is None or loop.reader.emitted(assigned[1]) != "tmem_alloc":
        raise Refusal(f"its sum {name} does not come into tensor memory in the block of the loop")
    read = _only_read(loop, name, behind)
    between = before[before.index(made[-1]) + 1 :]
    alone = len(made) == 1 and not any(name in names_of(line) for line in between)
    zeros = alone and read is not None and _begins_with_zeros(loop, assigned[1], before[: before.index(made[-1])])
    return Sum(name, made[-1], zeros, read if zeros else None)


def _only_read(loop: LoopText, name: str, behind: tuple[cst.BaseStatement, ...]) -> cst.BaseStatement | None:
    """The statement behind the loop that alone reads a sum, all of it; None where there is another use."""
    here = {id(node) for line in loop.block for node in walk(line)}
    if any(isinstance(node, cst.Name) and node.value == name and id(node) not in here for node in walk(loop.function)):
        return None
    readers = [line for line in behind if name in names_of(line)]
    made = simple_assignment(readers[0]) if len(readers) == 1 else None
    if made is None or loop.reader.emitted(made[1]) != "tmem_load":
        return None
    assert isinstance(made[1], cst.Call)
    return readers[0] if code(made[1].args[0].value) == name else None


def _begins_with_zeros(loop: LoopText, value: cst.BaseExpression, before: tuple[cst.BaseStatement, ...]) -> bool:
    """Whether what `tmem_alloc` gets is zeros: made by the last statement that assigns it."""
    assert isinstance(value, cst.Call)
    source = value.args[0].value
    if isinstance(source, cst.Name):
        lines = [line for line in before if source.value in names_assigned(line)]
        made = simple_assignment(lines[-1]) if lines else None
        return made is not None and _is_zeros(loop, made[1])
    return _is_zeros(loop, source)


def _is_zeros(loop: LoopText, node: cst.BaseExpression) -> bool:
    if loop.reader.is_gl(node, "zeros"):
        return True
    if not loop.reader.is_gl(node, "full"):
        return False
    assert isinstance(node, cst.Call)
    given = {one.keyword.value: one.value for one in node.args if one.keyword is not None}
    value = given.get("value", node.args[1].value if len(node.args) > 1 else None)
    return value is not None and code(value) in ("0", "0.0")


__all__ = ["KeptInMemory", "MemoryPlan", "RotatedInMemory", "Sum", "plan_in_memory"]
