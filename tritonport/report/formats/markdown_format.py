"""A table of findings for a page that people read: the summary of a job, a comment on a pull request."""

from tritonport.report.report import KERNEL_STATUSES, Report


def cell(text: str) -> str:
    """A text that stays in its cell of a table, as it is written."""
    for plain, escaped in (("\\", "\\\\"), ("|", "\\|"), ("`", "\\`"), ("<", "&lt;"), ("\r", " "), ("\n", " ")):
        text = text.replace(plain, escaped)
    return text


def findings(report: Report) -> str:
    """The findings, one to a row; empty where there are none."""
    rows = [
        f"| {cell(found.path)}:{found.line} | {found.severity} | {found.code} | {cell(found.message)} |"
        for found in report.diagnostics
    ]
    return "\n".join(["| where | | code | what |", "|---|---|---|---|", *rows]) + "\n" if rows else ""


def render(report: Report) -> str:
    """What the run came to, and the findings."""
    counts = {status: report.kernels(status) for status in KERNEL_STATUSES}
    kernels = ", ".join(f"{count} {status}" for status, count in counts.items() if count)
    files = f"{len(report.files)} file" if len(report.files) == 1 else f"{len(report.files)} files"
    head = f"### tritonport\n\n{files}{f': {kernels}' if kernels else ''}\n"
    table = findings(report)
    return f"{head}\n{table}" if table else head
