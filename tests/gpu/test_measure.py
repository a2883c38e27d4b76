"""The measuring scripts, as far as they can be tried without a GPU."""

import importlib
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

SCRIPTS = Path(__file__).parents[2] / "scripts" / "gpu"


@pytest.fixture(scope="module")
def script() -> Any:
    """Imports a module that lies beside measure.py."""
    sys.path.insert(0, str(SCRIPTS))
    yield importlib.import_module
    sys.path.remove(str(SCRIPTS))


class PlannedClock:
    """A clock that runs the steps and reads off how long each is said to take."""

    def __init__(self) -> None:
        self.cost = 0.0
        self.prepared = 0
        self.calls = 0

    def step(self, cost: float) -> Any:
        def run() -> None:
            self.cost = cost

        return run

    def prepare(self) -> None:
        self.prepared += 1

    def time(self, samples: Any) -> list[float]:
        self.calls += 1
        spent = []
        for prepare, run in samples:
            prepare()
            run()
            # Every round is a little slower than the one before, for all lanes alike.
            spent.append(self.cost * (1.0 + 0.1 * self.calls))
        return spent


def speed_row(**changes: Any) -> dict[str, Any]:
    row = {"fixture": "softmax", "label": "8x8", "bar": True, "kernels": ["k"], "controls": [1.0, 1.002]}
    row.update(ratio=1.01, spread=0.002, resolved=True, original_gb_s=4000.0, port_gb_s=4040.0)
    return {**row, **changes}


class TestTiming:
    def test_lanes_take_turns_in_every_order(self, script: Any) -> None:
        order = script("timing").turns(("a", "b", "c"), 6)
        assert Counter(order) == {"a": 6, "b": 6, "c": 6}
        assert [Counter(order[position::3]) for position in range(3)] == [{"a": 2, "b": 2, "c": 2}] * 3

    def test_host_clock_times_the_second_step_only(self, script: Any) -> None:
        now = SimpleNamespace(seconds=0.0)

        def pass_time(seconds: float) -> Any:
            return lambda: setattr(now, "seconds", now.seconds + seconds)

        clock = script("timing").HostClock(lambda: now.seconds)
        spent = clock.time([(pass_time(5.0), pass_time(0.25)), (pass_time(1.0), pass_time(0.5))])
        assert spent == [250.0, 500.0]

    def test_drift_between_rounds_does_not_reach_the_ratio(self, script: Any) -> None:
        clock = PlannedClock()
        lanes = {"original": clock.step(2.0), "port": clock.step(1.6), "control": clock.step(2.0)}
        speed = script("timing").interleaved(lanes, clock.prepare, clock, rounds=3, iterations=4, warmup=1)
        assert speed.ratio == pytest.approx(1.25)
        assert speed.spread == pytest.approx(0.0)
        assert speed.resolved
        assert speed.median("port") == pytest.approx(1.6 * 1.3)
        assert clock.prepared == 3 * (1 + 3 * 4)

    def test_a_difference_within_the_control_is_not_resolved(self, script: Any) -> None:
        clock = PlannedClock()
        lanes = {"original": clock.step(2.0), "port": clock.step(1.99), "control": clock.step(1.9)}
        speed = script("timing").interleaved(lanes, clock.prepare, clock, rounds=2, iterations=2)
        assert speed.spread == pytest.approx(2.0 / 1.9 - 1.0)
        assert not speed.resolved

    def test_one_round_is_refused(self, script: Any) -> None:
        clock = PlannedClock()
        with pytest.raises(ValueError, match="2 or more"):
            script("timing").interleaved({}, clock.prepare, clock, rounds=1, iterations=2)


class TestSummary:
    def test_geometric_mean(self, script: Any) -> None:
        assert script("summary").geometric_mean([0.5, 2.0, 1.0]) == pytest.approx(1.0)

    def test_bars(self, script: Any) -> None:
        summary = script("summary")
        good, slow = speed_row(), speed_row(ratio=0.97, label="9x9")
        assert summary.speed_findings([good]) == []
        assert summary.speed_findings([good, slow]) == [
            "speed: softmax 9x9: 0.9700x, less than 0.98x",
            "speed: geometric mean 0.9898x, less than 1.0x (control 1.0010x)",
        ]
        # Rows without a bar are reported only.
        assert summary.speed_findings([good, {**slow, "bar": False}]) == []

    def test_no_mean_without_a_row_that_it_is_of(self, script: Any) -> None:
        broken = {"fixture": "rms_norm", "label": "all", "bar": True, "error": "the process was stopped"}
        found = script("summary").speed_findings([speed_row(), broken])
        assert found[0] == "speed: rms_norm all: the process was stopped"
        assert found[1].startswith("speed: no geometric mean")

    def test_what_is_expected_to_be_incomparable_is_no_finding(self, script: Any) -> None:
        row = {"name": "softmax", "verdict": "NOT-COMPARABLE", "summary": "does not compile"}
        findings = script("summary").parity_findings
        assert findings("Liger", [row]) == ["Liger: softmax: NOT-COMPARABLE: does not compile"]
        assert findings("Liger", [{**row, "expected": "NOT-COMPARABLE"}]) == []
        assert findings("Liger", [{**row, "verdict": "FAIL", "expected": "NOT-COMPARABLE"}]) != []

    def test_one_line_for_both_settings(self, script: Any) -> None:
        rows = [{"name": "rope", "verdict": verdict, "summary": verdict.lower()} for verdict in ("PASS", "FAIL")]
        assert script("summary").parity_line(rows).split() == ["rope", "PASS,", "FAIL", "fail"]

    def test_cells_cannot_break_a_table(self, script: Any) -> None:
        assert script("summary").table(("a", "b"), [["x|y", "1\n2"]]).splitlines()[2] == "| x\\|y | 1 2 |"


class TestOptions:
    @pytest.mark.parametrize("wrong", [["--rounds", "1"], ["--only", "speeds"], ["--liger", "/nowhere"]])
    def test_unusable(self, script: Any, wrong: list[str], tmp_path: Path) -> None:
        with pytest.raises(SystemExit) as ended:
            script("measure").parse(["--out", str(tmp_path), *wrong])
        assert ended.value.code == 2

    def test_every_liger_file_has_a_case(self, script: Any) -> None:
        cases = {file.name.removesuffix("_case.py") for file in (SCRIPTS / "liger").glob("*_case.py")}
        assert cases == set(script("measure").LIGER_OPS)


class TestSpeed:
    """One fixture in the emulator, with a clock that counts nothing."""

    @pytest.fixture
    def measured(self, script: Any, tmp_path: Path) -> Any:
        pytest.importorskip("triton")
        from tritonport.verify.emulate import emulated

        speed: ModuleType = script("speed")
        text = (SCRIPTS.parents[1] / "fixtures" / "vector_add" / "vector_add.py").read_text(encoding="utf-8")
        version = ".".join(importlib.import_module("triton").__version__.split(".")[:2])

        def measure(change: Any) -> dict[str, Any]:
            from tritonport.convert import ConvertOptions, convert_text

            port = change(convert_text(text, path="vector_add.py", options=ConvertOptions(triton=version)).text)
            with emulated():
                original = speed.Side("vector_add", text, tmp_path / "original")
                ported = speed.Side("vector_add", port, tmp_path / "port")
                (bench,) = script("benches").benches("vector_add", original.case, "cpu", False)
                clock = script("timing").HostClock()
                row: dict[str, Any] = speed.measure(bench, original, ported, clock, speed.Effort(2, 1))
            return row

        return measure

    def test_a_right_port_is_timed(self, measured: Any) -> None:
        row = measured(lambda text: text)
        assert row["differences"] == []
        assert row["bytes"] == 3 * 1024 * 2
        assert row["kernels"] == ["add_kernel"]
        assert row["ratio"] > 0 and "error" not in row

    def test_a_wrong_port_is_not(self, measured: Any) -> None:
        row = measured(lambda text: text.replace("x + y, mask", "x - y, mask"))
        assert row["error"].startswith("result differs")
        assert "ratio" not in row

    def test_nor_one_that_writes_less(self, measured: Any) -> None:
        row = measured(lambda text: text.replace("mask = offsets < n_elements", "mask = offsets < n_elements - 1"))
        assert "NaN on one side only" in row["error"]

    def test_nor_one_that_is_no_port(self, measured: Any) -> None:
        text = (SCRIPTS.parents[1] / "fixtures" / "vector_add" / "vector_add.py").read_text(encoding="utf-8")
        row = measured(lambda port: text)
        assert row["error"] == "the port does not launch the same kernels, in Gluon"

    def test_a_launch_with_other_scalars_is_refused(self, script: Any) -> None:
        launched = script("speed").Launched
        kernel = SimpleNamespace(arg_names=["n", "BLOCK"], fn=SimpleNamespace(__name__="k"))
        ours, theirs = (launched(kernel, (8,), {"BLOCK": block, "grid": (1,)}) for block in (64, 128))
        assert ours.with_tensors_of(ours) == ours
        with pytest.raises(ValueError, match="BLOCK is 64, in the original 128"):
            ours.with_tensors_of(theirs)


def test_the_whole_script_in_the_emulator(tmp_path: Path) -> None:
    pytest.importorskip("triton")
    command = [sys.executable, str(SCRIPTS / "measure.py"), "--device", "cpu", "--quick", "--out", str(tmp_path)]
    command += ["--rounds", "2", "--iterations", "1", "--jobs", "1"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert {file.name for file in tmp_path.iterdir()} == {"results.json", "h200-literal.md", "log.txt"}
    results = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    assert [(row["fixture"], row["bar"]) for row in results["speed"]] == [("vector_add", False), ("rms_norm", False)]
    assert [(row["name"], row["verdict"]) for row in results["fixtures"]] == [
        ("rms_norm", "PASS"),
        ("vector_add", "PASS"),
    ]
    assert results["findings"] == []
    assert "in the emulator" in (tmp_path / "h200-literal.md").read_text(encoding="utf-8")


def test_without_a_gpu_nothing_is_measured(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    command = [sys.executable, str(SCRIPTS / "measure.py"), "--out", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 3
    assert "nothing to measure" in done.stdout
