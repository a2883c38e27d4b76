"""Tensor descriptors: what a kernel knows of one, and what its methods give back.

A descriptor that the host makes is an argument: its block shape is not in the kernel's text, so its sizes are symbols
spelled `desc.block_shape[0]`, which Gluon can read when it compiles. Where such a size meets another one (an
accumulator, the value that is stored) the two are equal, for Triton checks that; the kernel is then read again with
the size that has a name.

Sources: `triton/language/core.py` (`tensor_descriptor_base`) and `semantic.py` (`descriptor_load` and its neighbours).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import libcst as cst

from tritonport.analysis import dims, strides
from tritonport.analysis.dims import Dim
from tritonport.analysis.operations import Argument, Call, operation, sizes
from tritonport.analysis.values import Kind, Refusal, Value, dtype, none, scalar

if TYPE_CHECKING:
    from tritonport.analysis.expressions import Expressions

PARAMETERS = {
    "load": ("offsets",),
    "store": ("offsets", "value"),
    "gather": ("x_offsets", "y_offset"),
    "scatter": ("value", "x_offsets", "y_offset"),
    "atomic_add": ("offsets", "value"),
    "atomic_and": ("offsets", "value"),
    "atomic_max": ("offsets", "value"),
    "atomic_min": ("offsets", "value"),
    "atomic_or": ("offsets", "value"),
    "atomic_xor": ("offsets", "value"),
}
_MARK = ".block_shape["


class Descriptors:
    """What one kernel's descriptors are known to be.

    Attributes:
        names: the parameters that are descriptors.
        sizes: sizes with a name that a descriptor's own sizes are equal to, by the spelling of the latter.
        changed: something was learned that an earlier part of the kernel could use.
    """

    def __init__(self) -> None:
        self.names: set[str] = set()
        self.sizes: dict[str, Dim] = {}
        self.changed = False

    def add(self, name: str) -> None:
        if name not in self.names:
            self.names.add(name)
            self.changed = True

    def size(self, name: str, dim: int) -> Dim:
        text = f"{name}{_MARK}{dim}]"
        return self.sizes.get(text) or dims.opaque(text, text)

    def meet(self, left: Sequence[Dim], right: Sequence[Dim]) -> None:
        """Sizes of two tensors that meet, aligned at the last dimension."""
        for a, b in zip(reversed(left), reversed(right), strict=False):
            self._equal(a, b)
            self._equal(b, a)

    def _equal(self, unnamed: Dim, named: Dim) -> None:
        if _MARK not in unnamed.text or _MARK in named.text or named.is_one or unnamed.text in self.sizes:
            return
        if len(unnamed.terms) == 1 and unnamed.terms[0] == ((unnamed.text,), 1):
            self.sizes[unnamed.text] = named
            self.changed = True


def is_descriptor(interpreter: Expressions, value: Value, method: str, node: cst.Call) -> bool:
    """Whether a method is one of a descriptor: pointers have atomics too, whose offsets are not a list."""
    if value.kind is Kind.DESCRIPTOR:
        return method in PARAMETERS
    if value.kind is not Kind.SCALAR or method not in PARAMETERS or len(value.pointers) != 1:
        return False
    if not method.startswith("atomic"):
        return True
    first = node.args[0].value if node.args else None
    return value.pointers[0] in interpreter.descriptors.names or isinstance(first, (cst.List, cst.Tuple))


def call_method(
    interpreter: Expressions, node: cst.Call, receiver: Argument, method: str, given: Sequence[cst.Arg] | None = None
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


def _shape(interpreter: Expressions, node: cst.Call, value: Value, rank: int) -> tuple[Dim, ...]:
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


def _tile(interpreter: Expressions, node: cst.Call, shape: tuple[Dim, ...], element: tuple[str, ...]) -> Value:
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


def _load(interpreter: Expressions, node: cst.Call, receiver: Argument, bound: dict[str, Argument]) -> Value:
    rank = _offsets(node, bound["offsets"])
    shape = _shape(interpreter, node, receiver[1], rank)
    return _tile(interpreter, node, shape, _element(receiver[1]))


def _store(interpreter: Expressions, node: cst.Call, receiver: Argument, bound: dict[str, Argument]) -> Value:
    value = bound["value"][1]
    shape = _shape(interpreter, node, receiver[1], _offsets(node, bound["offsets"]))
    if not value.is_tensor or value.rank != len(shape):
        raise Refusal("TP203", f"the value of {interpreter.code(node.func)} is not a tile of the block's rank", node)
    interpreter.descriptors.meet(shape, value.shape)
    return none()


def _gather(interpreter: Expressions, node: cst.Call, receiver: Argument, bound: dict[str, Argument]) -> Value:
    rows = bound["x_offsets"][1]
    if not rows.is_tensor or rows.rank != 1:
        raise Refusal("TP203", "the rows of a descriptor gather are not a vector", node)
    shape = _shape(interpreter, node, receiver[1], 2)
    return _tile(interpreter, node, (rows.shape[0], shape[1]), _element(receiver[1]))


def _scatter(interpreter: Expressions, node: cst.Call, receiver: Argument, bound: dict[str, Argument]) -> Value:
    rows, value = bound["x_offsets"][1], bound["value"][1]
    if not rows.is_tensor or rows.rank != 1 or not value.is_tensor or value.rank != 2:
        raise Refusal("TP203", "a descriptor scatter takes a tile and a vector of rows", node)
    shape = _shape(interpreter, node, receiver[1], 2)
    interpreter.descriptors.meet((rows.shape[0], shape[1]), value.shape)
    return none()


_METHODS = dict.fromkeys(PARAMETERS, _store) | {"load": _load, "gather": _gather, "scatter": _scatter}


@operation("load_tensor_descriptor", "store_tensor_descriptor")
def function(interpreter: Expressions, call: Call) -> Value:
    """`tl.load_tensor_descriptor(desc, offsets)`: the method under another name."""
    method = call.entry.short.partition("_")[0]
    receiver = call.required("desc")
    if not is_descriptor(interpreter, receiver[1], method, call.node):
        raise Refusal("TP105", f"{interpreter.code(receiver[0])} is not a descriptor in this file", call.node)
    given = [cst.Arg(call.required(name)[0]) for name in PARAMETERS[method]]
    return call_method(interpreter, call.node, receiver, method, given)


@operation("make_tensor_descriptor")
def make(interpreter: Expressions, call: Call) -> Value:
    base = call.required("base")[1]
    shape, block = call.required("shape")[1], sizes(call.value("block_shape"), call)
    if shape.kind is not Kind.TUPLE or len(shape.items) != len(block):
        raise Refusal("TP203", "shape and block_shape of make_tensor_descriptor differ in length", call.node)
    made = Value(Kind.DESCRIPTOR, shape=block, pointers=base.pointers, element=base.pointers, node=call.node)
    made.items = tuple(scalar() for _ in block)
    return made


def attribute(interpreter: Expressions, value: Value, name: str, code: str) -> Value | None:
    """`desc.dtype`, `desc.block_shape`, and of one made in the kernel `desc.shape` and `desc.strides`."""
    if value.kind is Kind.DESCRIPTOR:
        if name == "dtype":
            return dtype(code, value.element)
        if name in ("shape", "strides"):
            return Value(
                Kind.TUPLE, items=tuple(scalar(strides.argument(f"{code}[{dim}]")) for dim in range(len(value.shape)))
            )
        if name == "block_shape":
            return Value(Kind.TUPLE, items=tuple(Value(Kind.CONSTEXPR, dim=dim) for dim in value.shape))
        return None
    if value.kind is not Kind.SCALAR or len(value.pointers) != 1:
        return None
    if name == "block_shape":
        interpreter.descriptors.add(value.pointers[0])
        known = (interpreter.descriptors.size(value.pointers[0], dim) for dim in range(5))
        return Value(Kind.TUPLE, items=tuple(Value(Kind.CONSTEXPR, dim=dim) for dim in known))
    if name == "dtype" and value.pointers[0] in interpreter.descriptors.names:
        return dtype(code, (f"{value.pointers[0]}.dtype",))
    return None
