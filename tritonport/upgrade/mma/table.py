"""The dots of a file's loops as a table: what the stage does with each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import libcst as cst

from tritonport.convert import ConvertOptions, convert_text
from tritonport.report import Diagnostic
from tritonport.source.module import SourceModule
from tritonport.source.project import shared_project
from tritonport.upgrade.edit import code
from tritonport.upgrade.mma.deferred import Deferred
from tritonport.upgrade.mma.plan import KeptUnderWay
from tritonport.upgrade.mma.stage import STAYS, Found, Places, dots_in, message
from tritonport.upgrade.table import aligned

HEADINGS = ("line", "dot", "operands", "verdict")


@dataclass(frozen=True)
class DotTable:
    """The dots of one kernel: per row the cells under `HEADINGS`, and what is said of those that stay."""

    kernel: str
    line: int
    rows: tuple[tuple[str, ...], ...]
    found: tuple[Diagnostic, ...]


def dot_tables(text: str, path: str, options: ConvertOptions) -> list[DotTable]:
    """The dots of each kernel of a Triton or Gluon file that has any in a loop.

    Raises:
        InputError: the text is not Python (TP001).
    """
    module = SourceModule(convert_text(text, path=path, options=options).text, path, shared_project())
    places = Places(module, text)
    by_kernel: dict[str, list[Found]] = {}
    for one in dots_in(module, options):
        by_kernel.setdefault(one.kernel.qualified, []).append(one)
    return [_table(kernel, members, places, path) for kernel, members in by_kernel.items()]


def _table(kernel: str, members: Sequence[Found], places: Places, path: str) -> DotTable:
    rows: list[tuple[str, ...]] = []
    said: list[Diagnostic] = []
    for one in members:
        for call in one.dots:
            line, column = places.of(one, call)
            rows.append((str(line), *_shown(places.written(one, call)), _verdict(one, call)))
            if one.plan is None:
                said.append(Diagnostic(STAYS, message(call, one, places), path, line, column, one.kernel.name))
    return DotTable(kernel, places.line_of(members[0]), tuple(rows), tuple(said))


def _shown(call: cst.Call) -> tuple[str, str]:
    """A dot and its operands."""
    return code(call.func), ", ".join(code(argument.value) for argument in call.args[:2])


def _verdict(found: Found, call: cst.Call) -> str:
    plan = found.plan
    if plan is None:
        return STAYS
    if isinstance(plan, Deferred) and all(call.args[0].value is not dot.left for dot in plan.dots):
        return "is awaited where it stands"
    if isinstance(plan, KeptUnderWay):
        return "stays under way"
    read = [code(one.value) for one in call.args[:2]]
    if read == [code(plan.last.left), code(plan.last.right)]:
        return "runs under the next iteration"
    first = read == [code(plan.first.left), code(plan.first.right)]
    return "begins together with the last dot" if first else "-"


def render_dots(tables: Sequence[DotTable], path: str) -> str:
    """The tables as aligned text, a blank line between kernels."""
    blocks = (aligned(f"{path}:{table.line}: {table.kernel}", [HEADINGS, *table.rows]) for table in tables)
    return "\n".join(blocks)


__all__ = ["DotTable", "dot_tables", "render_dots"]
