"""The stage on one file of Gluon."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial

import libcst as cst

from tritonport.convert import Conversion, ConvertOptions
from tritonport.convert.long_lines import break_long_lines
from tritonport.convert.names import Names
from tritonport.convert.snippets import available, family
from tritonport.report import Diagnostic
from tritonport.rules_data import TRITON_VERSIONS
from tritonport.source.kernel import Kernel
from tritonport.source.module import SourceModule
from tritonport.source.parse import printed
from tritonport.source.project import shared_project
from tritonport.source.walk import calls_in, walk
from tritonport.upgrade.dots import called, is_written_dot
from tritonport.upgrade.file_edit import alias, renamed_functions, stages_of, with_functions, with_header
from tritonport.upgrade.forms import is_fallback, is_form
from tritonport.upgrade.mma.deferred import Deferred, plan_or_defer
from tritonport.upgrade.mma.depth import deeper, launched_by, with_chain, with_two_places
from tritonport.upgrade.mma.kept import Written, write_kept
from tritonport.upgrade.mma.memory import KeptInMemory, RotatedInMemory, plan_in_memory
from tritonport.upgrade.mma.memory_chain import CHAIN_HELPERS, MemoryChainWriter
from tritonport.upgrade.mma.memory_kept import MEMORY_HELPERS, MemoryWriter
from tritonport.upgrade.mma.plan import KeptUnderWay, Plan, Rotated, dots_of, is_started
from tritonport.upgrade.mma.rescaled import rescaled_before
from tritonport.upgrade.mma.rings import LoopText, Refusal
from tritonport.upgrade.mma.rotate import RotatedWriter
from tritonport.upgrade.mma.spelling import FileReader, one_line
from tritonport.upgrade.mma.staging import unstaged
from tritonport.upgrade.mma.started import write_deferred

STAYS = "TP501"
HELPERS = ("dot_awaited", "dot_added_started", "dot_new_started", "dot_started")


@dataclass(frozen=True)
class Found:
    """A loop with dots, and what the stage does with it: a plan, or the reason why its dots stay synchronous."""

    kernel: Kernel
    loop: LoopText
    dots: tuple[cst.Call, ...]
    plan: Plan | None
    reason: str = ""


def upgrade_gluon(before: Conversion, text: str, *, path: str, options: ConvertOptions) -> Conversion:
    """The file that an earlier stage gave, with dots left under way where that is proved to be right.

    For sm_90 and sm_100. Other dots stay as they are, each with a diagnostic (TP501).

    Args:
        before: what came of the file so far.
        text: the file as the user has it: its lines are those of the diagnostics.
    """
    module = SourceModule(before.text, path, shared_project())
    found = [one for one in dots_in(module, options) if one.plan is not None or not _is_fallback(one)]
    places = Places(module, text)
    said = [
        Diagnostic(STAYS, message(call, one, places), path, *places.of(one, call), one.kernel.name)
        for one in found
        if one.plan is None
        for call in one.dots
    ]
    diagnostics = tuple(sorted({*before.diagnostics, *said}, key=lambda one: one.sort_key))
    planned = [one for one in found if one.plan is not None]
    if not planned:
        return Conversion(before.text, before.kernels, diagnostics, before.followed)
    text = _written(module, planned, options)
    broken = break_long_lines(text, before.text, str(module.tree.default_indent))
    return Conversion(broken, before.kernels, diagnostics, before.followed)


def loops_of(module: SourceModule, kernel: Kernel, options: ConvertOptions) -> Iterator[Found]:
    """The loops of a function that have dots of their own, but for those that start them already."""
    reader = FileReader(module, options.target, options.triton)
    for block in walk(kernel.node.body):
        if not isinstance(block, cst.IndentedBlock):
            continue
        lines = tuple(block.body)
        for place, statement in enumerate(lines):
            if not isinstance(statement, cst.For) or not isinstance(statement.body, cst.IndentedBlock):
                continue
            read = rescaled_before(unstaged(reader.synchronous(statement), reader), reader)
            loop = LoopText(kernel.node, lines, place, read, statement, reader)
            dots = tuple(dots_of(loop))
            if not dots or is_started(loop) or reader.is_gl(statement.iter, "static_range"):
                continue
            if "dot_awaited" not in available(options.target):
                yield Found(kernel, loop, dots, None, f"the stage has no form for {options.target}")
                continue
            try:
                plan = plan_in_memory(loop) if family(options.target) == "sm_100" else plan_or_defer(loop)
                if isinstance(plan, Rotated) and kernel.in_class:
                    raise Refusal("its kernel stands in a class, which has no place for a function that it calls")
                yield Found(kernel, loop, dots, plan)
            except Refusal as error:
                yield Found(kernel, loop, dots, None, str(error))


def dots_in(module: SourceModule, options: ConvertOptions) -> list[Found]:
    """The loops of a file that have dots, in the kernels that are asked for."""
    return [
        one
        for kernel in module.kernels
        if kernel.language == "gluon" and (options.kernels is None or kernel.name in options.kernels)
        for one in loops_of(module, kernel, options)
    ]


def _is_fallback(found: Found) -> bool:
    """Whether a dot belongs to the form with pointers that an entry of the stage tma calls where TMA cannot copy."""
    kernel = found.kernel
    if "tma" not in stages_of(kernel.module.text) or not is_fallback(kernel.module, kernel):
        return False
    waits = (found.loop.reader.is_hopper(node, "mbarrier.wait") for node in walk(kernel.node))
    return not any(waits)


def message(call: cst.Call, found: Found, places: Places) -> str:
    """What is said of a dot that stays as it is; the condition that fails is often one of the last dot of its loop."""
    own = call is found.dots[-1] or not found.reason.startswith(("its result ", "its accumulator "))
    like = "" if own else ", as the last dot of its loop does"
    return f"the dot `{one_line(places.written(found, call))}` stays synchronous{like}: {found.reason}"


@lru_cache(maxsize=16)
def _loops_in(body: cst.BaseSuite) -> list[cst.For | cst.While]:
    """The loops of a body, in source order."""
    return [node for node in walk(body) if isinstance(node, (cst.For, cst.While))]


@lru_cache(maxsize=16)
def _own_dots(loop: cst.For | cst.While) -> list[cst.Call]:
    """The dots in the body of a loop, those of the loops in it left out."""
    inner = {id(node) for one in _loops_in(loop.body) for node in walk(one)}
    return [one for one in calls_in(loop.body) if id(one) not in inner and is_written_dot(one)]


class Places:
    """Where the dots of a port stand in the file that the user has: a port has the loops of its original."""

    def __init__(self, module: SourceModule, text: str) -> None:
        self.module = module
        self.original = module if text == module.text else SourceModule(text, module.path, shared_project())

    def of(self, found: Found, call: cst.Call) -> tuple[int, int]:
        """Line and column of a dot, or of its loop or its kernel where that is not to be told, from 1."""
        written = self.written(found, call)
        if self.original is self.module or written is not call:
            return self.original.position(written)
        kernel = self._written(found)
        if kernel is None:
            return 1, 1
        loop = self._loop(found, kernel)
        return self.original.position(loop) if loop is not None else (self.original.line_of(kernel), 1)

    def written(self, found: Found, call: cst.Call) -> cst.Call:
        """A dot as the user has it; as the port has it where the loop has other dots there."""
        kernel = self._written(found) if self.original is not self.module else None
        loop = self._loop(found, kernel) if kernel is not None else None
        if loop is None:
            return call
        own = _own_dots(loop)
        return own[found.dots.index(call)] if len(own) == len(found.dots) else call

    def _loop(self, found: Found, kernel: Kernel) -> cst.For | cst.While | None:
        """The loop of a dot in the user's kernel; None where the two have not the same loops with dots. Those that fill
        a ring have none."""
        ported, own = (
            [loop for loop in _loops_in(one.node.body) if any(map(is_written_dot, calls_in(loop)))]
            for one in (found.kernel, kernel)
        )
        return own[ported.index(found.loop.original)] if len(ported) == len(own) else None

    def line_of(self, found: Found) -> int:
        """The line of a dot's kernel."""
        kernel = self._written(found)
        return self.original.line_of(kernel) if kernel is not None else 1

    def _written(self, found: Found) -> Kernel | None:
        """The kernel in the user's file: an earlier stage may have divided it, `kernel_tiles` of `kernel`."""
        ours = found.kernel.qualified
        named = [one for one in self.original.kernels if ours == one.qualified or ours.startswith(f"{one.qualified}_")]
        return max(named, key=lambda one: len(one.qualified), default=None)


def _written(module: SourceModule, planned: Sequence[Found], options: ConvertOptions) -> str:
    wanted = (*MEMORY_HELPERS, *CHAIN_HELPERS) if family(options.target) == "sm_100" else HELPERS
    renamed = renamed_functions(module, set(wanted), options.target, options.triton)
    helpers = {name: renamed.get(name, name) for name in wanted}
    gl = alias(module, "triton.experimental.gluon.language", "gl")
    bound = module.bindings
    changed: dict[cst.CSTNode, list[cst.BaseStatement]] = {}
    functions: dict[cst.CSTNode, list[cst.BaseStatement]] = {}
    used: set[str] = set()
    imports: list[str] = []
    taken = {*bound.imported, *bound.kernels, *bound.assigned, *bound.functions}
    of_kernel = {
        one.kernel.node: Names({node.value for node in walk(one.kernel.node) if isinstance(node, cst.Name)} | taken)
        for one in planned
    }
    for one in planned:
        # Loops of one kernel have names of their own: for functions, places in rings, barriers and counters.
        names = of_kernel[one.kernel.node]
        plan = one.plan
        if isinstance(plan, (KeptInMemory, RotatedInMemory)):
            memory: MemoryWriter | MemoryChainWriter
            if isinstance(plan, KeptInMemory):
                memory = MemoryWriter(plan, helpers, gl, names, module.tree)
            else:
                memory = MemoryChainWriter(plan, helpers, gl, names, module.tree)
            changed |= memory.write()
            if isinstance(memory, MemoryChainWriter) and memory.extracted is not None:
                functions.setdefault(one.kernel.node, []).append(memory.extracted.function)
            used |= memory.used
            imports.append("from triton.experimental.gluon.language.nvidia.blackwell import mbarrier")
            continue
        if isinstance(plan, KeptUnderWay):
            given = (helpers, gl, names, module.tree)
            changed |= write_deferred(plan, *given) if isinstance(plan, Deferred) else write_kept(plan, *given)
            dots = (plan.first, *plan.dots) if isinstance(plan, Deferred) and plan.first is not None else plan.dots
            if plan.waits:
                functions.setdefault(one.kernel.node, [])
        else:
            assert plan is not None
            writer = RotatedWriter(plan, helpers, gl, names, module.tree)
            changed |= writer.write()
            dots = (plan.first, plan.last)
            if writer.extracted is not None:
                functions.setdefault(one.kernel.node, []).append(writer.extracted.function)
        used |= {dot.starter for dot in dots if dot.starter is not None}
        used |= {"dot_awaited" for dot in dots if dot.starter is not None}
        if any(dot.starter is None and isinstance(dot.call.func, cst.Name) for dot in dots):
            imports.append("from triton.experimental.gluon.language.nvidia.hopper import warpgroup_mma_wait")
    deep = {one.kernel.node for one in planned if isinstance(one.plan, KeptUnderWay) and one.plan.waits}
    entries = _entries(module, planned, deep)
    splice = _Splice(changed, functions, deep, entries)
    kernels = {id(one.kernel.node) for one in planned} | {id(node) for node in entries}
    body: list[cst.SimpleStatementLine | cst.BaseCompoundStatement] = []
    place: int | None = None
    for statement in module.tree.body:
        if not any(id(node) in kernels for node in walk(statement)):
            body.append(statement)
            continue
        place = len(body) if place is None else place
        written = statement.visit(splice)
        assert not isinstance(written, cst.RemovalSentinel)
        body += written.nodes if isinstance(written, cst.FlattenSentinel) else [written]
    assert place is not None
    body = with_functions(module, body, used, place, options.target, options.triton, imports, renamed)
    text = printed(module.tree.with_changes(body=body))
    return with_header(text, "mma", options.target, TRITON_VERSIONS[0], TRITON_VERSIONS[-1])


def _entries(
    module: SourceModule, planned: Sequence[Found], deep: set[cst.FunctionDef]
) -> dict[cst.FunctionDef, Callable[[cst.FunctionDef], cst.FunctionDef]]:
    """What changes in kernels that call the planned ones: the depth of the rings that their launches fill in."""
    tiles = [one for one in planned if not is_form(module, one.kernel, "pointers")]
    kept = {
        one.kernel.name: one.plan.delay.depth if one.plan.delay is not None else ""
        for one in tiles
        if isinstance(one.plan, KeptUnderWay)
    }
    chained = {one.kernel.name for one in tiles} - kept.keys()
    deeper_forms = {one.kernel.name for one in planned if one.kernel.node in deep}
    entries: dict[cst.FunctionDef, Callable[[cst.FunctionDef], cst.FunctionDef]] = {}
    for kernel in module.kernels:
        if kernel.node in deep:
            continue
        edits: list[Callable[[cst.FunctionDef], cst.FunctionDef]] = []
        if any(called(node) in deeper_forms for node in walk(kernel.node.body)):
            edits.append(deeper)
        if launched_by(kernel.node, set(kept)):
            edits.append(partial(with_two_places, depths=kept))
        elif launched_by(kernel.node, chained):
            edits.append(with_chain)
        if edits:
            entries[kernel.node] = partial(_edited, edits)
    return entries


def _edited(
    edits: Sequence[Callable[[cst.FunctionDef], cst.FunctionDef]], function: cst.FunctionDef
) -> cst.FunctionDef:
    for edit in edits:
        function = edit(function)
    return function


class _Splice(cst.CSTTransformer):
    """Puts statements in the place of loops, and functions before the kernels that call them."""

    def __init__(
        self,
        changed: Written,
        functions: dict[cst.CSTNode, list[cst.BaseStatement]],
        deep: set[cst.FunctionDef],
        entries: Mapping[cst.FunctionDef, Callable[[cst.FunctionDef], cst.FunctionDef]],
    ) -> None:
        super().__init__()
        self.entries = entries
        self.changed = changed
        self.functions = functions
        self.deep = deep

    def leave_For(
        self, original_node: cst.For, updated_node: cst.For
    ) -> cst.For | cst.FlattenSentinel[cst.BaseStatement]:
        lines = self.changed.get(original_node)
        return updated_node if lines is None else cst.FlattenSentinel(lines)

    def leave_SimpleStatementLine(
        self, original_node: cst.SimpleStatementLine, updated_node: cst.SimpleStatementLine
    ) -> cst.SimpleStatementLine | cst.FlattenSentinel[cst.BaseStatement]:
        lines = self.changed.get(original_node)
        return updated_node if lines is None else cst.FlattenSentinel(lines)

    def leave_FunctionDef(
        self, original_node: cst.FunctionDef, updated_node: cst.FunctionDef
    ) -> cst.FunctionDef | cst.FlattenSentinel[cst.BaseStatement]:
        if original_node in self.deep:
            updated_node = deeper(updated_node)
        if original_node in self.entries:
            updated_node = self.entries[original_node](updated_node)
        before = self.functions.get(original_node)
        return cst.FlattenSentinel([*before, updated_node]) if before else updated_node


__all__ = ["Found", "loops_of", "upgrade_gluon"]
