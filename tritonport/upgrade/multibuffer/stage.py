"""Stage `multibuffer` on a file: what it writes, and what it says of the copies that stay."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import libcst as cst

from tritonport.convert.long_lines import break_long_lines
from tritonport.source.kernel import Kernel
from tritonport.source.module import SourceModule
from tritonport.source.parse import printed
from tritonport.source.walk import replaced
from tritonport.upgrade.file_edit import alias, renamed_functions, with_functions, with_header
from tritonport.upgrade.multibuffer.behind import with_copies_behind_loops
from tritonport.upgrade.multibuffer.callers import launched_through
from tritonport.upgrade.multibuffer.copies import Copies
from tritonport.upgrade.multibuffer.depth import HELPER, Depth, Spelling, depth_name, with_depths
from tritonport.upgrade.multibuffer.loads import with_loads_ahead
from tritonport.upgrade.multibuffer.operations import versions
from tritonport.upgrade.multibuffer.plan import STAYS, Plan, plan_function
from tritonport.upgrade.multibuffer.stores import STARTED, stored_descriptors, with_stores_under_way
from tritonport.upgrade.multibuffer.write import written

TARGETS = ("sm_90", "sm_100", "sm_103")
STAGE = "multibuffer"


@dataclass(frozen=True)
class Finding:
    """A copy that stays as it is.

    Attributes:
        kernel: the qualified name of the function that it stands in.
        tile, descriptor: as source text.
        line, column: of the copy in the text that was given, from 1.
    """

    code: str
    kernel: str
    tile: str
    descriptor: str
    text: str
    line: int
    column: int

    @property
    def message(self) -> str:
        """One line: the copy, and the condition that failed."""
        return f"the copy of {self.tile} (from {self.descriptor}) stays as it is: {self.text}"


@dataclass(frozen=True)
class Copied:
    """A copy of a tile in a loop, for the table of `check --stage`: with the reason why it stays, if it does."""

    kernel: Kernel
    tile: str
    descriptor: str
    coordinates: str
    barrier: str
    finding: Finding | None
    line: int
    column: int


def multibuffered(
    module: SourceModule, *, target: str, triton: str, kernels: Collection[str] | None = None
) -> tuple[str, list[Finding]]:
    """The text of a Gluon file with rings for the tiles that its loops copy one at a time, and what stays.

    Args:
        target, triton: architecture and version to write for.
        kernels: the names of the functions to change; None for all.

    What has no tile of this form gives the text as it is, and no finding.
    """
    plans, findings = _plans(module, target, kernels)
    depths = _depths(module, plans)
    if not depths:
        return module.text, findings
    renamed = renamed_functions(module, {HELPER, STARTED}, target, triton)
    gl = alias(module, "triton.experimental.gluon.language", "gl")
    spelling = Spelling(gl, alias(module, "triton", "triton"), renamed.get(HELPER, HELPER), target)
    name = depth_name(module, depths)
    tree = with_depths(module, depths, name, spelling)
    changed = SourceModule(printed(tree), module.path, module.project)
    for depth in depths:
        changed = _with_rings(changed, depth.kernel.qualified, name, gl, len(depth.rings))
    functions = {depth.kernel.qualified for depth in depths}
    changed = with_copies_behind_loops(changed, functions)
    changed = with_loads_ahead(changed, functions, gl)
    tma = alias(module, "triton.experimental.gluon.language.nvidia.hopper.tma", "tma")
    started = with_stores_under_way(changed, functions, renamed.get(STARTED, STARTED), gl, tma)
    used = {HELPER} if started is changed else {HELPER, STARTED}
    changed = started
    place = min(_top_level(changed, depth.way) for depth in depths)
    imports = [] if any("triton" in one for one in module.bindings.imported.values()) else ["import triton"]
    body = with_functions(changed, list(changed.tree.body), used, place, target, triton, imports, renamed)
    text = printed(changed.tree.with_changes(body=body))
    text = break_long_lines(text, module.text, str(module.tree.default_indent))
    return with_header(text, STAGE, target, *versions(module)), findings


def copies_of(module: SourceModule, target: str, kernels: Collection[str] | None = None) -> list[Copied]:
    """The copies of tiles in the loops of a file, each with the reason if it stays one at a time."""
    plans, findings = _plans(module, target, kernels)
    left = {(one.kernel, one.line, one.column): one for one in findings}
    found: list[Copied] = []
    for plan in plans:
        calls = [step.call for ring in plan.rings for loop in ring.loops for one in loop.barriers for step in one.loads]
        for call in [*calls, *(refused.call for refused in plan.refused)]:
            step = Copies(module).read(call)
            line, column = module.position(call)
            finding = left.get((plan.kernel.qualified, line, column))
            tile, descriptor, coordinates, barrier = (
                _given(step.given, key) for key in ("result", "tensor_desc", "coord", "barrier")
            )
            found.append(Copied(plan.kernel, tile, descriptor, coordinates, barrier, finding, line, column))
    return sorted(dict.fromkeys(found), key=lambda one: (one.line, one.column))


def _plans(module: SourceModule, target: str, kernels: Collection[str] | None) -> tuple[list[Plan], list[Finding]]:
    copies = Copies(module)
    plans: list[Plan] = []
    findings: list[Finding] = []
    for kernel in module.kernels:
        if kernel.language != "gluon" or kernel.name in copies.helpers:
            continue
        if kernels is not None and not any(_belongs(kernel.name, name) for name in kernels):
            continue
        plan = plan_function(module, kernel, copies)
        problem = _kernel_problem(module, kernel, target) if plan.rings else None
        if problem is not None:
            plan = plan.all_refused(problem)
        plans.append(plan)
        for refused in plan.refused:
            step = copies.read(refused.call)
            line, column = module.position(refused.call)
            tile, descriptor = (_given(step.given, key) for key in ("result", "tensor_desc"))
            findings.append(Finding(STAYS, kernel.qualified, tile, descriptor, refused.text, line, column))
    return plans, findings


def _belongs(function: str, kernel: str) -> bool:
    """Whether a function is a kernel, or one of those that the stage before made of it."""
    return function == kernel or function == f"{kernel}_tiles"


def _kernel_problem(module: SourceModule, kernel: Kernel, target: str) -> str | None:
    if target not in TARGETS:
        return f"{target} has no copies of tiles that barriers await"
    way = launched_through(module, kernel)
    return f"no launch can say how deep its ring is: {way}" if isinstance(way, str) else None


def _depths(module: SourceModule, plans: Sequence[Plan]) -> list[Depth]:
    found = []
    for plan in plans:
        if not plan.rings:
            continue
        way = launched_through(module, plan.kernel)
        assert not isinstance(way, str)
        loops = [loop.loop.node for ring in plan.rings for loop in ring.loops]
        once = [*Copies(module).descriptors(plan.kernel), *stored_descriptors(loops, module)]
        found.append(Depth(plan.kernel, plan.rings, way, once))
    return found


def _with_rings(module: SourceModule, qualified: str, name: str, gl: str, count: int) -> SourceModule:
    """The file with the rings of one function written, one after the other: each changes where the others stand."""
    functions = {*module.bindings.functions, *module.bindings.imported}
    for _ in range(count):
        kernel = next(one for one in module.kernels if one.qualified == qualified)
        ring = plan_function(module, kernel, Copies(module)).rings[0]
        node = written(ring, module, gl, name, functions)
        tree: cst.Module = replaced(module.tree, {kernel.node: node})
        module = SourceModule(printed(tree), module.path, module.project)
    return module


def _top_level(module: SourceModule, way: Sequence[Kernel]) -> int:
    """The index of the first statement of a file that holds a function on the way."""
    names = {kernel.qualified.split(".")[0] for kernel in way}
    return next(
        index
        for index, statement in enumerate(module.tree.body)
        if isinstance(statement, (cst.FunctionDef, cst.ClassDef)) and statement.name.value in names
    )


def _given(given: dict[str, cst.Arg], key: str) -> str:
    return cst.Module([]).code_for_node(given[key].value).strip() if key in given else "?"


__all__ = ["STAGE", "Copied", "Finding", "copies_of", "multibuffered"]
