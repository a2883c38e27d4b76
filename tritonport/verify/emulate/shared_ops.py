"""Builder methods for shared memory: allocation, views, and accesses through the generic proxy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tritonport.verify.emulate.agents import Partition
from tritonport.verify.emulate.errors import Fault
from tritonport.verify.emulate.ordering import Clock, Event
from tritonport.verify.emulate.shared import (
    Access,
    Buffer,
    GenericStore,
    Memory,
    MemoryType,
    Place,
    Reuse,
    check_fenced,
    check_race,
    check_reused,
    check_written,
    reuses,
)
from tritonport.verify.emulate.values import Value, same_type, storage


class SharedOps:
    """Shared memory of the program that runs."""

    where: Callable[[], Place]
    site: Callable[[], tuple[Any, ...]]
    partition: Partition
    partitions: list[Partition]
    buffers: dict[tuple[Any, ...], Buffer]
    reused: list[Reuse]
    scratch_reused: dict[Buffer, Reuse]
    time: int
    inference: Any

    # Types.

    def get_shared_mem_desc_ty(self, element: Any, shape: Any, layout: Any, alloc_shape: Any) -> MemoryType:
        return MemoryType(element, shape, layout, alloc_shape)

    def get_gluon_layout_from_memdesc(self, memory: Memory) -> Any:
        return memory.layout

    # Accesses.

    def access(
        self,
        memory: Memory,
        what: str,
        *,
        writes: bool,
        event: Event,
        clock: Clock | None = None,
        finish: str | None = None,
    ) -> None:
        """Check and record an access by, or on behalf of, the partition that runs."""
        buffer, place = memory.buffer, self.where()
        self.touch(buffer)
        entry = Access(what, writes, event, place, memory.data, finish, self.partition.name)
        if buffer.accesses:
            check_race(memory, entry, self.partition.clock if clock is None else clock)
            known = [key for key, old in buffer.accesses.items() if self._known_to_all(old.event)]
            for key in known:
                del buffer.accesses[key]
        buffer.note(memory.label, what, place)
        if not self._known_to_all(event):
            key = (event.agent, writes, *memory.key)
            buffer.accesses[key] = entry

    def touch(self, buffer: Buffer) -> None:
        """An operation on a buffer begins: where that lies in memory is settled by the lifetimes of all of them."""
        buffer.uses += 1
        if buffer.earlier:
            self.reused += reuses(buffer, self.partition.clock, self.where())

    def take_scratch(self, what: str, unfinished: dict[Buffer, Access]) -> None:
        """An operation has memory of its own from the compiler, as if a buffer were allocated for it."""
        for buffer, work in unfinished.items():
            known = self.scratch_reused.get(buffer)
            if known is None or known.uses != buffer.uses:
                taken = f"the scratch memory of {what}"
                self.scratch_reused[buffer] = Reuse(taken, buffer, buffer.uses, work, self.where())

    def _known_to_all(self, event: Event) -> bool:
        return all(partition.clock.knows(event) for partition in self.partitions)

    def read_generic(self, memory: Memory, what: str) -> None:
        self.access(memory, what, writes=False, event=self.partition.now())
        check_written(memory, what)

    def write_generic(self, memory: Memory, what: str) -> None:
        event = self.partition.now()
        self.access(memory, what, writes=True, event=event)
        self.time += 1
        if memory.buffer.kind == "shared memory":
            store = GenericStore(event, memory.data, self.where(), self.partition, self.time)
            memory.buffer.generic_stores[memory.key] = store

    def create_fence_async_shared(self, *_: object) -> None:
        self.time += 1
        self.partition.fence("shared", self.time)

    def check_visible(self, memory: Memory, what: str) -> None:
        """An asynchronous access is about to be issued: stores must be fenced from it."""
        check_fenced(memory, what, self.partition, self.partitions)

    # Allocation.

    def allocate(self, kind: str, ir_type: MemoryType) -> Memory:
        """A buffer. The same call, reached again, gets the same memory: an allocation in a loop is made once."""
        site = (kind, self.partition.index, *self.site())
        buffer = self.buffers.get(site)
        if buffer is None:
            self.time += 1
            buffer = Buffer(kind, ir_type.shape, ir_type.scalar, self.where(), self.time)
            buffer.earlier = {
                other: other.uses
                for other in self.buffers.values()
                if other.kind == kind and other.under_way(self.partition.clock)
            }
            self.buffers[site] = buffer
        else:
            # Another buffer: the one of the iteration before is not used any more.
            check_reused([one for one in self.reused if one.earlier is buffer])
        memory = Memory.whole(buffer, ir_type)
        if buffer.accesses:
            self.access(memory, "the next allocation of the same memory", writes=True, event=self.partition.now())
        buffer.written[:] = False
        return memory

    def create_local_alloc(self, ir_type: MemoryType, value: Value | None = None) -> Memory:
        memory = self.allocate("shared memory", ir_type)
        if value is not None:
            self.store_elements(memory, value, "the store of its first value")
        return memory

    def create_memory_name(self, memory: Memory, name: str) -> None:
        """The buffer is called by the first variable that holds it."""
        memory.buffer.name = memory.buffer.name or name

    def create_local_dealloc(self, memory: Memory) -> None:
        self.access(memory, "the deallocation", writes=True, event=self.partition.now())

    def create_local_load(self, ir_type: Any, memory: Memory) -> Value:
        self.read_generic(memory, "the load")
        return Value(memory.data.copy(), memory.dtype, ir_type.layout)

    def create_local_store(self, memory: Memory, value: Value) -> None:
        self.store_elements(memory, value, "the store")

    def store_elements(self, memory: Memory, value: Value, what: str) -> None:
        if not same_type(value.dtype, memory.dtype):
            raise Fault(f"a value of type {value.dtype} is stored to {memory.name}, which holds {memory.dtype}")
        if value.data.shape != memory.data.shape:
            raise Fault(
                f"a tensor of shape {list(value.data.shape)} is stored to {memory.name} of {list(memory.data.shape)}"
            )
        self.write_generic(memory, what)
        memory.data[...] = value.data
        memory.written[...] = True

    # Indexed accesses.

    def create_local_gather(self, ir_type: Any, memory: Memory, indices: Value, axis: int) -> Value:
        self._check_indices(memory, indices, axis)
        self.access(memory, "the gather", writes=False, event=self.partition.now())
        index = _along(indices.data, axis)
        if not memory.written[index].all():
            check_written(memory, "the gather")
        return Value(memory.data[index], memory.dtype, ir_type.layout)

    def create_local_scatter(self, memory: Memory, values: Value, indices: Value, axis: int) -> None:
        self._check_indices(memory, indices, axis)
        self.write_generic(memory, "the scatter")
        index = _along(indices.data, axis)
        memory.data[index] = values.data
        memory.written[index] = True
        if memory.data[index].tobytes() != np.ascontiguousarray(values.data).tobytes():
            raise Fault(f"the scatter puts different values into one element of {memory.name}: which one stays is open")

    def _check_indices(self, memory: Memory, indices: Value, axis: int) -> None:
        extent = memory.data.shape[axis]
        outside = (indices.data < 0) | (indices.data >= extent)
        if outside.any():
            bad = int(indices.data[outside].reshape(-1)[0])
            raise Fault(f"index {bad} along axis {axis} of {memory.name}, whose extent there is {extent}")

    # Views.

    def create_memdesc_index(self, ir_type: MemoryType, memory: Memory, index: Value) -> Memory:
        slot = int(index.data.reshape(()))
        if not 0 <= slot < memory.data.shape[0]:
            raise Fault(f"index {slot} of {memory.name}, which has {memory.data.shape[0]} slots")
        label = f"{memory.label}[{slot}]"
        return memory.view(memory.data[slot], memory.written[slot], ir_type.layout, label)

    def create_memdesc_subslice(self, ir_type: MemoryType, memory: Memory, offsets: Any) -> Memory:
        where = tuple(slice(int(o), int(o) + extent) for o, extent in zip(offsets, ir_type.shape, strict=True))
        data = memory.data[where]
        if data.shape != ir_type.shape:
            raise Fault(f"a slice of {list(ir_type.shape)} at {list(offsets)} does not lie inside {memory.name}")
        spans = ", ".join(f"{part.start}:{part.stop}" for part in where)
        return memory.view(data, memory.written[where], ir_type.layout, f"{memory.label}[{spans}]")

    def create_memdesc_trans(self, memory: Memory, order: Any) -> Memory:
        axes = [int(axis) for axis in order]
        layout = self.inference.memory_layout_of("trans", memory.layout, memory.data.shape, axes)
        written = memory.written.transpose([*axes, len(axes)])
        return memory.view(memory.data.transpose(axes), written, layout)

    def create_memdesc_reshape(self, memory: Memory, shape: Any) -> Memory:
        extents = [int(extent) for extent in shape]
        layout = self.inference.memory_layout_of("reshape", memory.layout, memory.data.shape, extents)
        data = memory.data.reshape(extents)
        if not np.may_share_memory(data, memory.data):
            raise Fault(f"{memory.name} of shape {list(memory.data.shape)} has no view of shape {extents}")
        return memory.view(data, memory.written.reshape([*extents, memory.written.shape[-1]]), layout)

    def create_memdesc_reinterpret(self, ir_type: MemoryType, memory: Memory) -> Memory:
        if not memory.data.flags.c_contiguous:
            raise Fault(f"{memory.name} is not contiguous and cannot be reinterpreted")
        kind = storage(ir_type.scalar)
        size = int(np.prod(ir_type.shape, dtype=np.int64)) * kind.itemsize
        if size > memory.nbytes:
            raise Fault(f"{memory.name} has {memory.nbytes} bytes and is reinterpreted as {size}")
        data = memory.data.reshape(-1).view(np.uint8)[:size].view(kind).reshape(ir_type.shape)
        written = memory.written.reshape(-1)[:size].reshape((*ir_type.shape, kind.itemsize))
        return Memory(memory.buffer, data, written, ir_type.scalar, ir_type.layout, memory.label)


def _along(indices: Any, axis: int) -> tuple[Any, ...]:
    grid = list(np.indices(indices.shape, sparse=True))
    grid[axis] = indices
    return tuple(grid)
