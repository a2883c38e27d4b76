"""Loads, stores and atomics through pointers."""

from __future__ import annotations

from tritonport.analysis import strides
from tritonport.analysis.dims import Dim
from tritonport.analysis.evaluator import Evaluator
from tritonport.analysis.operations.registry import Call, operation, tensor
from tritonport.analysis.shapes import broadcast, padding
from tritonport.analysis.values import Kind, Operand, Refusal, Value, none, scalar


def _address(pointer: Value, shape: tuple[Dim, ...]) -> tuple[strides.Order | None, tuple[str, ...], frozenset[str]]:
    index = pointer.strides or (strides.UNKNOWN,) * pointer.rank
    index = (strides.ZERO,) * (len(shape) - pointer.rank) + index
    return strides.order_of(index), pointer.pointers, pointer.multiples


def _memory(interpreter: Evaluator, call: Call, op: str, names: tuple[str, ...], result: bool) -> Value:
    pointer = call.value("pointer")
    if pointer is None:
        raise Refusal("TP105", f"{call.entry.name} without a pointer", call.node)
    if pointer.kind is Kind.OBJECT or any(
        call.value(name) is not None for name in ("boundary_check", "padding_option") if _given(call, name)
    ):
        raise Refusal("TP101", "block pointers are not converted by this version", call.node)
    operands = call.operands(*names)
    tensors = [value for _, value in operands if value.is_tensor]
    if not tensors:
        return scalar() if result else none()
    if not pointer.is_tensor:
        raise Refusal("TP203", f"{call.entry.name} of a block through a scalar pointer", call.node)
    shape = broadcast([value.shape for value in tensors])
    for value in tensors:
        interpreter.descriptors.meet(value.shape, shape)
    made = tensor(
        call,
        interpreter,
        op,
        shape,
        [
            Operand(expression, value, padding(value.rank, len(shape)) if value.is_tensor else ())
            for expression, value in operands
        ],
        access=_address(pointer, shape),
        strides=(strides.UNKNOWN,) * len(shape),
        element=pointer.pointers,
    )
    if not result:
        interpreter.frame.operations[call.node] = call.entry.short
        made.op = "store"
    return made


def _given(call: Call, name: str) -> bool:
    value = call.value(name)
    return value is not None and value.known != "" and not (value.kind is Kind.TUPLE and not value.items)


@operation("load", "atomic_load", "atomic_poll")
def load(interpreter: Evaluator, call: Call) -> Value:
    made = _memory(interpreter, call, "load", ("pointer", "mask", "other"), result=True)
    volatile = call.value("volatile")
    made.volatile = call.entry.short != "load" or (volatile is not None and volatile.known is not False)
    return made


@operation("store", "atomic_store")
def store(interpreter: Evaluator, call: Call) -> Value:
    return _memory(interpreter, call, "store", ("pointer", "value", "val", "mask"), result=False)


@operation(
    "atomic_add", "atomic_max", "atomic_min", "atomic_and", "atomic_or", "atomic_xor", "atomic_xchg", "atomic_cas"
)
def atomic(interpreter: Evaluator, call: Call) -> Value:
    return _memory(interpreter, call, "atomic", ("pointer", "val", "cmp", "mask"), result=True)
