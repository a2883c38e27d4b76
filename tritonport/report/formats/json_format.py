"""The report as one JSON document; `docs/report.md` describes it.

`schema_version` grows by one whenever a field changes its meaning or goes away; a new field does not change it.
"""

import json
from typing import Any

from tritonport import __version__
from tritonport.report.diagnostic import Diagnostic
from tritonport.report.report import KERNEL_STATUSES, FileReport, Report
from tritonport.rules_data import SEVERITIES

SCHEMA_VERSION = 1


def _diagnostic(found: Diagnostic) -> dict[str, Any]:
    return {
        "code": found.code,
        "name": found.name,
        "severity": found.severity,
        "effort": found.effort,
        "message": found.message,
        "hint": found.advice,
        "path": found.path,
        "line": found.line,
        "column": found.column,
        "kernel": found.kernel,
    }


def _file(file: FileReport) -> dict[str, Any]:
    return {
        "path": file.path,
        "changed": file.changed,
        "exit_code": file.exit_code,
        "kernels": [{"name": one.name, "line": one.line, "status": one.status} for one in file.kernels],
        "diagnostics": [_diagnostic(found) for found in sorted(file.diagnostics, key=lambda one: one.sort_key)],
    }


def document(report: Report) -> dict[str, Any]:
    """The report as values that `json` can write."""
    severities = report.severities()
    return {
        "schema_version": SCHEMA_VERSION,
        "tritonport": __version__,
        "exit_code": report.exit_code,
        "summary": {
            "files": len(report.files),
            "changed_files": report.changed_files,
            "kernels": {status: report.kernels(status) for status in KERNEL_STATUSES},
            "diagnostics": {severity: severities[severity] for severity in SEVERITIES},
        },
        "files": [_file(file) for file in report.files],
    }


def render(report: Report) -> str:
    """The document, indented."""
    return json.dumps(document(report), indent=2, ensure_ascii=False) + "\n"
