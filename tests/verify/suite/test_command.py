"""`parity-check FILE -- COMMAND` as a user runs it, without a GPU: in the emulator."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result

from tests.verify.parity.sources import ORIGINAL, PORT, edited
from tritonport.cli import cli

TESTS = """
import pytest
import torch

import kernels
from kernels.ops.scale import scale, scale_kernel


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("n", [1, 300])
def test_scale(n):
    x = torch.randn(n, device="cuda", generator=torch.Generator(device="cuda").manual_seed(0))
    assert x.is_cuda and x.device.type == "cuda"
    assert torch.equal(kernels.scale(x, 2.0), 2 * x), "not twice"


def test_copies_between_devices_are_copies():
    torch.manual_seed(0)
    x = torch.ones(3)
    y = x.cuda()
    y += 1
    assert x.sum() == 3 and y.cpu().sum() == 6


def test_the_dialect():
    scale(torch.ones(3, device="cuda"), 2.0)
    assert not scale_kernel.is_gluon(), "it is Gluon"


def test_wrong_already():
    assert scale(torch.ones(3, device="cuda"), 2.0).sum() == 7
"""
Check = Callable[..., Result]
NO_PLUGINS = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
"""Each pytest would import Hypothesis and others, which takes most of its time."""
SCRIPT = """
import torch

from kernels import scale

assert scale(torch.ones(300), 0.5).sum() == 150
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A package whose __init__ imports the kernel file, its tests, and a script."""
    folder = tmp_path_factory.mktemp("project")
    ops = folder / "kernels" / "ops"
    ops.mkdir(parents=True)
    (ops / "__init__.py").write_text("")
    (ops / "scale.py").write_text(ORIGINAL)
    (folder / "kernels" / "__init__.py").write_text("from kernels.ops.scale import scale\n")
    (folder / "tests").mkdir()
    (folder / "tests" / "test_scale.py").write_text(TESTS)
    (folder / "script.py").write_text(SCRIPT)
    (folder / "wrong.py").write_text(edited(PORT, ("x * factor", "x * factor + 0.25")))
    return folder


def check_whole(folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "tritonport", "parity-check", "kernels/ops/scale.py", "--tiers", "T2", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3]), **NO_PLUGINS}
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False
    )


@pytest.fixture
def check(monkeypatch: pytest.MonkeyPatch) -> Check:
    """The same without a process for what starts the command."""

    def call(folder: Path, *arguments: str, file: str = "kernels/ops/scale.py") -> Result:
        monkeypatch.chdir(folder)
        if "-n" not in arguments:
            for name, value in NO_PLUGINS.items():
                monkeypatch.setenv(name, value)
        return CliRunner().invoke(cli, ["parity-check", file, "--tiers", "T2", *arguments])

    return call


def test_test_by_test(project: Path) -> None:
    done = check_whole(project, "--report", "report.json", "--output-format", "junit", "--", "pytest", "-q", "tests")
    assert done.returncode == 1, done.stdout + done.stderr
    report = json.loads((project / "report.json").read_text())
    tier = report["files"][0]["tiers"][0]
    found = {test["test"].partition("::")[2]: test["verdict"] for test in tier["tests"]}
    assert found == {
        "test_scale[1]": "PASS",
        "test_scale[300]": "PASS",
        "test_the_dialect": "FAIL",
        "test_wrong_already": "NOT-COMPARABLE",
    }
    (finding,) = tier["findings"]
    line = 1 + TESTS.splitlines().index('    assert not scale_kernel.is_gluon(), "it is Gluon"')
    assert (finding["code"], finding["path"], finding["line"]) == ("TP816", "tests/test_scale.py", line)
    assert finding["message"].endswith("fails with the port: AssertionError: it is Gluon")
    cases = {case.get("name"): case for case in ElementTree.fromstring(done.stdout).iter("testcase")}
    assert cases["T2 test_scale[300]"].find("failure") is None
    assert cases["T2 test_the_dialect"].find("failure") is not None
    # Nothing of the run is left in the project: no byte code of the port, no changed file.
    assert (project / "kernels" / "ops" / "scale.py").read_text() == ORIGINAL
    assert not list(project.rglob("__pycache__"))


def test_a_wrong_port_fails_the_tests_that_reach_it_and_no_other_in_workers_of_xdist(
    project: Path, check: Check
) -> None:
    pytest.importorskip("xdist")
    done = check(project, "--port", "wrong.py", "--", "pytest", "-q", "-n", "1", "tests", "-k", "300 or copies")
    assert done.exit_code == 1
    assert "0 of 1 tests pass with the port; 1 others do not launch it" in done.stdout
    assert "fails with the port: AssertionError: not twice" in done.stdout


def test_a_script_and_its_exit_status_and_a_stage_that_changes_nothing(project: Path, check: Check) -> None:
    done = check(project, "--stage", "async-copy", "-v", "--", "python", "script.py")
    assert done.exit_code == 0, done.stdout + done.stderr
    assert "1 of 1 tests pass with the port" in done.stdout
    assert "the stage async-copy changes nothing here: the port is the literal one" in done.stdout
    assert check(project, "--port", "wrong.py", "--", "script.py").exit_code == 1


def test_what_cannot_be_compared(project: Path, check: Check) -> None:
    (project / "test_nothing.py").write_text("def test_nothing():\n    assert True\n")
    done = check(project, "--", "pytest", "-q", "test_nothing.py")
    assert done.exit_code == 3
    assert "no test launches a Gluon kernel of the file" in done.stdout


def test_what_is_no_command(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project)
    for after, words in (
        (["--", "no-such-command-here"], "TP002 cannot run no-such-command-here"),
        (["--"], "must be followed by a command"),
        (["--stage", "async-copy", "--port", "wrong.py", "--", "pytest", "tests"], "not for that of --port"),
    ):
        done = CliRunner().invoke(cli, ["parity-check", "kernels/ops/scale.py", "--tiers", "T2", *after])
        assert (done.exit_code, words in done.stderr) == (2, True), done.stderr


STAGED = """
import torch
from matmul import matmul


def test_product():
    a, b = torch.ones(64, 100, device="cuda").half(), torch.ones(100, 64, device="cuda").half()
    assert (matmul(a, b, BLOCK_M=64, BLOCK_N=64, BLOCK_K=32, num_warps=4) == 100).all()


def test_where_the_tiles_go():
    test_product()
    with open(matmul.__code__.co_filename) as source:
        assert "wait_group" not in source.read(), "through a ring"
"""


def test_every_stage_is_reported_test_by_test(tmp_path: Path, check: Check) -> None:
    fixture = Path(__file__).parents[3] / "fixtures" / "matmul" / "matmul.py"
    (tmp_path / "matmul.py").write_text(fixture.read_text())
    (tmp_path / "test_matmul.py").write_text(STAGED)
    stages = ["--stage", "literal", "--stage", "async-copy"]
    done = check(tmp_path, *stages, "--report", "report.json", "--", "pytest", "-q", file="matmul.py")
    assert done.exit_code == 1, done.stdout + done.stderr
    found = {
        result["stage"]: {test["test"].partition("::")[2]: test["verdict"] for test in result["tiers"][0]["tests"]}
        for result in json.loads((tmp_path / "report.json").read_text())["files"]
    }
    assert found == {
        "literal": {"test_product": "PASS", "test_where_the_tiles_go": "PASS"},
        "async-copy": {"test_product": "PASS", "test_where_the_tiles_go": "FAIL"},
    }
    assert "matmul.py (async-copy)  FAIL" in done.stdout
