"""Tiles that are copied once, behind a loop: their copies begin before it, so that they arrive while it runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst

from tritonport.analysis.interpreter import assigned_names
from tritonport.source.module import Kernel, SourceModule
from tritonport.source.walk import replaced, walk
from tritonport.upgrade.edit import code
from tritonport.upgrade.multibuffer.copies import Copies, Step
from tritonport.upgrade.multibuffer.writes import conflict
from tritonport.upgrade.slices import names_of


def begun_early(module: SourceModule, kernel: Kernel) -> cst.FunctionDef:
    """The function with the copies of tiles behind its loops before the nearest loop, where nothing is in between.

    A copy moves with the shared memory and the barrier that are made for it. What it reads must be known before the
    loop, and neither the loop nor what follows it may write there.
    """
    body = kernel.node.body
    assert isinstance(body, cst.IndentedBlock)
    copies = Copies(module)
    moved: dict[int, list[int]] = {}
    for place, step in _copied(body.body, copies):
        loop = _loop_before(body.body, place, copies)
        group = _group(body.body, loop, place, step) if loop is not None else None
        if loop is not None and group is not None and _may_move(module, kernel, loop, group, step):
            moved.setdefault(loop, []).extend(group)
    if not moved:
        return kernel.node
    gone = {place for group in moved.values() for place in group}
    lines: list[cst.BaseStatement] = []
    for place, statement in enumerate(body.body):
        lines += [body.body[at] for at in sorted(moved.get(place, ()))]
        if place not in gone:
            lines.append(statement)
    return kernel.node.with_changes(body=body.with_changes(body=lines))


def with_early_copies(module: SourceModule, names: set[str]) -> SourceModule:
    """The file with the copies of these functions begun early."""
    changed: dict[cst.CSTNode, cst.CSTNode] = {}
    for kernel in module.kernels:
        if kernel.qualified in names and isinstance(kernel.node.body, cst.IndentedBlock):
            node = begun_early(module, kernel)
            if node is not kernel.node:
                changed[kernel.node] = node
    if not changed:
        return module
    tree: cst.Module = replaced(module.tree, changed)
    return SourceModule(tree.code, module.path, module.project)


def _copied(lines: Sequence[cst.BaseStatement], copies: Copies) -> Iterator[tuple[int, Step]]:
    for place, line in enumerate(lines):
        step = copies.step(place, line)
        if step is not None and step.kind in ("load", "both") and step.tile and step.barrier:
            yield place, step


def _loop_before(lines: Sequence[cst.BaseStatement], place: int, copies: Copies) -> int | None:
    """The nearest loop before a statement that waits for tiles."""
    for at in range(place - 1, -1, -1):
        line = lines[at]
        if isinstance(line, cst.For) and any(copies.kind(node) == "wait" for node in walk(line)):
            return at
    return None


def _group(lines: Sequence[cst.BaseStatement], loop: int, place: int, step: Step) -> list[int] | None:
    """The statements behind a loop that make room for a tile and copy it; None where others are needed too."""
    own = {step.tile, step.barrier}
    group = [at for at in range(loop + 1, place + 1) if names_of(lines[at]) & own or own & set(_assigned(lines[at]))]
    simple = all(isinstance(lines[at], cst.SimpleStatementLine) for at in group)
    made = {name for at in group for name in _assigned(lines[at])}
    if not simple or made != own:
        return None
    needed = set().union(*(names_of(lines[at]) for at in group)) - own
    between = [lines[at] for at in range(loop, place) if at not in group]
    return None if needed & {name for line in between for name in _assigned(line)} else group


def _may_move(module: SourceModule, kernel: Kernel, loop: int, group: Sequence[int], step: Step) -> bool:
    body = kernel.node.body
    assert isinstance(body, cst.IndentedBlock)
    descriptor = code(step.given["tensor_desc"].value)
    passed = [body.body[at] for at in range(loop, max(group)) if at not in group]
    ends = (cst.Return, cst.Break, cst.Continue)
    if any(isinstance(node, ends) for line in passed for node in walk(line)):
        return False
    return all(conflict(module, kernel, line, [descriptor]) is None for line in passed)


def _assigned(line: cst.BaseStatement) -> list[str]:
    return list(assigned_names(cst.IndentedBlock([line])))


__all__ = ["begun_early", "with_early_copies"]
