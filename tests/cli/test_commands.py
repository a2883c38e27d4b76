"""The group itself, and the commands that only look things up."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import LEFT_FILE, MIXED_FILE, SCALE_FILE, Run, spawn
from tritonport import __version__
from tritonport.cli import cli
from tritonport.report.api_page import entry_text
from tritonport.rules_data import diagnostic_codes, load_api, load_page

COMMANDS = [
    *("convert", "upgrade", "check", "compile", "parity-check", "emulate", "capture", "bench", "rule", "explain"),
    "doctor",
]


def test_help_lists_every_command(run: Run) -> None:
    result = run("--help")
    assert result.exit_code == 0
    listed = [line.split()[0] for line in result.stdout.partition("Commands:\n")[2].splitlines() if line.strip()]
    assert listed == COMMANDS
    for command in COMMANDS:
        text = run(command, "--help")
        assert text.exit_code == 0
        assert f"{command} [OPTIONS]" in text.stdout


def test_version(run: Run) -> None:
    assert run("--version").stdout == f"tritonport {__version__}\n"


@pytest.mark.parametrize("args", [["--help"], ["convert", "scale.py"], ["explain", "tl.dot"], ["rule", "TP101"]])
def test_light_commands_import_no_heavy_library(folder: Path, args: list[str]) -> None:
    (folder / "scale.py").write_text(SCALE_FILE)
    script = (
        "import sys\nfrom tritonport.cli import cli\n"
        "try:\n    cli(sys.argv[1:])\nexcept SystemExit as end:\n    assert end.code == 0, end.code\n"
        "heavy = {'torch', 'triton', 'numpy', 'multiprocessing', 'importlib.metadata'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    command = [sys.executable, "-c", script, *args]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.replace("1 kernel in 1 file: 1 converted\n", "")) == (0, "")


def test_unknown_command_and_option(run: Run) -> None:
    result = run("convrt", "x.py")
    assert result.exit_code == 2
    assert "No such command 'convrt'. Did you mean 'convert'?" in result.stderr
    assert run("upgrade").exit_code == 2
    assert run("convert", "--nonsense", "x.py").exit_code == 2


def test_an_error_inside_a_command_is_exit_code_2(folder: Path) -> None:
    script = (
        "import click\nfrom tritonport.cli import CommandsFromFiles\n"
        "@click.group(cls=CommandsFromFiles)\ndef cli(): raise RuntimeError('boom')\ncli(['doctor'])\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "RuntimeError: boom" in done.stderr
    assert done.stderr.endswith("error: TP901 tritonport itself failed; please report the lines above\n")


def test_check_says_why(run: Run, folder: Path) -> None:
    (folder / "mixed.py").write_text(MIXED_FILE)
    result = run("check", "mixed.py")
    assert result.exit_code == 1
    lines = result.stdout.splitlines()
    assert lines[0] == "mixed.py:7: scale_kernel: would be converted"
    assert lines[1].startswith("mixed.py:14: left_kernel: would be left as it is: TP102 ")
    assert lines[-1] == "2 kernels in 1 file: 1 would be converted, 1 left as it is"
    assert (folder / "mixed.py").read_text() == MIXED_FILE


def test_check_holds_where_everything_converts(run: Run, folder: Path) -> None:
    (folder / "scale.py").write_text(SCALE_FILE)
    result = run("check", ".")
    assert result.exit_code == 0
    assert result.stdout == ("scale.py:7: scale_kernel: would be converted\n1 kernel in 1 file: 1 would be converted\n")


def test_check_statistics(run: Run, folder: Path) -> None:
    for name in ("a.py", "b.py"):
        (folder / name).write_text(LEFT_FILE)
    result = run("check", "--statistics", ".")
    assert "\n    2  TP102 unknown-name\n" in result.stdout


def test_report_file_and_document_format(run: Run, folder: Path) -> None:
    (folder / "left.py").write_text(LEFT_FILE)
    result = run("convert", "left.py", "--report", "report.json", "--output-format", "json")
    written = json.loads((folder / "report.json").read_text())
    assert json.loads(result.stderr) == written
    assert written["exit_code"] == result.exit_code == 1
    assert written["files"][0]["kernels"] == [{"name": "left_kernel", "line": 6, "status": "left"}]


def test_rule(run: Run) -> None:
    page = load_page("TP101")
    by_code, by_name = run("rule", "TP101"), run("rule", "unsupported-call")
    assert by_code.exit_code == 0
    assert by_code.stdout == by_name.stdout == run("rule", "tp101").stdout
    assert by_code.stdout.startswith("# TP101 unsupported-call\n\nSeverity error, effort high, since 0.1.0.")
    assert page.body in by_code.stdout
    every = run("rule", "--all").stdout
    assert [line for line in every.splitlines() if line.startswith("# TP")] == [
        f"# {code} {load_page(code).name}" for code in diagnostic_codes()
    ]
    assert len(run("rule", "--list").stdout.splitlines()) == len(diagnostic_codes())


def test_rule_mistakes(run: Run) -> None:
    result = run("rule", "unsuported-call")
    assert result.exit_code == 2
    assert "no diagnostic 'unsuported-call'; did you mean 'unsupported-call'?" in result.stderr
    assert "no diagnostic 'TP1o6'; did you mean 'TP106'?" in run("rule", "TP1o6").stderr
    assert "no diagnostic 'tp1O1X'; did you mean 'TP101'?" in run("rule", "tp1O1X").stderr
    assert run("rule").exit_code == 2
    assert run("rule", "TP101", "--all").exit_code == 2


@pytest.mark.parametrize(
    ("name", "row"),
    [
        ("tl.sum", "tl.sum"),
        ("sum", "tl.sum"),
        ("triton.language.sum", "tl.sum"),
        ("tl.standard.sum", "tl.sum"),
        ("x.sum", "tl.sum"),
        ("tl.math.exp", "tl.exp"),
        ("x.to", "tl.cast"),
        ("x.T", "tl.trans"),
        ("gl.thread_barrier", "tl.debug_barrier"),
        ("desc.load", "descriptor.load"),
        ("tl.extra.cuda.libdevice.tanh", "tl.extra"),
    ],
)
def test_explain_finds_any_spelling(run: Run, name: str, row: str) -> None:
    result = run("explain", name, "--triton", "3.9")
    assert result.exit_code == 0
    assert result.stdout == entry_text(load_api()[row], "3.9")


def test_explain_names_the_version(run: Run) -> None:
    assert "  Gluon      gl.thread_barrier\n" in run("explain", "tl.debug_barrier", "--triton", "3.6").stdout
    assert "  Gluon      gl.barrier\n" in run("explain", "tl.debug_barrier", "--triton", "3.7").stdout
    assert "Triton 3.6 does not have it" in run("explain", "tl.atomic_poll", "--triton", "3.6").stdout


def test_explain_mistakes(run: Run) -> None:
    result = run("explain", "tl.sotfmax")
    assert result.exit_code == 2
    assert "no name 'tl.sotfmax' in triton.language; did you mean 'tl.softmax'?" in result.stderr
    host = run("explain", "triton.autotune").stderr
    assert "'triton.autotune' is no name of triton.language: what host code uses of triton stays as it is" in host
    assert run("explain").exit_code == 2


def test_doctor(folder: Path) -> None:
    done = spawn("doctor", "--output-format", "json", cwd=folder)
    found = json.loads(done.stdout)
    assert found["schema_version"] == 1
    assert found["versions"]["tritonport"] == __version__
    assert found["versions"]["python"] == ".".join(str(part) for part in sys.version_info[:3])
    assert done.returncode == (1 if found["problems"] else 0)
    assert found["abilities"][0] == {"name": "convert, upgrade, check, rule, explain", "works": True, "why": ""}
    gpu = next(one for one in found["abilities"] if one["name"] == "parity-check and bench on a GPU")
    assert gpu["works"] is (found["gpu"] is not None)
    text = spawn("doctor", cwd=folder).stdout.decode()
    assert f"tritonport {__version__}\n" in text


def test_the_group_has_no_other_files() -> None:
    with cli.make_context("tritonport", ["doctor"]) as context:
        assert cli.list_commands(context) == COMMANDS


@pytest.mark.parametrize(
    ("arguments", "needed"),
    [
        (("compile", "scale.py"), "triton"),
        (("parity-check", "scale.py", "--", "pytest"), "torch and triton"),
        (("capture", "scale.py", "--", "python", "train.py"), "torch and triton"),
    ],
)
def test_what_is_not_installed_is_said_in_one_line(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], needed: str
) -> None:
    (folder / "scale.py").write_text(SCALE_FILE)
    for name in ("torch", "triton"):
        monkeypatch.setitem(sys.modules, name, None)  # as if it were not installed
    result = run(*arguments)
    verb = "are" if " and " in needed else "is"
    assert (result.exit_code, result.stdout) == (3, "")
    assert result.stderr == f"error: TP806 {needed} {verb} not installed: pip install 'tritonport[gpu]'\n"


def test_check_says_why_a_helper_stays(run: Run, folder: Path) -> None:
    helper = "\n\n@triton.jit\ndef helper(x):\n    return x + 1\n"
    (folder / "left.py").write_text(LEFT_FILE.replace("activation(x)", "activation(helper(x))") + helper)
    lines = run("check", "left.py").stdout.splitlines()
    assert any(line.endswith("helper: would be left as it is: nothing that is converted calls it") for line in lines)
