"""The formats in which a report is written. One file per format, loaded when it is asked for."""

from importlib import import_module

from tritonport.report.report import Report

FORMATS = ("full", "concise", "json", "github", "sarif", "junit", "markdown")
"""The values of `--output-format`; each is the name of a file here."""

DOCUMENTS = frozenset({"json", "sarif", "junit", "markdown"})
"""The formats that are one whole document: nothing else may be printed beside it."""


def render(report: Report, output_format: str) -> str:
    """The report as text that ends with a newline; empty where there is nothing to say. ValueError: no such format."""
    if output_format not in FORMATS:
        raise ValueError(f"no format {output_format!r}")
    text = import_module(f"tritonport.report.formats.{output_format}_format").render(report)
    assert isinstance(text, str)
    return text
