"""Writing a kernel whose loops are pipelined: the loops, and the arguments that each launch fills in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import libcst as cst

from tritonport.convert.launch_flags import with_flags
from tritonport.convert.names import Names
from tritonport.source.walk import walk
from tritonport.upgrade.async_copy.loop import LoopWriter, Spelling
from tritonport.upgrade.async_copy.plan import Copy, KernelPlan, LoopPlan
from tritonport.upgrade.edit import spliced

DEFAULT_STAGES = 3  # CUDAOptions.num_stages


@dataclass(frozen=True)
class FileNames:
    """What the file calls Gluon, Triton and the emitted functions."""

    gluon: str
    gl: str
    triton: str
    copies: str
    helpers: Mapping[str, str]
    taken: frozenset[str] = field(default_factory=frozenset)


def pipelined(plan: KernelPlan, file: FileNames, module: cst.Module) -> cst.FunctionDef:
    """The kernel with its planned loops pipelined, as deep as the loop's own hint says, else the launch."""
    node = plan.kernel.node
    names = Names({item.value for item in walk(node) if isinstance(item, cst.Name)} | file.taken)
    body, entries = with_rings(plan, names, file, module)
    shared = file.helpers["launch_heuristics"]
    return with_flags(
        node.with_changes(body=body), plan.kernel, entries, file.gl, file.triton, merge=True, shared=shared
    )


def with_rings(
    plan: KernelPlan, names: Names, file: FileNames, module: cst.Module, depth: str = "NUM_BUFFERS"
) -> tuple[cst.BaseSuite, dict[str, str]]:
    """The body of a kernel with its planned loops pipelined, and the arguments that launches fill in: what each is.

    `depth`: the name for that of the rings.
    """
    entries: dict[str, str] = {}
    launched = ""
    swaps: dict[cst.CSTNode, list[cst.BaseStatement]] = {}
    for loop in plan.loops:
        hint = loop.loop.stages
        if hint is None:
            launched = launched or names.fresh(depth)
            buffers = launched
            entries[launched] = f'max(args.get("num_stages", {DEFAULT_STAGES}) - 1, 1)'
        else:
            buffers = names.fresh(depth)
        flags = _flags(loop, names, file, entries)
        spelling = Spelling(file.gl, file.copies, buffers, file.helpers, flags)
        swaps[loop.loop.node] = LoopWriter(loop, spelling, names, module).write()
    return spliced(plan.kernel.node.body, swaps), entries


def _flags(loop: LoopPlan, names: Names, file: FileNames, entries: dict[str, str]) -> dict[int, str]:
    """Per copied tile, by the place of its load, its flag; tiles that the same launches can copy share one."""
    flags: dict[int, str] = {}
    helper = file.helpers["copies_in_runs"]
    for copy in loop.copies:
        text = _condition(copy, helper)
        known = next((flag for flag, found in entries.items() if found == text), None)
        if known is None:
            known = names.fresh(f"{copy.access.target.upper()}_ASYNC")
            entries[known] = text
        flags[copy.place] = known
    return flags


def _condition(copy: Copy, helper: str) -> str:
    return f'{helper}(args, "{copy.runs.pointer}", {copy.runs.text()})'


__all__ = ["FileNames", "pipelined", "with_rings"]
