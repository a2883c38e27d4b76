"""Writing a loop that only adds up: its dot is started, and the one of the iteration before awaited."""

from __future__ import annotations

from collections.abc import Mapping

import libcst as cst

from tritonport.convert.names import Names
from tritonport.upgrade.edit import parsed
from tritonport.upgrade.mma.plan import KeptUnderWay
from tritonport.upgrade.mma.refills import RefillWriter, shorter_wait
from tritonport.upgrade.mma.spelling import Dot, awaited_text, started_call

Written = dict[cst.CSTNode, list[cst.BaseStatement]]


def write_kept(plan: KeptUnderWay, helpers: Mapping[str, str], gl: str, names: Names, module: cst.Module) -> Written:
    """What stands in the place of the loop, and of the loops before it that fill its rings."""
    loop, delay = plan.loop, plan.delay
    refills = RefillWriter(delay, names, module) if delay is not None else None
    dots = {dot.place: dot for dot in plan.dots}
    body: list[cst.BaseStatement] = []
    for place, statement in enumerate(loop.body):
        written = refills.lines(place) if refills is not None else None
        if place in dots:
            body += started(dots[place], statement, helpers, module, _said(plan, dots[place]))
        elif place in plan.waits:
            assert delay is not None
            body.append(shorter_wait(statement, delay.depth))
        else:
            body += [statement] if written is None else written
    return around_loop(plan, body, refills, helpers, gl, module)


def around_loop(
    plan: KeptUnderWay,
    body: list[cst.BaseStatement],
    refills: RefillWriter | None,
    helpers: Mapping[str, str],
    gl: str,
    module: cst.Module,
) -> Written:
    """The loop with its new statements, what waits for its sums behind it, and shorter loops that fill its rings."""
    loop, delay = plan.loop, plan.delay
    block = loop.node.body
    assert isinstance(block, cst.IndentedBlock)
    around = loop.node.with_changes(body=block.with_changes(body=body))
    sums = list({dot.target: dot for dot in plan.dots}.values())
    after = [parsed(f"{dot.target} = {awaited_text(dot, 0, helpers)}", module) for dot in sums]
    before = [refills.statement(refills.first())] if refills is not None else []
    found: Written = {loop.original: [*before, around, *after]}
    if delay is not None:
        for place, prologue in enumerate(delay.prologues):
            found[prologue.node] = [prologue.shorter(module)]
            if place == 0 and not delay.depth.isdigit():
                found[prologue.node].insert(0, depth_check(delay.depth, gl, module))
    return found


def depth_check(depth: str, gl: str, module: cst.Module) -> cst.BaseStatement:
    """That the ring has a place which the dot under way does not read."""
    return parsed(f'{gl}.static_assert({depth} > 1, "the dot under way still reads one place of the ring")', module)


def _said(plan: KeptUnderWay, dot: Dot) -> str:
    """The comment on the wait behind a dot; of several the last one is left under way."""
    if dot is not plan.dots[-1]:
        return ""
    done = "that of the iteration before is" if len(plan.dots) == 1 else "those before it are"
    return f"# This one stays under way; {done} done{', and one place in the ring free' if plan.delay else ''}.\n"


def started(
    dot: Dot, statement: cst.BaseStatement, helpers: Mapping[str, str], module: cst.Module, said: str
) -> list[cst.BaseStatement]:
    """A statement that starts a dot, and the one that waits for those before it; `said`: the comment on that."""
    assert isinstance(statement, cst.SimpleStatementLine)
    small = statement.body[0]
    assert isinstance(small, cst.Assign)
    started = statement.with_changes(body=[small.with_changes(value=started_call(dot, helpers))])
    return [started, parsed(f"{said}{dot.target} = {awaited_text(dot, 1, helpers)}", module)]


__all__ = ["Written", "around_loop", "depth_check", "started", "write_kept"]
