"""For a person: the finding, the line it is about, and what to do."""

from tritonport.report.diagnostic import Diagnostic
from tritonport.report.formats.concise_format import line
from tritonport.report.report import Report

_WIDTH = 120


def _excerpt(found: Diagnostic, text: str) -> str:
    number = str(found.line)
    margin = " " * len(number)
    # Tabs are kept in the marker's indentation, so that it stands below its column whatever a tab is wide.
    before = "".join("\t" if char == "\t" else " " for char in text[: found.column - 1])
    return f"{margin} |\n{number} | {text}\n{margin} | {before}^\n"


def _folded(text: str) -> str:
    """A finding of several parts, as many to a line as the width of a page takes."""
    lines: list[str] = []
    for part in text.split("; "):
        if lines and len(lines[-1]) + len(part) + 2 <= _WIDTH:
            lines[-1] += f"; {part}"
        else:
            lines.append(f"    {part}" if lines else part)
    return ";\n".join(lines)


def render(report: Report) -> str:
    """All findings, with a blank line after each."""
    lines = {(file.path, number): text for file in report.files for number, text in file.source_lines.items()}
    parts = []
    for found in report.diagnostics:
        text = lines.get((found.path, found.line), "")
        excerpt = _excerpt(found, text) if text.strip() else ""
        parts.append(f"{_folded(line(found))}\n{excerpt}  = {found.advice}\n\n")
    return "".join(parts)
