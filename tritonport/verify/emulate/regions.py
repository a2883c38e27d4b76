"""Reductions, scans and elementwise maps with a scalar function.

The front end gives these operations a function that emits the body of their region. Here the body computes, so it
is run as often as the operation needs, each time on whole tensors of lanes: a reduction over n elements takes log2(n)
runs, pairing the first half with the second, and so does a scan (Hillis and Steele). Both dialects go through here, so
a kernel and its port add in the same order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import triton.language as tl

from tritonport.verify.emulate.errors import Divergence, Fault
from tritonport.verify.emulate.values import Array, Value

Emit = Callable[[Any], None]


# What the library's own combine functions emit, by whether the operand is a floating-point one. (The order of
# integers depends on their sign, which a value does not know.)
# Keyed by identity: the hash of a device function is that of its source, and is slow to find.
_SHORTCUTS: dict[int, dict[bool, str]] = {
    id(tl.standard._sum_combine): {True: "create_fadd", False: "create_add"},
    id(tl.standard._elementwise_max): {True: "create_maxnumf"},
    id(tl.standard._elementwise_min): {True: "create_minnumf"},
}


def _combine_function(emit: Emit) -> Any:
    """The device function whose body ``emit`` emits (a variable it closes over), or None."""
    names = emit.__code__.co_freevars
    if "combine_fn" not in names or emit.__closure__ is None:
        return None
    return tl.core._unwrap_if_constexpr(emit.__closure__[names.index("combine_fn")].cell_contents)


class Block:
    """The block of a region: its arguments are the values of the run in progress."""

    def __init__(self, arguments: list[Value]) -> None:
        self._arguments = arguments

    def arg(self, index: int) -> Value:
        return self._arguments[index]


class CombineOp:
    """An operation whose region combines two groups of values into one."""

    def __init__(self, builder: Any, operands: list[Value], axis: int, reverse: bool = False) -> None:
        self._builder = builder
        self._operands = operands
        self._axis = axis
        self._reverse = reverse
        self._arguments: list[Value] = []
        self._results: list[Value] = []

    # What the front end's body emitter calls.

    def get_region(self, index: int) -> CombineOp:
        return self

    def block(self) -> Block:
        return Block(self._arguments)

    def verify(self) -> bool:
        return True

    def get_result(self, index: int) -> Value:
        return self._results[index]

    def _combine(self, emit: Emit, left: list[Array], right: list[Array]) -> list[Array]:
        shortcut = _SHORTCUTS.get(id(_combine_function(emit)), {}).get(self._operands[0].dtype.is_floating())
        if shortcut is not None:
            dtype = self._operands[0].dtype
            method = getattr(self._builder, shortcut)
            return [method(Value(left[0], dtype), Value(right[0], dtype)).data]
        try:
            return self._run(emit, left, right)
        except Divergence:
            shape = left[0].shape
            flat_left = [each.reshape(-1) for each in left]
            flat_right = [each.reshape(-1) for each in right]
            lanes = [
                self._run(emit, [e[i] for e in flat_left], [e[i] for e in flat_right]) for i in range(flat_left[0].size)
            ]
            return [np.array([lane[k] for lane in lanes]).reshape(shape) for k in range(len(left))]

    def _run(self, emit: Emit, left: list[Array], right: list[Array]) -> list[Array]:
        types = [operand.dtype for operand in self._operands]
        self._arguments = [
            Value(np.asarray(data), dtype) for data, dtype in zip([*left, *right], [*types, *types], strict=True)
        ]
        emit(self)
        returned = self._builder.take_returned()
        if len(returned) != len(types):
            raise Fault(f"the combine function returns {len(returned)} values for {len(types)} operands")
        shape = np.shape(left[0])
        return [np.broadcast_to(value.data, shape) for value in returned]


class ReduceOp(CombineOp):
    """``tt.reduce``: the reduced axis disappears."""

    def compute(self, emit: Emit) -> None:
        data = [np.moveaxis(operand.data, self._axis, 0) for operand in self._operands]
        extent = data[0].shape[0]
        while extent > 1:
            half = extent // 2
            data = self._combine(emit, [each[:half] for each in data], [each[half:extent] for each in data])
            extent = half
        layouts = [self._builder.reduced_layout(operand, self._axis) for operand in self._operands]
        self._results = [
            Value(np.asarray(each[0]), operand.dtype, layout)
            for each, operand, layout in zip(data, self._operands, layouts, strict=True)
        ]


class ScanOp(CombineOp):
    """``tt.scan``: inclusive, from the first element or (``reverse``) from the last."""

    def compute(self, emit: Emit) -> None:
        data = [np.moveaxis(operand.data, self._axis, 0) for operand in self._operands]
        if self._reverse:
            data = [each[::-1] for each in data]
        step, extent = 1, data[0].shape[0]
        while step < extent:
            merged = self._combine(emit, [each[:-step] for each in data], [each[step:] for each in data])
            data = [np.concatenate([each[:step], new]) for each, new in zip(data, merged, strict=True)]
            step *= 2
        if self._reverse:
            data = [each[::-1] for each in data]
        self._results = [
            Value(np.ascontiguousarray(np.moveaxis(each, 0, self._axis)), operand.dtype, operand.layout)
            for each, operand in zip(data, self._operands, strict=True)
        ]


class RegionOps:
    """Builder methods for operations with regions."""

    _returned: list[Value] | None = None

    def create_reduce(self, operands: list[Value], axis: int) -> ReduceOp:
        return ReduceOp(self, operands, axis)

    def create_scan(self, operands: list[Value], axis: int, reverse: bool) -> ScanOp:
        return ScanOp(self, operands, axis, reverse)

    def create_block_with_parent(self, region: CombineOp, types: object) -> Block:
        return region.block()

    def create_reduce_ret(self, *values: Value) -> None:
        self._returned = list(values)

    create_scan_ret = create_reduce_ret

    def take_returned(self) -> list[Value]:
        """What the last run of a region returned."""
        returned, self._returned = self._returned, None
        if returned is None:
            raise Fault("the combine function returned nothing")
        return returned
