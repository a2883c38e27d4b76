"""What samples of several lanes say: times with their spread, and ratios that are known to be more than noise."""

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

ORIGINAL = "original"
CONTROL = "control"
"""The original once more: how far the two differ is what the measurement cannot resolve."""


def geometric_mean(ratios: Iterable[float]) -> float:
    """Of at least one positive number."""
    logs = [math.log(ratio) for ratio in ratios]
    return math.exp(sum(logs) / len(logs))


@dataclass(frozen=True)
class Times:
    """The samples of one lane, in milliseconds, round by round."""

    rounds: tuple[tuple[float, ...], ...]

    @property
    def medians(self) -> tuple[float, ...]:
        """The median of each round."""
        return tuple(statistics.median(samples) for samples in self.rounds)

    @property
    def median(self) -> float:
        """The median of the rounds' medians."""
        return statistics.median(self.medians)

    def percentile(self, percent: int) -> float:
        """Of all samples, interpolated between neighbours; `percent` is 1 to 99."""
        samples = [one for samples in self.rounds for one in samples]
        return (
            samples[0] if len(samples) == 1 else statistics.quantiles(samples, n=100, method="inclusive")[percent - 1]
        )


@dataclass(frozen=True)
class Ratio:
    """How much faster one lane is than another.

    Attributes:
        rounds: the ratio of the medians, by round: above 1 the lane is faster than what it is held against.
        controls: the same for the original against itself.
    """

    rounds: tuple[float, ...]
    controls: tuple[float, ...]

    @property
    def value(self) -> float:
        """The median of the rounds."""
        return statistics.median(self.rounds)

    @property
    def spread(self) -> float:
        """How far apart ratios of equal work may lie: the range of the rounds, or the control's distance from 1."""
        apart = max(abs(share - 1.0) for share in self.controls)
        return max(max(self.rounds) - min(self.rounds), apart)

    @property
    def resolved(self) -> bool:
        """Whether the difference is larger than the spread."""
        return abs(self.value - 1.0) > self.spread

    @property
    def words(self) -> str:
        """What it shows."""
        if not self.resolved:
            return "no difference shown"
        return "faster" if self.value > 1.0 else "slower"


@dataclass(frozen=True)
class Timings:
    """The lanes of one measurement, `ORIGINAL` and `CONTROL` among them."""

    lanes: Mapping[str, Times]

    def ratio(self, lane: str, over: str = ORIGINAL) -> Ratio:
        """The speed of a lane as a share of another's; both ran in turns, so that a round is compared with itself."""
        return Ratio(self._shares(over, lane), self._shares(ORIGINAL, CONTROL))

    def _shares(self, over: str, lane: str) -> tuple[float, ...]:
        pairs = zip(self.lanes[over].medians, self.lanes[lane].medians, strict=True)
        return tuple(first / second for first, second in pairs)


def mean_ratio(ratios: Sequence[Ratio]) -> Ratio:
    """The geometric mean of ratios over several sizes, round by round; they have the same number of rounds."""
    return Ratio(
        tuple(geometric_mean(shares) for shares in zip(*(one.rounds for one in ratios), strict=True)),
        tuple(geometric_mean(shares) for shares in zip(*(one.controls for one in ratios), strict=True)),
    )
