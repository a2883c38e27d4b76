"""Interleaved timing of several ways to do the same work, and what the samples say.

The lanes of one round take turns, in every order equally often, so that neither drift of the clocks nor what ran just
before favours one. The original runs in two lanes: how far those two differ is what the measurement cannot resolve.
"""

import itertools
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

Step = Callable[[], None]

LANES = ("original", "port", "control")
"""The control is the original once more."""


class Clock(Protocol):
    """Times steps one after another."""

    def time(self, samples: Sequence[tuple[Step, Step]]) -> list[float]:
        """Milliseconds of the second step of each pair; the first one prepares it and is not timed."""
        ...


class CudaClock:
    """Device events around each step, after a read of more memory than the L2 cache holds.

    The cache is flushed by reading: a write would leave dirty lines whose write-back the timed step would pay for.
    """

    def __init__(self, flush_bytes: int = 256 << 20, lead_cycles: int = 4_000_000) -> None:
        """Args:
        flush_bytes: what is read before each step; an H200 has 60 MB of L2.
        lead_cycles: how long the device is kept busy first, so that the host is ahead of it from then on.
        """
        import torch

        self._cuda = torch.cuda
        self._lead_cycles = lead_cycles
        self._flush = torch.randn(flush_bytes // 4, device="cuda")
        self._sum = torch.zeros((), device="cuda")
        self._torch = torch

    def time(self, samples: Sequence[tuple[Step, Step]]) -> list[float]:
        """As `Clock` says."""
        events = [tuple(self._cuda.Event(enable_timing=True) for _ in range(2)) for _ in samples]
        self._cuda.synchronize()
        self._cuda._sleep(self._lead_cycles)
        for (prepare, run), (start, end) in zip(samples, events, strict=True):
            prepare()
            self._torch.sum(self._flush, dim=0, out=self._sum)
            start.record()
            run()
            end.record()
        self._cuda.synchronize()
        return [float(start.elapsed_time(end)) for start, end in events]


class HostClock:
    """The wall clock of the host, for kernels that run in this process."""

    def __init__(self, now: Callable[[], float] = time.perf_counter) -> None:
        """Args:
        now: seconds.
        """
        self._now = now

    def time(self, samples: Sequence[tuple[Step, Step]]) -> list[float]:
        """As `Clock` says."""
        spent = []
        for prepare, run in samples:
            prepare()
            start = self._now()
            run()
            spent.append(1e3 * (self._now() - start))
        return spent


def turns(lanes: Sequence[str], iterations: int) -> list[str]:
    """The order in which the lanes run: every lane `iterations` times, in each order of the lanes in turn."""
    orders = itertools.cycle(itertools.permutations(lanes))
    return [lane for _ in range(iterations) for lane in next(orders)]


@dataclass(frozen=True)
class Speed:
    """What the rounds of one measurement say; times in milliseconds.

    Attributes:
        rounds: the median of each lane, by round.
    """

    rounds: tuple[dict[str, float], ...]

    def median(self, lane: str) -> float:
        """The median of the rounds' medians."""
        return statistics.median(one[lane] for one in self.rounds)

    @property
    def ratios(self) -> tuple[float, ...]:
        """The port's speed as a share of the original's, by round: above 1 the port is faster."""
        return tuple(one["original"] / one["port"] for one in self.rounds)

    @property
    def ratio(self) -> float:
        """The median of `ratios`."""
        return statistics.median(self.ratios)

    @property
    def controls(self) -> tuple[float, ...]:
        """The same share for the original against itself."""
        return tuple(one["original"] / one["control"] for one in self.rounds)

    @property
    def spread(self) -> float:
        """How far apart ratios of equal work may lie: the range of `ratios`, or the control's distance from 1."""
        apart = max(abs(share - 1.0) for share in self.controls)
        return max(max(self.ratios) - min(self.ratios), apart)

    @property
    def resolved(self) -> bool:
        """Whether the difference between the port and the original is larger than the spread."""
        return abs(self.ratio - 1.0) > self.spread

    def to_json(self) -> dict[str, Any]:
        """As it stands in the results."""
        return {
            "original_ms": self.median("original"),
            "port_ms": self.median("port"),
            "ratio": self.ratio,
            "ratios": list(self.ratios),
            "controls": list(self.controls),
            "spread": self.spread,
            "resolved": self.resolved,
        }


def interleaved(
    lanes: dict[str, Step], prepare: Step, clock: Clock, *, rounds: int, iterations: int, warmup: int = 3
) -> Speed:
    """Runs the lanes in turns.

    Args:
        lanes: one step for each of `LANES`.
        prepare: brings the inputs back to what they were; called before every step.
        rounds: how often a median is taken; at least 2, for there is no spread in one.
        iterations: samples of each lane in a round.
        warmup: runs of every lane that are not counted.
    """
    if rounds < 2:
        raise ValueError("one round has no spread: rounds must be 2 or more")
    clock.time([(prepare, lanes[lane]) for lane in turns(LANES, warmup)])
    medians = []
    for _ in range(rounds):
        order = turns(LANES, iterations)
        spent = clock.time([(prepare, lanes[lane]) for lane in order])
        by_lane = {lane: [ms for name, ms in zip(order, spent, strict=True) if name == lane] for lane in LANES}
        medians.append({lane: statistics.median(samples) for lane, samples in by_lane.items()})
    return Speed(tuple(medians))
