"""SARIF 2.1.0, for code scanning services."""

import json
from typing import Any
from urllib.parse import quote

from tritonport import __version__
from tritonport.report.diagnostic import Diagnostic
from tritonport.report.report import Report
from tritonport.rules_data import load_page

_LEVELS = {"error": "error", "warning": "warning", "info": "note"}
_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def _rule(code: str) -> dict[str, Any]:
    page = load_page(code)
    return {
        "id": code,
        "name": page.name,
        "shortDescription": {"text": page.name},
        "help": {"text": page.body, "markdown": page.body},
        "defaultConfiguration": {"level": _LEVELS[page.severity]},
        "properties": {"effort": page.effort},
    }


def _result(found: Diagnostic, rules: list[str]) -> dict[str, Any]:
    place: dict[str, Any] = {
        "physicalLocation": {
            "artifactLocation": {"uri": quote(found.path.replace("\\", "/"))},
            "region": {"startLine": found.line, "startColumn": found.column},
        }
    }
    if found.kernel:
        place["logicalLocations"] = [{"name": found.kernel, "kind": "function"}]
    return {
        "ruleId": found.code,
        "ruleIndex": rules.index(found.code),
        "level": _LEVELS[found.severity],
        "message": {"text": f"{found.message}. {found.advice}"},
        "locations": [place],
    }


def document(report: Report) -> dict[str, Any]:
    """The report as values that `json` can write."""
    found = report.diagnostics
    rules = sorted({one.code for one in found})
    driver = {"name": "tritonport", "version": __version__, "rules": [_rule(code) for code in rules]}
    return {
        "$schema": _SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": driver},
                "columnKind": "unicodeCodePoints",
                "results": [_result(one, rules) for one in found],
            }
        ],
    }


def render(report: Report) -> str:
    """The document, indented."""
    return json.dumps(document(report), indent=2, ensure_ascii=False) + "\n"
