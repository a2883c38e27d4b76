"""For a person: the finding, the line it is about, and what to do."""

from tritonport.report.diagnostic import Diagnostic
from tritonport.report.formats.concise_format import line
from tritonport.report.report import Report


def _excerpt(found: Diagnostic, text: str) -> str:
    number = str(found.line)
    margin = " " * len(number)
    # Tabs are kept in the marker's indentation, so that it stands below its column whatever a tab is wide.
    before = "".join("\t" if char == "\t" else " " for char in text[: found.column - 1])
    return f"{margin} |\n{number} | {text}\n{margin} | {before}^\n"


def render(report: Report) -> str:
    """All findings, with a blank line after each."""
    lines = {(file.path, number): text for file in report.files for number, text in file.source_lines.items()}
    parts = []
    for found in report.diagnostics:
        text = lines.get((found.path, found.line), "")
        excerpt = _excerpt(found, text) if text.strip() else ""
        parts.append(f"{line(found)}\n{excerpt}  = {found.advice}\n\n")
    return "".join(parts)
