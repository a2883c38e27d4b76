"""Each output format, read back by what reads it."""

import json
from xml.etree import ElementTree

import pytest

from tritonport import __version__
from tritonport.report import DOCUMENTS, FORMATS, Diagnostic, FileReport, KernelStatus, Report, render
from tritonport.rules_data import load_page

DOT = Diagnostic("TP101", "tl.dot is not converted", "ops/a.py", 14, 11, kernel="matmul")
HINT = Diagnostic("TP106", "num_stages=3, 50% of it", "ops/a.py", 5, 5, kernel="scale", hint="Measure.")
BROKEN = Diagnostic("TP001", "bad <token> \x07", "my dir/b.py", 2, 1)
REPORT = Report(
    [
        FileReport(
            "ops/a.py",
            (KernelStatus("scale", 4, "converted"), KernelStatus("matmul", 12, "left")),
            (DOT, HINT),
            changed=True,
            source_lines={14: "\tacc = tl.dot(a, b)", 5: "    for i in tl.range(0, n, num_stages=3):"},
        ),
        FileReport("my dir/b.py", (), (BROKEN,)),
    ]
)


def test_concise() -> None:
    assert render(REPORT, "concise").splitlines() == [
        "ops/a.py:5:5: info TP106 num_stages=3, 50% of it [scale]",
        "ops/a.py:14:11: error TP101 tl.dot is not converted [matmul]",
        "my dir/b.py:2:1: error TP001 bad <token> \x07",
    ]


def test_full_shows_the_line_and_the_advice() -> None:
    assert render(REPORT, "full") == (
        "ops/a.py:5:5: info TP106 num_stages=3, 50% of it [scale]\n"
        "  |\n"
        "5 |     for i in tl.range(0, n, num_stages=3):\n"
        "  |     ^\n"
        "  = Measure.\n"
        "\n"
        "ops/a.py:14:11: error TP101 tl.dot is not converted [matmul]\n"
        "   |\n"
        "14 | \tacc = tl.dot(a, b)\n"
        "   | \t         ^\n"
        f"  = {load_page('TP101').hint}\n"
        "\n"
        "my dir/b.py:2:1: error TP001 bad <token> \x07\n"
        f"  = {load_page('TP001').hint}\n"
        "\n"
    )


def test_json_is_the_documented_document() -> None:
    document = json.loads(render(REPORT, "json"))
    assert document["schema_version"] == 1
    assert document["tritonport"] == __version__
    assert document["exit_code"] == 2
    assert document["summary"] == {
        "files": 2,
        "changed_files": 1,
        "kernels": {"converted": 1, "left": 1, "already": 0, "skipped": 0},
        "diagnostics": {"error": 2, "warning": 0, "info": 1},
    }
    first, second = document["files"]
    assert (first["path"], first["changed"], first["exit_code"]) == ("ops/a.py", True, 1)
    assert first["kernels"][1] == {"name": "matmul", "line": 12, "status": "left"}
    assert first["diagnostics"][1] == {
        "code": "TP101",
        "name": "unsupported-call",
        "severity": "error",
        "effort": "high",
        "message": "tl.dot is not converted",
        "hint": load_page("TP101").hint,
        "path": "ops/a.py",
        "line": 14,
        "column": 11,
        "kernel": "matmul",
    }
    assert (second["exit_code"], second["kernels"], second["diagnostics"][0]["kernel"]) == (2, [], None)


def test_github_escapes_what_ends_a_command() -> None:
    found = Diagnostic("TP106", "a\nb, 50%", "dir,x/a:b.py", 5, 5, hint="Measure.")
    assert render(Report([FileReport("p", (), (found,))]), "github") == (
        "::notice file=dir%2Cx/a%3Ab.py,line=5,col=5,title=TP106 loop-hint-kept::a%0Ab, 50%25 (Measure.)\n"
    )
    assert render(REPORT, "github").splitlines()[1].startswith("::error file=ops/a.py,line=14,col=11,title=TP101 unsup")


def test_sarif() -> None:
    document = json.loads(render(REPORT, "sarif"))
    assert document["version"] == "2.1.0"
    (run,) = document["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == ["TP001", "TP101", "TP106"]
    assert rules[1]["defaultConfiguration"] == {"level": "error"}
    results = run["results"]
    assert [(one["ruleId"], one["level"]) for one in results] == [
        ("TP106", "note"),
        ("TP101", "error"),
        ("TP001", "error"),
    ]
    assert all(rules[one["ruleIndex"]]["id"] == one["ruleId"] for one in results)
    assert results[1]["locations"][0] == {
        "physicalLocation": {
            "artifactLocation": {"uri": "ops/a.py"},
            "region": {"startLine": 14, "startColumn": 11},
        },
        "logicalLocations": [{"name": "matmul", "kind": "function"}],
    }
    assert results[2]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "my%20dir/b.py"


def test_junit() -> None:
    root = ElementTree.fromstring(render(REPORT, "junit").encode())
    assert (root.get("tests"), root.get("failures"), root.get("errors")) == ("3", "1", "1")
    first, second = root
    assert [case.get("name") for case in first] == ["scale", "matmul"]
    assert first[0].find("failure") is None
    assert first[0].findtext("system-out") == "ops/a.py:5:5: info TP106 num_stages=3, 50% of it [scale]"
    failure = first[1].find("failure")
    assert failure is not None
    assert (failure.get("type"), failure.get("message")) == ("TP101", "tl.dot is not converted")
    error = second[0].find("error")
    assert error is not None
    assert (error.get("type"), error.get("message")) == ("TP001", "bad <token> \N{REPLACEMENT CHARACTER}")


def test_a_kernel_that_is_left_without_a_reason_is_a_failure() -> None:
    report = Report([FileReport("a.py", (KernelStatus("k", 1, "left"),))])
    root = ElementTree.fromstring(render(report, "junit"))
    assert root.get("failures") == "1"


@pytest.mark.parametrize("name", FORMATS)
def test_an_empty_report(name: str) -> None:
    text = render(Report(), name)
    assert bool(text) == (name in DOCUMENTS)


def test_unknown_format() -> None:
    with pytest.raises(ValueError, match="no format 'xml'"):
        render(REPORT, "xml")
