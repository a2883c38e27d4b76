"""The compile command on files: tables, findings, exit codes."""

import json
import os
import re
import textwrap
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

pytest.importorskip("triton")

from tritonport.cli import cli

ORIGINAL = """
import triton
import triton.language as tl


@triton.jit
def double(x_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + offs, tl.load(x_ptr + offs, mask=offs < n) * 2, mask=offs < n)


def run(x):
    double[(1,)](x, x.numel(), BLOCK=512)
"""
PORT = """
from triton.experimental import gluon
from triton.experimental.gluon import language as gl


@gluon.jit
def double(x_ptr, n, BLOCK: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([WIDTH], [32], [gl.num_warps()], [0])
    offs = gl.program_id(0) * BLOCK + gl.arange(0, BLOCK, layout=layout)
    gl.store(x_ptr + offs, gl.load(x_ptr + offs, mask=offs < n) * 2, mask=offs < n)


def run(x):
    double[(1,)](x, x.numel(), BLOCK=512)
"""
CASE = """
from pointwise import double, run

SIGNATURE = dict(x_ptr="*fp32", n="i32", BLOCK="constexpr")
COMPILE_SPECS = [dict(fn=double, signature=SIGNATURE, constexprs=dict(BLOCK=512))]


def make_inputs(device, seed):
    return {}


def launch():
    return None
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "pointwise.py").write_text(ORIGINAL)
    (tmp_path / "pointwise_case.py").write_text(CASE)
    (tmp_path / "ported.py").write_text(PORT.replace("WIDTH", "4"))
    (tmp_path / "narrow.py").write_text(PORT.replace("WIDTH", "1"))
    return tmp_path


def invoke(*arguments: object) -> Result:
    result = CliRunner().invoke(cli, ["compile", *(str(argument) for argument in arguments)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def test_a_port_against_its_original(folder: Path) -> None:
    result = invoke(folder / "ported.py", "--against", folder / "pointwise.py")
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[0] == f"{folder / 'pointwise.py'}:7 double (fp32, BLOCK=512) for sm_90"
    original, port = lines[2].split(), lines[3].split()
    assert original[:6] == ["original", "0", "0", "1x16", "1x16", "-"]
    assert port[:6] == ["port", "0", "0", "1x16", "1x16", "-"]
    assert port[-1] == "ok"
    assert result.stderr == "1 of 1 kernels compiled, 1 of 1 ports hold every bar\n"


def test_a_narrow_port_fails_its_bars(folder: Path) -> None:
    result = invoke(folder / "narrow.py", "--against", folder / "pointwise.py", "--output-format", "concise")
    assert result.exit_code == 1
    place = f"{folder / 'pointwise.py'}:7:1: error TP810 double: "
    found = [line.removeprefix(place) for line in result.stdout.splitlines()]
    assert found[:2] == [
        "load-width: load widths in bytes: 1x4, Triton 1x16 [sm_90, fp32, BLOCK=512]",
        "store-width: store widths in bytes: 1x4, Triton 1x16 [sm_90, fp32, BLOCK=512]",
    ]


def test_a_triton_file_is_converted_and_compared(folder: Path) -> None:
    result = invoke(folder / "pointwise.py", "--target", "sm_80", "--target", "sm_100")
    assert result.exit_code == 0, result.output
    assert result.stdout.count("for sm_80") == 1
    assert result.stdout.count("for sm_100") == 1
    assert sum(line.endswith("  ok") for line in result.stdout.splitlines()) == 2


def test_a_ported_file_alone_is_only_compiled(folder: Path) -> None:
    result = invoke(folder / "ported.py", "--guess-signature")
    assert result.exit_code == 0, result.output
    assert "  kernel  " in result.stdout
    assert "original" not in result.stdout
    assert result.stderr == "1 of 1 kernels compiled, 0 of 0 ports hold every bar\n"


def test_a_kernel_without_a_port_for_the_target_says_so(folder: Path) -> None:
    described = """
import triton
import triton.language as tl


@triton.jit
def double(x_desc, n, BLOCK: tl.constexpr):
    x_desc.store([n], x_desc.load([n]) * 2)


def run(x):
    pass
"""
    (folder / "pointwise.py").write_text(described)
    (folder / "pointwise_case.py").write_text(CASE.replace('x_ptr="*fp32"', 'x_desc="tensordesc<fp32[512]>"'))
    result = invoke(folder / "pointwise.py", "--target", "sm_80", "--table", "-")
    assert result.exit_code == 1, result.output
    row = next(line for line in result.stdout.splitlines() if line.startswith("| double"))
    assert row.endswith("| still Triton |")
    assert "0 of 0 ports hold every bar" in result.stdout
    text = invoke(folder / "pointwise.py", "--target", "sm_80").stdout
    assert "  still Triton\n" in text and "TP401 double: x_desc" in text


def test_json_and_report_file(folder: Path) -> None:
    report = folder / "report.json"
    result = invoke(
        folder / "ported.py", "--against", folder / "pointwise.py", "--output-format", "json", "--report", report
    )
    data = json.loads(result.stdout)
    assert data == json.loads(report.read_text())
    assert data["exit_code"] == 0
    ((file),) = data["files"]
    (kernel,) = file["kernels"]
    assert (kernel["kernel"], kernel["target"], kernel["verdict"]) == ("double", "sm_90", "ok")
    assert kernel["original"]["resources"]["accesses"][0] == {
        "kind": "load",
        "width": 16,
        "instructions": 1,
        "bytes_per_thread": 16,
        "path": str(folder / "pointwise.py"),
        "line": 9,
    }
    assert kernel["port"]["resources"]["accesses"][0]["path"] == f"{folder / 'pointwise.py'}[port]"
    assert {bar["name"]: bar["passed"] for bar in kernel["bars"]}["registers"]


def test_markdown_table(folder: Path) -> None:
    table = folder / "table.md"
    result = invoke(folder / "narrow.py", "--against", folder / "pointwise.py", "--table", table)
    assert result.exit_code == 1
    head, rule, row = table.read_text().splitlines()[:3]
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert head.count("|") == rule.count("|") == row.count("|")
    assert cells[:5] == ["double", "fp32, BLOCK=512", "sm_90", "0", "0"]
    assert cells[5] == "1x16 → 1x4 **!**"
    assert cells[-1].startswith("FAIL load-width, store-width")


def test_a_directory_compiles_what_has_a_case(folder: Path) -> None:
    result = invoke(folder)
    assert result.exit_code == 0, result.output
    assert {line.split(":")[0] for line in result.stdout.splitlines() if line.startswith("/")} == {
        str(folder / "pointwise.py")
    }


def test_without_a_case_nothing_is_compiled(folder: Path) -> None:
    (folder / "pointwise_case.py").unlink()
    result = invoke(folder / "pointwise.py")
    assert result.exit_code == 3
    assert "TP806" in result.stdout
    assert "--guess-signature" in result.stdout


def test_a_guessed_signature(folder: Path) -> None:
    (folder / "pointwise_case.py").unlink()
    result = invoke(folder / "pointwise.py", "--guess-signature")
    assert result.exit_code == 0, result.output
    assert "double (bf16, BLOCK=512)" in result.stdout


NEEDS_GPU = """
import torch

CAPABILITY = torch.cuda.get_device_capability()
SCRATCH = torch.zeros(4, device="cuda")
import there_is_no_such_module
"""


def test_a_package_that_asks_for_a_gpu_gets_one(folder: Path) -> None:
    package = folder / "needs_gpu"
    package.mkdir()
    (package / "__init__.py").write_text(NEEDS_GPU)
    block = "BLOCK = 512 if CAPABILITY == (8, 0) else 2048\n"
    text = ORIGINAL.replace("BLOCK=512", "BLOCK=BLOCK").replace(
        "@triton.jit", f"from . import CAPABILITY\n\n{block}\n@triton.jit", 1
    )
    text = text.replace(
        "def double(x_ptr, n, BLOCK: tl.constexpr)", "def double(x_ptr, n, BLOCK: tl.constexpr = BLOCK)"
    )
    (package / "pointwise.py").write_text(text)
    result = invoke(package / "pointwise.py", "--guess-signature", "--target", "sm_80", "--target", "sm_90")
    assert result.exit_code == 0, result.output
    assert "double (bf16, BLOCK=512) for sm_80" in result.stdout
    assert "double (bf16, BLOCK=2048) for sm_90" in result.stdout


def test_a_kernel_without_an_entry_is_named(folder: Path) -> None:
    more = ORIGINAL + textwrap.dedent("""
        @triton.jit
        def forgotten(x_ptr):
            tl.store(x_ptr, 1.0)
    """)
    (folder / "pointwise.py").write_text(more)
    result = invoke(folder / "pointwise.py")
    assert result.exit_code == 3
    assert "TP806 forgotten: not compiled: COMPILE_SPECS of the case has no entry" in result.stdout
    assert invoke(folder / "pointwise.py", "--guess-signature").exit_code == 0
    assert invoke(folder / "pointwise.py", "--kernel", "double").exit_code == 0


@pytest.mark.parametrize(
    ("more", "exit_code", "message"),
    [
        ("expect_error='must be even'", 1, "TP811"),
        ("ptx_forbid=('ld.global.v4',)", 1, "has 'ld.global.v4' in its PTX"),
        ("ptx_forbid=('mma',)", 0, ""),
        ("num_stages=4", 0, ""),
        ("wrong=1", 1, "unknown key 'wrong'"),
    ],
)
def test_more_keys_of_a_specification(folder: Path, more: str, exit_code: int, message: str) -> None:
    (folder / "pointwise_case.py").write_text(CASE.replace("BLOCK=512))", f"BLOCK=512), {more})"))
    result = invoke(folder / "ported.py", "--against", folder / "pointwise.py")
    assert result.exit_code == exit_code, result.output
    assert message in result.stdout


def test_an_expected_error(folder: Path) -> None:
    check = '    tl.static_assert(BLOCK % 3 == 0, "BLOCK must be a multiple of 3")\n'
    for name, language in (("pointwise.py", "tl"), ("ported.py", "gl")):
        text = (folder / name).read_text()
        (folder / name).write_text(text.replace("    offs =", check.replace("tl", language) + "    offs =", 1))
    case = CASE.replace("BLOCK=512))", "BLOCK=512), expect_error='multiple of 3')")
    (folder / "pointwise_case.py").write_text(case)
    result = invoke(folder / "ported.py", "--against", folder / "pointwise.py")
    assert result.exit_code == 0, result.output
    assert result.stdout.count("refused, as expected") == 2


def test_a_port_that_does_not_compile(folder: Path) -> None:
    (folder / "ported.py").write_text(PORT.replace("[WIDTH]", "[3]"))
    result = invoke(folder / "ported.py", "--against", folder / "pointwise.py", "--output-format", "concise")
    assert result.exit_code == 1
    assert result.stdout.startswith(f"{folder / 'pointwise.py'}[port]:")
    assert "TP809 double: the port does not compile: " in result.stdout


@pytest.mark.parametrize(
    ("text", "exit_code", "message"),
    [
        ("def broken(:\n", 2, ":1:12: error TP001 does not parse"),
        ("x = 1\n", 1, ":1:1: error TP003 no kernel to compile in this file\n  = Name a file that defines a kernel"),
        (ORIGINAL + "raise KeyError('gone')\n", 1, ":14:1: error TP804 raises when it is imported: KeyError: 'gone'"),
        (ORIGINAL + "import os\nos.abort()\n", 1, ":1:1: error TP814 loading the file ends the process: SIGABRT"),
        (ORIGINAL + "import time\ntime.sleep(60)\n", 1, ":1:1: error TP803 loading the file takes too long"),
    ],
)
def test_a_bad_file_does_not_stop_the_others(folder: Path, text: str, exit_code: int, message: str) -> None:
    bad = folder / "bad.py"
    bad.write_text(text)
    (folder / "bad_case.py").write_text(CASE.replace("pointwise", "bad"))
    # Both sides of the file that hangs wait side by side for as long as the other file may take on a busy machine.
    result = invoke(bad, folder / "pointwise.py", "--timeout", "5", "-j", "2")
    assert result.exit_code == exit_code, result.output
    assert f"{bad}{message}" in result.stdout
    assert f"{folder / 'pointwise.py'}:7 double" in result.stdout


def test_helpers_alone_are_nothing_to_compile_and_it_says_so(folder: Path) -> None:
    """A kernel that a call decorates is none for the tool: what is left are the functions that it calls."""
    helper = "import triton\n\n\n@triton.jit\ndef double(x):\n    return x * 2\n\n\n"
    made = "def kernel(x_ptr):\n    double(x_ptr)\n\n\nkernel = triton.jit(kernel)\n"
    (folder / "made.py").write_text(helper + made)
    result = invoke(folder / "made.py", "--guess-signature")
    assert result.exit_code == 3
    assert "made.py:5:1: warning TP806 not compiled: double is a helper, and the file has no kernel" in result.stdout
    assert "  = Write the decorator above the kernel" in result.stdout


def test_usage_errors(folder: Path) -> None:
    assert invoke(folder / "pointwise.py", "--target", "sm_9000").exit_code == 2
    assert invoke(folder, "--against", folder / "pointwise.py").exit_code == 2
    assert invoke(folder / "missing.py").exit_code == 2
    result = invoke(folder / "pointwise.py", "--kernel", "doubel")
    assert result.exit_code == 2
    assert "TP004 no kernel 'doubel'; did you mean 'double'?" in result.stderr


def test_an_interpreter_in_the_environment_is_ignored(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    result = invoke(folder / "ported.py", "--against", folder / "pointwise.py")
    assert result.exit_code == 0, result.output
    assert "TRITON_INTERPRET" not in os.environ


def test_the_analysis_is_held_against_triton(folder: Path) -> None:
    result = invoke(folder / "pointwise.py", "--against-triton", "--output-format", "json")

    assert result.exit_code == 0, result.output
    types, layouts = re.findall(r"(\d+) types and (\d+) layouts were held against Triton's", result.stderr)[0]
    assert int(types) >= 8
    assert int(layouts) >= 3
    assert json.loads(result.stdout)["files"][0]["findings"] == []


def test_a_layout_that_triton_chose_otherwise_is_shown_and_no_finding() -> None:
    """Triton counts in one element per thread; the port in as many as fill the warps."""
    file = Path(__file__).parents[3] / "fixtures" / "histogram" / "histogram.py"

    result = invoke(file, "--kernel", "bincount_kernel", "--against-triton", "--output-format", "concise")

    line = next(number for number, text in enumerate(file.read_text().splitlines(), 1) if "counts = " in text)
    found = [text for text in result.stdout.splitlines() if f":{line}:" in text]
    assert found, result.output
    assert found[0].startswith(
        f"{file}:{line}:14: info TP206 bincount_kernel: counts: inferred i32 [256] BlockedLayout("
    )
    assert "size_per_thread=[2]" in found[0].partition("Triton has")[0]
    assert "size_per_thread=[1]" in found[0].partition("Triton has")[2]
    assert result.exit_code == 0
