"""`tritonport convert`: where results go, what is said, and the exit code."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import LEFT_FILE, MIXED_FILE, PLAIN_FILE, SCALE_FILE, Run, spawn
from tests.upgrade.kernels import matmul


def test_one_file_goes_to_standard_output(run: Run, folder: Path) -> None:
    (folder / "scale.py").write_text(SCALE_FILE)
    result = run("convert", "scale.py")
    assert result.exit_code == 0
    assert "@gluon.jit\ndef scale_kernel(" in result.stdout
    assert "# Twice the input." in result.stdout
    assert result.stderr == "1 kernel in 1 file: 1 converted\n"
    assert (folder / "scale.py").read_text() == SCALE_FILE


def test_converting_the_result_changes_nothing(run: Run, folder: Path) -> None:
    (folder / "scale.py").write_text(SCALE_FILE)
    assert run("convert", "-w", "scale.py").exit_code == 0
    once = (folder / "scale.py").read_text()
    again = run("convert", "--check", "scale.py")
    assert again.exit_code == 0
    assert again.stderr == "1 kernel in 1 file: 1 already Gluon\n"
    assert run("convert", "scale.py").stdout == once


def test_a_kernel_that_is_left_does_not_stop_its_neighbour(run: Run, folder: Path) -> None:
    (folder / "mixed.py").write_text(MIXED_FILE)
    result = run("convert", "mixed.py")
    assert result.exit_code == 1
    assert "@gluon.jit\ndef scale_kernel(" in result.stdout
    assert "@triton.jit\ndef left_kernel(" in result.stdout
    line = MIXED_FILE[: MIXED_FILE.index("activation")].count("\n") + 1
    assert f"mixed.py:{line}:25: error TP102" in result.stderr
    assert "activation" in result.stderr
    assert result.stderr.endswith("2 kernels in 1 file: 1 converted, 1 left as it was\n")


def test_output_file(run: Run, folder: Path) -> None:
    (folder / "scale.py").write_text(SCALE_FILE)
    result = run("convert", "scale.py", "-o", "ported.py")
    assert result.exit_code == 0
    assert result.stdout == ""
    assert "@gluon.jit" in (folder / "ported.py").read_text()
    assert sorted(path.name for path in folder.iterdir()) == ["ported.py", "scale.py"]


def test_in_place_keeps_mode_links_and_line_ends(run: Run, folder: Path) -> None:
    real = folder / "scale.py"
    real.write_bytes(SCALE_FILE.replace("\n", "\r\n").encode())
    real.chmod(0o750)
    (folder / "link.py").symlink_to("scale.py")
    assert run("convert", "-w", "link.py").exit_code == 0
    assert (folder / "link.py").is_symlink()
    assert stat.S_IMODE(real.stat().st_mode) == 0o750
    assert b"@gluon.jit\r\ndef scale_kernel(" in real.read_bytes()
    assert b"# Twice the input.\r\n" in real.read_bytes()
    assert b"\r\r" not in real.read_bytes()


def test_in_place_leaves_an_unchanged_file_untouched(run: Run, folder: Path) -> None:
    (folder / "left.py").write_text(LEFT_FILE)
    os.utime(folder / "left.py", (1, 1))
    before = (folder / "left.py").read_bytes()
    result = run("convert", "-w", "--ignore", "TP102", "left.py")
    assert result.exit_code == 1
    assert (folder / "left.py").read_bytes() == before
    assert (folder / "left.py").stat().st_mtime == 1
    assert "TP102" not in result.stderr


def test_encoding_and_byte_order_mark_are_kept(run: Run, folder: Path) -> None:
    latin = ("# -*- coding: latin-1 -*-\n# größer\n" + SCALE_FILE).encode("latin-1")
    (folder / "latin.py").write_bytes(latin)
    (folder / "mark.py").write_bytes(b"\xef\xbb\xbf" + SCALE_FILE.encode())
    assert run("convert", "-w", "latin.py", "mark.py").exit_code == 0
    assert "# größer\n".encode("latin-1") in (folder / "latin.py").read_bytes()
    assert (folder / "mark.py").read_bytes().startswith(b"\xef\xbb\xbfimport triton\n")


def test_out_dir_keeps_the_tree_and_is_not_an_input(run: Run, folder: Path) -> None:
    (folder / "ops" / "deep").mkdir(parents=True)
    (folder / "ops" / "scale.py").write_text(SCALE_FILE)
    (folder / "ops" / "deep" / "left.py").write_text(LEFT_FILE)
    (folder / "ops" / "plain.py").write_text(PLAIN_FILE)
    result = run("convert", "ops", "--out-dir", "ops/out")
    assert result.exit_code == 1
    written = sorted(path.relative_to(folder).as_posix() for path in (folder / "ops" / "out").rglob("*.py"))
    assert written == ["ops/out/deep/left.py", "ops/out/scale.py"]
    assert (folder / "ops" / "scale.py").read_text() == SCALE_FILE
    again = run("convert", "ops", "--out-dir", "ops/out")
    assert again.stderr.endswith("2 kernels in 2 files: 1 converted, 1 left as it was\n")


def test_out_dir_refuses_two_results_of_one_name(run: Run, folder: Path) -> None:
    for name in ("a", "b"):
        (folder / name).mkdir()
        (folder / name / "scale.py").write_text(SCALE_FILE)
    result = run("convert", "a/scale.py", "b/scale.py", "--out-dir", "out")
    assert result.exit_code == 2
    assert "a/scale.py and b/scale.py would both be written to scale.py" in result.stderr
    assert not (folder / "out").exists()


def test_diff_writes_nothing_and_applies(run: Run, folder: Path) -> None:
    (folder / "scale.py").write_text(SCALE_FILE)
    result = run("convert", "--diff", "scale.py")
    assert result.exit_code == 0
    assert result.stdout.startswith("--- a/scale.py\n+++ b/scale.py\n@@ -")
    assert (folder / "scale.py").read_text() == SCALE_FILE
    ported = run("convert", "scale.py").stdout
    subprocess.run(["git", "apply", "-"], input=result.stdout, text=True, check=True)
    assert (folder / "scale.py").read_text() == ported


def test_diff_of_a_file_without_a_last_newline(run: Run, folder: Path) -> None:
    (folder / "scale.py").write_text(SCALE_FILE.rstrip("\n"))
    assert "\\ No newline at end of file\n" in run("convert", "--diff", "scale.py").stdout


def test_check_is_a_finding_where_something_would_change(run: Run, folder: Path) -> None:
    (folder / "scale.py").write_text(SCALE_FILE)
    result = run("convert", "--check", "scale.py")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == "1 kernel in 1 file: 1 would be converted\n"
    assert (folder / "scale.py").read_text() == SCALE_FILE


def test_kernel_ports_one_and_leaves_the_others(run: Run, folder: Path) -> None:
    (folder / "mixed.py").write_text(MIXED_FILE)
    result = run("convert", "mixed.py", "--kernel", "scale_kernel")
    assert result.exit_code == 0
    assert "@gluon.jit\ndef scale_kernel(" in result.stdout
    assert "@triton.jit\ndef left_kernel(" in result.stdout
    assert result.stderr == "2 kernels in 1 file: 1 converted, 1 not asked for\n"


def test_unknown_kernel_writes_nothing(run: Run, folder: Path) -> None:
    (folder / "scale.py").write_text(SCALE_FILE)
    result = run("convert", "-w", "scale.py", "--kernel", "scale_kernl")
    assert result.exit_code == 2
    assert "scale.py:1:1: error TP004 no kernel 'scale_kernl'; did you mean 'scale_kernel'?" in result.stderr
    assert (folder / "scale.py").read_text() == SCALE_FILE


def test_standard_input(run: Run, folder: Path) -> None:
    result = run("convert", "-", "--stdin-filename", "ops/scale.py", stdin=SCALE_FILE)
    assert result.exit_code == 0
    assert "@gluon.jit\ndef scale_kernel(" in result.stdout
    left = run("convert", "-", "--stdin-filename", "ops/left.py", stdin=LEFT_FILE)
    assert left.exit_code == 1
    assert left.stdout.count("@triton.jit") == 1
    assert left.stderr.startswith("ops/left.py:9:25: error TP102")
    assert run("convert", "-", stdin="jit = (").stderr.startswith("<stdin>:1:")


def test_quiet_and_verbose(run: Run, folder: Path) -> None:
    (folder / "scale.py").write_text(SCALE_FILE)
    assert run("convert", "-q", "scale.py").stderr == ""
    assert run("convert", "-v", "scale.py").stderr == (
        "scale.py:7: scale_kernel: converted\n1 kernel in 1 file: 1 converted\n"
    )
    (folder / "left.py").write_text(LEFT_FILE)
    quiet = run("convert", "-q", "left.py").stderr
    assert quiet.startswith("left.py:9:25: error TP102")
    assert "1 kernel" not in quiet


def test_triton_version_chooses_names(run: Run, folder: Path) -> None:
    (folder / "barrier.py").write_text(SCALE_FILE.rstrip() + "\n    tl.debug_barrier()\n")
    old = run("convert", "--triton", "3.6.0", "barrier.py")
    new = run("convert", "--triton", "3.9", "barrier.py")
    assert (old.exit_code, new.exit_code) == (0, 0)
    assert "gl.thread_barrier()" in old.stdout
    assert "gl.barrier()" in new.stdout


def test_jobs_give_the_same_report_in_the_same_order(run: Run, folder: Path) -> None:
    for number in range(4):
        (folder / f"k{number}.py").write_text(SCALE_FILE if number % 2 else LEFT_FILE)
    alone = run("check", "--output-format", "concise", ".")
    together = run("check", "--output-format", "concise", "-j", "2", ".")
    assert alone.exit_code == together.exit_code == 1
    assert alone.stdout == together.stdout
    errors = [line for line in alone.stdout.splitlines() if ": error TP102" in line]
    assert [line.partition(" error")[0] for line in errors] == ["k0.py:9:25:", "k2.py:9:25:"]


def test_exit_code_of_a_closed_pipe(folder: Path) -> None:
    (folder / "scale.py").write_text(SCALE_FILE + "# padding\n" * 20_000)
    command = [sys.executable, "-m", "tritonport", "convert", "scale.py"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        errors = process.stderr.read()
        process.wait()
    assert process.returncode == 141
    assert b"Traceback" not in errors


@pytest.mark.parametrize("flags", [["-w", "--diff"], ["-o", "x.py", "-w"], ["--out-dir", "x", "--check"]])
def test_destinations_exclude_each_other(run: Run, folder: Path, flags: list[str]) -> None:
    (folder / "scale.py").write_text(SCALE_FILE)
    result = run("convert", "scale.py", *flags)
    assert result.exit_code == 2
    assert "exclude each other" in result.stderr
    assert [path.name for path in folder.iterdir()] == ["scale.py"]


def test_several_files_need_a_destination(run: Run, folder: Path) -> None:
    (folder / "a.py").write_text(SCALE_FILE)
    (folder / "b.py").write_text(SCALE_FILE)
    result = run("convert", "a.py", "b.py")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "--out-dir, -w, --diff or --check" in result.stderr
    assert run("convert", ".").exit_code == 2
    assert run("convert", "a.py", "b.py", "-o", "c.py").exit_code == 2
    assert run("convert", "-w", "-", stdin=SCALE_FILE).exit_code == 2


def test_python_m_is_the_command(folder: Path) -> None:
    (folder / "scale.py").write_text(SCALE_FILE)
    done = spawn("convert", "scale.py", cwd=folder)
    assert done.returncode == 0
    assert b"@gluon.jit\ndef scale_kernel(" in done.stdout
    assert done.stderr == b"1 kernel in 1 file: 1 converted\n"


def test_an_unknown_kernel_like_no_other_is_answered_with_those_there_are(run: Run, folder: Path) -> None:
    (folder / "scale.py").write_text(SCALE_FILE)
    result = run("convert", "scale.py", "--kernel", "xyz")
    assert result.exit_code == 2
    assert "TP004 no kernel 'xyz'; there are scale_kernel" in result.stderr


def test_an_empty_directory_is_no_file(run: Run, folder: Path) -> None:
    (folder / "empty").mkdir()
    (folder / "scale.py").write_text(SCALE_FILE)
    assert run("check", "empty").stdout.endswith("\nno kernels in 1 directory\n")
    both = run("check", "empty", "scale.py")
    assert both.stdout.endswith("1 kernel in 1 file and 1 directory: 1 would be converted\n")
    assert "empty is a directory: say where the results go" in run("convert", "empty").stderr


GLUON_FILE = """
from triton.experimental import gluon
from triton.experimental.gluon import language as gl


@gluon.jit
def dot(a, b):
    return a + b


@gluon.jit
def kernel_tiles(x_ptr):
    gl.store(x_ptr, dot(gl.load(x_ptr), 1))
"""


def test_what_a_port_brings_along_is_no_kernel(run: Run, folder: Path) -> None:
    for command in (["convert"], ["upgrade", "--stage", "tma"]):
        (folder / "mm.py").write_text(matmul())
        assert run(*command, "-w", "mm.py").stderr.endswith("1 kernel in 1 file: 1 converted\n")
        ported = (folder / "mm.py").read_text()
        assert "def dot_operand(" in ported
        assert run(*command, "-w", "mm.py").stderr == "1 kernel in 1 file: 1 already Gluon\n"
        assert (folder / "mm.py").read_text() == ported
    # A function of that name in a file that no port has written is the user's.
    (folder / "own.py").write_text(GLUON_FILE)
    assert run("check", "own.py").stdout.endswith("2 kernels in 1 file: 2 already Gluon\n")
