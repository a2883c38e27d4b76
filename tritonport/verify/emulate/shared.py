"""Shared memory: buffers, views of them, and who may touch which bytes when."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tritonport.verify.emulate.agents import Partition, is_fenced
from tritonport.verify.emulate.errors import Fault
from tritonport.verify.emulate.ordering import Clock, Event
from tritonport.verify.emulate.values import Array, storage

_HISTORY = 6

IN_ORDER = "a tcgen05_commit and a wait on its mbarrier"
"""How tensor-core work of Blackwell ends; one such operation sees what the one before it wrote."""


@dataclass(frozen=True)
class Place:
    """A line of the user's source."""

    path: str
    line: int

    def __str__(self) -> str:
        return f"line {self.line}"


class MemoryType:
    """The IR type of a shared or tensor memory descriptor."""

    __slots__ = ("alloc_shape", "layout", "scalar", "shape")

    def __init__(self, scalar: Any, shape: Any, layout: Any, alloc_shape: Any) -> None:
        self.scalar = scalar
        self.shape = tuple(int(getattr(extent, "value", extent)) for extent in shape)
        self.layout = layout
        self.alloc_shape = tuple(int(getattr(extent, "value", extent)) for extent in alloc_shape)


@dataclass(frozen=True)
class Access:
    """One access to some elements of a buffer.

    ``what`` names the operation ("the TMA load"), ``finish`` what makes its end known (None: it ends at once, and only
    another partition can be unaware of it). ``data`` is the accessed view.
    """

    what: str
    writes: bool
    event: Event
    place: Place
    data: Array
    finish: str | None
    partition: str


@dataclass
class GenericStore:
    """A store through the generic proxy that asynchronous readers see only after a fence."""

    event: Event
    data: Array
    place: Place
    partition: Any
    time: int


class Buffer:
    """One allocation. ``kind`` is "shared memory" or "tensor memory".

    ``allocated_at`` and ``last_signal`` (the last use of a barrier in it) are times of the program. ``uses`` counts the
    operations that name it. ``earlier`` are buffers with asynchronous work under way when it was allocated, each with
    its uses till then.
    """

    def __init__(self, kind: str, shape: tuple[int, ...], dtype: Any, place: Place, allocated_at: int) -> None:
        self.kind = kind
        self.name = ""
        self.place = place
        self.itemsize = storage(dtype).itemsize
        size = int(np.prod(shape, dtype=np.int64)) * self.itemsize
        self.bytes = np.zeros(size, np.uint8)
        self.written = np.zeros(size, np.bool_)
        self.accesses: dict[tuple[Any, ...], Access] = {}
        self.generic_stores: dict[tuple[Any, ...], GenericStore] = {}
        self.barriers: dict[int, Any] = {}
        self.allocated_at = allocated_at
        self.last_signal = 0
        self.uses = 0
        self.earlier: dict[Buffer, int] = {}
        self.events: deque[str] = deque(maxlen=_HISTORY)

    def note(self, label: str, what: str, place: Place) -> None:
        """Add to the history that error messages show."""
        event = f"line {place.line}: {what} {label}".rstrip()
        if not self.events or self.events[-1] != event:
            self.events.append(event)

    def under_way(self, clock: Clock) -> Access | None:
        """Asynchronous work on it that ``clock`` does not know to be done."""
        return next((one for one in self.accesses.values() if one.finish and not clock.knows(one.event)), None)

    def history(self) -> str:
        earlier = "; ".join(self.events)
        return f"`{self.name or 'it'}` is allocated at line {self.place.line}" + (f"; {earlier}" if earlier else "")


class Memory:
    """The handle of a memory descriptor: a view of a buffer.

    ``data`` has the descriptor's shape; ``written`` says byte by byte (one more dimension) what has been written.
    """

    __slots__ = ("buffer", "data", "dtype", "label", "layout", "written")

    def __init__(self, buffer: Buffer, data: Array, written: Array, dtype: Any, layout: Any, label: str = "") -> None:
        self.buffer = buffer
        self.data = data
        self.written = written
        self.dtype = dtype
        self.layout = layout
        self.label = label

    @staticmethod
    def whole(buffer: Buffer, ir_type: MemoryType) -> Memory:
        """The view of a whole buffer as ``ir_type``, which may be smaller than the buffer."""
        kind = storage(ir_type.scalar)
        size = int(np.prod(ir_type.shape, dtype=np.int64)) * kind.itemsize
        if size > buffer.bytes.size:
            raise Fault(f"{size} bytes do not fit a buffer, which has {buffer.bytes.size}")
        data = buffer.bytes[:size].view(kind).reshape(ir_type.shape)
        written = buffer.written[:size].reshape((*ir_type.shape, kind.itemsize))
        return Memory(buffer, data, written, ir_type.scalar, ir_type.layout)

    def view(self, data: Array, written: Array, layout: Any, label: str | None = None) -> Memory:
        self.buffer.uses += 1
        return Memory(self.buffer, data, written, self.dtype, layout, self.label if label is None else label)

    @property
    def name(self) -> str:
        return f"`{self.buffer.name or 'the buffer'}{self.label}`"

    @property
    def key(self) -> tuple[Any, ...]:
        return (self.address, self.data.shape, self.data.strides)

    @property
    def address(self) -> int:
        return int(self.data.__array_interface__["data"][0])

    @property
    def nbytes(self) -> int:
        return int(self.data.size) * self.data.dtype.itemsize

    def get_type(self) -> MemoryType:
        return MemoryType(self.dtype, self.data.shape, self.layout, self.data.shape)

    def get_loc(self) -> None:
        return None

    def set_loc(self, location: object) -> None:
        pass

    def set_attr(self, name: str, attribute: object) -> None:
        pass


def overlap(left: Array, right: Array) -> bool:
    """Whether two views share an element."""
    return bool(np.may_share_memory(left, right)) and bool(np.shares_memory(left, right))


def check_race(memory: Memory, access: Access, clock: Clock) -> None:
    """Raises :class:`Fault` if an earlier access to the same bytes is not known to be over.

    ``clock`` is what the new access can rely on.
    """
    for earlier in memory.buffer.accesses.values():
        if not (earlier.writes or access.writes) or clock.knows(earlier.event):
            continue
        if earlier.event.agent == access.event.agent and earlier.finish == access.finish == IN_ORDER:
            continue
        if overlap(earlier.data, memory.data):
            raise Fault(_race(memory, earlier, access))


def _race(memory: Memory, earlier: Access, access: Access) -> str:
    if earlier.finish is None:
        problem = (
            f"{access.what} {'writes' if access.writes else 'reads'} {memory.name} and nothing orders it after "
            f"{earlier.what} at line {earlier.place.line} (partition {earlier.partition})"
        )
    elif earlier.writes and not access.writes:
        problem = (
            f"{access.what} reads {memory.name} before {earlier.what} of line {earlier.place.line} has arrived: "
            f"it needs {earlier.finish}"
        )
    elif earlier.writes:
        problem = (
            f"{access.what} overwrites {memory.name} while {earlier.what} of line {earlier.place.line} is in flight: "
            f"it needs {earlier.finish}"
        )
    else:
        problem = (
            f"{access.what} overwrites {memory.name} while {earlier.what} of line {earlier.place.line} still reads it: "
            f"it needs {earlier.finish}"
        )
    return f"{problem} ({memory.buffer.history()})"


def check_written(memory: Memory, what: str) -> None:
    """Raises :class:`Fault` if an element of the view was never written."""
    if not memory.written.all():
        element = tuple(int(axis[0]) for axis in np.nonzero(~memory.written.all(axis=-1)))
        raise Fault(
            f"{what} reads {memory.name}, but nothing was written there: element {element} ({memory.buffer.history()})"
        )


def check_invalidated(buffers: list[Buffer]) -> None:
    """Raises :class:`Fault` for an mbarrier that is still valid when its memory may serve another buffer.

    The compiler places buffers by their lifetimes, so what is allocated after the last use of a barrier may get its
    bytes; they must be invalidated first (PTX ISA, "mbarrier.inval").
    """
    for buffer in buffers:
        later = [other for other in buffers if other.kind == buffer.kind and other.allocated_at > buffer.last_signal]
        if buffer.barriers and later:
            raise Fault(
                f"`{later[0].name or 'a buffer'}` may get the memory of `{buffer.name}`, which is not used any more "
                f"but is still a valid mbarrier: it needs an invalidate before ({buffer.history()})",
                later[0].place,
            )


@dataclass(frozen=True)
class Reuse:
    """An access to memory that may be where asynchronous work on an earlier buffer, used ``uses`` times, goes on."""

    later: str
    earlier: Buffer
    uses: int
    work: Access
    place: Place


def reuses(buffer: Buffer, clock: Clock, place: Place) -> list[Reuse]:
    """What an access to a buffer may disturb: the compiler lets buffers share memory whose lifetimes do not overlap.

    A buffer lives until the last operation that names it, and a wait need not name it. Whether another operation will
    is known when the program ends.
    """
    found = []
    for earlier, uses in list(buffer.earlier.items()):
        work = earlier.under_way(clock)
        if work is None or earlier.uses != uses:
            del buffer.earlier[earlier]
        else:
            found.append(Reuse(f"`{buffer.name or 'a buffer'}`", earlier, uses, work, place))
    return found


def check_reused(found: list[Reuse]) -> None:
    """Raises :class:`Fault` for the first access to memory of which an asynchronous operation was not done yet."""
    for one in found:
        if one.earlier.uses == one.uses:
            kept = "" if one.work.finish is None else f": it needs {one.work.finish} before"
            raise Fault(
                f"{one.later} may get the memory of `{one.earlier.name or 'a buffer'}`, which is "
                f"not used any more, while {one.work.what} of line {one.work.place.line} still "
                f"{'writes' if one.work.writes else 'reads'} it{kept} ({one.earlier.history()})",
                one.place,
            )


def check_fenced(memory: Memory, what: str, reader: Partition, partitions: Sequence[Partition]) -> None:
    """Raises :class:`Fault` if a store through the generic proxy has not been fenced from asynchronous accesses."""
    stores = memory.buffer.generic_stores
    for key, store in list(stores.items()):
        if is_fenced("shared", store.event, store.time, reader, {store.partition, *partitions}):
            if len(partitions) == 1:
                del stores[key]
        elif overlap(store.data, memory.data):
            raise Fault(
                f"{what} goes to {memory.name} without a fence_async_shared() after the store of line "
                f"{store.place.line} ({memory.buffer.history()})"
            )
