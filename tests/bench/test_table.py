"""The report as text: what a person reads of each stage."""

import pytest

from tests.bench.made import bench, size, timings
from tritonport.bench.result import Ceilings, FileBench, Lane, SizeResult, Status, Work
from tritonport.bench.table import print_tables, text_table
from tritonport.verify.verdict import Verdict

NOT_FOR_IT = Lane("tma", Status.NOT_APPLICABLE, "the same as literal: line 3: TP412 fill is not zero")
WRONG = Lane("mma", Status.WRONG, "result differs at [0]")


def test_each_stage_has_its_row() -> None:
    work = Work(bytes=8_000_000_000)
    shown = text_table([bench(size(work=work, lanes=(NOT_FOR_IT, WRONG)), ceilings=Ceilings(4000.0, {"int8": None}))])
    lines = [" ".join(line.split()) for line in shown.splitlines()]
    assert lines == [
        "mm.py FAIL",
        "a GPU, Triton 3.6.0, torch 2.11.0; a copy moves 4000 GB/s; torch.matmul in int8 does not exist here",
        "64 x 64",
        "stage median 10 % to 90 % rate of ceiling speed spread gain launch",
        "original 2.0000 ms 2.0000 to 2.0000 4000 GB/s 100.0 % of copy 12 us against itself 1.0000x",
        "literal 4.0000 ms 4.0000 to 4.0000 2000 GB/s 50.0 % of copy 0.5000x 0.0000 12 us slower",
        "async-copy 1.6000 ms 1.6000 to 1.6000 5000 GB/s 125.0 % of copy 1.2500x 0.0000 2.5000x 12 us faster",
        "tma does not apply: the same as literal: line 3: TP412 fill is not zero",
        "mma WRONG: result differs at [0]",
    ]


def test_a_difference_within_the_spread_is_called_none() -> None:
    lanes = timings(original=(2.0, 2.0), literal=(1.98, 2.02), wide=0.1)
    row = next(line for line in text_table([bench(size(timings=lanes))]).splitlines() if "literal" in line)
    assert row.split()[3:6] == ["1.8160", "to", "2.1840"]
    # The median of 2.0 / 1.98 and 2.0 / 2.02, which lie 0.0200 apart.
    assert " ".join(row.split()).endswith("1.0001x 0.0200 12 us no difference shown")


def test_what_was_not_timed_has_no_number() -> None:
    assert text_table([FileBench("a.py", "a_case.py", Verdict.NOT_RUN, "no GPU")]) == "a.py  NOT-RUN  no GPU\n"
    zeros = SizeResult("8 x 8", problem="the input a is all zeros")
    assert "  8 x 8: not timed: the input a is all zeros\n" in text_table([bench(zeros)])
    alone = SizeResult("8 x 8", lanes=(Lane("original", Status.TIMED), WRONG))
    lines = [line.split() for line in text_table([bench(alone)]).splitlines()]
    assert lines[-2:] == [["original", "right,", "not", "timed"], ["mma", "WRONG:", "result", "differs", "at", "[0]"]]


def test_rich_shows_the_same_cells(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("rich")
    monkeypatch.setenv("COLUMNS", "200")
    zeros = SizeResult("8 x 8", problem="the input [a] is all zeros")
    assert print_tables([bench(size(lanes=(NOT_FOR_IT, WRONG)), zeros)])
    shown = capsys.readouterr().out
    assert "mm.py  FAIL" in shown and "a copy moves 4000 GB/s" in shown and "the input [a] is all zeros" in shown
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in shown.splitlines() if "│" in line]
    cells = {row[0]: row[1:] for row in rows}
    assert cells["async-copy"][4:] == ["1.2500x", "0.0000", "2.5000x", "12 us", "faster"]
    assert cells["mma"] == [*[""] * 8, "WRONG: result differs at [0]"]
