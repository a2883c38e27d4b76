"""Printing a report, the same way for every command."""

from pathlib import Path

import click

from tritonport.report import DOCUMENTS, FileReport, KernelStatus, Report, render
from tritonport.run.textfile import write_atomically

_WORDS = {
    "converted": "converted",
    "left": "left as it was",
    "already": "already Gluon",
    "skipped": "not asked for",
}


def print_report(
    report: Report,
    output_format: str,
    *,
    err: bool,
    quiet: bool = False,
    kernels: bool = False,
    statistics: bool = False,
) -> None:
    """Print the findings; for a format that is no document, also the kernels (if asked for) and a summary.

    `err` chooses standard error. `quiet` leaves only errors.
    """
    document = output_format in DOCUMENTS
    if kernels and not document:
        for file in report.files:
            for kernel in file.kernels:
                click.echo(_kernel_line(file, kernel, report.dry), err=err)
    shown = report.only_errors() if quiet and not document else report
    click.echo(render(shown, output_format), err=err, nl=False)
    if statistics:
        for count, code, name in report.statistics():
            click.echo(f"{count:>5}  {code} {name}", err=err or document)
    if not quiet and not document:
        click.echo(report.summary(), err=err)


def _kernel_line(file: FileReport, kernel: KernelStatus, dry: bool) -> str:
    words = _WORDS[kernel.status]
    if dry:
        words = {"converted": "would be converted", "left": "would be left as it is"}.get(kernel.status, words)
    if kernel.status == "left":
        why = kernel.why
        words += (
            ": nothing that is converted calls it" if why is None else f": {why.code} {why.message} (line {why.line})"
        )
    return f"{file.path}:{kernel.line}: {kernel.name}: {words}"


def write_report(report: Report, report_file: str | None) -> None:
    """Write the JSON report to a file, if one is asked for. Raises InputError (TP006)."""
    if report_file is not None:
        write_atomically(Path(report_file), render(report, "json").encode(), report_file)
