"""A case without a reference is judged by an exact run of the original."""

from pathlib import Path

import pytest

from tests.verify.parity.sources import CASE, ORIGINAL, PORT, edited, write_project
from tritonport.verify.parity import run_tier
from tritonport.verify.request import Request
from tritonport.verify.verdict import TierResult, Verdict

SUM = '''"""Sums of rows."""

import torch
import triton
import triton.language as tl


@triton.jit
def sum_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    total = 0.0
    for start in range(0, n, BLOCK):
        offs = start + tl.arange(0, BLOCK)
        total += tl.sum(tl.load(x_ptr + tl.program_id(0) * n + offs, mask=offs < n, other=0.0), 0)
    tl.store(out_ptr + tl.program_id(0), total)


def scale(x, factor):
    out = torch.empty(x.shape[0], device=x.device)
    sum_kernel[(x.shape[0],)](x, out, x.shape[1], BLOCK=64)
    return out
'''
SUM_PORT = '''"""Sums of rows."""

import torch
from triton.experimental import gluon
from triton.experimental.gluon import language as gl


@gluon.jit
def sum_kernel(x_ptr, out_ptr, n, BLOCK: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1], [32], [gl.num_warps()], [0])
    parts = gl.full([BLOCK], 0.0, gl.float32, layout)
    for start in range(0, n, BLOCK):
        offs = start + gl.arange(0, BLOCK, layout=layout)
        parts += gl.load(x_ptr + gl.program_id(0) * n + offs, mask=offs < n, other=0.0)
    gl.store(out_ptr + gl.program_id(0), gl.sum(parts, 0))


def scale(x, factor):
    out = torch.empty(x.shape[0], device=x.device)
    sum_kernel[(x.shape[0],)](x, out, x.shape[1], BLOCK=64)
    return out
'''
SUM_CASE = '''"""No reference."""

import torch
from scale import scale


def make_inputs(device="cuda", seed=0):
    return dict(x=torch.randn(9, 1000, generator=torch.Generator().manual_seed(seed)).to(device), factor=0.3)


def launch(x, factor):
    return scale(x, factor)
'''
OTHER_ORDER = ("x * factor", "x / (1.0 / factor)")
NO_REFERENCE = ("def reference", "def no_reference")


def run(folder: Path, *, original: str, port: str, case: str) -> TierResult:
    write_project(folder, original=original, port=port, case=case)
    file, case_file, port_file = (str(folder / name) for name in ("scale.py", "scale_case.py", "port.py"))
    return run_tier(Request("T2", file, case_file, port_file))


def sums(folder: Path, *edits: tuple[str, str], both: tuple[tuple[str, str], ...] = ()) -> TierResult:
    """Original and port of the sums; `edits` change the port, `both` both."""
    return run(folder, original=edited(SUM, *both), port=edited(SUM_PORT, *edits, *both), case=SUM_CASE)


def test_another_order_of_sums_passes_and_the_report_says_by_what(tmp_path: Path) -> None:
    result = sums(tmp_path)
    assert result.verdict is Verdict.PASS_TOLERANCE
    difference = result.data["runs"][0]["differences"][0]
    assert difference["reference"] == "an exact run of the original"
    assert 0 < difference["port_error"]["max"] < 1e-5 and 0 < difference["original_error"]["max"] < 1e-5
    assert any("against an exact run of the original: port max" in note for note in result.notes)
    assert any("the case has no reference: the original was run once more" in note for note in result.notes)


@pytest.mark.parametrize(
    "edit",
    [
        pytest.param(("gl.sum(parts, 0)", "gl.sum(parts.to(gl.float16).to(gl.float32), 0)"), id="a narrower type"),
        pytest.param(("other=0.0)", "other=0.0) * 1.000001"), id="another factor"),
        pytest.param(("range(0, n, BLOCK)", "range(0, n - BLOCK, BLOCK)"), id="a block is left out"),
    ],
)
def test_what_rounding_does_not_explain_fails(tmp_path: Path, edit: tuple[str, str]) -> None:
    result = sums(tmp_path, edit)
    assert result.verdict is Verdict.FAIL
    assert "against an exact run of the original" in result.findings[0].message
    assert "no reference to judge" not in result.findings[0].message


def test_inputs_that_a_kernel_changes_are_judged_too(tmp_path: Path) -> None:
    in_place = ("scale_kernel[", "out = x\n    scale_kernel[")
    case = edited(CASE, NO_REFERENCE, ("    return scale(x, factor)", "    scale(x, factor)"))
    result = run(tmp_path, original=edited(ORIGINAL, in_place), port=edited(PORT, in_place, OTHER_ORDER), case=case)
    assert result.verdict is Verdict.PASS_TOLERANCE
    assert result.data["runs"][0]["differences"][0]["name"] == "input x"


def test_a_reference_of_the_case_goes_first(tmp_path: Path) -> None:
    case = edited(CASE, ("atol=0.0", "atol=1e-6"))
    result = run(tmp_path, original=ORIGINAL, port=edited(PORT, OTHER_ORDER), case=case)
    assert result.data["runs"][0]["differences"][0]["reference"] == "float64"


def test_a_kernel_that_does_something_else_in_float64_has_no_exact_run(tmp_path: Path) -> None:
    """Adding and taking away a large number rounds to whole ones; in float64 it does nothing."""
    whole = ("x * factor", "(x * factor + 12582912.0) - 12582912.0")
    result = run(
        tmp_path,
        original=edited(ORIGINAL, whole),
        port=edited(PORT, whole, ("mask=mask)\n\n", "mask=mask)\n    gl.store(out_ptr, 1.0)\n\n")),
        case=edited(CASE, NO_REFERENCE),
    )
    assert result.verdict is Verdict.FAIL
    assert "there is no reference to judge it by" in result.findings[0].message
    assert any("the exact run is no reference: result is max" in note for note in result.notes)


def test_the_original_is_a_triton_kernel_or_there_is_no_exact_run(tmp_path: Path) -> None:
    result = run(tmp_path, original=PORT, port=edited(PORT, OTHER_ORDER), case=edited(CASE, NO_REFERENCE))
    assert result.verdict is Verdict.FAIL
    assert any("no exact run of the original: an exact run is one of Triton kernels" in n for n in result.notes)
