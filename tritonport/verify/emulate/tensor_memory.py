"""Builder methods for Blackwell's tensor memory and its MMA."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import triton.experimental.gluon.language as gl
from triton._C.libtriton import ir

from tritonport.verify.emulate.agents import Partition
from tritonport.verify.emulate.barriers import Barrier, is_true
from tritonport.verify.emulate.errors import Fault, Unsupported
from tritonport.verify.emulate.scaled_dots import scaled_numbers
from tritonport.verify.emulate.scheduler import Scheduler
from tritonport.verify.emulate.shapes import accumulate, matrix_product
from tritonport.verify.emulate.shared import IN_ORDER, Memory, MemoryType, check_written
from tritonport.verify.emulate.tensor_cores import as_value, check_product
from tritonport.verify.emulate.values import Array, Value

_QUEUE = "tcgen05"
_PACKED = {
    "add": "create_fadd",
    "sub": "create_fsub",
    "mul": "create_fmul",
    "fma": "create_fma",
    "min": "create_minnumf",
    "max": "create_maxnumf",
}


class TensorMemoryOps:
    """Tensor memory, and MMAs that finish in order and signal an mbarrier."""

    partition: Partition
    scheduler: Scheduler
    access: Callable[..., None]
    allocate: Callable[[str, MemoryType], Memory]
    barrier: Callable[[Memory, str], Barrier]
    check_visible: Callable[[Memory, str], None]
    read_generic: Callable[[Memory, str], None]
    store_elements: Callable[[Memory, Value, str], None]
    default_precision: Any

    # Types.

    def get_tensor_mem_desc_ty(self, element: Any, shape: Any, layout: Any, alloc_shape: Any) -> MemoryType:
        return MemoryType(element, shape, layout, alloc_shape)

    def get_tensor_memory_layout(self, *arguments: Any) -> tuple[Any, ...]:
        return ("tensor memory", *arguments)

    def get_tensor_memory_scales_layout(self, *arguments: Any) -> tuple[Any, ...]:
        return ("tensor memory scales", *arguments)

    # Accesses by threads.

    def create_tmem_alloc(self, ir_type: MemoryType, value: Value | None = None) -> Memory:
        memory = self.allocate("tensor memory", ir_type)
        if value is not None:
            self.store_elements(memory, value, "the store of its first value")
        return memory

    def create_tmem_load(self, ir_type: Any, memory: Memory, *reduction: Any) -> Any:
        self.read_generic(memory, "the load")
        loaded = Value(memory.data.copy(), memory.dtype, ir_type.layout)
        if not reduction or reduction[0] is None:
            return loaded
        kind, absolute, propagate_nan = reduction
        values = np.abs(loaded.data) if absolute else loaded.data
        spread = propagate_nan == ir.PROPAGATE_NAN.ALL
        if "MIN" in str(kind).upper():
            reduced = (np.minimum if spread else np.fmin).reduce(values, axis=1)
        else:
            reduced = (np.maximum if spread else np.fmax).reduce(values, axis=1)
        layout = gl.SliceLayout(1, ir_type.layout)
        return loaded, Value(np.asarray(reduced), memory.dtype, layout), layout

    def create_tmem_store(self, memory: Memory, value: Value, predicate: Value) -> None:
        if is_true(predicate):
            self.store_elements(memory, value, "the store")

    def create_tmem_subslice(self, ir_type: MemoryType, memory: Memory, start: int, dim: int = 1) -> Memory:
        where = [slice(None)] * memory.data.ndim
        where[dim] = slice(int(start), int(start) + ir_type.shape[dim])
        data = memory.data[tuple(where)]
        if data.shape != ir_type.shape:
            raise Fault(f"a slice of {list(ir_type.shape)} from {start} does not lie inside {memory.name}")
        label = f"{memory.label}[{start}:{start + ir_type.shape[dim]}]"
        return memory.view(data, memory.written[tuple(where)], ir_type.layout, label)

    # Packed arithmetic: two lanes an instruction, each as the scalar operation.

    def create_packed_arith(self, ir_type: Any, operation: str, operands: list[Value]) -> Value:
        if any(operand.dtype != ir_type.scalar for operand in operands):
            raise Unsupported(f"packed {operation} of operands of different types is not emulated")
        result: Value = getattr(self, _PACKED[operation])(*operands)
        return result

    # Asynchronous work.

    def create_tcgen05_mma(
        self, a: Memory, b: Memory, acc: Memory, use_acc: Value, predicate: Value, signals: list[Memory],
        predicates: list[Value], *_: object,
    ) -> None:  # fmt: skip
        if not is_true(predicate):
            return
        self._multiply(a, b, acc, is_true(use_acc))
        for signal, wanted in zip(signals, predicates, strict=True):
            self.create_tcgen05_commit(signal, wanted)

    def create_tcgen05_mma_scaled(
        self, a: Memory, b: Memory, acc: Memory, a_scale: Memory, b_scale: Memory, a_type: Any, b_type: Any,
        use_acc: Value, predicate: Value, signals: list[Memory], predicates: list[Value], *_: object,
    ) -> None:  # fmt: skip
        if not is_true(predicate):
            return
        self._issue("the tcgen05_mma_scaled", [a, b, a_scale, b_scale], acc, is_true(use_acc))
        rows, columns = acc.data.shape
        left = scaled_numbers(as_value(a), a_type, as_value(a_scale), 0, rows)
        right = scaled_numbers(as_value(b), b_type, as_value(b_scale), 1, columns)
        self._add(np.matmul(left, right), acc, is_true(use_acc))
        for signal, wanted in zip(signals, predicates, strict=True):
            self.create_tcgen05_commit(signal, wanted)

    def _multiply(self, a: Memory, b: Memory, acc: Memory, use_acc: bool) -> None:
        self._issue("the tcgen05_mma", [a, b], acc, use_acc)
        check_product(a, b, Value(acc.data, acc.dtype))
        self._add(matrix_product(as_value(a), as_value(b), self.default_precision), acc, use_acc)

    def _issue(self, what: str, operands: list[Memory], acc: Memory, use_acc: bool) -> None:
        """Start to read operands and to change the accumulator."""
        self.scheduler.pause()
        event = self.partition.queue(_QUEUE).start()
        for operand in operands:
            if operand.buffer.kind == "shared memory":
                self.check_visible(operand, what)
            self.access(operand, what, writes=False, event=event, finish=IN_ORDER)
            check_written(operand, what)
        self.access(acc, what, writes=True, event=event, finish=IN_ORDER)
        if use_acc:
            check_written(acc, what)

    def _add(self, product: Array, acc: Memory, use_acc: bool) -> None:
        start = Value(acc.data.copy(), acc.dtype) if use_acc else None
        acc.data[...] = accumulate(product, start, acc.dtype, None).data
        acc.written[...] = True

    def create_tmem_copy(self, source: Memory, target: Memory) -> None:
        what = "the tcgen05_copy"
        event = self.partition.queue(_QUEUE).start()
        self.check_visible(source, what)
        self.access(source, what, writes=False, event=event, finish=IN_ORDER)
        check_written(source, what)
        self.access(target, what, writes=True, event=event, finish=IN_ORDER)
        if source.data.shape != target.data.shape:
            raise Unsupported("a tcgen05_copy that rearranges scales is not emulated")
        target.data[...] = source.data
        target.written[...] = True

    def create_tcgen05_commit(self, signal: Memory, predicate: Value | None = None, *_: object) -> None:
        """Arrive once everything issued so far is done."""
        if predicate is not None and not is_true(predicate):
            return
        barrier = self.barrier(signal, "tcgen05_commit")
        queue = self.partition.queue(_QUEUE)
        clock = self.partition.release()
        clock.learn(queue.agent, queue.issued)
        barrier.in_flight += 1

        def arrive() -> None:
            barrier.in_flight -= 1
            barrier.arrive(1, clock)

        self.scheduler.add_transfer(arrive)
