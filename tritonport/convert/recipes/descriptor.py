"""Tensor descriptors: `desc.load` and its neighbours become calls of emitted functions that use the copy engine (TMA).

What they do is what Triton's own lowering of these operations does: shared memory and a barrier for each load, a
fence and a wait for each store. Gluon's descriptors carry the layout of the shared memory: the host's get it from
`host_descriptors`, those that are made in the kernel here. Below sm_90 descriptors of the kernel are written out as
pointers (`block_pointer`).
"""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from tritonport.analysis.descriptors import PARAMETERS
from tritonport.analysis.operations.dots import DEFAULT
from tritonport.analysis.signatures import bind
from tritonport.analysis.values import Kind, Refusal, Value
from tritonport.convert.expressions import ExpressionWriter
from tritonport.convert.recipes import recipe
from tritonport.convert.recipes.arguments import plain
from tritonport.convert.recipes.creation import layout_argument
from tritonport.convert.syntax import keyword, separated, transposed
from tritonport.convert.wants import Want
from tritonport.rules_data import version_key

_MIN_TARGET = 90
_GATHER_TARGET = 100
_ATOMICS_SINCE = (3, 8)


def _check(writer: ExpressionWriter, node: cst.Call, method: str) -> None:
    """Refuses what the target's hardware, or Gluon of the version that is written, does not have."""
    target = int("".join(filter(str.isdigit, writer.module.target)) or 0)
    called = writer.module.module.tree.code_for_node(node.func)
    needed = _GATHER_TARGET if method in ("gather", "scatter") else _MIN_TARGET
    if target < needed:
        raise Refusal(
            "TP401", f"{called} needs the copy engine of sm_{needed}, and the target is {writer.module.target}", node
        )
    if method.startswith("atomic") and version_key(writer.module.triton) < _ATOMICS_SINCE:
        raise Refusal(
            "TP401", f"{called} needs Triton 3.8: Gluon of {writer.module.triton} has no descriptor atomics", node
        )


def _method(
    writer: ExpressionWriter, node: cst.Call, values: Sequence[Value | None], focus: Want | None
) -> cst.BaseExpression | None:
    method = writer.operation_name(node).rpartition(".")[2]
    _check(writer, node, method)
    names = PARAMETERS[method]
    bound: dict[str, cst.BaseExpression] = {}
    if isinstance(node.func, cst.Attribute) and not writer.is_global(node.func):
        receiver = node.func.value
        for position, argument in enumerate(node.args):
            bound[argument.keyword.value if argument.keyword is not None else names[position]] = argument.value
    else:
        bound, _ = bind(f"tl.{method}_tensor_descriptor", node.args, None, node)
        receiver = bound["desc"]
    writer.module.entries_used.add(f"descriptor.{method}")
    if any(value is not None and value.kind is Kind.SCALAR for value in writer.values(receiver)):
        writer.module.host_descriptors.add(writer.frames[0].chain[-1].kernel)
    value = next((found for found in values if found is not None), None)
    if value is not None and value.shared is not None:
        return _operand(writer, receiver, bound["offsets"], value.shared)
    arguments = [plain(writer.emit(receiver))]
    order = ("x_offsets", "y_offset", "value") if "x_offsets" in names else ("offsets", "value")
    arguments += [plain(writer.emit(bound[name])) for name in order if name in names]
    if method in ("load", "gather"):
        assert focus is not None
        arguments.append(layout_argument(writer, focus).with_changes(keyword=None, equal=cst.MaybeSentinel.DEFAULT))
    return writer.module.snippet_call(f"tma_{method}", arguments)


def _operand(
    writer: ExpressionWriter, receiver: cst.BaseExpression, offsets: cst.BaseExpression, shared: tuple[bool, str]
) -> cst.BaseExpression:
    """A tile that only dots read stays in shared memory."""
    along_k, precision = shared
    if precision == DEFAULT:
        writer.module.snippets.add(DEFAULT)
    arguments = [
        plain(writer.emit(receiver)),
        plain(writer.emit(offsets)),
        plain(cst.Name(str(along_k))),
        plain(cst.parse_expression(precision)),
    ]
    return writer.module.snippet_call("tma_operand", arguments)


def shared_operand(writer: ExpressionWriter, node: cst.BaseExpression) -> cst.BaseExpression | None:
    """An operand of a dot that stands in shared memory, `x` or `x.T`; None for one in registers."""
    value = writer.first(node)
    if value is None:
        return None
    if value.op == "permute" and value.operands[0].value.shared is not None:
        inner = value.operands[0].node
        assert inner is not None
        return transposed(writer.emit(inner))
    return writer.emit(node) if value.shared is not None else None


for _name in PARAMETERS:
    recipe(f"descriptor.{_name}")(_method)


@recipe("load_tensor_descriptor", "store_tensor_descriptor")
def function(
    writer: ExpressionWriter, node: cst.Call, values: Sequence[Value | None], focus: Want | None
) -> cst.BaseExpression | None:
    """The analysis records these under the method's name."""
    return _method(writer, node, values, focus)


@recipe("make_tensor_descriptor")
def made(
    writer: ExpressionWriter, node: cst.Call, values: Sequence[Value | None], focus: Want | None
) -> cst.BaseExpression | None:
    """The same call with the layout of the tiles in shared memory."""
    _check(writer, node, "make_tensor_descriptor")
    bound, _ = bind("tl.make_tensor_descriptor", node.args, None, node)
    gl = writer.module.gl
    base = writer.emit(bound["base"])
    pointer = writer.first(bound["base"])
    if not isinstance(base, cst.Name) or pointer is None or pointer.kind is not Kind.SCALAR:
        base = base.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])
    element = cst.Attribute(cst.Attribute(base, cst.Name("dtype")), cst.Name("element_ty"))
    default = cst.parse_expression(f"{gl}.NVMMASharedLayout.get_default_for")
    layout = cst.Call(default, separated([plain(writer.emit(bound["block_shape"])), plain(element)]))
    writer.module.entries_used.add("tl.make_tensor_descriptor")
    return writer.call(node, values, focus, writer.function_for("make_tensor_descriptor"), [keyword("layout", layout)])
