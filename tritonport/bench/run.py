"""Benchmarks of kernel files, each in a process of its own; a stage that ends it is left out of a second try."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tritonport.bench.interleave import Effort
from tritonport.bench.result import Ceilings, FileBench, Lane, SizeResult, Status, verdict_of
from tritonport.bench.versions import Version, known_stages, versions_of
from tritonport.packages import lacking
from tritonport.report.diagnostic import InputError
from tritonport.verify import codes
from tritonport.verify.case import case_beside, defines_case, find_case, load_case, named_kernel_file
from tritonport.verify.isolate import Outcome, report_phase, run_isolated
from tritonport.verify.parity import kernel_file_of
from tritonport.verify.verdict import Verdict

if TYPE_CHECKING:
    from tritonport.bench.clock import Clock
    from tritonport.bench.measure import Loaded

DEFAULT_TIMEOUT = 600.0
"""Seconds for one try at one file."""
Progress = Callable[[str, str], None]
"""Called with the file and what is being done with it."""


@dataclass(frozen=True)
class BenchOptions:
    """What to time and how.

    Attributes:
        stages: as `versions.check_stage` takes them; empty: all that there are.
        cases: the cases of the one file; empty: the one that is found.
        port: a file that holds a port of the one file.
        sizes: values of the sizes that the case has, by the names that share them.
        seeds: for a case without `bench_inputs`.
        triton: the Triton version to convert for; it must be the one that runs the ports.
        target: the architecture to write for; None: that of the GPU.
        effort: how much is timed.
        timeout: seconds for one try at one file.
    """

    stages: tuple[str, ...] = ()
    cases: tuple[str, ...] = ()
    port: str | None = None
    sizes: dict[tuple[str, ...], tuple[Any, ...]] = field(default_factory=dict)
    seeds: tuple[int, ...] | None = None
    triton: str = "3.9"
    target: str | None = None
    effort: Effort = field(default_factory=Effort)
    timeout: float = DEFAULT_TIMEOUT


@dataclass(frozen=True)
class Task:
    """One file with one case, as it is handed to the process that times it.

    Attributes:
        broken: stages that ended such a process before, each with what happened.
    """

    file: str
    case: str
    options: BenchOptions
    broken: dict[str, str] = field(default_factory=dict)


def missing() -> str | None:
    """What a benchmark needs and is not here; None where it can run."""
    if why := lacking("torch", "triton"):
        return why
    from tritonport.verify.device import has_gpu

    return None if has_gpu() else "no GPU"


def bench_files(
    files: Sequence[str], options: BenchOptions, on_progress: Progress = lambda file, what: None
) -> list[FileBench]:
    """Times each file with each of its cases, one after another; without a GPU nothing is run."""
    found = []
    why = missing()
    for file in files:
        for case in options.cases or (None,):
            found.append(_bench_file(file, case, options, why, on_progress))
    return found


def _bench_file(
    file: str, case: str | None, options: BenchOptions, why: str | None, on_progress: Progress
) -> FileBench:
    try:
        file, named = kernel_file_of(file)
        explicit = case or named
        chosen = find_case(Path(file), Path(explicit) if explicit is not None else None)
    except InputError as error:
        lacks = error.diagnostic.code == codes.NOT_COMPARABLE
        verdict = Verdict.NOT_COMPARABLE if lacks else Verdict.ERROR
        return FileBench(file, case, verdict, error.diagnostic.message)
    if why is not None:
        return FileBench(file, str(chosen), Verdict.NOT_RUN, why)
    return run_tries(Task(file, str(chosen), options), on_progress)


def run_tries(
    task: Task,
    on_progress: Progress = lambda file, what: None,
    isolated: Callable[..., Outcome] = run_isolated,
) -> FileBench:
    """Times a file in a process of its own, again without each stage that ended it.

    Args:
        isolated: runs a function in another process.
    """
    stages = task.options.stages or known_stages()
    while True:
        outcome = isolated(
            bench_on_gpu,
            task,
            timeout=task.options.timeout,
            environment={name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"},
            on_phase=partial(on_progress, task.file),
        )
        if outcome.returned:
            found: FileBench = outcome.value
            return found
        stage, what = outcome.phase.partition(":")[0], _ended(outcome, task.options.timeout)
        if stage not in (*stages, "port") or stage in task.broken:
            where = f"{outcome.phase or 'starting'}: {what}"
            return FileBench(task.file, task.case, Verdict.ERROR, where)
        task = replace(task, broken={**task.broken, stage: what})


def _ended(outcome: Outcome, timeout: float) -> str:
    if outcome.timed_out:
        return f"not done after {timeout:g} s"
    if outcome.error is not None:
        return outcome.error.strip().splitlines()[-1]
    return f"the process ended with {outcome.signal}"


def bench_on_gpu(task: Task) -> FileBench:
    """Everything of one file, in this process, on its GPU."""
    from tritonport.bench.ceilings import ceilings, environment
    from tritonport.bench.clock import CudaClock
    from tritonport.verify.device import gpu_target

    clock = CudaClock()
    found = bench_here(task, "cuda", task.options.target or gpu_target(), clock)
    if not any(size.timings for size in found.sizes):
        return replace(found, environment=environment())
    report_phase("ceilings: a copy, and products of matrices")
    dtypes = {size.work.dtype for size in found.sizes if size.timings and size.work.flops is not None}
    measured: Ceilings = ceilings(clock, dtypes)
    return replace(found, environment=environment(), ceilings=measured)


def bench_here(task: Task, device: str, target: str, clock: Clock) -> FileBench:
    """The sizes of one file, in this process: on `cuda`, or on `cpu` inside the emulator, where times mean nothing."""
    from tritonport.bench.measure import measure
    from tritonport.bench.sizes import sizes_of

    file, case, options = Path(task.file), Path(task.case), task.options
    sizes: list[SizeResult] = []
    try:
        report_phase("original: import")
        original = load_case(case, file)
        names = options.stages or known_stages()
        port = Path(options.port) if options.port is not None else None
        made = versions_of(file, names, options.triton, target, port)
        versions = [_loaded(one, task) for one in made]
        for size in sizes_of(original, device, options.sizes, options.seeds):
            sizes.append(measure(size, original, versions, clock, options.effort))
    except InputError as error:
        return FileBench(task.file, task.case, Verdict.ERROR, str(error))
    problems = [size.problem for size in sizes if size.problem]
    message = problems[0] if problems and len(problems) == len(sizes) else ""
    return FileBench(task.file, task.case, verdict_of(sizes), message or _nothing(sizes), tuple(sizes))


def _nothing(sizes: Sequence[SizeResult]) -> str:
    if not sizes:
        return "the case has no inputs to time"
    lanes = [lane for size in sizes for lane in size.lanes[1:]]
    if not lanes or any(lane.status is not Status.NOT_APPLICABLE for lane in lanes):
        return ""
    return "no stage applies, so there is nothing to hold against the original"


def _loaded(version: Version, task: Task) -> Loaded:
    """The case against one version, or the lane that says why there is none."""
    from tritonport.bench.measure import Loaded

    stage = version.stage
    if stage in task.broken:
        return Loaded(stage, None, Lane(stage, Status.FAILED, task.broken[stage]))
    if version.text is None:
        status = Status.FAILED if version.failed else Status.NOT_APPLICABLE
        return Loaded(stage, None, Lane(stage, status, version.reason))
    report_phase(f"{stage}: import")
    try:
        return Loaded(stage, load_case(Path(task.case), Path(task.file), version.text, version.code_file))
    except InputError as error:
        return Loaded(stage, None, Lane(stage, Status.FAILED, error.diagnostic.message))


def takes_part(file: Path) -> bool:
    """Whether a file found in a directory is one to time: a kernel file that has a case with `bench_inputs`."""
    try:
        if named_kernel_file(file) is not None or file.stem.endswith("_case"):
            return False
        beside = case_beside(file)
        case = beside if beside.is_file() else file if defines_case(file) else None
        return case is not None and "def bench_inputs" in case.read_text(encoding="utf-8")
    except InputError:
        return False
