"""The survey of the stages on a small package: what it counts, and what it says is lost."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("triton")

from scripts.stages_survey import FileFigures, figures_of, less, undefined
from tests.upgrade.kernels import matmul

ROOT = Path(__file__).resolve().parents[2]
NO_DOT = "import triton\nimport triton.language as tl\n\n\n@triton.jit\ndef f(x):\n    tl.store(x, 1)\n"


def survey(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "scripts" / "stages_survey.py"), *arguments, "-j", "1"]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_package_and_what_it_had_before(tmp_path: Path) -> None:
    folder, report = tmp_path / "small", tmp_path / "report.json"
    folder.mkdir()
    (folder / "mm.py").write_text(matmul())
    (folder / "plain.py").write_text(NO_DOT)
    first = survey(f"small={folder}", "--json", str(report))
    assert first.returncode == 0, first.stdout + first.stderr
    assert "| small | 1 | 1 | 1 | 1 | 1 | 0 |" in first.stdout
    (one,) = json.loads(report.read_text())
    figures = one["kernels"]["matmul_kernel"]
    assert (one["path"], figures["descriptors"]) == ("small/mm.py", 3)
    # A ring each for a and b, in the form with tiles and in the one with pointers.
    assert figures["rings"] == 4
    figures["descriptors"] = 4
    report.write_text(json.dumps([one]))
    again = survey(f"small={folder}", "--against", str(report))
    assert again.returncode == 1
    assert again.stdout.splitlines()[-1] == "small/mm.py matmul_kernel: descriptors 4 -> 3"


def test_forms_count_for_the_kernel_that_they_were_made_of() -> None:
    text = "def f_tiles(x):\n    a_ring = x\n\n\ndef f_2(x):\n    a_ring_2 = dot_new_started(x)\n\n\n"
    text += "def g(x):\n    a_ring = x\n"
    found = figures_of(text, ["f", "f_2"])
    assert found["f"] == {"descriptors": 0, "rings": 1, "dots under way": 0}
    assert found["f_2"] == {"descriptors": 0, "rings": 1, "dots under way": 1}


def test_a_decorator_that_is_defined_further_down_is_found() -> None:
    used = "@late\ndef f():\n    return later()\n\n\n"
    assert set(undefined(used + "def late(x):\n    return x\n\n\ndef later():\n    return 1\n")) == {"late"}


def test_only_what_both_runs_have_is_compared() -> None:
    counts = {"descriptors": 2, "rings": 2, "dots under way": 1}
    before = {"a": FileFigures("a", kernels={"f": counts, "g": counts}), "b": FileFigures("b", kernels={"h": counts})}
    now = {"a": FileFigures("a", kernels={"f": {**counts, "rings": 1, "descriptors": 3}})}
    assert less(now, before) == ["a f: rings 2 -> 1"]
