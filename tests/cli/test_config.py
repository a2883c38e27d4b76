"""`[tool.tritonport]`: flags win over it, and mistakes are named with their line."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import LEFT_FILE, SCALE_FILE, Run
from tritonport.config import CONFIG_KEYS, Config, default_triton, installed_triton, load_config

BARRIER_FILE = SCALE_FILE.rstrip() + "\n    tl.debug_barrier()\n"


def configure(folder: Path, *lines: str) -> None:
    (folder / "pyproject.toml").write_text("\n".join(["[project]", 'name = "x"', "", "[tool.tritonport]", *lines, ""]))


def test_settings_of_the_nearest_project_hold(run: Run, folder: Path) -> None:
    configure(folder, 'triton = "3.6"')
    (folder / "ops").mkdir()
    (folder / "ops" / "barrier.py").write_text(BARRIER_FILE)
    (folder / "ops" / "pyproject.toml").write_text("[tool.other]\n")
    assert "gl.thread_barrier()" in run("convert", "ops/barrier.py").stdout
    assert "gl.barrier()" in run("convert", "--triton", "3.9", "ops/barrier.py").stdout
    result = run("convert", "-", "--stdin-filename", "ops/new.py", stdin=BARRIER_FILE)
    assert "gl.thread_barrier()" in result.stdout


def test_every_key(folder: Path) -> None:
    configure(
        folder,
        'target = "sm_100"',
        'triton = "3.7.1"',
        'select = ["TP1"]',
        'ignore = ["loop-hint-kept"]',
        'exclude = ["legacy"]',
        'output-format = "concise"',
        "jobs = 2",
    )
    assert load_config(folder) == Config(
        target="sm_100",
        triton="3.7",
        select=("TP1",),
        ignore=("loop-hint-kept",),
        exclude=("legacy",),
        output_format="concise",
        jobs=2,
    )
    assert len(CONFIG_KEYS) == 7


def test_select_ignore_and_format_are_used(run: Run, folder: Path) -> None:
    (folder / "left.py").write_text(LEFT_FILE)
    configure(folder, 'output-format = "json"', 'ignore = ["TP1"]')
    result = run("check", "left.py")
    assert result.exit_code == 1
    assert json.loads(result.stdout)["files"][0]["diagnostics"] == []
    shown = run("check", "left.py", "--ignore", "TP2", "--output-format", "concise")
    assert "error TP102" in shown.stdout


def test_what_is_not_reported_is_the_reason_all_the_same(run: Run, folder: Path) -> None:
    (folder / "left.py").write_text(LEFT_FILE)
    said = [line for line in run("check", "left.py").stdout.splitlines() if "left as it is" in line]
    configure(folder, 'ignore = ["TP102"]')
    shown = run("check", "left.py").stdout.splitlines()
    assert [line for line in shown if "left as it is" in line] == said
    assert "TP102 the name activation is not defined" in said[0]
    assert not any("error" in line for line in shown)


def test_exclude_holds_for_directories_only(run: Run, folder: Path) -> None:
    configure(folder, 'exclude = ["legacy/*", "*_old.py"]')
    for name in ("new.py", "x_old.py", "legacy/a.py"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(SCALE_FILE)
    result = run("convert", "--check", ".")
    assert result.stderr == "1 kernel in 1 file: 1 would be converted\n"
    assert run("convert", "--check", "x_old.py").stderr == "1 kernel in 1 file: 1 would be converted\n"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('traget = "sm_90"', "unknown key 'traget'; did you mean 'target'?"),
        ("zzz = 1", "unknown key 'zzz'; did you mean '"),
        ("target = 90", "target: must be a string"),
        ('target = "sm_70"', "target: TP010 unknown target 'sm_70'"),
        ('triton = "2"', "triton: unknown Triton version '2'"),
        ('select = "TP1"', "select: must be a list of strings"),
        ('ignore = ["TP999"]', "ignore: no diagnostic 'TP999'"),
        ('output-format = "xml"', "output-format: must be one of full, concise, json, github, sarif, junit"),
        ("jobs = -1", "jobs: must be a number of processes"),
        ("jobs = true", "jobs: must be a number of processes"),
    ],
)
def test_mistakes(run: Run, folder: Path, line: str, message: str) -> None:
    (folder / "scale.py").write_text(SCALE_FILE)
    configure(folder, "# a comment", line)
    result = run("convert", "-w", "scale.py")
    assert result.exit_code == 2
    assert f"pyproject.toml:6:1: TP005 {message}" in result.stderr
    assert (folder / "scale.py").read_text() == SCALE_FILE


def test_every_mistake_is_named(run: Run, folder: Path) -> None:
    (folder / "scale.py").write_text(SCALE_FILE)
    configure(folder, 'traget = "sm_90"', "jobs = 2", "exclude = 3")
    result = run("check", "scale.py")
    assert result.exit_code == 2
    assert [line.partition("pyproject.toml:")[2] for line in result.stderr.splitlines()[:2]] == [
        "5:1: TP005 unknown key 'traget'; did you mean 'target'?",
        "7:1: TP005 exclude: must be a list of strings",
    ]


@pytest.mark.parametrize(
    ("lines", "place"),
    [
        (["[tool.tritonport]", "target = "], "2:10"),
        (["[tool.tritonport]", "jobs = 1", "target = sm_90"], "3:10"),
        (["[tool.tritonport", 'target = "sm_90"'], "1:17"),
        (["[tool.tritonport]", 'target = """sm_90'], "2:1"),
    ],
)
def test_a_project_file_that_is_not_toml(run: Run, folder: Path, lines: list[str], place: str) -> None:
    (folder / "scale.py").write_text(SCALE_FILE)
    (folder / "pyproject.toml").write_text("\n".join([*lines, ""]))
    result = run("check", "scale.py")
    assert result.exit_code == 2
    assert f"pyproject.toml:{place}: TP005 not valid TOML: " in result.stderr
    assert "at line" not in result.stderr


def test_another_table_is_none_of_ours(folder: Path) -> None:
    (folder / "pyproject.toml").write_text("[tool.tritonport-extra]\njobs = 'x'\n\n[tool.tritonporter\n")
    assert load_config(folder) == Config()


def test_the_installed_triton_is_the_default() -> None:
    from importlib.metadata import PackageNotFoundError, version

    try:
        installed = version("triton")
    except PackageNotFoundError:
        assert installed_triton() is None
        assert default_triton() == "3.9"
    else:
        assert installed_triton() == installed
        assert installed.startswith(f"{default_triton()}.")
