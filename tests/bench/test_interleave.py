"""The order of the lanes, and that nothing but their own time reaches their ratios."""

from collections import Counter
from types import SimpleNamespace
from typing import Any

import pytest

from tests.bench.made import PlannedClock
from tritonport.bench.clock import HostClock
from tritonport.bench.interleave import Effort, interleaved, orders, turns


@pytest.mark.parametrize("count", range(2, 9))
def test_every_lane_stands_everywhere_and_follows_every_other_equally_often(count: int) -> None:
    lanes = [f"lane {number}" for number in range(count)]
    found = orders(lanes)
    assert all(sorted(order) == lanes for order in found)
    for place in range(count):
        assert set(Counter(order[place] for order in found).values()) == {len(found) // count}
    pairs = Counter((order[place], order[place + 1]) for order in found for place in range(count - 1))
    assert len(pairs) == count * (count - 1)
    assert len(set(pairs.values())) == 1


def test_three_lanes_run_in_each_of_their_orders() -> None:
    order = turns(("a", "b", "c"), 6)
    assert len({tuple(order[start : start + 3]) for start in range(0, 18, 3)}) == 6
    assert Counter(turns(("a", "b", "c"), 7)) == {"a": 7, "b": 7, "c": 7}


def test_host_clock_times_the_second_step_only() -> None:
    now = SimpleNamespace(seconds=0.0)

    def pass_time(seconds: float) -> Any:
        return lambda: setattr(now, "seconds", now.seconds + seconds)

    clock = HostClock(lambda: now.seconds)
    spent = clock.time([(pass_time(5.0), pass_time(0.25)), (pass_time(1.0), pass_time(0.5))])
    assert spent == [250.0, 500.0]


def test_drift_between_rounds_does_not_reach_the_ratio() -> None:
    clock = PlannedClock(drift=0.1)
    lanes = {"original": clock.lane(2.0), "literal": clock.lane(1.6), "tma": clock.lane(4.0)}
    found = interleaved(lanes, clock, Effort(rounds=3, iterations=4, warmup=1))
    assert found.ratio("literal").value == pytest.approx(1.25)
    assert found.ratio("tma").value == pytest.approx(0.5)
    assert found.ratio("literal").spread == pytest.approx(0.0)
    # The first call of the clock was the warm-up, so the third of the rounds is the fourth.
    assert found.lanes["literal"].median == pytest.approx(1.6 * 1.3)
    assert clock.prepared == 4 * (1 + 3 * 4)
    # The original runs twice as often as each stage: once more as the control.
    assert Counter(clock.ran) == {2.0: 26, 1.6: 13, 4.0: 13}


@pytest.mark.parametrize(("turn_ms", "samples"), [(0.1, 36), (50.0, 20), (5000.0, 5), (0.0, 36)])
def test_slow_kernels_are_run_less_often(turn_ms: float, samples: int) -> None:
    assert Effort(rounds=10, iterations=36, seconds=10.0, least=5).samples(turn_ms) == samples


def test_one_round_is_refused() -> None:
    with pytest.raises(ValueError, match="2 or more"):
        Effort(rounds=1)
