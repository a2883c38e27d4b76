"""Input that cannot be used: one clear message with its place, the right exit code, and the other files go on."""

from pathlib import Path

import pytest

from tests.cli.conftest import BROKEN_FILE, PLAIN_FILE, SCALE_FILE, Run, spawn


def test_a_file_that_does_not_parse(run: Run, folder: Path) -> None:
    (folder / "broken.py").write_text(BROKEN_FILE)
    result = run("convert", "broken.py")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "broken.py:4:11: error TP001 '(' was never closed" in result.stderr
    assert result.stderr.count("TP001") == 1


def test_the_other_files_go_on(run: Run, folder: Path) -> None:
    (folder / "broken.py").write_text(BROKEN_FILE)
    (folder / "scale.py").write_text(SCALE_FILE)
    result = run("convert", "-w", "broken.py", "missing.py", "scale.py")
    assert result.exit_code == 2
    assert "missing.py:1:1: error TP002 cannot read the file: No such file or directory" in result.stderr
    assert result.stderr.endswith("1 kernel in 3 files: 1 converted, 2 files with an error\n")
    assert "@gluon.jit" in (folder / "scale.py").read_text()
    assert (folder / "broken.py").read_text() == BROKEN_FILE


def test_a_broken_file_with_an_output_file(run: Run, folder: Path) -> None:
    (folder / "broken.py").write_text(BROKEN_FILE)
    (folder / "out.py").write_text("precious\n")
    assert run("convert", "broken.py", "-o", "out.py").exit_code == 2
    assert (folder / "out.py").read_text() == "precious\n"


def test_bytes_that_are_not_text(run: Run, folder: Path) -> None:
    (folder / "bytes.py").write_bytes(b"import triton\nx = '\xff'\n")
    result = run("convert", "bytes.py")
    assert result.exit_code == 2
    assert "bytes.py:2:6: error TP002 cannot read the file: byte 0xff is not utf-8 text" in result.stderr
    (folder / "codec.py").write_bytes(b"# coding: klingon\n")
    result = run("convert", "codec.py")
    assert result.exit_code == 2
    assert "codec.py:1:1: error TP002" in result.stderr and "klingon" in result.stderr


def test_null_bytes(run: Run, folder: Path) -> None:
    (folder / "null.py").write_bytes(b"import triton\nx = 1\0\n")
    result = run("convert", "null.py")
    assert result.exit_code == 2
    assert "error TP001" in result.stderr


@pytest.mark.parametrize("expression", ["(" * 50_000, "+".join(["1"] * 50_000)], ids=["parentheses", "sum"])
def test_nesting_that_would_end_the_process(folder: Path, expression: str) -> None:
    (folder / "deep.py").write_text(f"import triton\njit = {expression}\n")
    (folder / "scale.py").write_text(SCALE_FILE)
    done = spawn("convert", "-w", "deep.py", "scale.py", cwd=folder)
    assert done.returncode == 2
    assert done.stderr.count(b"error TP001") == 1
    assert b"@gluon.jit" in (folder / "scale.py").read_bytes()


def test_a_file_without_kernels(run: Run, folder: Path) -> None:
    (folder / "plain.py").write_text(PLAIN_FILE)
    result = run("convert", "plain.py")
    assert result.exit_code == 1
    assert result.stdout == PLAIN_FILE
    assert "plain.py:1:1: error TP003 no Triton kernel in this file" in result.stderr


def test_an_empty_file_and_an_empty_input(run: Run, folder: Path) -> None:
    (folder / "empty.py").write_text("")
    assert run("convert", "empty.py").exit_code == 1
    assert run("convert", "-", stdin="").exit_code == 1


def test_a_directory_without_kernels(run: Run, folder: Path) -> None:
    (folder / "pkg").mkdir()
    (folder / "pkg" / "plain.py").write_text(PLAIN_FILE)
    (folder / "pkg" / "broken_elsewhere.py").write_text("def f(:\n")
    result = run("convert", "-w", "pkg")
    assert result.exit_code == 1
    assert "pkg:1:1: error TP003 no Triton kernel in this directory" in result.stderr
    (folder / "scale.py").write_text(SCALE_FILE)
    both = run("convert", "-w", "pkg", "scale.py")
    assert both.exit_code == 1
    assert both.stderr.count("TP003") == 1


def test_unknown_target(run: Run, folder: Path) -> None:
    (folder / "scale.py").write_text(SCALE_FILE)
    result = run("convert", "--target", "sm_70", "scale.py")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "TP010 unknown target 'sm_70'; known: sm_80, sm_86, sm_89, sm_90, sm_100, sm_103, sm_120." in result.stderr
    nearest = run("convert", "--target", "sm_121", "scale.py")
    assert "The nearest older is 'sm_120'." in nearest.stderr
    for name in ("sm_90", "sm90", "sm_90a", "cuda:90"):
        assert run("convert", "--target", name, "scale.py").exit_code == 0


def test_unknown_triton_version(run: Run, folder: Path) -> None:
    (folder / "scale.py").write_text(SCALE_FILE)
    for version in ("3.5", "4", "new"):
        result = run("convert", "--triton", version, "scale.py")
        assert result.exit_code == 2
        assert f"unknown Triton version '{version}'; known: 3.6, 3.7, 3.8, 3.9" in result.stderr


def test_a_directory_that_cannot_be_written(run: Run, folder: Path) -> None:
    # Permissions do not stop every user; a path below a file stops all of them.
    (folder / "scale.py").write_text(SCALE_FILE)
    (folder / "file").write_text("")
    result = run("convert", "scale.py", "--out-dir", "file/out")
    assert result.exit_code == 2
    assert "file/out/scale.py:1:1: error TP006 cannot write the file: Not a directory" in result.stderr
    result = run("convert", "scale.py", "-o", "nowhere/out.py")
    assert result.exit_code == 2
    assert "nowhere/out.py:1:1: error TP006 cannot write the file: No such file or directory" in result.stderr
    assert sorted(path.name for path in folder.iterdir()) == ["file", "scale.py"]


def test_a_report_that_cannot_be_written(run: Run, folder: Path) -> None:
    (folder / "scale.py").write_text(SCALE_FILE)
    result = run("convert", "scale.py", "--report", "nowhere/report.json")
    assert result.exit_code == 2
    assert "nowhere/report.json:1:1: TP006 cannot write the file" in result.stderr


def test_no_path(run: Run) -> None:
    for command in ("convert", "check"):
        result = run(command)
        assert result.exit_code == 2
        assert "Missing argument 'PATH...'" in result.stderr


def test_unknown_codes(run: Run, folder: Path) -> None:
    (folder / "scale.py").write_text(SCALE_FILE)
    result = run("convert", "--ignore", "TP999", "scale.py")
    assert result.exit_code == 2
    assert "no diagnostic 'TP999'" in result.stderr
    result = run("convert", "--select", "unsuported-call", "scale.py")
    assert "did you mean 'unsupported-call'?" in result.stderr
