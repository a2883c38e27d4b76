"""Results of benchmarks as a GPU would give them, and a clock that knows what each step takes."""

from collections.abc import Sequence
from typing import Any

from tritonport.bench.clock import Step
from tritonport.bench.result import Ceilings, FileBench, Lane, SizeResult, Status, Work, verdict_of
from tritonport.bench.statistics import CONTROL, ORIGINAL, Times, Timings


class PlannedClock:
    """A clock that runs the steps and reads off how long each is said to take."""

    def __init__(self, drift: float = 0.0) -> None:
        """Args:
        drift: by how much every call of `time` is slower than the one before, for all lanes alike.
        """
        self.cost = 0.0
        self.prepared = 0
        self.calls = 0
        self.ran: list[float] = []
        self._drift = drift

    def step(self, cost: float) -> Step:
        def run() -> None:
            self.cost = cost
            self.ran.append(cost)

        return run

    def prepare(self) -> None:
        self.prepared += 1

    def lane(self, cost: float) -> tuple[Step, Step]:
        return self.prepare, self.step(cost)

    def time(self, samples: Sequence[tuple[Step, Step]]) -> list[float]:
        self.calls += 1
        spent = []
        for prepare, run in samples:
            prepare()
            run()
            spent.append(self.cost * (1.0 + self._drift * self.calls))
        return spent

    def queueing(self, step: Step) -> float | None:
        return None


class CountingClock:
    """Runs the steps, and says that each took a millisecond."""

    def __init__(self) -> None:
        self.samples = 0

    def time(self, samples: Sequence[tuple[Step, Step]]) -> list[float]:
        for prepare, run in samples:
            prepare()
            run()
        self.samples += len(samples)
        return [1.0] * len(samples)

    def queueing(self, step: Step) -> float | None:
        step()
        return 12.3


def times(*medians: float, wide: float = 0.0) -> Times:
    """Rounds of five samples: the median, and twice as far apart as `wide` on either side."""
    return Times(tuple((one - 2 * wide, one - wide, one, one + wide, one + 2 * wide) for one in medians))


def timings(control: Sequence[float] | None = None, wide: float = 0.0, **lanes: Sequence[float]) -> Timings:
    """The medians of each lane by round; `_` in a name stands for `-`."""
    made = {name.replace("_", "-"): times(*medians, wide=wide) for name, medians in lanes.items()}
    return Timings({**made, CONTROL: times(*(control or lanes[ORIGINAL]), wide=wide)})


def size(label: str = "64 x 64", **changes: Any) -> SizeResult:
    """A size whose lanes are what its timings have; `lanes` adds those that were not timed."""
    found = changes.pop("timings", None) or timings(original=(2.0, 2.0), literal=(4.0, 4.0), async_copy=(1.6, 1.6))
    timed = tuple(
        Lane(name, Status.TIMED, "", (f"{name}_kernel",), launch_us=12.3) for name in found.lanes if name != CONTROL
    )
    lanes = (*timed, *changes.pop("lanes", ()))
    return SizeResult(label, lanes=lanes, timings=found, **{"work": Work(8_000_000, True), **changes})


def bench(*sizes: SizeResult, ceilings: Ceilings | None = None) -> FileBench:
    """A file with these sizes."""
    known = {"gpu": "a GPU", "triton": "3.6.0", "torch": "2.11.0"}
    found = ceilings or Ceilings(4000.0, {"bfloat16": 700.0})
    return FileBench("mm.py", "mm_case.py", verdict_of(sizes), "", sizes, known, found)
