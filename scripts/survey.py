"""Run the tool over the packages people use and say, package by package, how far it comes.

    python scripts/survey.py NAME=DIRECTORY ... --table FILE --json FILE -j 2

Every kernel is converted; those converted are compiled offline, original and port, with guessed signatures, and held
to the bars of a literal port. What converts and does not compile, or misses a bar, is listed with the reason.
The packages must be importable: their directories, and what they import, belong on PYTHONPATH.
"""

from __future__ import annotations

import functools
import json
import math
import os
import random
import signal
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from types import FrameType

import click

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from surveys.findings import KernelFinding, entries, find_status
from surveys.sides import ResultCache, compile_sides, prepare_process
from surveys.tables import markdown, print_summary, print_worklist, to_json

from tritonport.convert import ConvertOptions
from tritonport.report import Selection
from tritonport.run.convert_file import ConvertTask, FileResult, convert_file
from tritonport.run.progress import ProgressLine
from tritonport.source.paths import InputFile, find_inputs
from tritonport.verify.compile.bars import compare
from tritonport.verify.compile.resources import CompileFailure, Resources
from tritonport.verify.compile.side import CompiledSpec, SideRequest
from tritonport.verify.compile.signature import OTHER_POINTERS, guess, with_pointers

_CONVERT_LIMIT = 60
"""Seconds for the conversion of one file: far beyond what any takes, so that one that hangs is a finding."""


_CHUNK = 8
"""Files compiled on one side before the other side follows."""


def _ring(signum: int, frame: FrameType | None) -> None:
    raise TimeoutError(f"the conversion takes more than {_CONVERT_LIMIT} s")


def convert_timed(task: ConvertTask) -> tuple[FileResult, float]:
    """The result of one file and the seconds it took."""
    signal.signal(signal.SIGALRM, _ring)
    signal.alarm(_CONVERT_LIMIT)
    start = time.monotonic()
    try:
        result = convert_file(task)
    finally:
        signal.alarm(0)
    return result, time.monotonic() - start


def convert_package(
    inputs: list[InputFile], options: ConvertOptions, jobs: int
) -> tuple[list[tuple[InputFile, FileResult, float]], float]:
    """Every file of a package with its result and its seconds, and the seconds the whole package took."""
    tasks = [ConvertTask(one.path, options, Selection(), file=one.file, explicit=False) for one in inputs]
    start = time.monotonic()
    with ProcessPoolExecutor(max_workers=jobs) as pool:
        results = list(pool.map(convert_timed, tasks))
    wall = time.monotonic() - start
    return [(one, result, seconds) for one, (result, seconds) in zip(inputs, results, strict=True)], wall


def _named(argument: str) -> tuple[str, str]:
    """(name, directory) of an argument NAME=DIRECTORY or DIRECTORY."""
    name, _, directory = argument.rpartition("=")
    return name or Path(directory).name, directory


def choose(
    inputs: dict[str, list[InputFile]], only: set[str], sample: int | None, seed: int
) -> set[tuple[str, str]] | None:
    """(path, qualified name) of the kernels to survey: those with a name in `only`, `sample` of them; None for all."""
    if not only and sample is None:
        return None
    found = [
        (one.path, kernel)
        for files in inputs.values()
        for one in files
        for kernel in sorted(entries(one.file.read_text(encoding="utf-8", errors="replace")))
        if not only or kernel.rpartition(".")[2] in only
    ]
    return set(found if sample is None or sample >= len(found) else random.Random(seed).sample(found, sample))


@click.command()
@click.argument("packages", nargs=-1, required=True)
@click.option("--exclude", multiple=True, help="Glob of files and directories to leave out; repeatable.")
@click.option("--target", default="sm_90", show_default=True)
@click.option("--triton", "version", default=None, help="Version to write for.  [default: the installed one]")
@click.option("-j", "--jobs", default=2, show_default=True)
@click.option("--timeout", default=120.0, show_default=True, help="Seconds for one kernel's compile.")
@click.option("--minutes", default=math.inf, help="Begin no further compile after this time.")
@click.option("--sample", type=int, help="Compile this many kernels, chosen by --seed.")
@click.option("--seed", default=0, show_default=True)
@click.option("--kernel", "only", multiple=True, help="Compile kernels with this name alone; repeatable.")
@click.option("--forgive", multiple=True, help="Package whose __init__ may fail, beside those surveyed; repeatable.")
@click.option("--no-compile", is_flag=True, help="Convert only.")
@click.option("--cache", type=click.Path(path_type=Path), help="Keep the results of compiles in this file.")
@click.option("--json", "json_file", type=click.Path(path_type=Path))
@click.option("--table", "table_file", type=click.Path(path_type=Path))
@click.option("--worklist", "show_worklist", is_flag=True, help="Print every kernel that falls short, and why.")
def main(
    packages: tuple[str, ...],
    exclude: tuple[str, ...],
    target: str,
    version: str | None,
    jobs: int,
    timeout: float,
    minutes: float,
    sample: int | None,
    seed: int,
    only: tuple[str, ...],
    forgive: tuple[str, ...],
    no_compile: bool,
    cache: Path | None,
    json_file: Path | None,
    table_file: Path | None,
    show_worklist: bool,
) -> None:
    """Survey PACKAGES, each a directory or NAME=DIRECTORY."""
    import triton

    os.environ.pop("TRITON_INTERPRET", None)
    version = version or ".".join(triton.__version__.split(".")[:2])
    progress = ProgressLine(quiet=False)
    findings: list[KernelFinding] = []
    texts: dict[str, tuple[InputFile, FileResult]] = {}
    seconds: dict[str, float] = {}
    inputs = {name: find_inputs([directory], exclude) for name, directory in map(_named, packages)}
    chosen = choose(inputs, set(only), sample, seed)
    for name, files in inputs.items():
        options = ConvertOptions(triton=version, target=target)
        wanted = [one for one in files if chosen is None or any(path == one.path for path, _ in chosen)]
        converted, seconds[name] = convert_package(wanted, options, jobs)
        for one, result, spent in converted:
            texts[one.path] = one, result
            findings += find_status(name, one, result, spent)
        progress(len(seconds), len(packages), name)
    progress.clear()
    findings = [one for one in findings if chosen is None or (one.path, one.qualname) in chosen]
    if not no_compile:
        names = frozenset({*forgive, *(Path(directory).name for _, directory in map(_named, packages))})
        to_compile = [one for one in findings if one.status in ("converted", "partial")]
        kept = ResultCache(cache, triton.__version__)
        first = {one.package: texts[one.path][0].file for one in reversed(to_compile)}
        prepare_process(target, names, list(first.values()), jobs)
        compile_with = functools.partial(compile_sides, cache=kept, jobs=jobs, progress=progress)
        compile_chosen(to_compile, texts, target, timeout, time.monotonic() + 60 * minutes, compile_with)
        progress.clear()
    print_summary(findings, seconds)
    if show_worklist:
        print_worklist(findings)
    if json_file is not None:
        json_file.write_text(json.dumps(to_json(findings, seconds), indent=1) + "\n", encoding="utf-8")
    if table_file is not None:
        table_file.write_text(markdown(findings, seconds, triton.__version__, target), encoding="utf-8")


def compile_chosen(
    chosen: list[KernelFinding],
    texts: dict[str, tuple[InputFile, FileResult]],
    target: str,
    timeout: float,
    end: float,
    compile_with: Callable[[Sequence[SideRequest]], list[dict[str, CompiledSpec]]],
) -> None:
    """Compile the originals of these kernels, then the ports of those that compile, and note what came of it.

    File by file in random order, so that what is done at `end` (of `time.monotonic`) is a fair sample.
    """
    by_file: dict[str, list[KernelFinding]] = {}
    for one in chosen:
        by_file.setdefault(one.path, []).append(one)
    paths = list(by_file)
    random.Random(len(paths)).shuffle(paths)
    for start in range(0, len(paths), _CHUNK):
        if time.monotonic() > end:
            break
        part = {path: by_file[path] for path in paths[start : start + _CHUNK]}
        guesses = {path: {found.kernel: found for found in guess(_source(texts[path]), path)} for path in part}
        for attempt in range(len(OTHER_POINTERS) + 1):
            wrong = [one for kernels in part.values() for one in kernels if _may_be_guessed_wrong(one)]
            for one in wrong if attempt else ():
                first = guesses[one.path][one.qualname]
                one.signature = with_pointers(first, OTHER_POINTERS[attempt - 1])
            for one in () if attempt else wrong:
                one.signature = guesses[one.path].get(one.qualname)
            compile_side_of("original", wrong, texts, target, timeout, compile_with)
        compiled = [one for kernels in part.values() for one in kernels if isinstance(one.original, Resources)]
        compile_side_of("port", compiled, texts, target, timeout, compile_with)
    for one in chosen:
        if isinstance(one.original, Resources) and isinstance(one.port, Resources):
            one.bars = compare(one.original, one.port)


def _source(read: tuple[InputFile, FileResult]) -> str:
    source = read[1].source
    assert source is not None
    return source.text


def _may_be_guessed_wrong(one: KernelFinding) -> bool:
    """Whether the original has yet to be compiled, or its compile says that something of the guess does not fit."""
    return one.original is None or (isinstance(one.original, CompileFailure) and one.original.reason == "error")


def compile_side_of(
    side: str,
    kernels: list[KernelFinding],
    texts: dict[str, tuple[InputFile, FileResult]],
    target: str,
    timeout: float,
    compile_with: Callable[[Sequence[SideRequest]], list[dict[str, CompiledSpec]]],
) -> None:
    """Compile the originals or the ports of these kernels, with the signatures they have been given."""
    by_file: dict[str, list[KernelFinding]] = {}
    for one in kernels:
        if one.signature is not None:
            by_file.setdefault(one.path, []).append(one)
    requests = [
        SideRequest(
            file=texts[path][0].file,
            path=path,
            target=target,
            text=texts[path][1].text if side == "port" else None,
            guesses=tuple(one.signature for one in found if one.signature is not None),
            timeout=timeout,
        )
        for path, found in by_file.items()
    ]
    for found, results in zip(by_file.values(), compile_with(requests), strict=True):
        for one in found:
            setattr(one, side, results[one.qualname].result)


if __name__ == "__main__":
    main()
