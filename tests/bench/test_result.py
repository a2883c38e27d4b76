"""Verdicts, the gate, rates, exit codes, and which stage is kept."""

import pytest

from tests.bench.made import bench, size, timings
from tritonport.bench.best import best_of
from tritonport.bench.result import Ceilings, FileBench, Lane, SizeResult, Status, Work, exit_code, gate_failures
from tritonport.verify.verdict import Verdict

WRONG = Lane("tma", Status.WRONG, "result differs")
ABSENT = Lane("tma", Status.NOT_APPLICABLE, "line 3: TP412 no affine address")
FAILED = Lane("tma", Status.FAILED, "does not run: RuntimeError: misaligned address")


@pytest.mark.parametrize(
    ("lanes", "verdict", "code"),
    [((), Verdict.PASS, 0), ((ABSENT,), Verdict.PASS, 0), ((WRONG,), Verdict.FAIL, 1), ((FAILED,), Verdict.FAIL, 1)],
)
def test_a_wrong_stage_fails_the_run(lanes: tuple[Lane, ...], verdict: Verdict, code: int) -> None:
    found = bench(size(lanes=lanes))
    assert found.verdict is verdict
    assert exit_code([found]) == code


def test_nothing_timed_is_no_success() -> None:
    alone = timings(original=(2.0, 2.0))
    assert exit_code([bench(size(timings=alone, lanes=(ABSENT,)))]) == 3
    assert exit_code([bench(SizeResult("64", problem="the input a is all zeros"))]) == 3
    assert exit_code([FileBench("a.py", "a_case.py", Verdict.NOT_RUN, "no GPU")]) == 3
    assert exit_code([]) == 3
    assert exit_code([bench(size()), FileBench("a.py", None, Verdict.ERROR, "no such case")]) == 2


def test_the_gate_is_for_the_last_stage_or_for_those_that_were_named() -> None:
    found = [bench(size())]  # literal 0.5x, async-copy 1.25x
    assert gate_failures(found, 1.0) == []
    assert gate_failures(found, 1.25) == []
    assert gate_failures(found, 1.3) == [
        "mm.py: 64 x 64: async-copy: 1.2500x of the original (spread 0.0000), less than 1.3x"
    ]
    (said,) = gate_failures(found, 1.0, ("literal", "async-copy"))
    assert said.startswith("mm.py: 64 x 64: literal: 0.5000x")
    assert gate_failures(found, None, ("literal",)) == []
    assert exit_code(found, [said]) == 1
    # A stage that was not timed is no pass of its gate: that it is wrong already fails the run.
    assert exit_code([bench(size(lanes=(WRONG,)))], gate_failures(found, 1.0, ("tma",))) == 1


def test_a_rate_is_in_operations_where_the_case_says_how_many() -> None:
    ceilings = Ceilings(4000.0, {"bfloat16": 800.0, "int8": None})
    moved = size(work=Work(bytes=8_000_000_000)).rate("original", ceilings)
    assert (moved.value, moved.unit, moved.share, moved.of) == (4000.0, "GB/s", 1.0, "copy")
    work = Work(8_000_000, False, 8e11, "bfloat16")
    computed = size(work=work).rate("literal", ceilings)
    assert (computed.value, computed.unit, computed.share, computed.of) == (200.0, "TFLOP/s", 0.25, "matmul")
    assert size(work=Work(1, False, 1e9, "int8")).rate("literal", ceilings).share is None


class TestBest:
    STAGES = ("literal", "async-copy", "tma", "mma")

    def test_the_last_stage_that_won_is_kept(self) -> None:
        # tma alone is slower than async-copy, and mma on top of it is faster than both.
        lanes = timings(original=(2.0, 2.0), literal=(4.0, 4.0), async_copy=(2.5, 2.5), tma=(3.0, 3.0), mma=(1.0, 1.0))
        best = best_of(bench(size(timings=lanes)), self.STAGES)
        assert best.stage == "mma"
        assert [gain.kept for gain in best.gains] == [True, True, False, True]
        assert [gain.over for gain in best.gains] == ["original", "literal", "async-copy", "async-copy"]
        assert [str(gain) for gain in best.gains] == [
            "literal: 0.5000x of the original (spread 0.0000): slower, kept",
            "async-copy: 0.8000x of the original, 1.6000x of literal (spread 0.0000): faster, kept",
            "tma: 0.6667x of the original, 0.8333x of async-copy (spread 0.0000): slower",
            "mma: 2.0000x of the original, 2.5000x of async-copy (spread 0.0000): faster, kept",
        ]
        assert best.total is not None and best.total.value == pytest.approx(2.0)

    def test_a_gain_within_the_spread_wins_nothing(self) -> None:
        lanes = timings((2.0, 1.9), original=(2.0, 2.0), literal=(2.0, 2.0), async_copy=(1.98, 1.98))
        best = best_of(bench(size(timings=lanes)), ("literal", "async-copy"))
        assert best.stage == "literal"
        assert str(best.gains[1]).endswith("(spread 0.0526): no difference shown")

    def test_over_several_sizes_the_mean_decides(self) -> None:
        better = timings(original=(2.0, 2.0), literal=(2.0, 2.0), async_copy=(1.0, 1.0))
        worse = timings(original=(2.0, 2.0), literal=(2.0, 2.0), async_copy=(3.0, 3.0))
        best = best_of(bench(size("a", timings=better), size("b", timings=worse)), ("literal", "async-copy"))
        assert best.stage == "async-copy"
        assert best.gains[1].speed is not None
        assert best.gains[1].speed.value == pytest.approx((2.0 * 2.0 / 3.0) ** 0.5)

    @pytest.mark.parametrize("lane", [WRONG, FAILED])
    def test_a_stage_that_is_wrong_on_one_size_is_not_kept(self, lane: Lane) -> None:
        fast = timings(original=(2.0, 2.0), literal=(2.0, 2.0), tma=(0.5, 0.5))
        slow = timings(original=(2.0, 2.0), literal=(2.0, 2.0))
        best = best_of(bench(size("a", timings=fast), size("b", timings=slow, lanes=(lane,))), ("literal", "tma"))
        assert (best.stage, best.wrong) == ("literal", True)
        assert str(best.gains[1]) == f"tma: not timed: {lane.reason}"

    def test_the_stages_of_a_gluon_file_begin_at_the_file(self) -> None:
        same = Lane("literal", Status.NOT_APPLICABLE, "the same as the original")
        lanes = timings(original=(2.0, 2.0), async_copy=(2.5, 2.5))
        best = best_of(bench(size(timings=lanes, lanes=(same,))), ("literal", "async-copy"))
        assert (best.stage, best.wrong) == ("original", False)

    def test_nothing_right_keeps_nothing(self) -> None:
        wrong = Lane("literal", Status.WRONG, "result differs")
        best = best_of(bench(size(timings=timings(original=(2.0, 2.0)), lanes=(wrong,))), ("literal",))
        assert (best.stage, best.wrong) == (None, True)
        assert best_of(FileBench("a.py", None, Verdict.NOT_RUN, "no GPU"), ("literal",)).stage is None
