"""Which tiles of a kernel go through tensor descriptors; what is left, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import libcst as cst

from tritonport.analysis.access import Access, accesses_of
from tritonport.source.kernel import Kernel
from tritonport.source.module import SourceModule
from tritonport.upgrade.decided import denied
from tritonport.upgrade.facts import on_every_way
from tritonport.upgrade.legality import NO_DESCRIPTOR, Reason, Refused, considered
from tritonport.upgrade.tma.assume import Assumed, choices, chooses, of_one_type, specialised, without_loads
from tritonport.upgrade.tma.opened import opened
from tritonport.upgrade.tma.parted import both_planned, parted, two_forms
from tritonport.upgrade.tma.planner import Planner
from tritonport.upgrade.tma.returns import Way
from tritonport.upgrade.tma.switches import Switch
from tritonport.upgrade.tma.terms import HostNames, Spelled, meanings
from tritonport.upgrade.tma.tiles import KernelPlan, Tile

_TWO_FORMS = (
    "differs between the branches",
    " after an if",
    "memory that may be the same",
    "is no bound of a coordinate",
)


def plan_kernel(module: SourceModule, kernel: Kernel, triton: str) -> KernelPlan:
    """The tiles of a Gluon kernel that descriptors can move.

    Where addresses are read from memory in one branch of an `if` on what the launch knows, and not in the other
    (sequences of any lengths, or of one), the copies are for launches that take the other. Where the two branches give
    an address two forms, or load tiles of their own, they are for launches that take the one that leaves fewer loads.
    Where a function of the file hides what a tile is, its body takes the place of its calls. An access whose address
    has two forms behind an `if` stands in both branches of another one on the same test.
    """
    plan = _with_parted(module, _decided(module, kernel, triton), triton)
    form, ways, functions = opened(kernel)
    closed = _closing(form, ways, triton)
    if form is not kernel and closed is not None:
        other = _with_parted(module, _decided(module, form, triton, closed), triton)
        other = replace(other, kernel=kernel, opened=functions)
        more = (len(other.loads), len(other.stores)) > (len(plan.loads), len(plan.stores))
        plan = other if more and _decides(other, ways) else replace(plan, inside=other.refused)
    return plan


def _with_parted(module: SourceModule, plan: KernelPlan, triton: str) -> KernelPlan:
    """A plan with copies in which accesses of two forms are copied too, where both forms of one can be; else with the
    reason for which they cannot."""
    tests = two_forms(plan.form) if plan.loads else {}
    why: dict[int, Reason] = {}
    while tests:
        form, made = parted(plan.form, tests)
        other = _planned(module, form, triton, ())
        kept = both_planned(made, {id(tile.access.node) for tile in (*other.loads, *other.stores)})
        if kept == tests.keys():
            if len(other.loads) < len(plan.loads) or len(other.stores) < len(plan.stores):
                return plan
            return _because(replace(other, kernel=plan.kernel, assumed=plan.assumed, only=plan.only), why)
        for key in tests.keys() - kept:
            calls = {id(call) for call in made.get(key, ())}
            why.update((key, one.reason) for one in other.refused if id(one.access.node) in calls)
        tests = {key: test for key, test in tests.items() if key in kept}
    return _because(plan, why)


def _because(plan: KernelPlan, why: Mapping[int, Reason]) -> KernelPlan:
    """A plan with other reasons for accesses that stay, by the identity of their calls."""
    refused = [replace(one, reason=why.get(id(one.access.node), one.reason)) for one in plan.refused]
    return replace(plan, refused=tuple(refused))


def _closing(kernel: Kernel, ways: Sequence[Way], triton: str) -> tuple[Assumed, ...] | None:
    """What has to be assumed for a launch to take none of some ways; None where it cannot be asked that."""
    host = HostNames(kernel, triton, set())
    found: dict[str, Assumed] = {}
    for way in ways:
        for test, branch in reversed(way):
            if test in found and found[test].taken != branch:
                break
            try:
                found.setdefault(test, Assumed(test, host.source(test), 1 - branch))
            except Spelled:
                continue
            break
        else:
            return None
    return tuple(found.values())


def _decides(plan: KernelPlan, ways: Sequence[Way]) -> bool:
    """Whether what is assumed leaves none of some ways open."""
    taken = {one.test: one.taken for one in plan.assumed}
    return all(any(taken.get(test, branch) != branch for test, branch in way) for way in ways)


def _decided(module: SourceModule, kernel: Kernel, triton: str, known: tuple[Assumed, ...] = ()) -> KernelPlan:
    base = (*known, *of_one_type(kernel, _operands(module, kernel)))
    two_forms = False
    plan = _planned(module, kernel, triton, base)
    if plan.refused:
        decided = {one.test for one in base}
        found = without_loads(kernel, _operands(module, kernel), triton)
        more = tuple(one for one in found if one.test not in decided)
        base = (*base, *more)
        without = _planned(module, kernel, triton, base) if more else plan
        # What reads its addresses from memory copies nothing: any copy is a gain, be it of some launches alone.
        better = without if (without.loads or without.only) and not plan.loads else _better(plan, without)
        plan = _reasoned(better, without, more)
        # What reads nothing from memory may have two forms still.
        two_forms = _says(_left(without), *_TWO_FORMS)
    behind = _as_if_behind(plan)
    chosen = any(chooses(one.access) for one in _left(plan))
    if behind or two_forms or chosen or _says(_left(plan), *_TWO_FORMS):
        asked = [*_operands(module, kernel), *behind, *_unknown_stores(module, kernel)]
        for ways in choices(kernel, asked, triton):
            decided = {one.test for one in base}
            tried = [_planned(module, kernel, triton, (*base, one)) for one in ways if one.test not in decided]
            for other in tried:
                plan = _better(plan, other)
            base = plan.assumed or base
    # Where there are copies under an `if` alone, the form with the copies is for the launches that come to it.
    for one in plan.only:
        taken = _planned(module, kernel, triton, (*plan.assumed, Assumed(one.test, one.on_host, one.taken)))
        if len(taken.loads) > len(plan.loads):
            plan = taken
    return plan


def _better(plan: KernelPlan, other: KernelPlan) -> KernelPlan:
    """The other plan where it leaves fewer loads, or as many and copies more, and keeps the copies; a branch with
    copies of its own is no gain."""
    kept = {tile.access.target for tile in plan.loads} <= {tile.access.target for tile in other.loads}
    loads = [*(tile.access for tile in plan.loads), *(one.access for one in plan.refused)]
    in_all = {access.target for access in loads if not access.branch}
    found, before = (
        (len(_left(one)), -sum(tile.access.target in in_all for tile in one.loads)) for one in (other, plan)
    )
    return other if kept and found < before else plan


def _reasoned(plan: KernelPlan, without: KernelPlan, decided: Sequence[Assumed]) -> KernelPlan:
    """A plan with the reasons that are left where the branches are decided that read from memory, if that gains it
    nothing: they are those that matter."""
    if plan is without or len(plan.loads) != len(without.loads) or len(plan.refused) != len(without.refused):
        return plan
    where = ", ".join(f"`{denied(one.test) if one.taken else one.test}`" for one in decided)
    refused = [
        replace(one, reason=replace(one.reason, text=f"{one.reason.text}, where {where}")) for one in without.refused
    ]
    return replace(plan, refused=tuple(refused))


def _left(plan: KernelPlan) -> list[Refused]:
    """The loads that stay; those that branches before and behind the loops have weigh nothing."""
    loads = [one for one in plan.refused if one.access.kind == "load"]
    return [one for one in loads if one.access.loops or not one.access.branch]


def _says(refused: Sequence[Refused], *words: str) -> bool:
    return any(word in one.reason.text for one in refused for word in words)


def _operands(module: SourceModule, kernel: Kernel) -> list[Access]:
    return [one for one in accesses_of(module, kernel) if one.kind == "load" and considered("tma", one)]


def _as_if_behind(plan: KernelPlan) -> list[Access]:
    """The loads that branches have, as if they stood behind them and read what the branches assign."""
    found = [one.access for one in _left(plan) if one.access.branch and one.access.target]
    return [replace(one, node=one.node.with_changes(args=[cst.Arg(cst.Name(one.target))])) for one in found]


def _unknown_stores(module: SourceModule, kernel: Kernel) -> list[Access]:
    """The stores that may go to any argument: their addresses have no form."""
    return [one for one in accesses_of(module, kernel) if one.kind == "store" and one.base is None]


def _planned(module: SourceModule, kernel: Kernel, triton: str, assumed: tuple[Assumed, ...]) -> KernelPlan:
    whole, kernel = kernel, specialised(kernel, assumed)
    accesses = accesses_of(module, kernel)
    planner = Planner(kernel, accesses, _host(kernel, accesses, triton))
    loads: list[Tile] = []
    refused: list[Refused] = []
    operands = [access for access in accesses if access.kind == "load" and considered("tma", access)]
    merged: set[int] = set()
    for access in operands:
        if id(access) in merged:
            continue
        lying = planner.lying(access, operands)
        if lying is not None:
            loads.append(lying[0])
            merged.add(id(lying[1]))
            continue
        other = planner.in_other_branch(access, operands)
        found = planner.tile(access) if other is None else planner.chosen(access, other)
        if other is not None and not isinstance(found, Tile) and planner.switches.get(id(access.node)):
            other, found = None, planner.tile(access)
        merged |= {id(other)}
        if isinstance(found, Tile):
            loads.append(found)
        else:
            refused += [Refused(access, reason) for reason in found]
    only: tuple[Switch, ...] = ()
    if not on_every_way([tuple((one.test, one.taken) for one in tile.switches) for tile in loads]):
        only = tuple(dict.fromkeys(one for tile in loads for one in tile.switches))
        # Without a descriptor that every launch needs nothing says which form it takes.
        refused += [Refused(tile.access, Reason(NO_DESCRIPTOR, planner.under(tile.access))) for tile in loads]
        loads = []
    stores, stay = planner.stores() if loads else ([], [])
    refused += stay
    meets = planner.beside(loads)
    return KernelPlan(whole, tuple(loads), tuple(stores), tuple(refused), assumed, kernel, only, apart=meets)


def _host(kernel: Kernel, accesses: Sequence[Access], triton: str) -> HostNames:
    pointers = {access.base for access in accesses if access.base is not None}
    return HostNames(kernel, triton, pointers, meanings(kernel, accesses))


__all__ = ["KernelPlan", "Tile", "plan_kernel"]
