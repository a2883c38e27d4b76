"""The partitions of a program: who acts, what it knows, what it has started and not waited for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from tritonport.verify.emulate.ordering import Clock, Event


@dataclass(eq=False)
class Queue:
    """Asynchronous work that finishes in the order of its start.

    ``groups`` are the numbers of the last operation of each committed group, for work that is waited for by group.
    """

    agent: tuple[int, str]
    issued: int = 0
    groups: list[int] = field(default_factory=list)

    def start(self) -> Event:
        self.issued += 1
        return Event(self.agent, self.issued)


@dataclass(frozen=True)
class Fence:
    """A fence between the proxies: when it was made, and which events are known to lie before it."""

    time: int
    event: Event
    before: Clock


@dataclass(eq=False)
class Partition:
    """The whole program, or one function of a ``warp_specialize``.

    ``fences`` are its fences between the proxies, by the memory that they are for: those that another partition may
    rely on. ``under_way`` are its cp.async copies that have not arrived: the number of each, what it fills, and the
    store that it then is.
    """

    index: int
    name: str
    num_warps: int
    clock: Clock = field(default_factory=Clock)
    fences: dict[str, list[Fence]] = field(default_factory=dict)
    _tick: int = 1
    _queues: dict[str, Queue] = field(default_factory=dict)
    frames: list[Any] = field(default_factory=list)
    under_way: list[tuple[int, Any, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.clock.learn(self.index, self._tick)

    def now(self) -> Event:
        """The event of what the partition does itself until its next release."""
        return Event(self.index, self._tick)

    def release(self) -> Clock:
        """What another agent may rely on after it has been told so by this one, now."""
        snapshot = self.clock.copy()
        self._tick += 1
        self.clock.learn(self.index, self._tick)
        return snapshot

    def fence(self, memory: str, time: int) -> None:
        """Fence what it knows to have happened in "shared" or "global" memory."""
        fences = self.fences.setdefault(memory, [])
        if fences and fences[-1].event == self.now():
            # Whoever knows of the one knows of the other, which covers more.
            fences.pop()
        fences.append(Fence(time, self.now(), self.clock.copy()))

    def queue(self, kind: str) -> Queue:
        known = self._queues.get(kind)
        if known is None:
            known = self._queues[kind] = Queue((self.index, kind))
        return known

    def wait(self, kind: str, outstanding: int) -> int:
        """Wait until at most ``outstanding`` of a queue's operations are unfinished; how many have finished."""
        queue = self.queue(kind)
        finished = max(0, queue.issued - int(outstanding))
        self.clock.learn(queue.agent, finished)
        return finished


def is_fenced(memory: str, event: Event, time: int, reader: Partition, partitions: Iterable[Partition]) -> bool:
    """Whether a partition knows of a fence between what happened at a time and itself.

    Args:
        memory: "shared" or "global".
        partitions: those that may have made the fence.
    """
    for partition in partitions:
        known = (one for one in reversed(partition.fences.get(memory, ())) if reader.clock.knows(one.event))
        # The last one covers all that the ones before it cover.
        last = next(known, None)
        if last is not None and last.time > time and last.before.knows(event):
            return True
    return False
