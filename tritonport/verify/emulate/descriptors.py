"""Tensor descriptors and block pointers of the Triton dialect, as pointers and masks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import triton.language as tl
from triton._C.libtriton import ir
from triton.experimental.gluon.language.nvidia.hopper import tma as gluon_tma
from triton.experimental.gluon.nvidia import hopper as gluon_descriptors
from triton.runtime.jit import mangle_type
from triton.tools.tensor_descriptor import TensorDescriptor

from tritonport.verify.emulate.errors import Fault, NotEmulated
from tritonport.verify.emulate.floats import round_tf32
from tritonport.verify.emulate.values import Array, Value, storage


@dataclass(frozen=True)
class Descriptor:
    """``base`` is an address; ``shape`` and ``strides`` are in elements.

    ``layout`` is that of the blocks in shared memory, None in Triton kernels.
    """

    base: Value
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    block: tuple[int, ...]
    fill_nan: bool
    round_tf32: bool = False
    layout: Any = None

    def get_loc(self) -> None:
        return None

    def set_loc(self, location: object) -> None:
        pass

    def pointers(self, offsets: list[int]) -> tuple[Value, Value]:
        """The addresses of the block at ``offsets``, and which of them lie inside the tensor."""
        return _block_pointers(self.base, self.shape, self.strides, self.block, offsets, range(len(self.block)))


@dataclass(frozen=True)
class BlockPointer:
    """A block pointer of ``tl.make_block_ptr`` (Triton up to 3.7)."""

    base: Value
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offsets: tuple[int, ...]
    block: tuple[int, ...]


def _block_pointers(
    base: Value, shape: Any, strides: Any, block: Any, offsets: Any, checked: Any
) -> tuple[Value, Value]:
    address = np.zeros(tuple(block), np.int64)
    inside = np.ones(tuple(block), np.bool_)
    for axis, extent in enumerate(block):
        index = (offsets[axis] + np.arange(extent, dtype=np.int64)).reshape(
            [-1 if other == axis else 1 for other in range(len(block))]
        )
        address = address + index * strides[axis]
        if axis in checked:
            inside = inside & (index >= 0) & (index < shape[axis])
    size = max(1, base.dtype.element_ty.primitive_bitwidth // 8)
    pointers = base.data + (address * size).view(np.uint64)
    return Value(pointers, base.dtype), Value(inside, tl.int1)


def numbers(values: Any) -> tuple[int, ...]:
    """Scalars of the IR, or ints, as ints."""
    return tuple(int(value.data.reshape(())) if isinstance(value, Value) else int(value) for value in values)


def is_host_descriptor(argument: Any) -> bool:
    """Whether a launch argument is a tensor descriptor, of Triton or of Gluon."""
    return isinstance(argument, TensorDescriptor) or (
        hasattr(argument, "block_shape") and hasattr(argument, "strides") and hasattr(argument, "base")
    )


def make_descriptor(semantic: Any, argument: Any) -> Any:
    """The value of a host tensor descriptor."""
    dtype = tl.str_to_ty(mangle_type(argument.base), None)
    base = tl.tensor(Value(np.array(argument.base.data_ptr(), np.uint64), dtype), dtype)
    if not isinstance(argument, TensorDescriptor):
        return _make_gluon_descriptor(semantic, argument, base)
    shape = [semantic.to_tensor(int(extent)) for extent in argument.shape]
    strides = [tl.constexpr(1) if stride == 1 else semantic.to_tensor(int(stride)) for stride in argument.strides]
    block = [tl.constexpr(extent) for extent in argument.block_shape]
    descriptor = semantic.make_tensor_descriptor(base, shape, strides, block, argument.padding)
    if getattr(argument, "round_f32_to_tf32", False):
        descriptor.handle = replace(descriptor.handle, round_tf32=True)
    return descriptor


def _make_gluon_descriptor(semantic: Any, argument: Any, base: Any) -> Any:
    if not isinstance(argument, gluon_descriptors.TensorDescriptor):
        raise NotEmulated(f"descriptors of type {type(argument).__name__} are not emulated")
    make_scalar = semantic.builder.get_int64
    shape = [tl.tensor(semantic.builder.get_int32(int(extent)), tl.int32) for extent in argument.shape]
    strides = [tl.tensor(make_scalar(int(stride)), tl.int64) for stride in argument.strides]
    block = tl.block_type(base.dtype.element_ty, [int(extent) for extent in argument.block_shape])
    handle = Descriptor(
        base.handle,
        tuple(int(extent) for extent in argument.shape),
        tuple(int(stride) for stride in argument.strides),
        tuple(int(extent) for extent in argument.block_shape),
        argument.padding == "nan",
        bool(getattr(argument, "round_f32_to_tf32", False)),
        argument.layout,
    )
    return gluon_tma.tensor_descriptor(handle, shape, strides, block, argument.layout)


REDUCTIONS: dict[Any, Any] = {}
if hasattr(ir, "DESCRIPTOR_REDUCE_KIND"):
    _kinds = ir.DESCRIPTOR_REDUCE_KIND
    REDUCTIONS = {
        _kinds.ADD: (ir.ATOMIC_OP.ADD, ir.ATOMIC_OP.FADD),
        _kinds.MIN: (ir.ATOMIC_OP.MIN, ir.ATOMIC_OP.MIN),
        _kinds.MAX: (ir.ATOMIC_OP.MAX, ir.ATOMIC_OP.MAX),
        _kinds.AND: (ir.ATOMIC_OP.AND, ir.ATOMIC_OP.AND),
        _kinds.OR: (ir.ATOMIC_OP.OR, ir.ATOMIC_OP.OR),
        _kinds.XOR: (ir.ATOMIC_OP.XOR, ir.ATOMIC_OP.XOR),
    }


class DescriptorOps:
    """Builder methods for tensor descriptors and block pointers."""

    read: Any
    write: Any
    create_atomic_rmw: Any

    def create_make_tensor_descriptor(
        self, base: Value, shape: Any, strides: Any, block: Any, is_signed: bool, padding: Any
    ) -> Descriptor:
        extents, steps = numbers(shape), numbers(strides)
        size = max(1, base.dtype.element_ty.primitive_bitwidth // 8)
        if int(base.data.reshape(())) % 16:
            raise Fault("the base address of a tensor descriptor must be a multiple of 16 bytes")
        for step in steps[:-1]:
            if step * size % 16:
                raise Fault(f"the strides of a tensor descriptor must be multiples of 16 bytes, not {step * size}")
        nan = padding == ir.PADDING_OPTION.PAD_NAN
        return Descriptor(base, extents, steps, tuple(int(tl.core._unwrap_if_constexpr(e)) for e in block), nan)

    def _descriptor_load(self, descriptor: Descriptor, offsets: list[int]) -> Value:
        return self.read_block(descriptor, *descriptor.pointers(offsets))

    def read_block(self, descriptor: Descriptor, pointers: Value, inside: Value) -> Value:
        """The elements of a block; those outside of the tensor hold what the descriptor fills them with."""
        element = descriptor.base.dtype.element_ty
        kind = storage(element)
        fill: Array = np.zeros((), kind)
        if descriptor.fill_nan and element.is_floating():
            fill = np.array(0x7FFF if element.is_bf16() else np.nan, kind)
        loaded: Value = self.read("descriptor load", pointers, inside, Value(fill, element))
        if descriptor.round_tf32 and element.is_fp32():
            loaded = Value(round_tf32(loaded.data), element)
        return loaded

    def create_descriptor_load(self, descriptor: Descriptor, offsets: Any, *_: object) -> Value:
        return self._descriptor_load(descriptor, list(numbers(offsets)))

    def create_descriptor_store(self, descriptor: Descriptor, value: Value, offsets: Any) -> None:
        pointers, inside = descriptor.pointers(list(numbers(offsets)))
        self.write("descriptor store", pointers, value, inside)

    def create_descriptor_reduce(self, kind: Any, descriptor: Descriptor, value: Value, offsets: Any) -> None:
        pointers, inside = descriptor.pointers(list(numbers(offsets)))
        integer, floating = REDUCTIONS[kind]
        operation = floating if value.dtype.is_floating() else integer
        self.create_atomic_rmw(operation, pointers, value, inside)

    def create_descriptor_gather(self, descriptor: Descriptor, rows: Value, column: Value, ir_type: Any) -> Value:
        start = numbers([column])[0]
        data = [self._descriptor_load(descriptor, [int(row), start]).data[0] for row in rows.data]
        return Value(np.stack(data), descriptor.base.dtype.element_ty)

    def create_descriptor_scatter(self, descriptor: Descriptor, value: Value, rows: Value, column: Value) -> None:
        start = numbers([column])[0]
        for position, row in enumerate(rows.data):
            pointers, inside = descriptor.pointers([int(row), start])
            self.write("descriptor store", pointers, Value(value.data[position : position + 1], value.dtype), inside)

    def create_tensor_descriptor_type(self, block: Any, is_signed: bool) -> Any:
        return block

    # Block pointers.

    def create_make_block_ptr(
        self, base: Value, shape: Any, strides: Any, offsets: Any, block: Any, order: Any
    ) -> BlockPointer:
        extents = tuple(int(tl.core._unwrap_if_constexpr(extent)) for extent in block)
        return BlockPointer(base, numbers(shape), numbers(strides), numbers(offsets), extents)

    def create_advance(self, pointer: BlockPointer, offsets: Any) -> BlockPointer:
        moved = tuple(old + step for old, step in zip(pointer.offsets, numbers(offsets), strict=True))
        return replace(pointer, offsets=moved)

    def create_tensor_pointer_load(self, pointer: BlockPointer, checked: Any, padding: Any, *_: object) -> Value:
        pointers, inside = self._expanded(pointer, checked)
        element = pointer.base.dtype.element_ty
        nan = padding == ir.PADDING_OPTION.PAD_NAN
        fill = np.array((0x7FFF if element.is_bf16() else np.nan) if nan else 0, storage(element))
        loaded: Value = self.read("block load", pointers, inside, Value(fill, element) if padding is not None else None)
        return loaded

    def create_tensor_pointer_store(self, pointer: BlockPointer, value: Value, checked: Any, *_: object) -> None:
        pointers, inside = self._expanded(pointer, checked)
        self.write("block store", pointers, value, inside)

    def _expanded(self, pointer: BlockPointer, checked: Any) -> tuple[Value, Value]:
        return _block_pointers(
            pointer.base, pointer.shape, pointer.strides, pointer.block, pointer.offsets, set(checked)
        )
