"""Verdicts and exit codes."""

from dataclasses import replace

import pytest

from tritonport.report import Diagnostic
from tritonport.verify.parity_report import render_results, summary
from tritonport.verify.verdict import FileResult, TierResult, Verdict, exit_code, worst

PASS, TOLERANCE, FAIL, ERROR = Verdict.PASS, Verdict.PASS_TOLERANCE, Verdict.FAIL, Verdict.ERROR
NOT_COMPARABLE, NOT_RUN = Verdict.NOT_COMPARABLE, Verdict.NOT_RUN


def result(requested=(), **verdicts):
    return FileResult(
        "k.py", None, tuple(TierResult(tier, verdict) for tier, verdict in verdicts.items()), frozenset(requested)
    )


@pytest.mark.parametrize(
    ("verdicts", "code"),
    [
        ({"T0": PASS, "T1": PASS, "T2": PASS, "T3": NOT_RUN}, 0),
        ({"T0": PASS, "T2": TOLERANCE}, 0),
        ({"T0": PASS, "T1": FAIL, "T2": PASS}, 1),
        ({"T0": PASS, "T1": FAIL, "T2": ERROR}, 2),
        ({"T0": PASS, "T1": NOT_COMPARABLE, "T2": PASS}, 3),
        ({"T0": FAIL, "T2": NOT_COMPARABLE}, 1),
        ({"T2": NOT_RUN, "T3": NOT_RUN}, 3),
        ({"T0": PASS, "T1": PASS, "T2": NOT_RUN, "T3": NOT_RUN}, 3),
        ({"T0": PASS, "T1": NOT_RUN}, 0),
        ({}, 3),
    ],
)
def test_exit_code_of_a_file(verdicts, code):
    assert result(**verdicts).exit_code == code


def test_a_tier_that_was_asked_for_and_did_not_run_is_3():
    assert result(requested=("T2", "T3"), T2=PASS, T3=NOT_RUN).exit_code == 3
    assert result(requested=("T2",), T2=PASS).exit_code == 0


def test_exit_code_of_several_files():
    good, bad, unusable, nothing = (result(T2=verdict) for verdict in (PASS, FAIL, ERROR, NOT_RUN))
    assert exit_code([good, nothing]) == 3
    assert exit_code([good, nothing, bad]) == 1
    assert exit_code([unusable, bad]) == 2
    assert exit_code([good, good]) == 0
    assert exit_code([]) == 3


def test_the_worst_verdict():
    assert worst([PASS, NOT_RUN]) is PASS
    assert worst([PASS, TOLERANCE]) is TOLERANCE
    assert worst([NOT_COMPARABLE, FAIL]) is FAIL
    assert worst([]) is NOT_RUN


def test_the_summary_says_why_the_exit_code_is_3_where_every_verdict_is_a_pass():
    stages = [replace(result(("T1", "T2"), T1=NOT_RUN, T2=PASS), stage=stage) for stage in ("literal", "all")]
    assert summary(stages) == "1 file, 2 stages: 2 PASS; T1 NOT-RUN, though asked for (exit code 3)"
    assert summary([result(T0=PASS, T2=NOT_RUN)]) == "1 file: 1 PASS; no kernel was run (exit code 3)"
    assert summary([result(T2=PASS, T3=NOT_RUN)]) == "1 file: 1 PASS"
    assert summary([result(T2=NOT_COMPARABLE)]) == "1 file: 1 NOT-COMPARABLE"


def test_a_finding_of_every_stage_is_said_once_and_one_of_a_stage_names_it():
    shared, own = (Diagnostic("TP805", text, "k.py", 1, 1) for text in ("nothing to compare", "it hangs"))
    found = {"literal": (shared,), "all": (shared, own)}
    results = [
        FileResult("k.py", None, (TierResult("T2", NOT_COMPARABLE, "", findings),), stage=stage)
        for stage, findings in found.items()
    ]
    text = render_results(results, "concise")
    assert text.count("nothing to compare\n") == 1
    assert text.count("it hangs (stage all)\n") == 1
