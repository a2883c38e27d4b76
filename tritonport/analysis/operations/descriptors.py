"""The methods of tensor descriptors, and the functions of `triton.language` that make and use one.

Sources: `triton/language/core.py` (`tensor_descriptor_base`) and `semantic.py` (`descriptor_load` and its neighbours).
"""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from tritonport.analysis import strides
from tritonport.analysis.descriptors import PARAMETERS
from tritonport.analysis.dims import Dim
from tritonport.analysis.evaluator import Evaluator
from tritonport.analysis.operations.registry import Argument, Call, operation, sizes
from tritonport.analysis.values import Kind, Refusal, Value, none, scalar


def call_method(
    interpreter: Evaluator, node: cst.Call, receiver: Argument, method: str, given: Sequence[cst.Arg] | None = None
) -> Value:
    """`desc.load(...)` and the other methods, also as `tl.load_tensor_descriptor(desc, ...)`."""
    names = PARAMETERS[method]
    bound: dict[str, Argument] = {}
    arguments = node.args if given is None else given
    for position, argument in enumerate(arguments):
        name = argument.keyword.value if argument.keyword is not None else None
        if name is None and position < len(names) and not argument.star:
            name = names[position]
        if name not in names:
            raise Refusal("TP103", f"{interpreter.code(node.func)} has no parameter {name}", argument)
        bound[name] = (argument.value, interpreter.evaluate(argument.value))
    missing = [name for name in names if name not in bound]
    if missing:
        raise Refusal("TP105", f"{interpreter.code(node.func)} is called without {missing[0]}", node)
    interpreter.frame.operations[node] = f"descriptor.{method}"
    return _METHODS[method](interpreter, node, receiver, bound)


def _shape(interpreter: Evaluator, node: cst.Call, value: Value, rank: int) -> tuple[Dim, ...]:
    if value.kind is Kind.DESCRIPTOR:
        if len(value.shape) != rank:
            raise Refusal("TP203", f"{rank} offsets of a descriptor with {len(value.shape)} dimensions", node)
        return value.shape
    name = value.pointers[0]
    interpreter.descriptors.add(name)
    return tuple(interpreter.descriptors.size(name, dim) for dim in range(rank))


def _element(value: Value) -> tuple[str, ...]:
    return value.element if value.kind is Kind.DESCRIPTOR else (f"{value.pointers[0]}.dtype",)


def _offsets(node: cst.Call, offsets: Argument) -> int:
    if offsets[1].kind is not Kind.TUPLE:
        raise Refusal("TP105", "the offsets of a descriptor are not a list in this file", node)
    return len(offsets[1].items)


def _tile(interpreter: Evaluator, node: cst.Call, shape: tuple[Dim, ...], element: tuple[str, ...]) -> Value:
    order = strides.Order(strides.row_major(len(shape)))
    return Value(
        Kind.TENSOR,
        shape=shape,
        strides=(strides.UNKNOWN,) * len(shape),
        op="descriptor_load",
        depth=interpreter.depth,
        node=node,
        element=element,
        access=(order, element, frozenset()),
    )


def _load(interpreter: Evaluator, node: cst.Call, receiver: Argument, bound: dict[str, Argument]) -> Value:
    rank = _offsets(node, bound["offsets"])
    shape = _shape(interpreter, node, receiver[1], rank)
    return _tile(interpreter, node, shape, _element(receiver[1]))


def _store(interpreter: Evaluator, node: cst.Call, receiver: Argument, bound: dict[str, Argument]) -> Value:
    value = bound["value"][1]
    shape = _shape(interpreter, node, receiver[1], _offsets(node, bound["offsets"]))
    if not value.is_tensor or value.rank != len(shape):
        raise Refusal("TP203", f"the value of {interpreter.code(node.func)} is not a tile of the block's rank", node)
    interpreter.descriptors.meet(shape, value.shape)
    return none()


def _gather(interpreter: Evaluator, node: cst.Call, receiver: Argument, bound: dict[str, Argument]) -> Value:
    rows = bound["x_offsets"][1]
    if not rows.is_tensor or rows.rank != 1:
        raise Refusal("TP203", "the rows of a descriptor gather are not a vector", node)
    shape = _shape(interpreter, node, receiver[1], 2)
    return _tile(interpreter, node, (rows.shape[0], shape[1]), _element(receiver[1]))


def _scatter(interpreter: Evaluator, node: cst.Call, receiver: Argument, bound: dict[str, Argument]) -> Value:
    rows, value = bound["x_offsets"][1], bound["value"][1]
    if not rows.is_tensor or rows.rank != 1 or not value.is_tensor or value.rank != 2:
        raise Refusal("TP203", "a descriptor scatter takes a tile and a vector of rows", node)
    shape = _shape(interpreter, node, receiver[1], 2)
    interpreter.descriptors.meet((rows.shape[0], shape[1]), value.shape)
    return none()


_METHODS = dict.fromkeys(PARAMETERS, _store) | {"load": _load, "gather": _gather, "scatter": _scatter}


@operation("load_tensor_descriptor", "store_tensor_descriptor")
def function(interpreter: Evaluator, call: Call) -> Value:
    """`tl.load_tensor_descriptor(desc, offsets)`: the method under another name."""
    method = call.entry.short.partition("_")[0]
    receiver = call.required("desc")
    if not interpreter.descriptors.has_method(receiver[1], method, call.node):
        raise Refusal("TP105", f"{interpreter.code(receiver[0])} is not a descriptor in this file", call.node)
    given = [cst.Arg(call.required(name)[0]) for name in PARAMETERS[method]]
    return call_method(interpreter, call.node, receiver, method, given)


@operation("make_tensor_descriptor")
def make(interpreter: Evaluator, call: Call) -> Value:
    base = call.required("base")[1]
    shape, block = call.required("shape")[1], sizes(call.value("block_shape"), call)
    if shape.kind is not Kind.TUPLE or len(shape.items) != len(block):
        raise Refusal("TP203", "shape and block_shape of make_tensor_descriptor differ in length", call.node)
    made = Value(Kind.DESCRIPTOR, shape=block, pointers=base.pointers, element=base.pointers, node=call.node)
    made.items = tuple(scalar() for _ in block)
    return made
