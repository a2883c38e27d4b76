"""The host side of tensor descriptors: Gluon's class carries the layout of the tiles in shared memory.

In a file whose kernels became Gluon, `TensorDescriptor` is imported from Gluon, every place that makes one is given a
layout, and a hook that changes a block shape changes the layout with it. All other fields stay as they are written.
"""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from tritonport.convert.module import ModuleWriter
from tritonport.report import Diagnostic
from tritonport.source.kernel import Kernel
from tritonport.source.syntax import dotted
from tritonport.source.walk import walk

_TRITON = "triton.tools.tensor_descriptor"
_GLUON = "triton.experimental.gluon.nvidia.hopper"
_METHODS = frozenset({"load", "store", "gather", "scatter"})


def host_descriptors(writer: ModuleWriter, tree: cst.Module) -> cst.Module:
    """The file with its host descriptors made for Gluon, where a converted kernel takes some.

    Says so (TP402) where the file does not make them, or where a kernel that stays Triton takes descriptors too.
    """
    if not writer.host_descriptors:
        return tree
    names = [
        name for name, meanings in writer.module.bindings.imported.items() if f"{_TRITON}.TensorDescriptor" in meanings
    ]
    left = [kernel for kernel in writer.module.kernels if _stays(writer, kernel) and _takes_descriptors(kernel)]
    changed = tree
    if names and not left:
        host = _Host(writer, names)
        changed = tree.visit(host)
        if host.made:
            writer.snippets.add("descriptor_layout")
            return changed
    for kernel in writer.host_descriptors:
        line, column = writer.module.position(kernel.node)
        reason = (
            f"{left[0].name}, which stays Triton, takes descriptors too" if left else "this file does not make them"
        )
        message = f"the descriptors that {kernel.name} is launched with need a Gluon layout: {reason}"
        writer.diagnostics.append(Diagnostic("TP402", message, writer.module.path, line, column, kernel.name))
    return tree


def _stays(writer: ModuleWriter, kernel: Kernel) -> bool:
    return kernel.language == "triton" and kernel not in writer.written and kernel not in writer.helpers


def _takes_descriptors(kernel: Kernel) -> bool:
    parameters = {parameter.name for parameter in kernel.parameters}
    return any(
        isinstance(node, cst.Attribute)
        and isinstance(node.value, cst.Name)
        and node.value.value in parameters
        and node.attr.value in _METHODS
        for node in walk(kernel.node.body)
    )


class _Host(cst.CSTTransformer):
    """Rewrites imports, constructions and assignments of block shapes outside of kernels."""

    def __init__(self, writer: ModuleWriter, names: Sequence[str]) -> None:
        super().__init__()
        self.writer = writer
        self.names = names
        self.made = 0

    def visit_FunctionDef(self, node: cst.FunctionDef) -> bool:
        return not any(self.writer.module.jit_language(decorator.decorator) for decorator in node.decorators)

    def leave_ImportFrom(self, original_node: cst.ImportFrom, updated_node: cst.ImportFrom) -> cst.ImportFrom:
        if original_node.module is None or dotted(original_node.module) != _TRITON:
            return updated_node
        module = cst.parse_expression(_GLUON)
        assert isinstance(module, cst.Attribute)
        return updated_node.with_changes(module=module)

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.Call:
        path = dotted(original_node.func)
        names: tuple[str, ...]
        if path in self.names:
            names, tensor = ("base", "shape", "strides", "block_shape"), "base"
        elif path in [f"{name}.from_tensor" for name in self.names]:
            names, tensor = ("tensor", "block_shape"), "tensor"
        else:
            return updated_node
        bound = {}
        for position, argument in enumerate(updated_node.args):
            if argument.star:
                return updated_node
            name = argument.keyword.value if argument.keyword is not None else None
            if name is None and position < len(names):
                name = names[position]
            if name is not None:
                bound[name] = position
        if tensor not in bound or "block_shape" not in bound:
            return updated_node
        self.made += 1
        return updated_node.with_changes(args=self._with_layout(list(updated_node.args), bound, tensor))

    def _with_layout(self, args: list[cst.Arg], bound: dict[str, int], tensor: str) -> list[cst.Arg]:
        place = bound["block_shape"]
        code = cst.Module([]).code_for_node
        text = f"{self._function()}({code(args[bound[tensor]].value)}, {code(args[place].value)})"
        layout = cst.Arg(cst.parse_expression(text))
        block = args[place]
        if block.keyword is not None:
            layout = layout.with_changes(keyword=cst.Name("layout"), equal=block.equal)
        space = cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))
        layout = layout.with_changes(comma=block.comma, whitespace_after_arg=block.whitespace_after_arg)
        args[place] = block.with_changes(comma=space, whitespace_after_arg=cst.SimpleWhitespace(""))
        args.insert(place + 1, layout)
        return args

    def _function(self) -> str:
        return self.writer.renamed_snippets.get("descriptor_layout", "descriptor_layout")

    def leave_SimpleStatementLine(
        self, original_node: cst.SimpleStatementLine, updated_node: cst.SimpleStatementLine
    ) -> cst.SimpleStatementLine | cst.FlattenSentinel[cst.SimpleStatementLine]:
        """`nargs["a_desc"].block_shape = [...]` in a hook: the layout follows."""
        added = []
        for small in updated_node.body:
            if not isinstance(small, cst.Assign) or len(small.targets) != 1:
                continue
            target = small.targets[0].target
            if isinstance(target, cst.Attribute) and target.attr.value == "block_shape":
                self.made += 1
                owner = cst.Module([]).code_for_node(target.value)
                text = f"{owner}.layout = {self._function()}({owner}.base, {owner}.block_shape)\n"
                line = cst.parse_statement(text)
                assert isinstance(line, cst.SimpleStatementLine)
                added.append(line)
        return cst.FlattenSentinel([updated_node, *added]) if added else updated_node
