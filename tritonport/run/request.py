"""What a `convert` or `check` run is asked to do, and the run itself."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tritonport.convert import ConvertOptions
from tritonport.report import UNUSABLE, Diagnostic, FileReport, Report, Selection
from tritonport.report.diagnostic import unknown_kernel
from tritonport.run.convert_file import ConvertTask, FileResult, Recover
from tritonport.run.convert_files import Progress, convert_files
from tritonport.source.paths import STDIN, InputFile, find_inputs


@dataclass(frozen=True)
class Request:
    """The inputs and settings of a run.

    Attributes:
        paths: as on the command line; `-` is standard input.
        exclude: patterns of what to pass over in a directory.
        output: a directory that is never an input, since the results go there.
        stdin: the bytes of standard input, where a path is `-`.
        stdin_path: what messages call it.
        jobs: processes at once; 0 is one per core.
        recover: write the layouts of Triton's compiler in place of the port's own.
    """

    paths: Sequence[str]
    options: ConvertOptions
    selection: Selection = field(default_factory=Selection)
    exclude: Sequence[str] = ()
    output: Path | None = None
    stdin: bytes = b""
    stdin_path: str = "<stdin>"
    jobs: int = 1
    recover: Recover | None = None


@dataclass(frozen=True)
class Outcome:
    """One file of a run: where it was found (None: standard input, or no file at all) and what came of it."""

    input: InputFile | None
    result: FileResult


def run(request: Request, progress: Progress | None = None) -> list[Outcome]:
    """Convert everything that a request names; writes nothing.

    A file of a directory is in the result when it has kernels or something is wrong with it. A `--kernel` that no file
    has (TP004) is the only outcome of its run.
    """
    inputs = _inputs(request)
    tasks = [_task(request, one) for one in inputs]
    results = convert_files(tasks, request.jobs or os.cpu_count() or 1, progress)
    outcomes = [Outcome(one, result) for one, result in zip(inputs, results, strict=True)]
    if unknown := list(_unknown_kernels(request, outcomes)):
        return [Outcome(None, FileResult(FileReport(unknown[0].path, diagnostics=tuple(unknown))))]
    kept = [one for one in outcomes if one.input is None or one.input.explicit or _matters(one.result)]
    return kept + list(_empty_directories(request, kept))


def report_of(outcomes: Sequence[Outcome], *, check: bool = False, dry: bool = False) -> Report:
    """The report of a run; see `Report` for `check` and `dry`."""
    return Report([one.result.report for one in outcomes], check=check, dry=check or dry)


def _inputs(request: Request) -> list[InputFile | None]:
    files = [path for path in request.paths if path != STDIN]
    inputs: list[InputFile | None] = list(find_inputs(files, request.exclude, request.output))
    return [None, *inputs] if len(files) < len(request.paths) else inputs


def _task(request: Request, one: InputFile | None) -> ConvertTask:
    if one is None:
        return ConvertTask(request.stdin_path, request.options, request.selection, data=request.stdin)
    return ConvertTask(
        one.path, request.options, request.selection, file=one.file, explicit=one.explicit, recover=request.recover
    )


def _matters(result: FileResult) -> bool:
    return result.has_kernels or bool(result.report.diagnostics)


def _unknown_kernels(request: Request, outcomes: Sequence[Outcome]) -> Iterator[Diagnostic]:
    asked = request.options.kernels or frozenset()
    names = {kernel.name for one in outcomes for kernel in one.result.report.kernels}
    # A file that cannot be read may be the one that has it; its own error says more.
    if asked <= names or any(one.result.report.exit_code == UNUSABLE for one in outcomes):
        return
    path = request.stdin_path if request.paths[0] == STDIN else request.paths[0]
    for name in sorted(asked - names):
        yield unknown_kernel(name, names, path)


def _empty_directories(request: Request, kept: Sequence[Outcome]) -> Iterator[Outcome]:
    filled = {one.input.directory for one in kept if one.input is not None}
    for path in request.paths:
        if path != STDIN and path not in filled and os.path.isdir(path):
            found = Diagnostic("TP003", "no Triton kernel in this directory", path, 1, 1)
            yield Outcome(None, FileResult(FileReport(path, diagnostics=(found,), is_directory=True)))
