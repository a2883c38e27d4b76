"""Reductions, scans and elementwise maps with a scalar function.

The front end gives these operations a function that emits the body of their region. Here the body computes, so it
is run as often as the operation needs, each time on whole tensors of lanes: a reduction over n elements takes log2(n)
runs, pairing the first half with the second, and so does a scan (Hillis and Steele). Both dialects go through here, so
a kernel and its port add in the same order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import triton.language as tl

from tritonport.verify.emulate.errors import Divergence, Fault
from tritonport.verify.emulate.values import Array, Value

Emit = Callable[[Any], None]
Combine = Callable[[list[Value], list[Value]], list[Value]]


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

    def compute(self, builder: Any, emit: Emit) -> None:
        """Run the operation; ``builder`` is what the front end emits into."""
        shortcut = _SHORTCUTS.get(id(_combine_function(emit)), {}).get(self._operands[0].dtype.is_floating())
        if shortcut is not None:
            (operand,) = self._operands
            self._results = [builder.create_combination(type(self), operand, self._axis, self._reverse, shortcut)]
            return
        # The function takes the branches that its elements choose.
        builder.depends_on_data()
        self._results = self.combined(partial(self._combine, emit))

    def combined(self, combine: Combine) -> list[Value]:
        """The results, where ``combine`` gives those of two groups of values."""
        raise NotImplementedError

    def _combine(self, emit: Emit, left: list[Value], right: list[Value]) -> list[Value]:
        try:
            return self._run(emit, left, right)
        except Divergence:
            shape = left[0].data.shape
            flat_left = [each.moved(_flat) for each in left]
            flat_right = [each.moved(_flat) for each in right]
            lanes = [
                self._run(emit, [_element(e, i) for e in flat_left], [_element(e, i) for e in flat_right])
                for i in range(flat_left[0].data.size)
            ]
            stacked = [self._builder.merged(np.stack, [lane[k] for lane in lanes]) for k in range(len(left))]
            return [each.moved(lambda data: data.reshape(shape)) for each in stacked]

    def _run(self, emit: Emit, left: list[Value], right: list[Value]) -> list[Value]:
        self._arguments = [*left, *right]
        emit(self)
        returned = self._builder.take_returned()
        if len(returned) != len(left):
            raise Fault(f"the combine function returns {len(returned)} values for {len(left)} operands")
        shape = np.shape(left[0].data)
        return [value.moved(lambda data: np.broadcast_to(data, shape)) for value in returned]

    def _along(self) -> list[Value]:
        """The operands with the axis in front; they have no layouts."""
        turned = [operand.moved(lambda data: np.moveaxis(data, self._axis, 0)) for operand in self._operands]
        for each in turned:
            each.layout = None
        return turned


def _flat(data: Array) -> Array:
    return data.reshape(-1)


def _element(value: Value, index: int) -> Value:
    return value.moved(lambda data: np.asarray(data[index]))


def _part(values: list[Value], begin: int | None, end: int | None) -> list[Value]:
    return [value.moved(lambda data: data[begin:end]) for value in values]


class ReduceOp(CombineOp):
    """``tt.reduce``: the reduced axis disappears."""

    def combined(self, combine: Combine) -> list[Value]:
        values = self._along()
        extent = values[0].data.shape[0]
        while extent > 1:
            half = extent // 2
            values = combine(_part(values, None, half), _part(values, half, extent))
            extent = half
        results = [_element(each, 0) for each in values]
        for result, operand in zip(results, self._operands, strict=True):
            result.dtype, result.layout = operand.dtype, self._builder.reduced_layout(operand, self._axis)
        return results


class ScanOp(CombineOp):
    """``tt.scan``: inclusive, from the first element or (``reverse``) from the last."""

    def combined(self, combine: Combine) -> list[Value]:
        values = self._along()
        if self._reverse:
            values = [each.moved(lambda data: data[::-1]) for each in values]
        step, extent = 1, values[0].data.shape[0]
        while step < extent:
            changed = combine(_part(values, None, -step), _part(values, step, None))
            kept = _part(values, None, step)
            values = [self._builder.merged(np.concatenate, pair) for pair in zip(kept, changed, strict=True)]
            step *= 2
        if self._reverse:
            values = [each.moved(lambda data: data[::-1]) for each in values]
        results = [each.moved(lambda data: np.ascontiguousarray(np.moveaxis(data, 0, self._axis))) for each in values]
        for result, operand in zip(results, self._operands, strict=True):
            result.dtype, result.layout = operand.dtype, operand.layout
        return results


class RegionOps:
    """Builder methods for operations with regions."""

    _returned: list[Value] | None = None

    def merged(self, merge: Callable[[Sequence[Array]], Array], values: Sequence[Value]) -> Value:
        """Several values as one: `merge` stacks or concatenates arrays, whatever they hold."""
        return Value(merge([value.data for value in values]), values[0].dtype)

    def depends_on_data(self) -> None:
        """What is emitted now may be something else the next time, with operands of the same types."""

    def create_combination(
        self, kind: type[CombineOp], operand: Value, axis: int, reverse: bool, operation: str
    ) -> Value:
        """A reduction or a scan by an operation of this builder."""
        combine = getattr(self, operation)
        (result,) = kind(self, [operand], axis, reverse).combined(lambda left, right: [combine(left[0], right[0])])
        return result

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
