"""What runs tritonport for others: the hooks of pre-commit and the script of the GitHub Action."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import LEFT_FILE, SCALE_FILE, spawn
from tritonport.cli import cli

ROOT = Path(__file__).parents[2]


def test_the_hooks_call_commands_and_flags_that_exist() -> None:
    entries = re.findall(r"^  entry: tritonport (.+)$", (ROOT / ".pre-commit-hooks.yaml").read_text(), re.MULTILINE)
    assert len(entries) == 2
    for entry in entries:
        name, *words = entry.split()
        command = cli.commands[name] if name in cli.commands else cli.get_command(None, name)  # type: ignore[arg-type]
        assert command is not None
        flags = {flag for parameter in command.params for flag in parameter.opts}
        assert {word for word in words if word.startswith("--")} <= flags


@pytest.mark.parametrize(
    ("text", "tiers", "code", "said"),
    [
        (SCALE_FILE, "", 0, "1 converted"),
        (LEFT_FILE, "", 1, "::error file=kernels.py,line=9"),
        ("def broken(:\n", "", 2, "TP001"),
        # Nothing has a case: nothing was compared.
        (SCALE_FILE, "T0", 3, "1 converted"),
    ],
)
def test_the_script_of_the_action(tmp_path: Path, text: str, tiers: str, code: int, said: str) -> None:
    (tmp_path / "kernels.py").write_text(text)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").symlink_to(sys.executable)
    environment = {
        **os.environ,
        "PATH": f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path]),
        "PATHS": "kernels.py" if not tiers else ".",
        "TIERS": tiers,
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
    }
    command = ["bash", str(ROOT / "scripts" / "action.sh")]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    summary = (tmp_path / "summary.md").read_text()
    assert summary.startswith("### tritonport\n")
    assert said in done.stdout + summary


def test_a_commit_without_kernels_is_no_failure(tmp_path: Path) -> None:
    """pre-commit names every Python file that changed."""
    (tmp_path / "setup.py").write_text("import os\n")
    (tmp_path / "kernels.py").write_text(SCALE_FILE)
    (tmp_path / "left.py").write_text(LEFT_FILE)
    (tmp_path / "broken.py").write_text("def broken(:\n")
    hook = ("check", "--skip-without-kernels")
    assert spawn("check", "setup.py", cwd=tmp_path).returncode == 1
    for files, code in ((["setup.py"], 0), (["setup.py", "kernels.py"], 0), (["left.py", "setup.py"], 1)):
        assert spawn(*hook, *files, cwd=tmp_path).returncode == code, files
    assert spawn(*hook, "setup.py", "broken.py", cwd=tmp_path).returncode == 2
    assert spawn(*hook, "setup.py", "--stage", "tma", cwd=tmp_path).returncode == 2


def test_a_commit_without_cases_is_no_failure(tmp_path: Path) -> None:
    (tmp_path / "kernels.py").write_text(SCALE_FILE)
    assert spawn("parity-check", "kernels.py", "--tiers", "T2", cwd=tmp_path).returncode == 3
    assert spawn("parity-check", "--skip-without-case", "kernels.py", "--tiers", "T2", cwd=tmp_path).returncode == 0
