"""What samples say: percentiles, ratios, and when a difference is one."""

import pytest

from tests.bench.made import times, timings
from tritonport.bench.statistics import Times, geometric_mean, mean_ratio


def test_percentiles_are_of_all_samples_and_the_median_of_the_rounds() -> None:
    found = Times(((1.0, 2.0, 3.0, 4.0, 5.0), (6.0, 7.0, 8.0, 9.0, 10.0, 11.0)))
    assert list(found.medians) == [3.0, 8.5]
    assert found.median == 5.75
    # Of 1, 2, ..., 11: ten steps apart, so that each tenth is a sample.
    assert (found.percentile(10), found.percentile(50), found.percentile(90)) == (2.0, 6.0, 10.0)
    assert Times(((3.0,),)).percentile(90) == 3.0


def test_geometric_mean() -> None:
    assert geometric_mean([0.5, 2.0, 1.0]) == pytest.approx(1.0)


def test_a_round_is_compared_with_itself() -> None:
    ratio = timings(original=(2.0, 4.0, 3.0), literal=(1.6, 3.2, 2.4)).ratio("literal")
    assert ratio.rounds == pytest.approx((1.25, 1.25, 1.25))
    assert ratio.value == pytest.approx(1.25)
    assert ratio.spread == pytest.approx(0.0)
    assert ratio.words == "faster"


@pytest.mark.parametrize(
    ("literal", "control", "spread", "words"),
    [
        # The range of the rounds' ratios: 1.0 to 1.25.
        ((2.0, 1.6, 1.8), (2.0, 2.0, 2.0), 0.25, "no difference shown"),
        # Ratios as close as can be, but the original is not equal to itself.
        ((1.9, 1.9, 1.9), (2.0, 1.6, 2.0), 0.25, "no difference shown"),
        ((2.5, 2.5, 2.5), (2.0, 2.0, 2.0), 0.0, "slower"),
        ((1.0, 1.0, 1.0), (2.0, 1.6, 2.0), 0.25, "faster"),
        ((2.0, 2.0, 2.0), (2.0, 2.0, 2.0), 0.0, "no difference shown"),
    ],
)
def test_a_difference_within_the_spread_is_none(
    literal: tuple[float, ...], control: tuple[float, ...], spread: float, words: str
) -> None:
    ratio = timings(control, original=(2.0, 2.0, 2.0), literal=literal).ratio("literal")
    assert ratio.spread == pytest.approx(spread)
    assert ratio.words == words
    assert ratio.resolved == (words != "no difference shown")


def test_the_gain_of_a_stage_is_over_any_other_lane() -> None:
    found = timings(original=(2.0, 2.0), literal=(4.0, 5.0), mma=(1.0, 1.0))
    assert found.ratio("mma", "literal").rounds == (4.0, 5.0)


def test_the_mean_over_sizes_is_taken_round_by_round() -> None:
    first = timings((2.0, 1.0), original=(2.0, 2.0), mma=(1.0, 0.5)).ratio("mma")
    second = timings((8.0, 2.0), original=(8.0, 2.0), mma=(1.0, 2.0)).ratio("mma")
    mean = mean_ratio([first, second])
    assert mean.rounds == pytest.approx((4.0, 2.0))
    assert mean.controls == pytest.approx((1.0, 2**0.5))


def test_the_samples_of_the_made_results() -> None:
    assert times(2.0, wide=0.5).percentile(90) == pytest.approx(2.8)
