"""Builder methods for the tensor memory accelerator: bulk copies between global and shared memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from triton.experimental.gluon.language._layouts import NVMMASharedLayout

from tritonport.verify.emulate.agents import Partition
from tritonport.verify.emulate.barriers import Barrier, is_true
from tritonport.verify.emulate.descriptors import REDUCTIONS, Descriptor, DescriptorOps, numbers
from tritonport.verify.emulate.errors import Fault
from tritonport.verify.emulate.ordering import Event
from tritonport.verify.emulate.scheduler import Scheduler
from tritonport.verify.emulate.shared import Memory, check_written
from tritonport.verify.emulate.values import Array, BlockType, Value, same_type

STORES = "TMA store"
_VISIBLE = "TMA store, visible"
_FINISH = "a tma.store_wait with read_only=False in between"


class TmaOps(DescriptorOps):
    """TMA loads, which signal an mbarrier, and TMA stores, which ``store_wait`` waits for."""

    partition: Partition
    scheduler: Scheduler
    access: Callable[..., None]
    check_visible: Callable[[Memory, str], None]
    barrier: Callable[[Memory, str], Barrier]
    copy_access: Callable[..., None]
    reduce: Callable[..., Value]

    # Descriptors.

    def get_tensor_descriptor_layout_type(self, block: BlockType, is_signed: bool, layout: Any) -> BlockType:
        return BlockType(block.scalar, block.shape, layout)

    def create_make_tensor_descriptor(self, *arguments: Any) -> Descriptor:
        if not isinstance(arguments[0], BlockType):
            return super().create_make_tensor_descriptor(*arguments)
        block, base, shape, strides, padding = arguments
        made = super().create_make_tensor_descriptor(base, shape, strides, block.shape, False, padding)
        return replace(made, layout=block.layout)

    # Loads.

    def create_async_tma_copy_global_to_local(
        self, descriptor: Descriptor, coordinates: Any, signal: Memory, result: Memory, predicate: Value, *rest: Any
    ) -> None:
        if not is_true(predicate):
            return
        if len(rest) > 1 and rest[1] is not None:
            raise Fault("im2col descriptors are not modelled")
        _check_block(descriptor.block, descriptor, result)
        block = descriptor.pointers(list(numbers(coordinates)))
        self._load(signal, result, [block], lambda: self.read_block(descriptor, *block).data)

    def create_async_tma_gather(
        self, descriptor: Descriptor, rows: Value, column: Value, signal: Memory, result: Memory, predicate: Value,
        *_: object,
    ) -> None:  # fmt: skip
        if not is_true(predicate):
            return

        start = numbers([column])[0]
        blocks = [descriptor.pointers([int(row), start]) for row in rows.data]
        self._load(
            signal, result, blocks, lambda: np.stack([self.read_block(descriptor, *one).data[0] for one in blocks])
        )

    def _load(
        self, signal: Memory, result: Memory, blocks: list[tuple[Value, Value]], read: Callable[[], Array]
    ) -> None:
        self.scheduler.pause()
        what = "the TMA load"
        barrier = self.barrier(signal, what)
        finish = f"a wait for phase {barrier.completed & 1} of {signal.name}"
        self.check_visible(result, what)
        event = barrier.next_phase()
        self.access(result, what, writes=True, event=event, finish=finish)
        for block in blocks:
            self.copy_access(what, *block, writes=False, event=event, finish=finish, generic=False)
        # What is copied lies in its place from the start, but no one may look before it has arrived.
        result.data[...] = read().reshape(result.data.shape)
        result.written[...] = True
        barrier.issued += result.nbytes
        barrier.in_flight += 1
        barrier.check_bytes()
        clock = self.partition.release()

        def arrive() -> None:
            barrier.in_flight -= 1
            barrier.deliver(result.nbytes, clock)

        self.scheduler.add_transfer(arrive)

    # Stores.

    def create_async_tma_copy_local_to_global(
        self, descriptor: Descriptor, coordinates: Any, source: Memory, *_: object
    ) -> None:
        _check_block(descriptor.block, descriptor, source)
        offsets = list(numbers(coordinates))
        event = self._begin_store(source, "the TMA store")
        _check_overrun(descriptor, offsets)
        pointers, inside = descriptor.pointers(offsets)
        self._reach(event, "the TMA store", pointers, inside)
        self.write("TMA store", pointers, Value(source.data, source.dtype), inside)

    def create_async_tma_reduce(self, kind: Any, descriptor: Descriptor, coordinates: Any, source: Memory) -> None:
        _check_block(descriptor.block, descriptor, source)
        event = self._begin_store(source, "the TMA reduction")
        pointers, inside = descriptor.pointers(list(numbers(coordinates)))
        integer, floating = REDUCTIONS[kind]
        operation = floating if source.dtype.is_floating() else integer
        self._reach(event, "the TMA reduction", pointers, inside, atomic=True)
        self.reduce(operation, pointers, Value(source.data, source.dtype), inside)

    def create_async_tma_scatter(
        self, descriptor: Descriptor, rows: Value, column: Value, source: Memory, *_: object
    ) -> None:
        event = self._begin_store(source, "the TMA scatter")
        start = numbers([column])[0]
        for position, row in enumerate(rows.data):
            pointers, inside = descriptor.pointers([int(row), start])
            self._reach(event, "the TMA scatter", pointers, inside)
            self.write("TMA scatter", pointers, Value(source.data[position : position + 1], source.dtype), inside)

    def _begin_store(self, source: Memory, what: str) -> Event:
        self.scheduler.pause()
        event = self.partition.queue(STORES).start()
        self.check_visible(source, what)
        self.access(source, what, writes=False, event=event, finish="a tma.store_wait that covers it")
        check_written(source, what)
        return event

    def create_async_tma_store_wait(self, pendings: int, read_only: bool = True) -> None:
        finished = self.partition.wait(STORES, pendings)
        if not read_only:
            self.partition.clock.learn((self.partition.index, _VISIBLE), finished)

    def _reach(self, store: Event, what: str, pointers: Value, inside: Value, *, atomic: bool = False) -> None:
        """A store begins to write global memory."""
        visible = Event((self.partition.index, _VISIBLE), store.tick)
        self.copy_access(
            what, pointers, inside, writes=True, event=visible, finish=_FINISH, generic=False, atomic=atomic
        )


def _check_block(block: tuple[int, ...], descriptor: Descriptor, memory: Memory) -> None:
    if memory.data.shape != block:
        raise Fault(f"{memory.name} has shape {list(memory.data.shape)}, the descriptor's block {list(block)}")
    if not same_type(memory.dtype, descriptor.base.dtype.element_ty):
        raise Fault(f"{memory.name} holds {memory.dtype}, the descriptor {descriptor.base.dtype.element_ty}")
    if descriptor.layout is not None and _placement(memory.layout) != _placement(descriptor.layout):
        # Triton refuses it from 3.8 on; before, the elements land in the wrong places.
        raise Fault(f"{memory.name} has the layout {memory.layout}, the blocks of the descriptor {descriptor.layout}")


def _placement(layout: Any) -> Any:
    """What a layout in shared memory says of where an element of a block lies, whatever the rank of the buffer."""
    if not isinstance(layout, NVMMASharedLayout):
        return layout
    return layout.swizzle_byte_width, layout.element_bitwidth, layout.transposed, layout.fp4_padded


def _check_overrun(descriptor: Descriptor, offsets: list[int]) -> None:
    """A TMA store writes whole units of 16 bytes, also at the end of the innermost dimension."""
    extent, start, length = descriptor.shape[-1], offsets[-1], descriptor.block[-1]
    size = max(1, descriptor.base.dtype.element_ty.primitive_bitwidth // 8)
    if start < extent < start + length and extent * size % 16:
        raise Fault(
            f"the TMA store runs past the end of an inner dimension of {extent} elements ({extent * size} bytes): "
            "it writes on up to the next multiple of 16 bytes"
        )
