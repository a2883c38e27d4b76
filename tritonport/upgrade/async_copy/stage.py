"""The stage `async-copy` on one file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import libcst as cst

from tritonport.convert import ConvertOptions
from tritonport.source.module import SourceModule
from tritonport.source.parse import printed
from tritonport.source.walk import walk
from tritonport.upgrade.async_copy.fallback import PlannedForm, pipelined_form
from tritonport.upgrade.async_copy.kernel import FileNames, pipelined
from tritonport.upgrade.async_copy.plan import KernelPlan
from tritonport.upgrade.dots import called
from tritonport.upgrade.file_edit import alias, async_copy_versions, renamed_functions, with_functions, with_header

_EMITTED = ("arrived", "copies_in_runs", "ring_layout", "start_copy")
_FOR_CASTS = ("arrived_operand", "is_operand", "operand_beside", "widens_in_registers")


def written(
    module: SourceModule, plans: Sequence[KernelPlan], forms: Sequence[PlannedForm], options: ConvertOptions
) -> str:
    """The text of a file with the loops of its planned kernels pipelined, and those of planned forms with pointers."""
    helpers = (*_EMITTED, *_FOR_CASTS, "launch_heuristics", "read_alike", "ring_depth", "start_cached_copy")
    renamed = renamed_functions(module, set(helpers), options.target, options.triton)
    functions = {node.name.value for node in walk(module.tree) if isinstance(node, cst.FunctionDef)}
    names = FileNames(
        gluon=alias(module, "triton.experimental.gluon", "gluon"),
        gl=alias(module, "triton.experimental.gluon.language", "gl"),
        triton=alias(module, "triton", "triton"),
        copies="async_copy",
        helpers={name: renamed.get(name, name) for name in helpers},
        taken=frozenset({*functions, *module.bindings.imported}),
    )
    changed: dict[cst.CSTNode, cst.CSTNode] = {}
    used = set(_EMITTED)
    for plan in (*plans, *(form.plan for form in forms)):
        if any(loop.loop.stages is not None for loop in plan.loops):
            used.add("ring_depth")
        if any(copy.widened is not None for loop in plan.loops for copy in loop.copies):
            used.update(_FOR_CASTS)
        if any(copy.hints for loop in plan.loops for copy in loop.copies):
            used.add("start_cached_copy")
    for plan in plans:
        changed[plan.kernel.node] = pipelined(plan, names, module.tree)
    for form in forms:
        changed.update(pipelined_form(form, names, module.tree))
    shared = names.helpers["launch_heuristics"]
    made = (node for node in changed.values() if isinstance(node, cst.FunctionDef))
    if any(called(one.decorator) == shared for node in made for one in node.decorators):
        used.add("launch_heuristics")
    tree = module.tree.visit(_Swap(changed))
    assert isinstance(tree, cst.Module)
    place = next(
        (index for index, statement in enumerate(module.tree.body) if any(node in changed for node in walk(statement))),
        0,
    )
    imports = ["from triton.experimental.gluon.language.nvidia.ampere import async_copy"]
    if not any("triton" in meanings for meanings in module.bindings.imported.values()):
        imports.append("import triton")
    body = with_functions(module, list(tree.body), used, place, options.target, options.triton, imports, renamed)
    text = printed(tree.with_changes(body=body))
    return with_header(text, options.stage, options.target, *async_copy_versions(options.triton))


class _Swap(cst.CSTTransformer):
    def __init__(self, changed: Mapping[cst.CSTNode, cst.CSTNode]) -> None:
        super().__init__()
        self.changed = changed

    def visit_SimpleStatementLine(self, node: cst.SimpleStatementLine) -> bool:
        return False  # no function is in one

    def leave_FunctionDef(self, original_node: cst.FunctionDef, updated_node: cst.FunctionDef) -> cst.FunctionDef:
        found = self.changed.get(original_node, updated_node)
        assert isinstance(found, cst.FunctionDef)
        return found


__all__ = ["written"]
