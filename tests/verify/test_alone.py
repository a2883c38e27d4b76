"""`tritonport emulate`: kernel files by themselves."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.verify.parity.sources import CASE, ORIGINAL, PORT, edited
from tritonport.cli.emulate import emulate_command

ASYNC = """
import torch
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.ampere import async_copy as cp

load = getattr(cp, "async_load", None) or cp.async_copy_global_to_shared


@gluon.jit
def copy_kernel(x_ptr, y_ptr, n, BLOCK: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([4], [32], [4], [0])
    offsets = gl.arange(0, BLOCK, layout=layout)
    tile = gl.allocate_shared_memory(gl.float32, [BLOCK], gl.SwizzledSharedLayout(1, 1, 1, [0]))
    load(tile, x_ptr + offsets)
    cp.commit_group()
    cp.wait_group(0)
    gl.store(y_ptr + offsets, tile.load(layout), mask=offsets < n)


def make_inputs(device, seed):
    return dict(x=torch.randn(512, generator=torch.Generator().manual_seed(seed)))


def launch(x):
    y = torch.empty_like(x)
    copy_kernel[(1,)](x, y, 512, BLOCK=512, num_warps=4)
    return y


def reference(x):
    return x
"""


@pytest.fixture
def emulate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Runs the command on `kernel.py`, written with a text: (exit code, stdout)."""
    monkeypatch.chdir(tmp_path)

    def call(text: str, *arguments: str) -> tuple[int, str]:
        Path("kernel.py").write_text(text)
        result = CliRunner().invoke(emulate_command, ["kernel.py", *arguments])
        assert result.exception is None or isinstance(result.exception, SystemExit), result.output
        return result.exit_code, result.stdout

    return call


def test_a_right_kernel(emulate) -> None:
    code, out = emulate(ASYNC, "-v")
    assert code == 0
    assert out.startswith("kernel.py  PASS-TOLERANCE\n")
    assert "3 results of 3 runs within tolerance" in out
    assert "launched: copy_kernel (gluon)" in out


def test_a_race_is_at_its_line(emulate) -> None:
    text = edited(ASYNC, ("    cp.wait_group(0)\n", ""))
    line = 1 + text.splitlines().index("    gl.store(y_ptr + offsets, tile.load(layout), mask=offsets < n)")
    code, out = emulate(text)
    assert code == 1
    assert out.startswith(f"kernel.py:{line}:1: error TP804 ")
    assert "before" in out.splitlines()[0] and "has arrived" in out.splitlines()[0]


def test_wrong_numbers(emulate) -> None:
    code, out = emulate(edited(ASYNC, ("tile.load(layout),", "tile.load(layout) + 1.0,")), "--output-format", "json")
    tier = json.loads(out)["files"][0]["tiers"][0]
    assert (code, tier["verdict"], tier["findings"][0]["code"]) == (1, "FAIL", "TP801")
    assert [run["verdict"] for run in tier["runs"]] == ["FAIL"] * 3


def test_nothing_to_compare_with(emulate) -> None:
    without = ASYNC[: ASYNC.index("def reference")]
    code, out = emulate(without)
    assert code == 3
    assert "3 runs without a fault; the case has no reference to compare with" in out
    assert emulate(edited(ASYNC, ("    copy_kernel[", "    return x\n    copy_kernel[")))[0] == 3
    assert emulate(PORT)[0] == 3  # no case


def test_what_cannot_be_run(emulate) -> None:
    assert emulate(edited(ASYNC, ("import torch\n", "import torch\nimport no_such_module\n")))[0] == 2
    code, out = emulate(edited(ASYNC, ("    y = torch", "    y = missing\n    y = torch")))
    assert (code, "launch raises NameError" in out) == (2, True)


def test_a_kernel_that_never_ends_is_at_fault(emulate) -> None:
    endless = edited(ASYNC, ("    cp.wait_group(0)\n", "    while n > 0:\n        n += 0\n    cp.wait_group(0)\n"))
    assert emulate(endless, "--seeds", "0")[0] == 1


def test_triton_runs_as_well_and_the_case_may_lie_beside(emulate) -> None:
    Path("kernel_case.py").write_text(CASE.replace("from scale import", "from kernel import"))
    code, out = emulate(ORIGINAL, "-v")
    assert code == 0
    assert "launched: scale_kernel (triton)" in out
