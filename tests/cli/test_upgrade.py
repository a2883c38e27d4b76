"""`tritonport upgrade` and `tritonport check --stage`: where results go, what is said, and the exit code."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import PLAIN_FILE, SCALE_FILE, Run
from tests.upgrade.kernels import matmul
from tests.upgrade.ring_kernels import text_of


def test_a_stage_is_asked_for_by_name(run: Run, folder: Path) -> None:
    (folder / "mm.py").write_text(matmul())
    missing = run("upgrade", "mm.py")
    assert missing.exit_code == 2
    assert "--stage" in missing.stderr
    assert run("upgrade", "--stage", "async", "mm.py").exit_code == 2


def test_the_diff_of_a_port_is_the_stage_alone(run: Run, folder: Path) -> None:
    (folder / "mm.py").write_text(matmul())
    assert run("convert", "-w", "--target", "sm_80", "mm.py").exit_code == 0
    result = run("upgrade", "--stage", "async-copy", "--target", "sm_80", "--diff", "mm.py")
    assert result.exit_code == 0
    removed = [line[1:] for line in result.stdout.splitlines() if line.startswith("-") and not line.startswith("---")]
    assert "        a = gl.load(a_ptrs, mask=offs_k_a[None, :] < left, other=0.0)" in removed
    assert len(removed) <= 12, removed


def test_a_file_that_a_stage_has_nothing_for_stays_the_port(run: Run, folder: Path) -> None:
    (folder / "scale.py").write_text(SCALE_FILE)
    upgraded = run("upgrade", "--stage", "async-copy", "scale.py")
    assert upgraded.exit_code == 0
    assert upgraded.stdout == run("convert", "scale.py").stdout


def test_check_prints_each_access_with_its_verdict(run: Run, folder: Path) -> None:
    (folder / "mm.py").write_text(matmul("float('-inf')"))
    result = run("check", "--stage", "tma", "--output-format", "concise", "mm.py")
    assert result.exit_code == 0
    rows = {tuple(line.split()[1:3]): line for line in result.stdout.splitlines() if line.startswith("  ")}
    assert rows["load", "b"].endswith("legal")
    assert rows["load", "a"].endswith("TP412")
    assert "((BLOCK_M * tl.program_id(0) + i0) % M) * stride_am + i1 * stride_ak" in rows["load", "a"]
    line = next(number for number, text in enumerate(matmul().splitlines(), 1) if "a = tl.load(" in text)
    assert f"mm.py:{line}:13: warning TP412 the load of a (from a_ptr) stays as it is: masked elements" in result.stdout


def test_check_of_a_stage_reports_as_json(run: Run, folder: Path) -> None:
    (folder / "mm.py").write_text(matmul().replace("tl.load(a_ptrs,", "tl.load(a_ptr + (offs_k // 2)[None, :],"))
    result = run("check", "--stage", "async-copy", "--output-format", "json", "mm.py")
    (file,) = json.loads(result.stdout)["files"]
    assert [found["code"] for found in file["diagnostics"]] == ["TP302"]


def test_check_of_a_stage_without_kernels_is_a_finding(run: Run, folder: Path) -> None:
    (folder / "plain.py").write_text(PLAIN_FILE)
    result = run("check", "--stage", "tma", "plain.py")
    assert result.exit_code == 1
    assert "TP003" in result.stdout


def test_rings_of_tiles_and_their_table(run: Run, folder: Path) -> None:
    text = text_of("mixed", "3.9")
    (folder / "tiles.py").write_text(text)
    result = run("check", "--stage", "multibuffer", "--output-format", "concise", "tiles.py")
    assert result.exit_code == 0
    rows = [line.split() for line in result.stdout.splitlines() if line.startswith("  ")]
    assert [(row[1], row[-1]) for row in rows[1:]] == [("x_tile", "legal"), ("y_tile", "TP303")]
    line = next(number for number, code in enumerate(text.splitlines(), 1) if "tma.async_load(y_desc" in code)
    assert f"tiles.py:{line}:13: warning TP303 the copy of y_tile (from y_desc) stays as it is" in result.stdout
    upgraded = run("upgrade", "--stage", "multibuffer", "tiles.py")
    assert upgraded.exit_code == 0
    assert "x_ring = gl.allocate_shared_memory(" in upgraded.stdout
    assert f"tiles.py:{line}:13: warning" in upgraded.stderr


def test_a_file_without_tiles_says_so(run: Run, folder: Path) -> None:
    (folder / "mm.py").write_text(matmul())
    result = run("check", "--stage", "multibuffer", "mm.py")
    assert result.exit_code == 1
    assert "TP003 no loop that copies tiles in a Gluon kernel in this file" in result.stdout


@pytest.mark.parametrize("stage", ["mma", "multibuffer"])
def test_a_stage_has_nothing_to_do_for_kernels_without_what_it_is_about(run: Run, folder: Path, stage: str) -> None:
    (folder / "scale.py").write_text(SCALE_FILE)
    assert run("convert", "-w", "scale.py").exit_code == 0
    result = run("check", "--stage", stage, "--output-format", "concise", "scale.py")
    assert result.exit_code == 0
    assert "TP003" not in result.stdout
    what = "no dot in a loop" if stage == "mma" else "no loop that copies tiles in a Gluon kernel"
    assert f"scale.py: {what} in this file\n" in result.stdout


@pytest.mark.parametrize(
    ("stage", "target", "own", "others"),
    [
        ("tma", "sm_80", "async-copy", "sm_90, sm_100, sm_103"),
        ("multibuffer", "sm_80", "async-copy", "sm_90, sm_100, sm_103"),
        ("mma", "sm_120", "async-copy", "sm_90, sm_100, sm_103"),
        ("async-copy", "sm_100", "tma, multibuffer, mma", "sm_80, sm_86, sm_89, sm_90, sm_120"),
    ],
)
def test_a_stage_that_there_is_not_for_a_target_is_refused_by_name(
    run: Run, folder: Path, stage: str, target: str, own: str, others: str
) -> None:
    (folder / "mm.py").write_text(matmul())
    asked = ("--stage", stage, "--target", target, "mm.py")
    for command in (("upgrade", "-w"), ("upgrade", "--keep-best", "-w"), ("check",), ("parity-check", "--tiers", "T0")):
        result = run(*command, *asked)
        assert result.exit_code == 2
        assert f"there is no stage {stage} for {target}: the stages for {target} are {own};" in result.stderr
        assert ("async-copy writes the ring" in result.stderr) == (stage == "multibuffer")
        assert f"{stage} is for {others}" in result.stderr
        assert result.stdout == ""
    assert (folder / "mm.py").read_text() == matmul()


def test_a_target_of_the_project_is_held_to_its_stages_too(run: Run, folder: Path) -> None:
    (folder / "mm.py").write_text(matmul())
    (folder / "pyproject.toml").write_text('[tool.tritonport]\ntarget = "sm_80"\n')
    assert run("upgrade", "--stage", "tma", "mm.py").exit_code == 2
    assert run("parity-check", "--stage", "mma", "--tiers", "T0", "mm.py").exit_code == 2
    assert run("upgrade", "--stage", "async-copy", "mm.py").exit_code == 0
    assert run("upgrade", "--stage", "all", "mm.py").exit_code == 0


def test_check_of_a_stage_says_what_the_stage_says(run: Run, folder: Path) -> None:
    # The loads are sums and their fills are zero; where their rows go shows in the whole kernel.
    (folder / "mm.py").write_text(
        matmul().replace("    rows = tl", "    acc -= tl.max(acc, 0)[None, :]\n    rows = tl", 1)
    )
    checked = run("check", "--stage", "tma", "--output-format", "json", "mm.py")
    (found,) = json.loads(checked.stdout)["files"]
    upgraded = run("upgrade", "--stage", "tma", "--output-format", "json", "--check", "mm.py")
    (said,) = json.loads(upgraded.stderr)["files"]
    kept = [(one["line"], one["column"], one["code"], one["message"]) for one in found["diagnostics"]]
    assert kept == [(one["line"], one["column"], one["code"], one["message"]) for one in said["diagnostics"]]
    assert [code for _, _, code, _ in kept] == ["TP412", "TP412"]
    assert all("wraps or stops at a bound, and it reaches `" in message for _, _, _, message in kept)
    rows = {tuple(line.split()[1:3]): line for line in run("check", "--stage", "tma", "mm.py").stdout.splitlines()}
    assert rows["load", "a"].endswith("TP412")
    assert rows["load", "b"].endswith("TP412")


def test_addresses_have_the_names_of_the_kernel(run: Run, folder: Path) -> None:
    schedule = """    pid = tl.program_id(0)
    across = tl.cdiv(N, BLOCK_N)
    group = pid // (8 * across) * 8
    size = tl.minimum(tl.cdiv(M, BLOCK_M) - group, 8)
    pid_m = group + (pid % (8 * across)) % size
    pid_n = (pid % (8 * across)) // size
"""
    text = matmul().replace("tl.program_id(0) * BLOCK_M", "pid_m * BLOCK_M").replace("tl.program_id(1)", "pid_n")
    (folder / "mm.py").write_text(text.replace("    offs_m =", schedule + "    offs_m =", 1))
    shown = run("check", "--stage", "tma", "mm.py").stdout
    for address in (
        "a_ptr + BLOCK_K * k * stride_ak + ((BLOCK_M * pid_m + i0) % M) * stride_am + i1 * stride_ak",
        "b_ptr + BLOCK_K * k * stride_bk + i0 * stride_bk + ((BLOCK_N * pid_n + i1) % N) * stride_bn",
        "c_ptr + BLOCK_M * pid_m * stride_cm + BLOCK_N * pid_n + i0 * stride_cm + i1",
    ):
        assert f"  {address}  " in shown, shown


def test_what_no_dot_reads_is_not_what_the_stage_is_about(run: Run, folder: Path) -> None:
    beside = (
        "    row = tl.load(a_ptr + tl.arange(0, BLOCK_M)[:, None] * stride_am + tl.arange(0, BLOCK_K)[None, :])\n"
        "    tl.device_print('total', tl.sum(row))\n"
    )
    (folder / "mm.py").write_text(matmul().replace("    acc =", beside + "    acc =", 1))
    shown = run("check", "--stage", "tma", "mm.py").stdout.splitlines()
    verdicts = {" ".join(line.split()[1:3]): line.split()[-1] for line in shown if line.split()[:1]}
    assert (verdicts["load row"], verdicts["load a"], verdicts["load b"]) == ("-", "legal", "legal")
    (folder / "mm.py").write_text(matmul().replace("acc += tl.dot(a, b)", "acc += tl.sum(a) + tl.sum(b)"))
    found = run("check", "--stage", "tma", "mm.py").stdout
    assert "load a" in found and "store" in found and "legal" not in found and "TP4" not in found


_ROWS = """

@triton.jit
def rows_of(ptr, first, stride, K, BLOCK: tl.constexpr, WIDE: tl.constexpr):
    rows, steps = first + tl.arange(0, BLOCK), tl.arange(0, WIDE)
    x = tl.load(ptr + rows[:, None] * stride + steps[None, :], mask=steps[None, :] < K, other=0.0)
    return x


@triton.jit
def summed(x_ptr, y_ptr, c_ptr, K, stride, FILL, BLOCK: tl.constexpr):
    x = rows_of(x_ptr, tl.program_id(0) * BLOCK, stride, K, BLOCK, BLOCK)
    y = tl.load(y_ptr + tl.arange(0, BLOCK)[:, None] * BLOCK + tl.arange(0, BLOCK)[None, :])
    cells = tl.arange(0, BLOCK)[:, None] * BLOCK + tl.arange(0, BLOCK)[None, :]
    tl.store(c_ptr + cells, tl.dot(x, y))


def launch_summed(x, y, c):
    summed[(1,)](x, y, c, x.shape[1], x.stride(0), 0, BLOCK=64)
"""


def _verdicts(run: Run, stage: str = "tma") -> dict[str, str]:
    shown = [line.split() for line in run("check", "--stage", stage, "mm.py").stdout.splitlines()]
    rows = [line for line in shown if line and line[0].isdecimal() and line[1] in ("load", "store")]
    return {" ".join(line[:3]): line[-1] for line in rows}


def _line(text: str, code: str) -> int:
    return next(number for number, line in enumerate(text.splitlines(), 1) if code in line)


def test_what_a_function_reads_has_the_verdict_of_the_kernels_that_call_it(run: Run, folder: Path) -> None:
    text = matmul() + _ROWS
    (folder / "mm.py").write_text(text)
    assert "def summed_tiles(x_2_desc, y_desc, c_desc," in run("upgrade", "--stage", "tma", "mm.py").stdout
    line = _line(text, "x = tl.load(")
    assert _verdicts(run)[f"{line} load x"] == "legal"
    # What the kernel does with it, and its own lines do not show, keeps it from the stage.
    text = text.replace("tl.store(c_ptr + cells", "tl.store(x_ptr + cells")
    (folder / "mm.py").write_text(text)
    upgraded = run("upgrade", "--stage", "tma", "--output-format", "concise", "mm.py")
    assert f"mm.py:{line}:9: warning TP412 the load of x (from x_ptr) stays as it is" in upgraded.stderr
    assert _verdicts(run)[f"{line} load x"] == "TP412"


def test_what_the_stage_does_not_come_to_is_not_legal(run: Run, folder: Path) -> None:
    # Its loads are sums, and no stage takes a kernel that is no port.
    text = matmul().replace("    rows = tl", "    acc = tl.unknown(acc)\n    rows = tl", 1)
    (folder / "mm.py").write_text(text)
    result = run("check", "--stage", "tma", "--output-format", "concise", "mm.py")
    (code,) = {line.split()[2] for line in result.stdout.splitlines() if ": error " in line}
    assert result.exit_code == 1
    found = _verdicts(run)
    assert {verdict for row, verdict in found.items()} == {code}, found


_IMPORTED = """
import triton
import triton.language as tl


@triton.jit
def load_tile(ptrs, mask, USE_MASK: tl.constexpr):
    if USE_MASK:
        return tl.load(ptrs, mask=mask, other=0.0)
    else:
        return tl.load(ptrs)
"""


@pytest.mark.parametrize("stage", ["tma", "async-copy"])
def test_what_a_function_of_another_file_reads_is_a_row_too(run: Run, folder: Path, stage: str) -> None:
    (folder / "helpers_of_mm.py").write_text(_IMPORTED)
    text = matmul().replace(
        "tl.load(a_ptrs, mask=offs_k[None, :] < left, other=0.0)", "load_tile(a_ptrs, offs_k[None, :] < left, True)"
    )
    text = text.replace(
        "import triton.language as tl\n", "import triton.language as tl\nfrom helpers_of_mm import load_tile\n"
    )
    (folder / "mm.py").write_text(text)
    line, code = _line(text, "load_tile(a_ptrs"), "TP412" if stage == "tma" else "TP302"
    said = f"mm.py:{line}:13: warning {code} the load of a (from a_ptr) stays as it is: `load_tile` is a function of"
    for command, stream in (("check", "stdout"), ("upgrade", "stderr")):
        result = run(command, "--stage", stage, "--output-format", "concise", "mm.py")
        assert said in getattr(result, stream)
    found = _verdicts(run, stage)
    assert found[f"{line} load a"] == code
    # A row of numbers that a function loads is not what the stage is about.
    beside = "        row = load_tile(a_ptr + offs_k, offs_k < K, True)\n        acc += row[None, :]\n"
    text = text.replace("        b = tl.load(", f"{beside}        b = tl.load(", 1)
    (folder / "mm.py").write_text(text)
    line = _line(text, "row = load_tile")
    assert _verdicts(run, stage)[f"{line} load row"] == ("-" if stage == "tma" else "TP302")
