"""Global memory within a program: what is under way there, what other partitions do, and the two proxies.

Programs run one after another, and what one does to another is not looked at. Within a program a copy that was started
reads or writes global memory until it is waited for; what a partition stores another may read only after an mbarrier;
and what threads store goes through the generic proxy, from which the copies of the tensor memory accelerator must be
fenced (PTX ISA, "Proxies", "membar / fence: fence.proxy.async").
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tritonport.verify.emulate.agents import Partition, is_fenced
from tritonport.verify.emulate.errors import Fault
from tritonport.verify.emulate.ordering import Event
from tritonport.verify.emulate.shared import Place
from tritonport.verify.emulate.values import Array, Value, storage

FENCE = "a fence.proxy.async of global memory in between, as inline PTX: fence_async_shared() is one of shared memory"


@dataclass(eq=False)
class GlobalAccess:
    """One access to global memory.

    ``what``, ``event`` and ``finish`` are those of :class:`~tritonport.verify.emulate.shared.Access`. ``generic`` says
    whether it goes through the generic proxy, ``time`` when it was made, for fences; ``atomic`` accesses do not race
    with each other.
    """

    what: str
    writes: bool
    event: Event
    place: Place
    partition: Partition
    pointers: Value
    mask: Value | None
    time: int
    finish: str | None = None
    generic: bool = True
    atomic: bool = False

    @cached_property
    def addresses(self) -> Array:
        """Of the elements that are accessed, in one dimension."""
        every = self.pointers.data
        return every.reshape(-1) if self.mask is None else every[np.broadcast_to(self.mask.data, every.shape)]

    @cached_property
    def span(self) -> tuple[int, int]:
        """The first byte that is accessed, and the first one behind the last; (0, 0) for no element."""
        if self.addresses.size == 0:
            return 0, 0
        return int(self.addresses.min()), int(self.addresses.max()) + self.itemsize

    @property
    def itemsize(self) -> int:
        return storage(self.pointers.dtype.element_ty).itemsize

    def overlaps(self, other: GlobalAccess) -> bool:
        """Whether the two share a byte."""
        if self.span[0] >= other.span[1] or other.span[0] >= self.span[1]:
            return False
        # Elements are aligned to their size, so two of them overlap where the larger ones are the same.
        unit = np.uint64(~(max(self.itemsize, other.itemsize) - 1) & (2**64 - 1))
        return bool(np.isin(self.addresses & unit, other.addresses & unit).any())


def _problem(earlier: GlobalAccess, later: GlobalAccess) -> str:
    """Why ``later`` comes too early."""
    verb = "overwrites" if later.writes else "reads"
    does = "writes" if earlier.writes else "reads" if earlier.finish is None else "still reads"
    if earlier.finish is None:
        return (
            f"{later.what} {verb} what {earlier.what} at line {earlier.place.line} (partition "
            f"{earlier.partition.name}) {does}, and nothing orders it after that"
        )
    return f"{later.what} {verb} what {earlier.what} of line {earlier.place.line} {does}: it needs {earlier.finish}"


class GlobalOrder:
    """The accesses of one program to global memory that later ones must be ordered after."""

    def __init__(self) -> None:
        self._open: list[GlobalAccess] = []
        self._stores: list[GlobalAccess] = []

    @property
    def is_quiet(self) -> bool:
        """Whether nothing is under way."""
        return not self._open

    def check(self, new: GlobalAccess, partitions: Sequence[Partition]) -> None:
        """Raises :class:`Fault` if an earlier access to the same bytes is not known to be over, or not fenced off."""
        clock = new.partition.clock
        for earlier in self._open:
            if not (earlier.writes or new.writes) or (earlier.atomic and new.atomic) or clock.knows(earlier.event):
                continue
            if earlier.overlaps(new):
                raise Fault(_problem(earlier, new))
        if new.generic:
            return
        for store in self._stores:
            by = {store.partition, *partitions}
            if not is_fenced("global", store.event, store.time, new.partition, by) and store.overlaps(new):
                verb = "overwrites" if new.writes else "reads"
                raise Fault(
                    f"{new.what} {verb} what {store.what} of line {store.place.line} writes through the generic "
                    f"proxy: it needs {FENCE}"
                )

    def add(self, new: GlobalAccess, partitions: list[Partition]) -> None:
        """Remember an access, and forget what no later one needs to be ordered after."""
        self._open = [one for one in self._open if not all(each.clock.knows(one.event) for each in partitions)]
        if not all(each.clock.knows(new.event) for each in partitions):
            self._open.append(new)
        if new.generic and new.writes:
            self._stores.append(new)


class GlobalOps:
    """What the builder of Gluon kernels does before an access to global memory."""

    global_order: GlobalOrder
    where: Callable[[], Place]
    partition: Partition
    partitions: list[Partition]
    time: int
    create_fence_async_shared: Callable[..., None]

    def threads_access(self, what: str, ptr: Value, mask: Value | None, *, writes: bool, atomic: bool = False) -> None:
        if not writes and len(self.partitions) == 1 and self.global_order.is_quiet:
            return
        self.time += 1
        event, place = self.partition.now(), self.where()
        access = GlobalAccess(f"the {what}", writes, event, place, self.partition, ptr, mask, self.time, atomic=atomic)
        self._order(access)

    def copy_access(
        self, what: str, ptr: Value, mask: Value | None, *, writes: bool, event: Event, finish: str, **more: Any
    ) -> None:
        """A copy is about to be started, which reads or writes global memory until ``finish``."""
        self._order(
            GlobalAccess(what, writes, event, self.where(), self.partition, ptr, mask, self.time, finish, **more)
        )

    def _order(self, access: GlobalAccess) -> None:
        self.global_order.check(access, self.partitions)
        self.global_order.add(access, self.partitions)

    def fence_proxies(self, space: str) -> None:
        """A ``fence.proxy.async`` of a state space: ".global", ".shared::cta" ..., "" for all."""
        if space in ("", ".global"):
            self.time += 1
            self.partition.fence("global", self.time)
        if space != ".global":
            self.create_fence_async_shared()
