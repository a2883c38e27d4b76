"""Pictures: the data that is drawn."""

from pathlib import Path

import pytest

from tests.bench.made import bench, size, timings
from tritonport.bench.plot import draw, panels_of, save_plot
from tritonport.bench.result import Ceilings, FileBench, Lane, SizeResult, Status, Work
from tritonport.verify.verdict import Verdict

WORK = Work(1, False, 2e12, "bfloat16")
"""At 2 ms 1000 TFLOP/s."""


def sized(extent: int, mma: float, lanes: tuple[Lane, ...] = ()) -> SizeResult:
    found = timings(original=(2.0, 2.0), mma=(mma, mma), wide=0.25)
    return size(f"{extent} cubed", sizes={"M": extent, "dtype": "bf16"}, timings=found, work=WORK, lanes=lanes)


def measured() -> FileBench:
    """Three sizes in no order; tma is right on one alone, and one size was not timed."""
    once = timings(original=(2.0, 2.0), mma=(1.0, 1.0), tma=(4.0, 4.0))
    large = size("8192 cubed", sizes={"M": 8192, "dtype": "bf16"}, timings=once, work=WORK)
    return bench(
        large,
        sized(1024, 2.0, (Lane("tma", Status.WRONG, "result differs"),)),
        SizeResult("16 cubed", {"M": 16}, problem="all zeros"),
        sized(4096, 1.25),
        ceilings=Ceilings(None, {"bfloat16": 1600.0}),
    )


def test_a_panel_has_a_line_for_each_stage_over_the_size_that_varies() -> None:
    (panel,) = panels_of([measured()])
    assert (panel.title, panel.unit, panel.axis) == ("mm.py", "TFLOP/s", "M")
    assert panel.ceiling == pytest.approx(1600.0)
    assert panel.ticks == ((1024.0, "1024"), (4096.0, "4096"), (8192.0, "8192"))
    lines = {series.stage: series for series in panel.series}
    assert lines["original"].values == pytest.approx((1000.0, 1000.0, 1000.0))
    assert lines["mma"].places == (1024.0, 4096.0, 8192.0)
    assert lines["mma"].values == pytest.approx((1000.0, 1600.0, 2000.0))
    # Where a stage was not timed it has no point.
    assert lines["tma"].places == (8192.0,)
    assert lines["tma"].values == pytest.approx((500.0,))
    # A tenth of the samples at 1024 took 1.5 ms or less, and one 2.5 ms or more: the longer time is the lower rate.
    assert lines["original"].low[0] == pytest.approx(800.0)
    assert lines["original"].high[0] == pytest.approx(2000.0 / 1.5)


def test_sizes_without_a_number_stand_side_by_side() -> None:
    (panel,) = panels_of([bench(size("small"), size("large"))])
    assert (panel.axis, panel.unit, panel.ticks) == ("", "GB/s", ((0.0, "small"), (1.0, "large")))


def test_rates_of_two_units_have_a_panel_each() -> None:
    found = [bench(size("a"), size("b", work=WORK)), FileBench("b.py", None, Verdict.NOT_RUN, "no GPU")]
    assert [(panel.title, panel.unit) for panel in panels_of(found)] == [("mm.py", "GB/s"), ("mm.py", "TFLOP/s")]


def test_the_picture_holds_that_data(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    (axes,) = draw([measured()]).axes
    assert (axes.get_title(), axes.get_xlabel(), axes.get_ylabel()) == ("mm.py", "M", "TFLOP/s")
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["ceiling", "original", "mma", "tma"]
    drawn = {bars.get_label(): bars.lines for bars in axes.containers}
    line, _, (ends,) = drawn["mma"]
    assert line.get_xydata().tolist() == [[1024.0, 1000.0], [4096.0, 1600.0], [8192.0, 2000.0]]
    # The bar at 4096: from the 90th percentile of its times, 1.75 ms, to the 10th, 0.75 ms.
    (_, low), (_, high) = ends.get_segments()[1]
    assert (low, high) == (pytest.approx(2000.0 / 1.75), pytest.approx(2000.0 / 0.75))
    (ceiling,) = [line for line in axes.lines if line.get_label() == "ceiling"]
    assert list(ceiling.get_ydata()) == pytest.approx([1600.0, 1600.0])
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["1024", "4096", "8192"]
    assert axes.get_xscale() == "log"
    save_plot([measured()], tmp_path / "mm.png")
    assert (tmp_path / "mm.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
