"""Stores of what memory wants in another layout: it is cast to the type of the memory first, and then moved.

`tl.store` casts what it is given to the type of the elements in memory, and Triton's compiler moves what comes out of
that: 16-bit elements where a float32 sum is stored as float16. Gluon's store casts as well, but what is converted for
it was converted in its own type, which takes twice the registers and the shared memory.
"""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from tritonport.analysis.signatures import bind
from tritonport.analysis.values import Kind, Value
from tritonport.convert.expressions import ExpressionWriter
from tritonport.convert.function_facts import WIDE
from tritonport.convert.recipes import recipe
from tritonport.convert.recipes.arguments import receiver_of
from tritonport.convert.syntax import receiver
from tritonport.convert.wants import Want

LONG = ("gl.int64",)


@recipe("store")
def store(
    writer: ExpressionWriter, node: cst.Call, values: Sequence[Value | None], focus: Want | None
) -> cst.BaseExpression | None:
    """`gl.store(p, gl.convert_layout(x.to(p.dtype.element_ty), layout))`; the call as it is where nothing is won."""
    bound, _ = bind("tl.store", node.args, receiver_of(writer, node), node)
    pointer = _pointer(writer, bound.get("pointer"))
    stored = bound.get("value")
    if focus is None or pointer is None or stored is None or not _is_worth_it(writer, values, stored):
        return None
    written = writer.call(node, values, focus)
    arguments = [
        argument.with_changes(value=_cast_before(argument.value, writer.emit(pointer)))
        if given.value is stored
        else argument
        for given, argument in zip(node.args, written.args, strict=True)
    ]
    return written.with_changes(args=arguments)


def _is_worth_it(writer: ExpressionWriter, values: Sequence[Value | None], stored: cst.BaseExpression) -> bool:
    """Whether a tile, a vector of a loop, or one whose elements take two registers, is known to have a type that no
    memory is wider than."""
    tiles = [value for value in writer.values(stored) if value is not None]
    made = [value for value in values if value is not None]
    return (
        len(tiles) == len(values)
        and all(value.is_tensor and value.element in WIDE for value in tiles)
        and all(
            value.rank > 1 or value.depth > 0 or tile.element == LONG for tile, value in zip(tiles, made, strict=True)
        )
        and not all(tile.element == value.element for tile, value in zip(tiles, made, strict=True))
    )


def _pointer(writer: ExpressionWriter, address: cst.BaseExpression | None) -> cst.Name | None:
    """The variable in a sum that is a pointer, or a tile of them."""
    if isinstance(address, cst.BinaryOperation) and isinstance(address.operator, cst.Add):
        return _pointer(writer, address.left) or _pointer(writer, address.right)
    value = writer.first(address) if isinstance(address, cst.Name) else None
    if not isinstance(address, cst.Name) or value is None or not value.pointers:
        return None
    if value.kind not in (Kind.SCALAR, Kind.TENSOR):
        return None
    return _argument(writer, value.pointers) or address


def _argument(writer: ExpressionWriter, pointers: Sequence[str]) -> cst.Name | None:
    """The argument of a kernel that the elements are read through, if it is one and stays a pointer."""
    kernel = writer.frames[0]
    if kernel.caller is not None or len(pointers) > 1 or pointers[0] not in kernel.parameters:
        return None
    assigned = [found.value for found in kernel.targets.values() if found.name == pointers[0]]
    return cst.Name(pointers[0]) if all(value.pointers == pointers for value in assigned) else None


def _cast_before(written: cst.BaseExpression, pointer: cst.BaseExpression) -> cst.BaseExpression:
    """`convert_layout(x, layout)` with x cast to what a pointer points to; anything else as it is."""
    function = written.func if isinstance(written, cst.Call) else None
    if not isinstance(written, cst.Call) or not isinstance(function, cst.Attribute):
        return written
    if function.attr.value != "convert_layout" or len(written.args) != 2:
        return written
    element = cst.Attribute(cst.Attribute(receiver(pointer), cst.Name("dtype")), cst.Name("element_ty"))
    cast = cst.Call(cst.Attribute(receiver(written.args[0].value), cst.Name("to")), [cst.Arg(element)])
    return written.with_changes(args=[written.args[0].with_changes(value=cast), written.args[1]])
