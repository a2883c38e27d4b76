"""Builder methods for cp.async: copies from global to shared memory, in groups that finish in order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tritonport.verify.emulate.agents import Partition
from tritonport.verify.emulate.barriers import Barrier
from tritonport.verify.emulate.errors import Fault
from tritonport.verify.emulate.ordering import Event
from tritonport.verify.emulate.scheduler import Scheduler
from tritonport.verify.emulate.shared import GenericStore, Memory, Place
from tritonport.verify.emulate.values import Value, same_type

_QUEUE = "cp.async"
_FINISH = "a commit_group and a wait_group that covers it"


class AsyncCopyOps:
    """Groups of copies. What is copied lies in its place from the start, but no one may look before it has arrived.

    cp.async writes through the generic proxy (PTX ISA, "Async proxy": only the bulk copies are part of that one), so
    what has arrived still needs a fence before tensor cores or bulk copies read it.
    """

    where: Callable[[], Place]
    time: int
    partition: Partition
    scheduler: Scheduler
    access: Callable[..., None]
    copy_access: Callable[..., None]
    read: Callable[..., Value]
    barrier: Callable[[Memory, str], Barrier]
    options: Any

    def create_async_copy_global_to_local(
        self, memory: Memory, pointer: Value, mask: Any, other: Any, *_: object
    ) -> None:
        what = "the asynchronous copy"
        event = Event(self.partition.queue(_QUEUE).agent, self.partition.queue(_QUEUE).issued + 1)
        self.access(memory, what, writes=True, event=event, finish=_FINISH)
        if not same_type(pointer.dtype.element_ty, memory.dtype):
            raise Fault(f"{what} brings {pointer.dtype.element_ty} to {memory.name}, which holds {memory.dtype}")
        absent = other if isinstance(other, Value) else None
        # Without a mask Triton 3.9 passes an empty handle of its own.
        mask = mask if isinstance(mask, Value) else None
        self.copy_access(what, pointer, mask, writes=False, event=event, finish=_FINISH)
        loaded = self.read("asynchronous copy", pointer, mask, absent)
        memory.data[...] = np.broadcast_to(loaded.data, memory.data.shape)
        memory.written[...] = True
        if memory.buffer.kind == "shared memory":
            store = GenericStore(event, memory.data, self.where(), self.partition, self.time)
            self.partition.under_way.append((event.tick, memory, store))

    def _arrive(self, partition: Partition, last: int) -> None:
        """Copies up to a number have arrived: from now on they are stores that a fence can order."""
        arrived = [entry for entry in partition.under_way if entry[0] <= last]
        partition.under_way = [entry for entry in partition.under_way if entry[0] > last]
        for _, memory, store in arrived:
            self.time += 1
            store.time = self.time
            memory.buffer.generic_stores[memory.key] = store

    def create_async_commit_group(self) -> None:
        queue = self.partition.queue(_QUEUE)
        queue.start()
        queue.groups.append(queue.issued)

    def create_async_wait_group(self, outstanding: int) -> None:
        queue = self.partition.queue(_QUEUE)
        finished = len(queue.groups) - int(outstanding)
        if finished > 0:
            self.partition.clock.learn(queue.agent, queue.groups[finished - 1])
            self._arrive(self.partition, queue.groups[finished - 1])

    def create_async_copy_mbarrier_arrive(self, memory: Memory, increment: bool) -> None:
        """Every thread arrives once its copies so far are done; with ``increment`` the count grows to match."""
        barrier = self.barrier(memory, "mbarrier_arrive")
        queue = self.partition.queue(_QUEUE)
        queue.start()
        clock = self.partition.release()
        clock.learn(queue.agent, queue.issued)
        arrivals = 32 * self.partition.num_warps
        if increment:
            barrier.pending += arrivals
        barrier.in_flight += 1

        partition, last = self.partition, queue.issued

        def arrive() -> None:
            barrier.in_flight -= 1
            self._arrive(partition, last)
            barrier.arrive(arrivals, clock)

        self.scheduler.add_transfer(arrive)
