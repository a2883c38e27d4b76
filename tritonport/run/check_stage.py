"""What a stage may change in the files of a request: their accesses as tables, and the findings."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from tritonport.convert import ConvertOptions
from tritonport.report import Diagnostic, FileReport, InputError, Report
from tritonport.run.request import Request
from tritonport.run.textfile import decode_source, read_bytes
from tritonport.source.module import SourceModule
from tritonport.source.paths import STDIN, find_inputs
from tritonport.source.project import shared_project
from tritonport.upgrade import multibuffer
from tritonport.upgrade.mma.table import DotTable, dot_tables, render_dots
from tritonport.upgrade.table import KernelTable, render_tables, tables_of

_SUBJECTS = {"mma": "dot in a loop", multibuffer.STAGE: "loop that copies tiles in a Gluon kernel"}


def check_stage(request: Request) -> tuple[Report, str]:
    """The report of `request.options.stage` over the files of a request, and their tables as text; writes nothing."""
    report, texts = Report(dry=True), []
    for path, data in _inputs(request):
        try:
            text = decode_source(read_bytes(data, path) if not isinstance(data, bytes) else data, path).text
            tables, shown_as = _tables(text, path, request.options)
        except InputError as error:
            report.add(FileReport(path, diagnostics=(error.diagnostic,)))
            continue
        found = [one for table in tables for one in table.found if request.selection.covers(one)]
        if not tables:
            said = f"no {_SUBJECTS.get(str(request.options.stage), 'load or store')} in this file"
            if _has_kernels(text, path, request.options):
                shown_as = f"{path}: {said}\n"
            else:
                found.append(Diagnostic("TP003", said, path, 1, 1))
        lines = text.split("\n")
        shown = {one.line: lines[one.line - 1] for one in found if 0 < one.line <= len(lines)}
        report.add(FileReport(path, diagnostics=tuple(found), source_lines=shown))
        texts.append(shown_as)
    return report, "\n".join(text for text in texts if text)


def _tables(text: str, path: str, options: ConvertOptions) -> tuple[Sequence[KernelTable | DotTable], str]:
    """The tables of a stage, and as text: of dots for the stage that starts them, else of loads and stores."""
    if options.stage == "mma":
        dots = dot_tables(text, path, options)
        return dots, render_dots(dots, path)
    tables = tables_of(text, path, options.stage, options)
    return tables, render_tables(tables, path)


def _has_kernels(text: str, path: str, options: ConvertOptions) -> bool:
    """Whether a file has kernels of the language that a stage reads, so that it has nothing to do there."""
    kernels = SourceModule(text, path, shared_project()).kernels
    return any(options.stage != multibuffer.STAGE or kernel.language == "gluon" for kernel in kernels)


def _inputs(request: Request) -> Iterator[tuple[str, Path | bytes]]:
    if STDIN in request.paths:
        yield request.stdin_path, request.stdin
    for one in find_inputs([path for path in request.paths if path != STDIN], request.exclude):
        yield one.path, one.file


__all__ = ["check_stage"]
