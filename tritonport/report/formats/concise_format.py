"""One line per finding: `path:line:column: severity CODE message [kernel]`."""

from tritonport.report.diagnostic import Diagnostic
from tritonport.report.report import Report


def line(found: Diagnostic) -> str:
    """The line of one finding, without the newline."""
    kernel = f" [{found.kernel}]" if found.kernel else ""
    return f"{found.path}:{found.line}:{found.column}: {found.severity} {found.code} {found.message}{kernel}"


def render(report: Report) -> str:
    """All findings."""
    return "".join(f"{line(found)}\n" for found in report.diagnostics)
