"""mbarriers: arrivals, transaction bytes, phases, and what a completed phase lets its waiters rely on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from tritonport.verify.emulate.agents import Partition
from tritonport.verify.emulate.errors import Fault
from tritonport.verify.emulate.ordering import Clock, Event
from tritonport.verify.emulate.scheduler import Scheduler
from tritonport.verify.emulate.shared import Buffer, Memory, Place
from tritonport.verify.emulate.values import Value


@dataclass(eq=False)
class Barrier:
    """The state of one initialised mbarrier (PTX ISA, "mbarrier").

    ``pending`` arrivals are missing in the current phase; ``expected`` bytes have been announced in it, copies of
    ``issued`` bytes started, and ``delivered`` of them have arrived. ``completed`` phases are over; ``clocks[n]`` is
    what a waiter may rely on when phase n (from 1) is over. ``made`` is its initialisation by a partition, ``used`` the
    last use by each.
    """

    name: str
    agent: tuple[str, int]
    count: int
    place: Place
    made: Event
    pending: int = 0
    expected: int = 0
    issued: int = 0
    delivered: int = 0
    in_flight: int = 0
    completed: int = 0
    clocks: list[Clock] = field(default_factory=lambda: [Clock()])
    used: dict[int, tuple[Event, Place, str]] = field(default_factory=dict)
    _gathered: Clock = field(default_factory=Clock)

    def __post_init__(self) -> None:
        self.pending = self.count

    def next_phase(self) -> Event:
        """The completion of the current phase."""
        return Event(self.agent, self.completed + 1)

    def arrive(self, count: int, clock: Clock) -> None:
        if count > self.pending:
            raise Fault(
                f"{count} arrivals on {self.name}, but its phase waits for {self.pending} of {self.count}: "
                "the phase before is not over, or its count is wrong"
            )
        self.pending -= count
        self._gathered.join(clock)
        self.check_bytes()
        self.settle()

    def check_bytes(self) -> None:
        if self.pending == 0 and self.issued > self.expected:
            raise Fault(
                f"wrong byte count: copies of {self.issued} bytes were started on {self.name} in this phase, but "
                f"expect announced {self.expected}"
            )

    def deliver(self, nbytes: int, clock: Clock) -> None:
        """Bytes of a copy arrive."""
        self.delivered += nbytes
        self._gathered.join(clock)
        self.settle()

    def settle(self) -> None:
        """End the phase if nothing is missing."""
        if self.pending or self.expected != self.delivered:
            return
        self.completed += 1
        self._gathered.learn(self.agent, self.completed)
        self.clocks.append(self._gathered.copy())
        self.pending = self.count
        self.expected = self.issued = self.delivered = 0

    def missing(self) -> str:
        """What the current phase waits for."""
        parts = []
        if self.pending:
            parts.append(f"{self.pending} of {self.count} arrivals")
        if self.expected > self.issued:
            parts.append(
                f"{self.expected - self.issued} bytes: expect announced {self.expected} and copies of {self.issued} "
                "were started (wrong byte count)"
            )
        elif self.issued > self.expected:
            parts.append(f"an expect for the {self.issued} bytes that were started (wrong byte count)")
        return " and ".join(parts) or "nothing: the phase that is waited for is over, and so is the next"


class BarrierOps:
    """Builder methods for mbarriers."""

    where: Callable[[], Place]
    partition: Partition
    scheduler: Scheduler
    barrier_serial: int
    touch: Callable[[Buffer], None]
    time: int

    def barrier(self, memory: Memory, what: str) -> Barrier:
        found = memory.buffer.barriers.get(memory.address)
        if not isinstance(found, Barrier):
            raise Fault(f"{what} uses {memory.name}, which is not an initialised mbarrier ({memory.buffer.history()})")
        if not self.partition.clock.knows(found.made):
            raise Fault(
                f"{what} uses {memory.name}, and nothing orders it after the initialisation at line "
                f"{found.place.line}, which another partition makes ({memory.buffer.history()})"
            )
        found.used[self.partition.index] = self.partition.now(), self.where(), self.partition.name
        self.time += 1
        memory.buffer.last_signal = self.time
        return found

    def create_mbarrier_init(self, memory: Memory, count: int) -> None:
        if memory.address in memory.buffer.barriers:
            old = memory.buffer.barriers[memory.address]
            raise Fault(
                f"{memory.name} is initialised again, though it is an mbarrier since line {old.place.line}: "
                f"it needs an invalidate before its memory is used anew ({memory.buffer.history()})"
            )
        if int(count) < 1:
            raise Fault(f"an mbarrier is initialised with a count of {count}")
        self.barrier_serial += 1
        agent = ("mbarrier", self.barrier_serial)
        self.time += 1
        memory.buffer.last_signal = self.time
        self.touch(memory.buffer)
        memory.buffer.note(memory.label, "init", self.where())
        memory.buffer.barriers[memory.address] = Barrier(
            memory.name, agent, int(count), self.where(), self.partition.now()
        )

    def create_mbarrier_inval(self, memory: Memory) -> None:
        barrier = self.barrier(memory, "invalidate")
        if barrier.in_flight:
            raise Fault(f"{memory.name} is invalidated while a copy that signals it is in flight")
        for event, place, name in barrier.used.values():
            if not self.partition.clock.knows(event):
                raise Fault(
                    f"{memory.name} is invalidated, and nothing orders that after its use at line {place.line} "
                    f"(partition {name})"
                )
        memory.buffer.note(memory.label, "invalidate", self.where())
        del memory.buffer.barriers[memory.address]

    def create_mbarrier_expect(self, memory: Memory, nbytes: int, predicate: Value, *_: object) -> None:
        if not is_true(predicate):
            return
        self.scheduler.pause()
        barrier = self.barrier(memory, "expect")
        barrier.expected += int(nbytes)
        barrier.arrive(1, self.partition.release())

    def create_mbarrier_arrive(self, memory: Memory, count: int, predicate: Value, *_: object) -> None:
        if not is_true(predicate):
            return
        self.scheduler.pause()
        self.barrier(memory, "arrive").arrive(int(count), self.partition.release())

    def create_mbarrier_wait(self, memory: Memory, phase: Value, predicate: Value, *_: object) -> None:
        if not is_true(predicate):
            return
        self.scheduler.pause()
        barrier = self.barrier(memory, "wait")
        parity = int(phase.data.reshape(()))
        if parity not in (0, 1):
            raise Fault(f"a wait for phase {parity} of {memory.name}: a phase is 0 or 1")
        # A phase that its clock already knows to be over ends the wait at once; then nothing new is learned,
        # even if the barrier has moved on in this schedule.
        known = self.partition.clock.last(barrier.agent)
        sure = known if (known & 1) != parity else known + 1

        def describe() -> str:
            return f"the wait for phase {parity} of {memory.name} can never end: it misses {barrier.missing()}"

        self.scheduler.wait(lambda: (barrier.completed & 1) != parity, describe)
        if sure < len(barrier.clocks):
            self.partition.clock.join(barrier.clocks[sure])


def is_true(predicate: Value) -> bool:
    return bool(predicate.data.reshape(()))
