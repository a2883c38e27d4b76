"""The measuring scripts, as far as they can be tried without a GPU."""

import importlib
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tritonport.bench.clock import HostClock

SCRIPTS = Path(__file__).parents[2] / "scripts" / "gpu"


@pytest.fixture(scope="module")
def script() -> Any:
    """Imports a module that lies beside measure.py."""
    sys.path.insert(0, str(SCRIPTS))
    yield importlib.import_module
    sys.path.remove(str(SCRIPTS))


def speed_row(**changes: Any) -> dict[str, Any]:
    row = {"fixture": "softmax", "label": "8x8", "bar": True, "kernels": ["k"], "controls": [1.0, 1.002]}
    row.update(ratio=1.01, spread=0.002, resolved=True, original_gb_s=4000.0, port_gb_s=4040.0)
    return {**row, **changes}


class TestSummary:
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
    def measured(self, script: Any) -> Any:
        pytest.importorskip("triton")
        from tritonport.bench.interleave import Effort
        from tritonport.bench.sizes import Size, case_module
        from tritonport.verify.case import load_case
        from tritonport.verify.emulate import emulated

        speed: ModuleType = script("speed")
        version = ".".join(importlib.import_module("triton").__version__.split(".")[:2])

        def measure(old: str, new: str) -> dict[str, Any]:
            with emulated():
                original, port = speed.sides("vector_add", version)
                assert port.case is not None
                code = next(Path(file) for file, shown in port.case.files.items() if shown.endswith("[port]"))
                text = code.read_text(encoding="utf-8")
                assert old in text
                changed = load_case(original.path, original.kernel_file, text.replace(old, new))
                (bench,) = script("benches").benches("vector_add", case_module(original), "cpu", False)
                size = Size(bench.label, bench.build)
                found = speed.measure(size, original, [speed.Loaded("literal", changed)], HostClock(), Effort(2, 1))
            row: dict[str, Any] = speed.row_of(found)
            return row

        return measure

    def test_a_right_port_is_timed(self, measured: Any) -> None:
        row = measured("x + y", "x + y")
        assert row["differences"] == []
        assert row["bytes"] == 3 * 1024 * 2
        assert row["kernels"] == ["add_kernel"]
        assert row["ratio"] > 0 and "error" not in row

    def test_a_wrong_port_is_not(self, measured: Any) -> None:
        row = measured("x + y, mask", "x - y, mask")
        assert row["error"].startswith("result differs")
        assert "ratio" not in row

    def test_nor_one_that_writes_less(self, measured: Any) -> None:
        row = measured("mask = offsets < n_elements", "mask = offsets < n_elements - 1")
        assert "NaN on one side only" in row["error"]


def test_the_whole_script_in_the_emulator(tmp_path: Path) -> None:
    pytest.importorskip("triton")
    command = [sys.executable, str(SCRIPTS / "measure.py"), "--device", "cpu", "--quick", "--out", str(tmp_path)]
    command += ["--rounds", "2", "--iterations", "1", "--jobs", "1", "--budget", "400"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=450, check=False)
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
