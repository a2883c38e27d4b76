"""What has happened before what: vector clocks over everything that acts on shared memory.

Each partition of a program is an agent, and so is each queue of asynchronous work: the copies, the MMAs and the TMA
stores that a partition has issued (queues finish in order), and each mbarrier (its phases complete in order). An agent
counts its events; a clock says, for each agent, up to which event its owner can rely on having happened. Starting work
gives it the clock of the issuer, waiting for something joins its clock into the waiter's. Two accesses to the same
bytes, one of them a write, race unless the later one's clock covers the earlier one: whatever order they ran in here.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass


@dataclass(frozen=True)
class Event:
    """The ``tick``-th event (from 1) of an agent. An agent's events happen in order."""

    agent: Hashable
    tick: int


class Clock:
    """For each agent, how many of its events are known to have happened."""

    __slots__ = ("_ticks",)

    def __init__(self, ticks: dict[Hashable, int] | None = None) -> None:
        self._ticks = ticks or {}

    def knows(self, event: Event) -> bool:
        return self._ticks.get(event.agent, 0) >= event.tick

    def last(self, agent: Hashable) -> int:
        """How many events of ``agent`` are known to have happened."""
        return self._ticks.get(agent, 0)

    def learn(self, agent: Hashable, tick: int) -> None:
        """Rely on the first ``tick`` events of ``agent`` from now on."""
        if tick > self._ticks.get(agent, 0):
            self._ticks[agent] = tick

    def join(self, other: Clock) -> None:
        """Rely on everything ``other`` relies on."""
        for agent, tick in other._ticks.items():
            self.learn(agent, tick)

    def copy(self) -> Clock:
        return Clock(dict(self._ticks))
