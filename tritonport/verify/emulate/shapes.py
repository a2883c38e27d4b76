"""Operations that make tensors or move their elements."""

from __future__ import annotations

from typing import Any

import numpy as np
import triton.language as tl
from triton._C.libtriton import ir

from tritonport.verify.emulate.errors import Fault
from tritonport.verify.emulate.floats import from_float, to_float, truncate_tf32
from tritonport.verify.emulate.split_dots import is_split, pairs_of, without_nan
from tritonport.verify.emulate.values import Array, BlockType, Value, layout_of, shape_of, storage


def matrix_product(a: Value, b: Value, precision: Any) -> Array:
    """a @ b with sums that are not rounded: fp64 for floating-point operands, int32 for integers.

    Every product of both dialects comes from here, whatever instruction is to compute it, and the operands are laid
    out alike in memory, so that a kernel and its port get the same bits.

    With tf32 precision, fp32 operands lose the bits a tensor core ignores. For precisions in several dots see
    `split_product`.
    """
    if a.dtype.is_int():
        return np.asarray(np.matmul(a.data.astype(np.int32, order="C"), b.data.astype(np.int32, order="C")))
    left, right = to_float(a.data, a.dtype), to_float(b.data, b.dtype)
    if precision == ir.INPUT_PRECISION.TF32 and a.dtype.is_fp32():
        left, right = truncate_tf32(left), truncate_tf32(right)
    return np.asarray(np.matmul(left.astype(np.float64, order="C"), right.astype(np.float64, order="C")))


def accumulate(product: Array, acc: Value | None, dtype: Any, layout: Any) -> Value:
    """The product, rounded to ``dtype`` and added to ``acc`` in that type.

    So ``dot(a, b, acc)`` is ``acc + dot(a, b)`` to the bit: compilers turn one into the other.
    """
    if acc is None:
        return Value(product if dtype.is_int() else from_float(product, dtype), dtype, layout)
    if dtype.is_int():
        return Value(product + acc.data, dtype, layout)
    rounded = to_float(from_float(product, dtype), dtype)
    return Value(from_float(rounded + to_float(acc.data, dtype), dtype), dtype, layout)


def split_product(a: Value, b: Value, acc: Value, precision: Any) -> Value:
    """acc + a @ b in several dots of the operands' parts, each rounded, then added to what was there before."""
    *smaller, leading = pairs_of(a, b, precision)
    total = None
    for left, right in smaller:
        total = accumulate(matrix_product(left, right, ir.INPUT_PRECISION.TF32), total, acc.dtype, None)
    assert total is not None
    total = accumulate(matrix_product(*leading, ir.INPUT_PRECISION.TF32), without_nan(total), acc.dtype, layout_of(acc))
    return Value(total.data + acc.data, acc.dtype, layout_of(acc))


class ShapeOps:
    """Builder methods for constants, shapes and products."""

    grid: tuple[int, int, int]
    program: tuple[int, int, int]

    def create_get_program_id(self, axis: int) -> Value:
        return Value(np.array(self.program[axis], np.int32), tl.int32)

    def create_get_num_programs(self, axis: int) -> Value:
        return Value(np.array(self.grid[axis], np.int32), tl.int32)

    def create_make_range(self, ir_type: Any, start: int, end: int) -> Value:
        return Value(np.arange(start, end, dtype=np.int32), tl.int32, ir_type.layout)

    def create_splat(self, ir_type: Any, operand: Value) -> Value:
        data, shape = operand.data, shape_of(ir_type)
        if data.size == 1:
            # As np.broadcast_to, which takes ten times as long.
            spread: Array = np.ndarray(shape, data.dtype, np.ascontiguousarray(data), 0, (0,) * len(shape))
            return Value(spread, operand.dtype, ir_type.layout)
        return Value(np.broadcast_to(data, shape), operand.dtype, ir_type.layout)

    def create_unsplat(self, operand: Value) -> Value:
        return Value(operand.data.reshape(-1)[0].reshape(()), operand.dtype)

    def create_broadcast(self, operand: Value, to: Any) -> Value:
        shape = to.shape if isinstance(to, BlockType) else tuple(int(tl.core._unwrap_if_constexpr(e)) for e in to)
        return Value(np.broadcast_to(operand.data, shape), operand.dtype, operand.layout)

    def create_expand_dims(self, operand: Value, axis: int) -> Value:
        return Value(np.expand_dims(operand.data, axis), operand.dtype, self.expanded_layout(operand, axis))

    def create_reshape(self, operand: Value, shape: Any, *_: object) -> Value:
        extents = [int(tl.core._unwrap_if_constexpr(extent)) for extent in shape]
        return Value(operand.data.reshape(extents), operand.dtype, self.reshaped_layout(operand, extents))

    def create_trans(self, operand: Value, order: Any) -> Value:
        axes = [int(tl.core._unwrap_if_constexpr(axis)) for axis in order]
        return Value(np.transpose(operand.data, axes), operand.dtype, self.permuted_layout(operand, axes))

    def create_join(self, lhs: Value, rhs: Value) -> Value:
        return Value(np.stack([lhs.data, rhs.data], axis=-1), lhs.dtype, self.joined_layout(lhs))

    def create_split(self, operand: Value) -> tuple[Value, Value]:
        layout = self.halved_layout(operand)
        low, high = operand.data[..., 0], operand.data[..., 1]
        return Value(np.asarray(low), operand.dtype, layout), Value(np.asarray(high), operand.dtype, layout)

    def create_cat(self, lhs: Value, rhs: Value, ir_type: Any = None) -> Value:
        layout = ir_type.layout if isinstance(ir_type, BlockType) else None
        return Value(np.concatenate([lhs.data, rhs.data]), lhs.dtype, layout)

    def create_gather(self, source: Value, index: Value, axis: int) -> Value:
        extent = source.data.shape[axis]
        outside = (index.data < 0) | (index.data >= extent)
        if outside.any():
            lane = tuple(int(each[0]) for each in np.nonzero(outside))
            raise Fault(f"gather: index {int(index.data[lane])} at {lane}, but axis {axis} has {extent} elements")
        taken = np.take_along_axis(source.data, index.data.astype(np.int64), axis)
        return Value(taken, source.dtype, index.layout)

    def create_histogram(self, operand: Value, bins: int, mask: Value | None, layout: Any = None) -> Value:
        kept = operand.data if mask is None else operand.data[np.broadcast_to(mask.data, operand.data.shape)]
        outside = (kept < 0) | (kept >= bins)
        if outside.any():
            raise Fault(f"histogram: the value {int(kept[outside].reshape(-1)[0])} belongs to none of the {bins} bins")
        return Value(np.bincount(kept.reshape(-1), minlength=bins).astype(np.int32), tl.int32, layout)

    def create_dot(self, a: Value, b: Value, acc: Value, precision: Any, _imprecise: object) -> Value:
        if is_split(a, acc, precision):
            return split_product(a, b, acc, precision)
        return accumulate(matrix_product(a, b, precision), acc, acc.dtype, layout_of(acc))

    def create_barrier(self, *_: object, **__: object) -> None:
        """Lanes run in lock step, so a barrier within a program has nothing to wait for."""

    def create_grid_dependency_wait(self) -> None:
        """The launch before has always finished."""

    create_grid_dependency_launch_dependents = create_grid_dependency_wait

    def create_poison(self, ir_type: Any) -> Value:
        return Value(np.zeros(shape_of(ir_type), storage(ir_type.scalar)), ir_type.scalar)

    # Without layouts nothing is inferred; the Gluon builder overrides these.

    def expanded_layout(self, operand: Value, axis: int) -> Any:
        return None

    def reduced_layout(self, operand: Value, axis: int) -> Any:
        return None

    def reshaped_layout(self, operand: Value, shape: list[int]) -> Any:
        return None

    def permuted_layout(self, operand: Value, axes: list[int]) -> Any:
        return None

    def joined_layout(self, operand: Value) -> Any:
        return None

    def halved_layout(self, operand: Value) -> Any:
        return None
