"""`tritonport bench` and `tritonport upgrade --keep-best`: what they refuse, and what they do with what was timed."""

import json
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("triton")

from tests.bench.made import bench, size, timings
from tests.cli.conftest import SCALE_FILE, Run
from tests.upgrade.kernels import matmul
from tritonport.bench import run as bench_run
from tritonport.bench.result import FileBench, Lane, SizeResult, Status
from tritonport.bench.run import BenchOptions, missing

CASE = "def make_inputs(device, seed):\n    return {}\n\n\ndef launch():\n    return None\n"
no_gpu = pytest.mark.skipif(missing() is None, reason="there is a GPU")


@pytest.fixture
def timed(monkeypatch: pytest.MonkeyPatch) -> list[BenchOptions]:
    """In place of a GPU: every benchmark finds that literal is slower than the original and async-copy faster."""
    asked: list[BenchOptions] = []

    def bench_files(files: list[str], options: BenchOptions, progress: object) -> list[FileBench]:
        asked.append(options)
        return [bench(size("64"), size("128")) for _ in files]

    monkeypatch.setattr(bench_run, "bench_files", bench_files)
    return asked


def found(monkeypatch: pytest.MonkeyPatch, *sizes: SizeResult) -> None:
    monkeypatch.setattr(bench_run, "bench_files", lambda files, options, progress: [bench(*sizes)])


@pytest.fixture
def mm(folder: Path) -> Path:
    (folder / "mm.py").write_text(matmul())
    (folder / "mm_case.py").write_text(CASE)
    return folder / "mm.py"


class TestBench:
    @no_gpu
    def test_without_a_gpu_nothing_is_timed(self, run: Run, mm: Path) -> None:
        result = run("bench", "mm.py", "--report", "out.json", "--min-speed", "1.0")
        assert result.exit_code == 3
        assert result.stdout == "mm.py  NOT-RUN  no GPU\n"
        (file,) = json.loads(Path("out.json").read_text())["files"]
        assert (file["verdict"], file["sizes"]) == ("NOT-RUN", [])

    def test_without_a_case_nothing_is_timed(self, run: Run, folder: Path) -> None:
        (folder / "scale.py").write_text(SCALE_FILE)
        result = run("bench", "scale.py")
        assert result.exit_code == 3
        assert "NOT-COMPARABLE  no case" in result.stdout
        assert run("bench", "scale.py", "--case", "nowhere.py").exit_code == 2
        # In a directory it takes no part, and then there is nothing at all.
        assert run("bench", ".").exit_code == 3

    @pytest.mark.parametrize(
        ("flags", "said"),
        [
            (["--stage", "asyncopy"], "no stage 'asyncopy'; known: literal"),
            (["--size", "M"], "'M' is not NAME=VALUE,VALUE"),
            (["--size", "M=1,"], "'M=1,' is not NAME=VALUE,VALUE"),
            (["--size", "=4"], "'=4' is not NAME=VALUE,VALUE"),
            (["--rounds", "1"], "--rounds"),
            (["--min-speed", "0"], "--min-speed"),
            (["--case", "mm_case.py", "mm.py", "mm.py"], "--case takes one kernel file"),
        ],
    )
    def test_flags_that_cannot_be_used(self, run: Run, mm: Path, flags: list[str], said: str) -> None:
        (mm.parent / "scale.py").write_text(SCALE_FILE)
        flags = [flag if flag != "mm.py" else "scale.py" for flag in flags]
        result = run("bench", "mm.py", *flags)
        assert result.exit_code == 2
        assert said in result.stderr

    def test_a_picture_needs_matplotlib(self, run: Run, mm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        import sys

        monkeypatch.setitem(sys.modules, "matplotlib", None)
        result = run("bench", "mm.py", "--plot", "mm.png")
        assert result.exit_code == 2
        assert "--plot needs matplotlib; pip install 'tritonport[bench]'" in result.stderr

    def test_flags_reach_the_benchmark(self, run: Run, mm: Path, timed: list[BenchOptions]) -> None:
        flags = ["--stage", "literal,async-copy", "--size", "M,N=64,128", "--size", "causal=True", "--rounds", "3"]
        assert run("bench", "mm.py", *flags, "--target", "sm_80", "--seeds", "0,2").exit_code == 0
        (options,) = timed
        assert options.stages == ("literal", "async-copy")
        assert options.sizes == {("M", "N"): (64, 128), ("causal",): (True,)}
        assert (options.effort.rounds, options.target, options.seeds) == (3, "sm_80", (0, 2))

    def test_the_gate(self, run: Run, mm: Path, timed: list[BenchOptions]) -> None:
        passes = run("bench", "mm.py", "--min-speed", "1.2")
        assert passes.exit_code == 0
        assert "1.2500x" in passes.stdout
        fails = run("bench", "mm.py", "--min-speed", "1.3", "--output-format", "json")
        assert fails.exit_code == 1
        assert fails.stderr.splitlines()[0].startswith("below --min-speed: mm.py: 64: async-copy: 1.2500x")
        document = json.loads(fails.stdout)
        assert (document["exit_code"], len(document["below_min_speed"]), document["min_speed"]) == (1, 2, 1.3)
        named = run("bench", "mm.py", "--stage", "literal", "--min-speed", "1.0")
        assert named.exit_code == 1 and "literal: 0.5000x" in named.stderr

    def test_a_wrong_stage_fails_without_a_gate(self, run: Run, mm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        found(monkeypatch, size(lanes=(Lane("tma", Status.WRONG, "result differs"),)))
        result = run("bench", "mm.py")
        assert result.exit_code == 1
        assert "WRONG: result differs" in result.stdout


class TestKeepBest:
    def test_the_stage_that_won_is_written(self, run: Run, mm: Path, timed: list[BenchOptions]) -> None:
        result = run("upgrade", "--stage", "async-copy", "--keep-best", "--target", "sm_80", "mm.py")
        assert result.exit_code == 0
        assert timed[0].stages == ("literal", "async-copy")
        assert result.stdout == run("upgrade", "--stage", "async-copy", "--target", "sm_80", "mm.py").stdout
        assert "async_copy.wait_group" in result.stdout
        assert result.stderr.splitlines()[:3] == [
            "literal: 0.5000x of the original (spread 0.0000): slower, kept",
            "async-copy: 1.2500x of the original, 2.5000x of literal (spread 0.0000): faster, kept",
            "kept: async-copy",
        ]

    def test_a_stage_that_gains_nothing_is_not(self, run: Run, mm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        found(monkeypatch, size(timings=timings(original=(2.0, 2.0), literal=(2.0, 2.0), async_copy=(2.1, 2.1))))
        result = run("upgrade", "--stage", "async-copy", "--keep-best", "--target", "sm_80", "mm.py")
        assert result.exit_code == 0
        assert "kept: literal" in result.stderr
        assert result.stdout == run("convert", "--target", "sm_80", "mm.py").stdout

    def test_a_wrong_stage_is_a_finding(self, run: Run, mm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        lanes = timings(original=(2.0, 2.0), literal=(2.0, 2.0))
        found(monkeypatch, size(timings=lanes, lanes=(Lane("async-copy", Status.WRONG, "result differs"),)))
        result = run("upgrade", "--stage", "async-copy", "--keep-best", "--target", "sm_80", "-w", "mm.py")
        assert result.exit_code == 1
        assert "async-copy: not timed: result differs" in result.stderr
        assert "@gluon.jit" in mm.read_text() and "async_copy" not in mm.read_text()

    def test_where_everything_is_wrong_nothing_is_written(
        self, run: Run, mm: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        wrong = Lane("literal", Status.WRONG, "result differs")
        found(monkeypatch, size(timings=timings(original=(2.0, 2.0)), lanes=(wrong,)))
        result = run("upgrade", "--stage", "async-copy", "--keep-best", "-w", "mm.py")
        assert result.exit_code == 1
        assert mm.read_text() == matmul()

    @no_gpu
    def test_without_a_gpu_nothing_is_written(self, run: Run, mm: Path) -> None:
        result = run("upgrade", "--stage", "async-copy", "--keep-best", "-w", "mm.py")
        assert result.exit_code == 3
        assert "TP806 --keep-best timed nothing (NOT-RUN: no GPU); nothing is written" in result.stderr
        assert mm.read_text() == matmul()

    def test_it_takes_one_file(self, run: Run, mm: Path) -> None:
        assert run("upgrade", "--stage", "async-copy", "--keep-best", "-", stdin=matmul()).exit_code == 2
        assert run("upgrade", "--stage", "async-copy", "--case", "mm_case.py", "mm.py").exit_code == 2
