"""What a stage may change in the files of a request: their accesses as tables, and the findings."""

from collections.abc import Iterator
from pathlib import Path

from tritonport.report import Diagnostic, FileReport, InputError, Report
from tritonport.run.paths import STDIN, find_inputs
from tritonport.run.request import Request
from tritonport.run.textfile import decode_source, read_bytes
from tritonport.upgrade.multibuffer import STAGE
from tritonport.upgrade.table import render_tables, tables_of


def check_stage(request: Request) -> tuple[Report, str]:
    """The report of `request.options.stage` over the files of a request, and their tables as text; writes nothing."""
    report, texts = Report(dry=True), []
    stage = request.options.stage
    for path, data in _inputs(request):
        try:
            text = decode_source(read_bytes(data, path) if not isinstance(data, bytes) else data, path).text
            tables = tables_of(text, path, stage, request.options)
        except InputError as error:
            report.add(FileReport(path, diagnostics=(error.diagnostic,)))
            continue
        found = [one for table in tables for one in table.diagnostics(path) if request.selection.covers(one)]
        if not tables:
            what = "Gluon kernel with a loop that copies tiles" if stage == STAGE else "kernel with a load or a store"
            found.append(Diagnostic("TP003", f"no {what} in this file", path, 1, 1))
        lines = text.split("\n")
        shown = {one.line: lines[one.line - 1] for one in found if 0 < one.line <= len(lines)}
        report.add(FileReport(path, diagnostics=tuple(found), source_lines=shown))
        texts.append(render_tables(tables, path))
    return report, "\n".join(text for text in texts if text)


def _inputs(request: Request) -> Iterator[tuple[str, Path | bytes]]:
    if STDIN in request.paths:
        yield request.stdin_path, request.stdin
    for one in find_inputs([path for path in request.paths if path != STDIN], request.exclude):
        yield one.path, one.file


__all__ = ["check_stage"]
