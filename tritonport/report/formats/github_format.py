"""Workflow commands of GitHub Actions: one annotation per finding."""

from tritonport.report.report import Report

_COMMANDS = {"error": "error", "warning": "warning", "info": "notice"}


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def render(report: Report) -> str:
    """All findings, one command a line."""
    return "".join(
        f"::{_COMMANDS[found.severity]} file={_property(found.path)},line={found.line},col={found.column},"
        f"title={_property(f'{found.code} {found.name}')}::{_data(f'{found.message} ({found.advice})')}\n"
        for found in report.diagnostics
    )
