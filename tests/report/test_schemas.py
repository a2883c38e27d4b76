"""The documents that the reports write, against the schemas that are published for them."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.bench.made import bench, size
from tests.report.test_formats import REPORT
from tritonport.bench.result import FileBench, Lane, SizeResult, Status, Work, gate_failures
from tritonport.bench.table import to_json
from tritonport.report import Diagnostic, render
from tritonport.verify.parity_report import render_results
from tritonport.verify.verdict import FileResult, TierResult, Verdict

jsonschema = pytest.importorskip("jsonschema")
SCHEMAS = Path(__file__).parents[2] / "rules" / "schemas"

DIFFERENCE = {
    "name": "result", "text": "result differs", "count": 1, "total": 4, "ulp": None, "passing_atol": 0.1,
    "passing_rtol": None, "port_error": {"max": 0.1, "rms": None}, "original_error": None, "tolerable": False,
}  # fmt: skip
RUN = {"seed": 0, "variant": 0, "configuration": 0, "verdict": "FAIL", "compared": 1, "differences": [DIFFERENCE]}
TEST = {
    "test": "tests/test_a.py::test_a", "verdict": "PASS", "original": "passed", "port": "passed", "why": "1 launch",
    "launches": [{"file": "a.py", "kernel": "k", "gluon": True, "count": 1}],
}  # fmt: skip
FOUND = Diagnostic("TP801", "result differs | `here`", "a.py", 3, 1, "k")
RESULTS = [
    FileResult(
        "a.py",
        "a_case.py",
        (
            TierResult("T0", Verdict.PASS, "1 Gluon function"),
            TierResult("T2", Verdict.FAIL, "1 of 1 run", (FOUND,), ("a note",), {"runs": [RUN], "tests": [TEST]}, 1.5),
        ),
    ),
    FileResult("b.py", None, (TierResult("T2", Verdict.NOT_RUN, "no GPU"),)),
]


def schema(name: str) -> Any:
    found = json.loads((SCHEMAS / f"{name}.json").read_text())
    jsonschema.Draft202012Validator.check_schema(found)
    return found


def test_the_report() -> None:
    document = json.loads(render(REPORT, "json"))
    jsonschema.validate(document, schema("report"))
    document["files"][0]["diagnostics"][0]["severity"] = "fatal"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document, schema("report"))


def test_the_report_of_a_benchmark() -> None:
    wrong = Lane("tma", Status.WRONG, "result differs")
    work = Work(8_000_000, False, 2e9, "bfloat16")
    found = [
        bench(size(lanes=(wrong,)), size(work=work), SizeResult("8", {"M": 8}, problem="all zeros")),
        FileBench("b.py", None, Verdict.NOT_RUN, "no GPU"),
    ]
    failures = gate_failures(found, 2.0)
    document = json.loads(json.dumps(to_json(found, failures, 2.0)))
    jsonschema.validate(document, schema("bench"))
    assert (document["exit_code"], len(document["below_min_speed"])) == (1, 2)
    first, second, third = document["files"][0]["sizes"]
    assert [one["status"] for one in first["stages"]] == ["timed", "timed", "timed", "wrong"]
    assert (first["work"]["counted"], second["work"]["counted"]) == (True, False)
    assert second["stages"][2]["rate"] == {"value": 1.25, "unit": "TFLOP/s", "share": 1.25 / 700.0, "of": "matmul"}
    assert second["stages"][2]["speed"]["ratio"] == 1.25
    assert {key: second["stages"][2]["gain"][key] for key in ("over", "ratio")} == {"over": "literal", "ratio": 2.5}
    assert (third["control"], third["stages"], third["sizes"]) == (None, [], {"M": 8})
    # A number for what was not timed has no place in it.
    del document["files"][0]["sizes"][0]["stages"][1]["ms"]["p90"]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document, schema("bench"))


def test_the_parity_report() -> None:
    document = json.loads(render_results(RESULTS, "json"))
    jsonschema.validate(document, schema("parity"))
    del document["files"][0]["tiers"][1]["runs"][0]["differences"][0]["ulp"]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document, schema("parity"))


def test_the_summary_of_a_job() -> None:
    assert render_results(RESULTS, "markdown").splitlines() == [
        "### tritonport parity",
        "",
        "| file | T0 | T2 | verdict |",
        "|---|---|---|---|",
        "| a.py | PASS | FAIL | FAIL |",
        "| b.py |  | NOT-RUN | NOT-RUN |",
        "",
        "2 files: 1 FAIL, 1 NOT-RUN",
        "",
        "| where | | code | what |",
        "|---|---|---|---|",
        "| a.py:3 | error | TP801 | result differs \\| \\`here\\` |",
    ]
