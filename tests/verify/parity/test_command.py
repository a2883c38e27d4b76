"""`tritonport parity-check` as a user runs it."""

import json
import subprocess
import sys
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner

from tests.verify.parity.sources import CASE, ORIGINAL, PORT, edited, write_project
from tritonport.cli.parity_check import parity_check_command
from tritonport.verify.parity_report import render_results
from tritonport.verify.verdict import FileResult, TierResult, Verdict


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Runs the command in the folder of the test: (exit code, stdout, stderr)."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments):
        result = CliRunner().invoke(parity_check_command, arguments)
        assert result.exception is None or isinstance(result.exception, SystemExit), result.output
        return result.exit_code, result.stdout, result.stderr

    return call


WRONG = edited(PORT, ("x * factor", "x * factor + 0.25"))


def test_a_conversion_that_holds(run, tmp_path):
    write_project(tmp_path)
    code, out, err = run("scale.py", "--tiers", "t0,t2")
    assert code == 0
    lines = out.splitlines()
    assert lines[0] == "scale.py  PASS"
    assert lines[1].split()[:3] == ["T0", "static", "PASS"]
    assert lines[2].split()[:3] == ["T2", "emulate", "PASS"]
    assert lines[2].endswith("3 results of 3 runs equal bit for bit")
    assert err == "1 file: 1 PASS\n"


def test_the_first_line_of_a_failure_says_where_and_why(run, tmp_path):
    write_project(tmp_path, port=WRONG)
    code, out, _ = run("scale.py", "--port", "port.py", "--tiers", "T2")
    line = 1 + ORIGINAL.splitlines().index("def scale_kernel(x_ptr, out_ptr, n, factor, BLOCK: tl.constexpr):")
    assert code == 1
    assert out.startswith(f"scale.py:{line}:1: error TP801 result differs at [0]: port ")
    assert "\nscale.py  FAIL\n" in out


def test_a_failure_inside_a_converted_port_names_the_line_of_the_port(run, tmp_path):
    small = (
        "    if scale_kernel.is_gluon():\n        scale_kernel[(1,)](x, x[:0].new_empty(9), 300, factor, BLOCK=128)\n"
    )
    write_project(tmp_path, case=edited(CASE, ("    return scale(x, factor)", f"{small}    return scale(x, factor)")))
    code, out, _ = run("scale.py", "--tiers", "T2")
    line = 1 + ORIGINAL.splitlines().index("def scale_kernel(x_ptr, out_ptr, n, factor, BLOCK: tl.constexpr):")
    assert code == 1
    assert out.startswith(f"scale.py:{line}:1: error TP807 the port raises (seed 0): out-of-bounds store")
    first = " ".join(out.split())
    assert " of the port: gl.store(out_ptr + offs, x * factor, mask=mask) [scale_kernel]" in first
    assert "[port]" not in out


def test_json_junit_github_and_concise(run, tmp_path):
    write_project(tmp_path, port=WRONG)
    arguments = ("scale.py", "--port", "port.py", "--tiers", "T0,T2", "--seeds", "3")
    code, out, _ = run(*arguments, "--output-format", "json", "--report", "report.json")
    data = json.loads(out)
    assert (code, data["exit_code"], data["schema_version"]) == (1, 1, 1)
    assert json.loads((tmp_path / "report.json").read_text())["files"][0]["verdict"] == "FAIL"
    tier = data["files"][0]["tiers"][1]
    assert (tier["tier"], tier["verdict"], tier["findings"][0]["code"]) == ("T2", "FAIL", "TP801")
    assert tier["runs"][0]["seed"] == 3
    assert tier["runs"][0]["differences"][0]["passing_atol"] == pytest.approx(0.25, rel=1e-5)

    code, out, _ = run(*arguments, "--output-format", "junit")
    suite = ElementTree.fromstring(out)[0]
    assert (code, suite.get("tests"), suite.get("failures"), suite.get("errors")) == (1, "2", "1", "0")
    failure = suite.find("testcase/failure")
    assert failure is not None and "TP801 result differs" in str(failure.get("message"))

    code, out, _ = run(*arguments, "--output-format", "github")
    assert code == 1 and out.startswith("::error file=scale.py,line=9,col=1,title=TP801")

    code, out, _ = run(*arguments, "--output-format", "concise")
    assert code == 1
    assert out.splitlines()[-1] == "scale.py: FAIL (T0 PASS, T2 FAIL)"


def test_a_directory(run, tmp_path):
    write_project(tmp_path / "kernels" / "good")
    write_project(tmp_path / "kernels" / "none", case=None)
    bad = edited(ORIGINAL, ("other=0.0)", "other=0.0).no_such_method()"))
    write_project(tmp_path / "kernels" / "bad", original=bad)
    code, out, err = run("kernels", "--tiers", "T2", "-j", "2", "--seeds", "0")
    assert "kernels/good/scale.py  PASS" in out
    assert "none/scale.py" not in out
    assert "kernels/bad/scale.py  " in out
    assert code in (1, 3)
    assert err.startswith("2 files: 1 PASS")


def test_nothing_to_check_is_3(run, tmp_path):
    (tmp_path / "empty").mkdir()
    assert run("empty") == (3, "", "no kernel file with a case\n")


def test_unreadable_input_is_2(run, tmp_path):
    code, out, _ = run("gone.py", "--tiers", "T0,T2")
    assert code == 2
    assert out.startswith("gone.py:1:1: error TP002 cannot read the file: ")
    write_project(tmp_path, case="raise RuntimeError('boom')\n")
    code, out, _ = run("scale.py", "--tiers", "T2")
    assert code == 2
    assert out.startswith("scale_case.py:1:1: error TP804 raises when it is imported: RuntimeError: boom")


def test_a_tier_that_was_asked_for_and_cannot_run_is_3(run, tmp_path):
    import torch

    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    write_project(tmp_path)
    code, out, _ = run("scale.py", "--tiers", "T0,T3")
    assert code == 3
    assert "NOT-RUN" in out and "no GPU" in out


def test_saved_failures_replay(run, tmp_path):
    write_project(tmp_path, port=WRONG)
    code, out, _ = run("scale.py", "--port", "port.py", "--tiers", "T2", "--seeds", "2", "--save-case", "saved")
    assert code == 1 and "seed 2: saved as saved/scale-T2-seed2.pt" in out
    code, out, _ = run("scale.py", "--port", "port.py", "--replay", "saved/scale-T2-seed2.pt")
    assert code == 1 and "(seed 2)" in out and "T0" not in out
    assert run("scale.py", "--replay", "saved/scale-T2-seed2.pt")[0] == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--tiers", "T9"), "no tier 'T9'; known: T0, T1, T2, T3"),
        (("--tiers", ""), "no tier"),
        (("--seeds", "a"), "not a list of integers"),
        (("--seeds", "-1"), "a seed is 0 or more"),
        (("--target", "sm_1"), "unknown target 'sm_1'"),
        (("--timeout", "0"), "--timeout"),
        (("second.py", "--port", "port.py"), "--port takes one kernel file, not 2"),
    ],
)
def test_usage_errors(run, tmp_path, arguments, words):
    write_project(tmp_path)
    code, _, err = run("scale.py", *arguments)
    assert code == 2
    assert words in err


def test_quiet_shows_only_what_does_not_pass():
    good = FileResult("a.py", None, (TierResult("T2", Verdict.PASS, "fine"),))
    assert render_results([good], "concise") == "a.py: PASS (T2 PASS)\n"
    assert render_results([], "full") == ""


def test_the_command_is_there_without_torch():
    code = "import sys, tritonport.cli.parity_check; print(sorted({'torch', 'triton', 'numpy'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
