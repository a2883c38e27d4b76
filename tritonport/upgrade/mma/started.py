"""Writing a loop whose sums stay under way where they stand."""

from __future__ import annotations

from collections.abc import Mapping

import libcst as cst

from tritonport.convert.names import Names
from tritonport.source.walk import replaced
from tritonport.upgrade.edit import code, parsed
from tritonport.upgrade.mma.deferred import Deferred, fills
from tritonport.upgrade.mma.kept import Written, around_loop, started
from tritonport.upgrade.mma.refills import RefillWriter, shorter_wait
from tritonport.upgrade.mma.spelling import Dot, awaited_text, started_call


def write_deferred(plan: Deferred, helpers: Mapping[str, str], gl: str, names: Names, module: cst.Module) -> Written:
    """What stands in the place of the loop, and of the loops before it that fill its rings."""
    loop, delay = plan.loop, plan.delay
    refills = RefillWriter(delay, names, module) if delay is not None else None
    dots = {dot.place: dot for dot in plan.dots}
    body: list[cst.BaseStatement] = []
    pending: Dot | None = None
    for place, statement in enumerate(loop.body):
        written = refills.lines(place) if refills is not None else None
        if pending is not None and _must_be_done(plan, pending, place):
            body.append(_done(pending, helpers, module))
            pending = None
        if place in dots:
            pending = dots[place]
            body += started(pending, statement, helpers, module, _said(plan, pending))
        elif plan.first is not None and place == plan.first.place:
            body += _first(plan, plan.first, helpers, module)
        elif place in plan.waits:
            assert delay is not None
            body.append(shorter_wait(statement, delay.depth))
        elif place not in plan.early:
            body += [statement] if written is None else written
    return around_loop(plan, body, refills, helpers, gl, module)


def _must_be_done(plan: Deferred, pending: Dot, place: int) -> bool:
    """Whether a statement may not run beside a sum's dot: it fills the dot's tiles again, or starts the next sum before
    that is done, which may be a dot of other instructions and say nothing of those before it.
    """
    tiles = plan.read_by(pending) - plan.delayed
    starts = any(dot.place == place for dot in plan.dots)
    last = len(plan.loop.body) if starts else place + 1
    return any(fills(plan.loop, one, tiles) for one in range(place, last))


def _done(dot: Dot, helpers: Mapping[str, str], module: cst.Module) -> cst.BaseStatement:
    said = "# It has read its tiles, before others are copied over them."
    return parsed(f"{said}\n{dot.target} = {awaited_text(dot, 0, helpers)}", module)


def _said(plan: Deferred, dot: Dot) -> str:
    """The comment on the wait behind a sum's dot."""
    if dot is not plan.dots[-1]:
        return "# This one stays under way.\n"
    freed = ", and their places in the ring free" if plan.delay is not None else ""
    return f"# This one runs under the next iteration; those before it are done{freed}.\n"


def _first(plan: Deferred, dot: Dot, helpers: Mapping[str, str], module: cst.Module) -> list[cst.BaseStatement]:
    """The first dot, the loads that run under it, and the statement that needs its result."""
    statement = plan.loop.body[dot.place]
    assert isinstance(statement, cst.SimpleStatementLine)
    begun = parsed(f"{dot.target} = {code(started_call(dot, helpers))}", module)
    result = cst.parse_expression(awaited_text(dot, 0, helpers))
    awaited: cst.BaseStatement = replaced(statement, {dot.call: result})
    said = cst.EmptyLine(comment=cst.Comment("# What these bring is read behind the dot, and comes while it runs."))
    early = [plan.loop.body[place] for place in plan.early]
    above = early[0].with_changes(leading_lines=[said, *_comments(early[0])])
    return [
        begun.with_changes(leading_lines=statement.leading_lines),
        above,
        *early[1:],
        awaited.with_changes(leading_lines=[]),
    ]


def _comments(statement: cst.BaseStatement) -> list[cst.EmptyLine]:
    return [line for line in getattr(statement, "leading_lines", ()) if line.comment is not None]


__all__ = ["write_deferred"]
