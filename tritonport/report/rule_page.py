"""The pages of diagnostics as a person reads them."""

from collections.abc import Iterator

from tritonport.report.selection import unknown_diagnostic
from tritonport.rules_data import DiagnosticPage, codes_by_name, diagnostic_codes, load_page


def find_page(name: str) -> DiagnosticPage:
    """The page of a code or a kebab-case name; raises ValueError that names the nearest."""
    code = codes_by_name().get(name.lower(), name.upper())
    try:
        return load_page(code)
    except KeyError:
        raise ValueError(unknown_diagnostic(name)) from None


def page_text(page: DiagnosticPage) -> str:
    """One page in Markdown, with its head."""
    status = "\n\nReserved: this version does not report it." if page.reserved else ""
    return (
        f"# {page.code} {page.name}\n\n"
        f"Severity {page.severity}, effort {page.effort}, since {page.since}.{status}\n\n"
        f"{page.body}\n"
        f"What to do: {page.hint}\n"
    )


def index_markdown() -> str:
    """The table of all diagnostics, as `docs/diagnostics.md` has it."""
    return "".join(f"{line}\n" for line in _index_lines())


def _index_lines() -> Iterator[str]:
    yield "| code | name | severity | effort | what to do |"
    yield "|---|---|---|---|---|"
    for code in diagnostic_codes():
        page = load_page(code)
        link = f"[{code}](../rules/diagnostics/{code}.md)"
        severity = "reserved" if page.reserved else page.severity
        yield f"| {link} | {page.name} | {severity} | {page.effort} | {page.hint} |"
