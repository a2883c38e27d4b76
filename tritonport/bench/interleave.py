"""Interleaved timing of several ways to do the same work.

The lanes of one round take turns, so that neither drift of the clocks nor what ran just before favours one: over a
whole cycle of orders every lane stands at every place equally often, and follows every other lane equally often (a
Williams design: E. J. Williams, Australian Journal of Scientific Research A 2, 1949).
"""

import itertools
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tritonport.bench.clock import Clock, Step
from tritonport.bench.statistics import CONTROL, ORIGINAL, Times, Timings

Lane = tuple[Step, Step]
"""What brings the inputs back to what they were, and what is timed."""


@dataclass(frozen=True)
class Effort:
    """How much is timed.

    Attributes:
        rounds: how often a median is taken; at least 2, for there is no spread in one.
        iterations: samples of each lane in a round, at most.
        warmup: runs of every lane that are not counted.
        seconds: of timed work for one measurement, beyond which there are fewer samples in a round.
        least: samples of each lane in a round, however long they take.
    """

    rounds: int = 7
    iterations: int = 36
    warmup: int = 3
    seconds: float = 15.0
    least: int = 5

    def __post_init__(self) -> None:
        if self.rounds < 2:
            raise ValueError("one round has no spread: rounds must be 2 or more")

    def samples(self, turn_ms: float) -> int:
        """How many samples of each lane a round has, where one turn of all lanes takes that long."""
        affordable = int(1e3 * self.seconds / (self.rounds * turn_ms)) if turn_ms > 0 else self.iterations
        return min(self.iterations, max(self.least, affordable))


def orders(lanes: Sequence[str]) -> list[list[str]]:
    """Orders of the lanes in which each stands at every place, and behind every other lane, equally often."""
    count = len(lanes)
    zigzag = [place // 2 if place % 2 == 0 else count - 1 - place // 2 for place in range(count)]
    rows = [[lanes[(place + shift) % count] for place in zigzag] for shift in range(count)]
    # With an odd number of lanes the neighbours balance only together with the reversed orders.
    return rows + [row[::-1] for row in rows] if count % 2 else rows


def turns(lanes: Sequence[str], iterations: int) -> list[str]:
    """The order in which the lanes run: every lane `iterations` times."""
    cycle = itertools.cycle(orders(lanes))
    return [lane for _ in range(iterations) for lane in next(cycle)]


def interleaved(lanes: Mapping[str, Lane], clock: Clock, effort: Effort) -> Timings:
    """Runs the lanes in turns, the original's twice: as itself and as the control."""
    every = {**lanes, CONTROL: lanes[ORIGINAL]}
    names = list(every)

    def one_round(iterations: int) -> dict[str, list[float]]:
        order = turns(names, iterations)
        spent = clock.time([every[lane] for lane in order])
        return {lane: [ms for name, ms in zip(order, spent, strict=True) if name == lane] for lane in names}

    warm = one_round(max(1, effort.warmup))
    iterations = effort.samples(sum(statistics.median(samples) for samples in warm.values()))
    rounds = [one_round(iterations) for _ in range(effort.rounds)]
    return Timings({lane: Times(tuple(tuple(samples[lane]) for samples in rounds)) for lane in names})
