"""The stage `tma` on one file."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from tritonport.convert import ConvertOptions
from tritonport.convert.snippets import available
from tritonport.rules_data import load_api
from tritonport.source.kernel import Kernel
from tritonport.source.module import SourceModule
from tritonport.source.parse import printed
from tritonport.source.walk import walk
from tritonport.upgrade.file_edit import alias, async_copy_versions, renamed_functions, with_functions, with_header
from tritonport.upgrade.tma.kernel import FileNames, with_descriptors
from tritonport.upgrade.tma.plan import KernelPlan
from tritonport.upgrade.tma.spelled import SpelledWriter, copies_of

EMITTED = (
    "apart",
    "in_order",
    "in_place_or",
    "landed",
    "landed_as_is",
    "landed_operand",
    "launch_heuristics",
    "left_layout",
    "load_tile",
    "matrices_in_order",
    "of_type",
    "read_alike",
    "store_tile",
    "tile_descriptor",
    "unit",
)
_IMPORTS = ["from triton.experimental.gluon.language.nvidia.hopper import mbarrier, tma"]


def written(
    module: SourceModule, plans: Sequence[KernelPlan], spelled: Sequence[Kernel], options: ConvertOptions
) -> str:
    """The text of a file with its planned kernels in their new form, and the copies of others spelled out."""
    emitted = [name for name in EMITTED if name in available(options.target)]
    renamed = renamed_functions(module, set(emitted), options.target, options.triton)
    functions = {node.name.value for node in walk(module.tree) if isinstance(node, cst.FunctionDef)}
    file = FileNames(
        gluon=alias(module, "triton.experimental.gluon", "gluon"),
        gl=alias(module, "triton.experimental.gluon.language", "gl"),
        triton=alias(module, "triton", "triton"),
        load=_tma_name("descriptor.load", options.triton),
        store=_tma_name("descriptor.store", options.triton),
        helpers={name: renamed.get(name, name) for name in emitted},
        computing=available(options.target),
        taken={*functions, *module.bindings.imported, *module.bindings.assigned},
    )
    changed = {plan.kernel.node: with_descriptors(plan, file, module.tree) for plan in plans}
    for kernel in spelled:
        helper = file.helpers["landed_operand"]
        changed[kernel.node] = [SpelledWriter(kernel, copies_of(kernel), file.gl, file.load, helper).write()]
    tree = module.tree.visit(_Swap(changed))
    assert isinstance(tree, cst.Module)
    place = next(
        (index for index, statement in enumerate(module.tree.body) if any(node in changed for node in walk(statement))),
        0,
    )
    named = {
        node.value
        for functions in changed.values()
        for one in functions
        for node in walk(one)
        if isinstance(node, cst.Name)
    }
    used = {name for name in emitted if renamed.get(name, name) in named}
    imports = list(_IMPORTS)
    if not any("triton" in meanings for meanings in module.bindings.imported.values()):
        imports.append("import triton")
    body = with_functions(module, list(tree.body), used, place, options.target, options.triton, imports, renamed)
    text = printed(tree.with_changes(body=body))
    return with_header(text, "tma", options.target, *async_copy_versions(options.triton))


def _tma_name(operation: str, triton: str) -> str:
    """`tma.async_load` as a version of Triton calls it."""
    name = load_api()[operation].target(triton)
    assert name is not None
    return ".".join(name.split(".")[-2:])


class _Swap(cst.CSTTransformer):
    def __init__(self, changed: dict[cst.FunctionDef, list[cst.FunctionDef]]) -> None:
        super().__init__()
        self.changed = changed

    def visit_SimpleStatementLine(self, node: cst.SimpleStatementLine) -> bool:
        return False  # no function is in one

    def leave_FunctionDef(
        self, original_node: cst.FunctionDef, updated_node: cst.FunctionDef
    ) -> cst.FunctionDef | cst.FlattenSentinel[cst.BaseStatement]:
        found = self.changed.get(original_node)
        return updated_node if found is None else cst.FlattenSentinel(found)


__all__ = ["written"]
