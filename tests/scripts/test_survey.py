"""The survey on a small package: what it counts, and what it lists."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("triton")

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = """import not_installed_anywhere
"""
KERNELS = """import torch
import triton
import triton.language as tl

DEVICE = torch.zeros(4, device="cuda") if torch.cuda.is_available() else None


@triton.jit
def twice(x):
    return x * 2


@triton.jit
def double(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + offs, twice(tl.load(x_ptr + offs, offs < n)), offs < n)


@triton.jit
def counts(x_ptr, out_ptr, BLOCK: tl.constexpr):
    total = 0
    for start in range(0, 64):
        total += tl.load(x_ptr + start)
    tl.store(out_ptr, total)


@triton.jit
def impossible(x_ptr, BLOCK: tl.constexpr):
    tl.static_assert(BLOCK < 0)
    tl.store(x_ptr + tl.arange(0, BLOCK), 0.0)


@triton.jit
def refused(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    tl.store(out_ptr + offs, unknown_function(tl.load(x_ptr + offs)))
"""


def test_a_package(tmp_path: Path) -> None:
    folder = tmp_path / "small"
    folder.mkdir()
    (folder / "__init__.py").write_text(PACKAGE)
    (folder / "kernels.py").write_text(KERNELS)
    report, table = tmp_path / "report.json", tmp_path / "table.md"
    command = [sys.executable, str(ROOT / "scripts" / "survey.py"), f"tiny={folder}", "-j", "1", "--worklist"]
    command += ["--json", str(report), "--table", str(table), "--cache", str(tmp_path / "cache")]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=tmp_path, timeout=600)
    assert done.returncode == 0, done.stderr
    found = json.loads(report.read_text())
    kinds = {one["kernel"]: (one["status"], one["kind"]) for one in found["kernels"]}
    assert kinds == {
        "double": ("converted", "ok"),
        # An integer that is summed up: bf16 does not fit, fp32 neither, i32 does.
        "counts": ("converted", "ok"),
        "impossible": ("converted", "original does not compile"),
        "refused": ("refused", "refused"),
    }
    row = found["packages"]["tiny"]
    assert (row["kernels"], row["converted"], row["refused"]) == ("4", "3", "1")
    assert row["original compiles"] == "2 of 3"
    assert row["port compiles"] == "2 of 2 (100.0 %)"
    assert row["bars met"] == "2 of 2 (100.0 %)"
    assert "| tiny | 4 | 3 | 0 | 1 | 0 | 2 of 3 |" in table.read_text()
    assert "refused: TP" in done.stdout
