"""What two runs of a command make of each test: from the records of their processes, without running any."""

from typing import Any

import pytest

from tritonport.verify import hints
from tritonport.verify.hook.command import CommandRun
from tritonport.verify.suite import TestResult, TestRun, _counts, _judged, compare_runs
from tritonport.verify.verdict import Verdict

NAME = "tests/test_a.py::test_a"
GLUON = {"kernel": "scale_kernel", "file": "/k.py", "gluon": True, "count": 2}
TRITON = {**GLUON, "gluon": False}


def phase(outcome: str, when: str = "call", launches: tuple[Any, ...] = (), **more: Any) -> dict[str, Any]:
    return {"event": "end", "test": NAME, "when": when, "outcome": outcome, "launches": list(launches), **more}


def failed(when: str = "call") -> dict[str, Any]:
    return phase("failed", when, (GLUON,), message="AssertionError: 3\nmore", path="tests/test_a.py", line=7)


def run(*records: dict[str, Any], code: int | None = 0, output: str = "") -> CommandRun:
    return CommandRun(code, code is None, output, ({"event": "session"}, *records), (), 1.0)


START = {"event": "start", "test": NAME}
PASSED = (START, phase("passed", "setup"), phase("passed", "call", (TRITON,)), phase("passed", "teardown"))
PORTED = (START, phase("passed", "setup"), phase("passed", "call", (GLUON,)), phase("passed", "teardown"))


@pytest.mark.parametrize(
    ("original", "port", "verdict", "why"),
    [
        (PASSED, PORTED, Verdict.PASS, "2 launches"),
        (PASSED, PASSED, Verdict.NOT_COMPARABLE, "launches no Gluon kernel"),
        (
            PASSED,
            (START, phase("passed", "setup"), failed()),
            Verdict.FAIL,
            "passes with the original and fails with the port: AssertionError: 3",
        ),
        (
            PASSED,
            (*PORTED[:3], failed("teardown")),
            Verdict.FAIL,
            "passes with the original and fails with the port: AssertionError: 3",
        ),
        (PASSED, (START,), Verdict.FAIL, "passes with the original and does not end with the port"),
        (PASSED, (), Verdict.FAIL, "passes with the original and does not end with the port"),
        (
            PASSED,
            (START, phase("skipped", "setup")),
            Verdict.FAIL,
            "passes with the original and is skipped with the port",
        ),
        ((START, failed()), PORTED, Verdict.NOT_COMPARABLE, "fails with the original: AssertionError: 3"),
        ((START, failed()), (START, failed()), Verdict.NOT_COMPARABLE, "fails with the original: AssertionError: 3"),
        (
            (START, phase("xfailed")),
            (START, phase("xfailed")),
            Verdict.NOT_COMPARABLE,
            "fails as expected with the original",
        ),
        ((START, phase("skipped")), (START, phase("skipped")), Verdict.NOT_RUN, "skipped"),
        # A plugin that repeats failures: the last time counts.
        (PASSED, (START, failed(), *PORTED), Verdict.PASS, "4 launches"),
    ],
)
def test_one_test(original: Any, port: Any, verdict: Verdict, why: str) -> None:
    (result,) = compare_runs(run(*original), run(*port), "pytest")
    assert (result.verdict, result.why) == (verdict, why)


@pytest.mark.parametrize(
    ("code", "output", "verdict"),
    [
        (1, "ModuleNotFoundError: No module named 'x'", Verdict.NOT_COMPARABLE),
        (2, "!!!! Interrupted: 1 error during collection !!!!", Verdict.NOT_COMPARABLE),
        (2, "python: can't open file 'train.py'", Verdict.ERROR),
        (4, "ERROR: file or directory not found: tests", Verdict.ERROR),
        (-11, "", Verdict.ERROR),
    ],
)
def test_what_the_user_s_own_code_raises_is_not_a_wrong_call(code: int, output: str, verdict: Verdict) -> None:
    ended = run(code=code, output=output)
    result = _judged("T2", "k.py", [], {"original": ended, "port": ended})
    assert (result.verdict, result.findings[0].message) == (verdict, f"the command ran no test (exit status {code})")
    assert result.findings[0].advice == hints.NO_TEST


def test_a_module_that_cannot_be_imported_with_the_port_is_a_test_that_fails() -> None:
    broken = {**failed("collect"), "test": "tests/test_a.py"}
    first, second = compare_runs(run(*PASSED), run(broken, code=2), "pytest")
    assert (first.name, first.verdict) == (NAME, Verdict.FAIL)
    assert (second.name, second.verdict) == ("tests/test_a.py", Verdict.NOT_COMPARABLE)


@pytest.mark.parametrize(
    ("codes", "launches", "verdict", "why"),
    [
        ((0, 0), (GLUON,), Verdict.PASS, "2 launches"),
        ((0, 1), (GLUON,), Verdict.FAIL, "passes with the original and fails with the port: wrong numbers"),
        ((0, None), (GLUON,), Verdict.FAIL, "passes with the original and does not end with the port: wrong numbers"),
        ((1, 0), (GLUON,), Verdict.NOT_COMPARABLE, "fails with the original: wrong numbers"),
        ((0, 0), (), Verdict.NOT_COMPARABLE, "launches no Gluon kernel"),
    ],
)
def test_a_command_that_is_not_pytest_is_one_test(codes: Any, launches: Any, verdict: Verdict, why: str) -> None:
    runs = [CommandRun(code, code is None, "log\nwrong numbers\n", (), launches, 1.0) for code in codes]
    (result,) = compare_runs(runs[0], runs[1], "python train.py")
    assert (result.name, result.verdict, result.why) == ("python train.py", verdict, why)


def test_the_summary_names_the_test_that_says_nothing() -> None:
    names = {"a": Verdict.PASS, "b": Verdict.NOT_COMPARABLE, "c": Verdict.FAIL}
    tests = [TestResult(name, verdict, f"says {name}", TestRun(), TestRun()) for name, verdict in names.items()]
    assert _counts(tests, 2) == "1 of 3 tests pass with the port, not compared: b says b; 2 others do not launch it"
    more = [*tests, TestResult("d", Verdict.NOT_RUN, "skipped", TestRun(), TestRun())]
    assert "1 of 4 tests pass with the port, not compared: b says b (and 1 more); " in _counts(more, 0)


def test_tests_that_fail_with_the_original_are_to_be_mended_first() -> None:
    for original, hint in (((START, failed()), hints.FAILING_TESTS), (PASSED, hints.NO_GLUON_TEST)):
        runs = {"original": run(*original), "port": run(*PASSED)}
        found = _judged("T2", "k.py", compare_runs(runs["original"], runs["port"], "pytest"), runs).findings[0]
        assert found.advice == hint
