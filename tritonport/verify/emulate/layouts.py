"""Layouts in the Gluon dialect: carried by every tensor, inferred where the compiler infers them.

Layouts decide nothing about values, but a kernel reads them (``x.type.layout``) and the front end compares them, so
they must be what the compiler would say. Slices (expand_dims, reduce) are inferred here; reshape, join, split and
permute ask the compiler's own inference, on an operation built in a scratch module.
"""

from __future__ import annotations

import atexit
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
import triton.experimental.gluon.language as gl
from triton._C.libtriton import gluon_ir, ir
from triton.experimental.gluon.language import _layouts as layout_types

from tritonport.verify.emulate.agents import Partition
from tritonport.verify.emulate.async_copies import AsyncCopyOps
from tritonport.verify.emulate.barriers import BarrierOps
from tritonport.verify.emulate.builder import Builder
from tritonport.verify.emulate.errors import Fault
from tritonport.verify.emulate.global_order import GlobalOps, GlobalOrder
from tritonport.verify.emulate.scheduler import Scheduler
from tritonport.verify.emulate.shared import check_invalidated, check_reused
from tritonport.verify.emulate.shared_ops import SharedOps
from tritonport.verify.emulate.tensor_cores import TensorCoreOps
from tritonport.verify.emulate.tensor_memory import TensorMemoryOps
from tritonport.verify.emulate.tma import TmaOps
from tritonport.verify.emulate.values import BlockType, Value


class LayoutInference:
    """The compiler's layout inference for one target and number of warps; answers are kept."""

    def __init__(self, options: Any, target_name: str) -> None:
        # Attributes are released in this order: what lives in a context must go before it.
        self._module: Any = None
        self._builder: Any = None
        self._context: Any = ir.context()
        ir.load_dialects(self._context)
        try:
            self._builder = gluon_ir.GluonOpBuilder(self._context, options.arch)
        except TypeError:  # the builder takes no architecture before Triton 3.9
            self._builder = gluon_ir.GluonOpBuilder(self._context)
        builder = self._builder
        builder.set_loc("inference", 1, 0)
        self._module = builder.create_module()
        self._module.set_attr("ttg.target", builder.get_string_attr(target_name))
        for name, value in (
            ("ttg.num-warps", options.num_warps),
            ("ttg.num-ctas", options.num_ctas),
            ("ttg.threads-per-warp", options.warp_size),
        ):
            self._module.set_attr(name, builder.get_int32_attr(value))
        self._known: dict[tuple[Any, ...], Any] = {}
        signature = builder.get_function_ty([], [])
        function = builder.get_or_insert_function(self._module, "scratch", signature, "public", False)
        self._module.push_back(function)
        builder.set_insertion_point_to_start(function.add_entry_block())

    def result_of(self, operation: str, layout: Any, shape: tuple[int, ...], argument: Any = None) -> Any:
        """The layout of the (first) result of "reshape", "trans", "join", "unpack" or "split" of a tensor."""
        key = (operation, repr(layout), shape, repr(argument))
        if key not in self._known:
            self._known[key] = self._infer(operation, layout, shape, argument)
        return self._known[key]

    def _value(self, layout: Any, shape: tuple[int, ...], element: Any = gl.float32) -> Any:
        """A value of a tensor type."""
        ty = gl.distributed_type(element, list(shape), layout).to_ir(self._builder)
        return self._builder.create_poison(ty)

    def _infer(self, operation: str, layout: Any, shape: tuple[int, ...], argument: Any) -> Any:
        builder = self._builder
        value = self._value(layout, shape)
        try:
            if operation == "reshape":
                result = builder.create_reshape(value, list(argument), False)
            elif operation == "trans":
                result = builder.create_trans(value, list(argument))
            elif operation == "unpack":
                result = builder.create_fp4_to_fp(self._value(layout, shape, gl.uint8), builder.get_bf16_ty(), argument)
            elif operation == "join":
                result = builder.create_join(value, value)
            else:
                result = builder.create_split(value)[0]
            return builder.get_gluon_layout_from_tensor(result)
        except Exception as error:
            raise Fault(f"no layout for {operation} of {list(shape)} with {layout}: {error}") from error

    def memory_layout_of(self, operation: str, layout: Any, shape: tuple[int, ...], argument: Any) -> Any:
        """The layout of the result of "reshape" or "trans" of a shared memory descriptor of ``shape``."""
        key = ("memory " + operation, repr(layout), shape, repr(argument))
        if key not in self._known:
            builder = self._builder
            ty = gl.shared_memory_descriptor(None, gl.int8, list(shape), layout, list(shape)).type.to_ir(builder)
            memory = builder.create_local_alloc(ty)
            change = builder.create_memdesc_reshape if operation == "reshape" else builder.create_memdesc_trans
            try:
                self._known[key] = builder.get_gluon_layout_from_memdesc(change(memory, list(argument)))
            except Exception as error:
                raise Fault(f"no layout for {operation} of {list(shape)} with {layout}: {error}") from error
        return self._known[key]

    def holds_pairs(self, layout: Any, shape: tuple[int, ...]) -> bool:
        """Whether each thread holds both elements of the last dimension (what the verifier of ``tt.split`` asks)."""
        key = ("holds_pairs", repr(layout), shape, "")
        if key not in self._known:
            bases = self.linear(layout, shape).reg_bases
            self._known[key] = [0] * (len(shape) - 1) + [1] in [list(basis) for basis in bases]
        return bool(self._known[key])

    def is_trivial(self, source: Any, target: Any, shape: tuple[int, ...]) -> bool:
        """Whether converting between two layouts moves no element between threads."""
        value = self._value(source, shape)
        ty = gl.distributed_type(gl.float32, list(shape), target).to_ir(self._builder)
        return bool(self._builder.is_convert_layout_trivial(ty, value))

    def crosses_warps(self, source: Any, target: Any, shape: tuple[int, ...]) -> bool:
        """Whether converting between two layouts needs elements of other warps, which only shared memory brings."""
        key = ("crosses_warps", repr(source), shape, repr(target))
        if key not in self._known:
            held = [_of_one_warp(self.linear(layout, shape), shape) for layout in (source, target)]
            together = _rank([*held[0], *held[1]])
            self._known[key] = not _rank(held[0]) == _rank(held[1]) == together
        return bool(self._known[key])

    def bank_conflicts(self, registers: Any, shared: Any, shape: Any, bits: int) -> Any:
        """The bank conflicts of a shared memory access, as the compiler counts them."""
        builder = self._builder
        return builder.get_shared_bank_conflicts(registers._to_ir(builder), shared._to_ir(builder), list(shape), bits)

    def linear(self, layout: Any, shape: Any) -> Any:
        return self._builder.to_linear_layout(layout._to_ir(self._builder), list(shape))


def _of_one_warp(layout: Any, shape: tuple[int, ...]) -> list[int]:
    """The bases of a linear layout for registers and lanes, each as the index of an element in a flat tensor."""
    return [int(np.ravel_multi_index(basis, shape)) for basis in [*layout.reg_bases, *layout.lane_bases]]


def _rank(vectors: list[int]) -> int:
    """The dimension over GF(2) of what these bit vectors span."""
    reduced: list[int] = []
    for vector in vectors:
        for one in reduced:
            vector = min(vector, vector ^ one)
        if vector:
            reduced.append(vector)
    return len(reduced)


@lru_cache(maxsize=16)
def layout_inference(options: Any, target_name: str) -> LayoutInference:
    """The inference for a launch with these options."""
    return LayoutInference(options, target_name)


# libtriton complains about its objects that outlive the interpreter.
atexit.register(layout_inference.cache_clear)


class GluonBuilder(SharedOps, TensorCoreOps, BarrierOps, AsyncCopyOps, GlobalOps, TmaOps, TensorMemoryOps, Builder):
    """The builder of Gluon kernels: as the Triton one, with layouts on its values.

    The ``get_*_layout`` methods return Gluon's own layout objects, which here play the part of the IR attributes.
    """

    switch: Callable[[Partition], None]

    def __init__(self, options: Any, codegen_fns: dict[str, Any], module_map: dict[str, Any], target_name: str) -> None:
        super().__init__(options, codegen_fns, module_map)
        self._target_name = target_name
        self.default_precision = ir.INPUT_PRECISION.TF32
        self.start_program(0)

    def start_program(self, seed: int) -> None:
        """Shared memory and everything in flight belong to one program. ``seed`` picks the schedule."""
        self.partition = Partition(0, "default", self.options.num_warps)
        self.partitions = [self.partition]
        self.scheduler = Scheduler(self, seed)
        self.buffers = {}
        self.reused = []
        self.scratch_reused = {}
        self.global_order = GlobalOrder()
        self.barrier_serial = 0
        self.partition_serial = 0
        self.time = 0
        self.specialized = False

    def resume(self, partition: Partition) -> None:
        """Another partition runs from now on."""
        self.partition = partition
        self.switch(partition)

    @property
    def num_warps(self) -> int:
        return self.partition.num_warps

    def next_partition(self) -> int:
        """An index no partition of this program has had."""
        self.partition_serial += 1
        return self.partition_serial

    def end_program(self) -> None:
        """Raises :class:`Fault` for what must not be in flight when a program ends."""
        check_invalidated(list(self.buffers.values()))
        check_reused([*self.reused, *self.scratch_reused.values()])
        for buffer in self.buffers.values():
            for access in buffer.accesses.values():
                if access.finish is None or self.partition.clock.knows(access.event):
                    continue
                if access.what.startswith(("the TMA", "the warpgroup_mma", "the tcgen05")):
                    name = buffer.name or "a buffer"
                    raise Fault(
                        f"the program ends while {access.what} of `{name}` is in flight: it needs {access.finish}",
                        access.place,
                    )

    @property
    def inference(self) -> Any:
        # Not kept: an exception may hold this builder until the interpreter ends.
        options = self.options
        if self.partition.num_warps != options.num_warps:
            options = replace(options, num_warps=self.partition.num_warps)
        return layout_inference(options, self._target_name)

    # Layout attributes.

    def get_auto_layout(self) -> Any:
        return layout_types.AutoLayout()

    def get_coalesced_layout(self) -> Any:
        return layout_types.CoalescedLayout()

    def get_blocked_layout(self, size: Any, threads: Any, warps: Any, order: Any, cga: Any) -> Any:
        return layout_types.BlockedLayout(size, threads, warps, order, cga)

    def get_slice_layout(self, dim: int, parent: Any) -> Any:
        return layout_types.SliceLayout(dim, parent)

    def get_distributed_linear_layout(self, reg: Any, lane: Any, warp: Any, block: Any, shape: Any) -> Any:
        return layout_types.DistributedLinearLayout(reg, lane, warp, block, shape)

    def get_dot_operand_layout(self, index: int, parent: Any, k_width: int) -> Any:
        return layout_types.DotOperandLayout(index, parent, k_width)

    def get_mma_layout(self, version: Any, warps: Any, cga: Any, instruction: Any) -> Any:
        return layout_types.NVMMADistributedLayout(version, warps, instruction, cga)

    def get_nvmma_shared_layout(
        self, swizzle: int, bits: int, transposed: bool, fp4_padded: bool, cga: Any, rank: int
    ) -> Any:
        return layout_types.NVMMASharedLayout(swizzle, bits, rank, transposed, fp4_padded, cga)

    def get_swizzled_shared_layout(self, vec: int, per_phase: int, max_phase: int, order: Any, cga: Any) -> Any:
        return layout_types.SwizzledSharedLayout(vec, per_phase, max_phase, order, cga)

    def get_padded_shared_layout(self, intervals: Any, paddings: Any, bases: Any, cga: Any, shape: Any) -> Any:
        pairs = [list(pair) for pair in zip(intervals, paddings, strict=True)]
        return layout_types.PaddedSharedLayout(pairs, bases, cga, shape)

    def get_shared_linear_layout(self, offset_bases: Any, block_bases: Any, alignment: int) -> Any:
        return layout_types.SharedLinearLayout(offset_bases, block_bases, alignment)

    def get_distributed_ty(self, element: Any, shape: Any, layout: Any) -> BlockType:
        self._check_layout(layout)
        return BlockType(element, shape, layout)

    def get_gluon_layout_from_tensor(self, value: Value) -> Any:
        if value.layout is None:
            raise Fault("a tensor without a layout")
        return value.layout

    def _check_layout(self, layout: Any) -> None:
        """The compiler's verifier refuses a layout that does not fit the launch (TritonGPU dialect, verifyLayout)."""
        root = layout
        while hasattr(root, "parent"):
            root = root.parent
        warps = threads = None
        if isinstance(root, layout_types.BlockedLayout):
            warps, threads = _product(root.warps_per_cta), _product(root.threads_per_warp)
        elif isinstance(root, layout_types.NVMMADistributedLayout):
            warps = _product(root.warps_per_cta)
        elif isinstance(root, layout_types.DistributedLinearLayout):
            warps, threads = 1 << len(root.warp_bases), 1 << len(root.lane_bases)
        if warps is not None and warps != self.partition.num_warps:
            who = "the kernel" if self.partition.index == 0 else f"the partition {self.partition.name}"
            raise Fault(f"{layout} has {warps} warps per CTA, but {who} runs with num_warps={self.partition.num_warps}")
        if threads is not None and threads != self.options.warp_size:
            raise Fault(f"{layout} has {threads} threads per warp, but the target has {self.options.warp_size}")

    # Inference.

    def expanded_layout(self, operand: Value, axis: int) -> Any:
        layout = operand.layout
        return layout.parent if isinstance(layout, layout_types.SliceLayout) else layout

    def reduced_layout(self, operand: Value, axis: int) -> Any:
        if operand.data.ndim <= 1:
            return None
        if isinstance(operand.layout, layout_types.AutoLayout | layout_types.CoalescedLayout):
            return operand.layout
        return layout_types.SliceLayout(axis, operand.layout)

    def reshaped_layout(self, operand: Value, shape: list[int]) -> Any:
        return self._inferred("reshape", operand, shape)

    def permuted_layout(self, operand: Value, axes: list[int]) -> Any:
        return self._inferred("trans", operand, axes)

    def joined_layout(self, operand: Value) -> Any:
        return self._inferred("join", operand, None)

    def unpacked_layout(self, operand: Value, axis: int) -> Any:
        return self._inferred("unpack", operand, axis)

    def halved_layout(self, operand: Value) -> Any:
        result = self._inferred("split", operand, None)
        if result is not operand.layout and not self.inference.holds_pairs(operand.layout, operand.data.shape):
            raise Fault(
                f"split requires at least 2 elements per thread in the last dimension, but got {operand.layout}"
            )
        return result

    def _inferred(self, operation: str, operand: Value, argument: list[int] | int | None) -> Any:
        layout = operand.layout
        if layout is None or isinstance(layout, layout_types.AutoLayout | layout_types.CoalescedLayout):
            return layout
        return self.inference.result_of(operation, layout, operand.data.shape, argument)

    def create_dot(self, a: Value, b: Value, acc: Value, precision: Any, imprecise: object) -> Value:
        # Without a tensor core's layout the product is one of fused multiply-adds, which round no operand.
        if not isinstance(acc.layout, layout_types.NVMMADistributedLayout):
            precision = ir.INPUT_PRECISION.IEEE
        return super().create_dot(a, b, acc, precision, imprecise)

    # Conversions.

    def create_convert_layout(self, ir_type: BlockType, operand: Value) -> Value:
        clock = self.partition.clock
        unfinished = {one: work for one in self.buffers.values() if (work := one.under_way(clock)) is not None}
        if unfinished and self.inference.crosses_warps(operand.layout, ir_type.layout, operand.data.shape):
            self.take_scratch("the convert_layout", unfinished)
        return Value(operand.data, operand.dtype, ir_type.layout)

    def create_set_auto_layout(self, layout: Any, operand: Value) -> Value:
        return Value(operand.data, operand.dtype, layout)

    def is_convert_layout_trivial(self, ir_type: BlockType, operand: Value) -> bool:
        return bool(self.inference.is_trivial(operand.layout, ir_type.layout, operand.data.shape))

    def get_shared_bank_conflicts(self, registers: Any, shared: Any, shape: Any, bits: int) -> Any:
        return self.inference.bank_conflicts(registers, shared, shape, bits)

    def to_linear_layout(self, layout: Any, shape: Any) -> Any:
        return self.inference.linear(layout, shape)


def _product(extents: Any) -> int:
    result = 1
    for extent in extents:
        result *= int(extent)
    return result
