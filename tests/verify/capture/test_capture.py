"""`capture`: a script's launches as cases, and those cases replayed; in the emulator, as there need not be a GPU."""

import json
import os
import runpy
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import patch

import pytest
import torch
import triton
import triton.language as tl
from click.testing import CliRunner

from tritonport.cli import cli
from tritonport.verify.capture.recorder import recording
from tritonport.verify.capture.replay import compile_spec, launch_recorded, recorded_inputs
from tritonport.verify.hook.settings import Capture, Settings
from tritonport.verify.side import emulator

ROOT = Path(__file__).parents[3]
KERNELS = """
import torch
import triton
import triton.language as tl


@triton.autotune(configs=[triton.Config(dict(BLOCK=64)), triton.Config(dict(BLOCK=32))], key=["n"])
@triton.heuristics({"EVEN": lambda args: args["n"] % args["BLOCK"] == 0})
@triton.jit
def scale_kernel(
    x_ptr, index_ptr, out_ptr, n, stride, factor, kind: tl.constexpr, EVEN: tl.constexpr, BLOCK: tl.constexpr
):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs * stride, mask=mask).to(kind)
    if index_ptr is not None:
        offs = tl.load(index_ptr + offs, mask=mask)
    tl.store(out_ptr + offs, x * factor, mask=mask)


def scale(x, factor, index=None):
    out = torch.zeros(x.shape[0], device=x.device)
    grid = lambda meta: (triton.cdiv(x.shape[0], meta["BLOCK"]),)
    scale_kernel[grid](x, index, out, x.shape[0], x.stride(0), factor, tl.float32)
    return out
"""
FUNCTIONS = """
import triton
import triton.language as tl


@triton.jit
def double(x):
    return 2 * x


@triton.jit
def apply_kernel(x_ptr, n, FUNCTION: tl.constexpr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    tl.store(x_ptr + offs, FUNCTION(tl.load(x_ptr + offs, mask=offs < n)), mask=offs < n)
"""
SCRIPT = """
import torch

from package.functions import apply_kernel, double
from package.kernels import scale, tl, triton

torch.manual_seed(0)
for _ in range(3):  # the same launch, with other numbers
    scale(torch.randn(100, device="cuda"), 0.5)
scale(torch.randn(300, device="cuda")[::3], 0.5, torch.randperm(100, device="cuda"))  # strided, with an index
scale(torch.randn(50_000, device="cuda") * 3 + 7, 0.5, torch.arange(50_000, device="cuda"))  # too large to be kept
buffer = torch.ones(101, device="cuda")
scale(buffer[1:], float("inf"))  # aligned to four bytes
x = torch.ones(40, device="cuda")
apply_kernel[(1,)](x, 40, double, BLOCK=64)


def inside():
    @triton.jit
    def hidden_kernel(x_ptr):
        tl.store(x_ptr, 1.0)

    hidden_kernel[(1,)](x)


inside()
"""


def run(folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "tritonport", *arguments]
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{folder}"}
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False
    )


@pytest.fixture(scope="module")
def captured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a package of kernels, a script, and `cases` that the script's launches were written to."""
    folder = tmp_path_factory.mktemp("captured")
    (folder / "package").mkdir()
    (folder / "package" / "__init__.py").write_text("")
    (folder / "package" / "kernels.py").write_text(KERNELS)
    (folder / "package" / "functions.py").write_text(FUNCTIONS)
    (folder / "script.py").write_text(SCRIPT)
    files = ("package/kernels.py", "package/functions.py")
    done = run(folder, "capture", *files, "-o", "cases", "--emulate", "sm_90", "--", "python", "script.py")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout == (
        "cases/functions_case.py: 1 launch: apply_kernel (1)\ncases/kernels_case.py: 4 launches: scale_kernel (4)\n"
    )
    return folder


def launches(folder: Path, stem: str = "kernels") -> tuple[dict[str, Any], ...]:
    sys.path.insert(0, str(folder))
    try:
        found: tuple[dict[str, Any], ...] = runpy.run_path(str(folder / "cases" / f"{stem}_case.py"))["LAUNCHES"]
        return found
    finally:
        sys.path.remove(str(folder))


def test_what_is_recorded(captured: Path) -> None:
    plain, strided, large, shifted = launches(captured)
    (applied,) = launches(captured, "functions")
    # The configuration is the tuner's, the grid is what it makes of it.
    assert (plain["grid"], plain["arguments"]["BLOCK"], plain["arguments"]["EVEN"]) == ((2,), 64, False)
    assert plain["options"]["num_warps"] == 4
    assert plain["arguments"]["index_ptr"] is None and plain["arguments"]["kind"] == tl.float32
    assert (strided["arguments"]["x_ptr"].strides, strided["arguments"]["stride"]) == ((3,), 3)
    assert strided["arguments"]["index_ptr"].dtype == "i64"
    mean, deviation, low, high = large["arguments"]["x_ptr"].like
    assert mean == pytest.approx(7, abs=0.1) and deviation == pytest.approx(3, abs=0.1) and low < 0 < 14 < high
    assert shifted["memory"][0].address == 4 and shifted["arguments"]["factor"] == float("inf")
    assert applied["arguments"]["FUNCTION"].__name__ == "double"


def test_small_tensors_come_back_bit_for_bit_and_large_ones_alike(captured: Path) -> None:
    case = str(captured / "cases" / "kernels_case.py")
    plain, strided, large, shifted = launches(captured)
    torch.manual_seed(0)
    inputs = recorded_inputs(plain, case, "kernels_case.pt", "cpu", 5)
    assert torch.equal(inputs["arguments"]["x_ptr"], torch.randn(100))
    x = recorded_inputs(strided, case, "kernels_case.pt", "cpu", 0)["arguments"]
    assert x["x_ptr"].stride() == (3,) and x["index_ptr"].sort().values.equal(torch.arange(100))
    one, two = (recorded_inputs(large, case, "kernels_case.pt", "cpu", seed)["arguments"] for seed in (0, 1))
    assert one["x_ptr"].mean() == pytest.approx(7, abs=0.2) and not torch.equal(one["x_ptr"], two["x_ptr"])
    assert one["index_ptr"].min() >= 0 and one["index_ptr"].max() < 50_000
    x = recorded_inputs(shifted, case, "kernels_case.pt", "cpu", 0)["arguments"]["x_ptr"]
    assert x.data_ptr() % 16 == 4 and x.eq(1).all()


def test_a_kernel_that_no_module_has_is_named(captured: Path) -> None:
    done = run(captured, "capture", "-o", "more", "--emulate", "sm_90", "--limit", "1", "--", "python", "script.py")
    assert done.returncode == 0
    assert "not recorded: inside.<locals>.hidden_kernel: the kernel is made inside a function" in done.stderr
    assert done.stdout == (
        "more/functions_case.py: 1 launch: apply_kernel (1)\nmore/kernels_case.py: 1 launch: scale_kernel (1)\n"
    )


def test_the_cases_replay_on_every_tier_of_the_cpu(captured: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(captured)
    done = CliRunner().invoke(cli, ["parity-check", "cases/kernels_case.py", "--tiers", "T0,T1,T2"])
    assert done.exit_code == 0, done.stdout + done.stderr
    assert "package/kernels.py  PASS" in done.stdout
    assert "equal bit for bit" in done.stdout


def test_tensors_of_one_memory_stay_in_one(tmp_path: Path) -> None:
    from tritonport.verify.capture.replay import Memory, Tensor

    views = dict(x=Tensor("fp32", (4,), (1,), 0, 0), y=Tensor("fp32", (2,), (1,), 0, 8))
    launch = dict(kernel="k", grid=(1,), memory=[Memory(16)], arguments=views, options={})
    made = recorded_inputs(launch, str(tmp_path / "k_case.py"), None, "cpu", 0)["arguments"]
    made["x"][2] = 5.0
    assert made["y"][0] == 5.0


@triton.jit
def typed_kernel(x_ptr, n, one, big, factor, flag, kept, NONE, SIZE: tl.constexpr):
    pass


def test_the_specification_is_what_triton_specialises_to() -> None:
    from tritonport.verify.capture.replay import Memory, Tensor

    module = ModuleType("module")
    module.typed_kernel = typed_kernel  # type: ignore[attr-defined]
    arguments = dict(
        x_ptr=Tensor("bf16", (4,), (1,)), n=32, one=1, big=2**40 + 1, factor=0.5, flag=True, kept=7, NONE=None, SIZE=8
    )
    launch = dict(kernel="typed_kernel", memory=[Memory(8)], arguments=arguments, options=dict(num_warps=2))
    spec = compile_spec(module, launch)
    assert spec["signature"] == dict(
        x_ptr="*bf16", n="i32", one="constexpr", big="i64", factor="fp32", flag="i1", kept="i32",
        NONE="constexpr", SIZE="constexpr",
    )  # fmt: skip
    assert spec["constexprs"] == dict(one=1, NONE=None, SIZE=8)
    assert sorted(spec["attrs"]) == [(0,), (1,)] and spec["num_warps"] == 2


@triton.heuristics({"EVEN": lambda args: args["n"] % args["BLOCK"] == 0})
@triton.autotune(configs=[triton.Config(dict(BLOCK=64)), triton.Config(dict(BLOCK=32))], key=["n"])
@triton.heuristics({"ODD": lambda args: not args["EVEN"]})
@triton.jit
def parity_kernel(out_ptr, n, EVEN: tl.constexpr, ODD: tl.constexpr, BLOCK: tl.constexpr):
    tl.store(out_ptr, BLOCK)
    tl.store(out_ptr + 1, EVEN)
    tl.store(out_ptr + 2, ODD)


@pytest.mark.parametrize("block", [32, 64])
def test_autotuners_are_passed_by_and_heuristics_are_not(block: int) -> None:
    out = torch.zeros(3, dtype=torch.int32)
    with emulator("sm_90", 60.0):
        recorded = dict(out_ptr=out, n=96, EVEN=block == 32, BLOCK=block)
        launch_recorded(sys.modules[__name__], "parity_kernel", (1,), recorded, dict(num_warps=4))
    assert out.tolist() == [block, block == 32, block == 64]


@triton.autotune(
    configs=[triton.Config(dict(BLOCK=64)), triton.Config(dict(BLOCK=32))],
    key=["n"],
    do_bench=lambda call, quantiles: [call() or 1.0 for _ in quantiles],
)
@triton.jit
def add_one_kernel(x_ptr, n, BLOCK: tl.constexpr):
    for start in range(0, n, BLOCK):
        offs = start + tl.arange(0, BLOCK)
        tl.store(x_ptr + offs, tl.load(x_ptr + offs, mask=offs < n) + 1, mask=offs < n)


def test_what_an_autotuner_wrote_while_it_chose_is_not_recorded(tmp_path: Path) -> None:
    tuned = triton.runtime.Autotuner.run
    x = torch.zeros(100)
    settings = Settings(str(tmp_path), capture=Capture(files=(os.path.realpath(__file__),)))
    # The emulator does not try configurations; here it has to.
    as_it_was = patch.object(triton.runtime.Autotuner, "run", tuned)
    with emulator("sm_90", 60.0), recording(settings), as_it_was:
        add_one_kernel[(1,)](x, 100)
        assert x.max() > 1, "the tuner has run it before"
        add_one_kernel[(1,)](x[:50], 50)
    records = [json.loads(line) for line in settings.records("capture").read_text().splitlines()]
    contents = [torch.load(tmp_path / record["contents"])["0"].view(torch.float32) for record in records]
    assert [len(one) for one in contents] == [100, 50]
    assert contents[0].tolist() == [0.0] * 100
    assert contents[1].min() > 1, "the second launch finds what the first has left"


def test_nothing_recorded_and_a_command_that_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "nothing.py").write_text("print('no kernel')\n")
    (tmp_path / "fails.py").write_text("raise SystemExit('what a pity')\n")
    monkeypatch.chdir(tmp_path)
    assert CliRunner().invoke(cli, ["capture", "--", "python", "nothing.py"]).exit_code == 3
    done = CliRunner().invoke(cli, ["capture", "--", "python", "fails.py"])
    assert done.exit_code == 1 and "what a pity" in done.stderr
    for arguments in (["missing.py", "--", "python", "nothing.py"], []):
        assert CliRunner().invoke(cli, ["capture", *arguments]).exit_code == 2
