"""The tiers of kernel files, each in a process of its own, and the verdicts."""

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from tritonport.packages import lacking
from tritonport.report.diagnostic import Diagnostic, InputError
from tritonport.verify import codes
from tritonport.verify.case import case_beside, defines_case, find_case, named_kernel_file
from tritonport.verify.isolate import Outcome, run_isolated
from tritonport.verify.request import Request, make_port, stage_changes_nothing
from tritonport.verify.verdict import DEFAULT_TIERS, FileResult, TierResult, Verdict

DEFAULT_TIMEOUTS: Mapping[str, float] = {"T0": 60.0, "T1": 600.0, "T2": 60.0, "T3": 300.0, "T4": 900.0}
"""Seconds for one tier of one file."""

Progress = Callable[[str, str], None]
"""Called with the file and what is being done with it; from several threads."""


@dataclass(frozen=True)
class ParityOptions:
    """What to check and how.

    Attributes:
        tiers: in order.
        requested: the tiers that the user named: NOT-RUN is not enough for them.
        targets: the architectures to compile for; the first is the one emulated.
        triton: the Triton version to convert for; it must be the one that runs the port.
        stages: how far to convert: `literal`, or stages of `tritonport.upgrade`; each gives a result of its own.
        case, port: files to use in place of the case that is found and of the conversion.
        seeds: in place of those of the case.
        timeout: seconds for a tier of a file; None: `DEFAULT_TIMEOUTS`.
        save_dir: where the inputs of failures are saved.
        replay: a saved failure to run again.
        jobs: files at work at once.
        boundaries: run the sizes of a case at the edges of their blocks too.
    """

    tiers: tuple[str, ...] = DEFAULT_TIERS
    requested: frozenset[str] = frozenset()
    targets: tuple[str, ...] = ("sm_90",)
    triton: str = "3.9"
    stages: tuple[str, ...] = ("literal",)
    case: str | None = None
    port: str | None = None
    seeds: tuple[int, ...] | None = None
    timeout: float | None = None
    save_dir: str | None = None
    replay: str | None = None
    jobs: int = 1
    boundaries: bool = True


def takes_part(file: Path) -> bool:
    """Whether a file found in a directory is a kernel file with a case (not a case beside its kernel file)."""
    stem = file.stem.removesuffix("_case")
    if stem != file.stem and file.with_name(f"{stem}.py").is_file():
        return False
    try:
        return case_beside(file).is_file() or defines_case(file)
    except InputError:
        return False


def check_files(
    files: Sequence[str], options: ParityOptions, on_progress: Progress = lambda file, what: None
) -> list[FileResult]:
    """Checks each file on each stage, in the order of the files. A file that goes wrong stops no other."""
    work = [(file, stage) for file in files for stage in options.stages]
    if options.jobs <= 1 or len(work) <= 1:
        return [check_file(file, options, on_progress, stage) for file, stage in work]
    with ThreadPoolExecutor(options.jobs) as pool:
        return list(pool.map(lambda one: check_file(one[0], options, on_progress, one[1]), work))


def check_file(
    file: str, options: ParityOptions, on_progress: Progress = lambda file, what: None, stage: str = "literal"
) -> FileResult:
    """All tiers of one file on one stage; of the kernel file beside it, where a case is named."""
    try:
        file, named = kernel_file_of(file)
    except InputError as error:
        found = error.diagnostic
        failed = TierResult(options.tiers[0], Verdict.ERROR, found.message, (found,))
        return FileResult(file, None, (failed,), stage=stage)
    explicit = options.case or named
    case, missing = None, None
    try:
        case = str(find_case(Path(file), Path(explicit) if explicit else None))
    except InputError as error:
        missing = error.diagnostic
    results: list[TierResult] = []
    for tier in options.tiers:
        result = _without_running(tier, missing, results)
        if result is None:
            on_progress(file, tier)
            request = Request(
                tier,
                file,
                case,
                options.port,
                options.triton,
                options.targets,
                options.seeds,
                options.save_dir,
                options.replay,
                options.timeout or DEFAULT_TIMEOUTS[tier],
                stage,
                options.boundaries,
            )
            result = run_request(request, lambda phase, tier=tier: on_progress(file, f"{tier} {phase}"))  # type: ignore[misc]
        results.append(result)
    return FileResult(file, case, tuple(results), options.requested, stage)


def kernel_file_of(file: str) -> tuple[str, str | None]:
    """The kernel file, and the case where that is what was named: `softmax_case.py` stands for `softmax.py`.

    Raises InputError for a case that does not parse, or whose kernel file does not exist.
    """
    path = Path(file)
    elsewhere = named_kernel_file(path) if path.stem.endswith("_case") and path.is_file() else None
    if elsewhere is not None:
        if not elsewhere.is_file():
            message = f"there is no kernel file {elsewhere}"
            raise InputError(Diagnostic(codes.UNREADABLE, message, file, 1, 1))
        return os.path.normpath(elsewhere), file
    kernel = path.with_name(f"{path.stem.removesuffix('_case')}.py")
    return (str(kernel), file) if kernel != path and kernel.is_file() else (file, None)


def _without_running(tier: str, missing: Diagnostic | None, before: Sequence[TierResult]) -> TierResult | None:
    """The result of a tier that need not be started; None for one that must."""
    if before and before[0].tier == "T0" and before[0].verdict is Verdict.ERROR:
        return TierResult(tier, Verdict.NOT_RUN, "T0 found the input unusable")
    if tier == "T0":
        return None
    if missing is not None and missing.code != codes.NOT_COMPARABLE:
        return TierResult(tier, Verdict.ERROR, missing.message, (missing,))
    if missing is not None:
        # One finding for the file is enough.
        said = any(missing in result.findings for result in before)
        return TierResult(tier, Verdict.NOT_COMPARABLE, "no case", () if said else (missing,))
    why = lacking("torch", "triton")
    return TierResult(tier, Verdict.NOT_RUN, why) if why else None


def run_tier(request: Request) -> TierResult:
    """One tier in this process. What it needs is imported here: T0 runs without torch."""
    try:
        result = _run_tier(request)
        # Nothing to say of a port that was not made: that takes longer than to see what is missing.
        if result.verdict is not Verdict.NOT_RUN and stage_changes_nothing(request, request.targets[0]):
            note = f"the stage {request.stage} changes nothing here: the port is the literal one"
            result = replace(result, notes=(note, *result.notes))
        return result
    except InputError as error:
        found = error.diagnostic
        return TierResult(request.tier, Verdict.ERROR, found.message, (found,))


def _run_tier(request: Request) -> TierResult:
    if request.tier == "T0":
        from tritonport.verify.static_tier import run_static

        return run_static(request)
    if request.tier == "T1":
        from tritonport.verify.compile_tier import run_compile

        return run_compile(request)
    from tritonport.verify.numeric_tier import run_emulated, run_on_gpu

    return run_emulated(request) if request.tier == "T2" else run_on_gpu(request)


def run_request(request: Request, on_phase: Callable[[str], None] = lambda phase: None) -> TierResult:
    """One tier in a process of its own, with its time limit; T4 has one for each of its sanitizers."""
    if request.tier == "T4":
        from tritonport.verify.sanitize import run_sanitizers

        return run_sanitizers(request, on_phase)
    outcome = run_isolated(
        run_tier, request, timeout=request.timeout, environment=run_environment(request), on_phase=on_phase
    )
    result: TierResult = outcome.value if outcome.returned else ended_badly(request, outcome)
    return replace(result, seconds=round(outcome.seconds, 3))


def ended_badly(request: Request, outcome: Outcome) -> TierResult:
    """The result of a tier whose process did not return one."""
    if outcome.timed_out:
        return _timed_out(request, outcome)
    return _internal(request, outcome) if outcome.error is not None else _crashed(request, outcome)


def run_environment(request: Request) -> dict[str, str]:
    """The environment of the process that runs a tier."""
    # Under TRITON_INTERPRET a jitted function is none.
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    if request.tier == "T3":
        # Contraction happens below PTX: the same arithmetic in another layout may contract elsewhere.
        environment.setdefault("TRITON_DEFAULT_FP_FUSION", "0")
    return environment


def _place(request: Request, outcome: Outcome) -> tuple[str, int, str]:
    """The innermost line of the user's at the end of a process: path, line, and words where it is in no file.

    The file of a converted port is gone with the process; its text is made again.
    """
    shown = {os.path.realpath(file): file for file in (request.kernel_file, request.case, request.port) if file}
    name = Path(request.kernel_file).name
    for file, line in outcome.frames:
        if os.path.realpath(file) in shown:
            return shown[os.path.realpath(file)], line, ""
        if Path(file).name == name and Path(file).parent.name.startswith("tritonport-"):
            lines = make_port(request, request.targets[0]).text.splitlines()
            words = f"; line {line} of the port: {lines[line - 1].strip()}" if line <= len(lines) else ""
            return request.kernel_file, 1, words
    return request.port or request.kernel_file, 1, ""


def _ended(request: Request, outcome: Outcome, code: str, verdict: Verdict, what: str) -> TierResult:
    path, line, words = _place(request, outcome)
    tail = tuple(outcome.output.strip().splitlines()[-5:])
    return TierResult(request.tier, verdict, what, (Diagnostic(code, what + words, path, line, 1),), tail)


def _timed_out(request: Request, outcome: Outcome) -> TierResult:
    side = outcome.phase.partition(":")[0]
    what = f"{outcome.phase or 'starting'}: not done after {request.timeout:g} s"
    # A port that hangs is wrong; where the original does, or the case itself, nothing is known about the port.
    verdict = {"port": Verdict.FAIL, "original": Verdict.NOT_COMPARABLE}.get(side, Verdict.ERROR)
    return _ended(request, outcome, codes.TIMEOUT, verdict, what)


def _crashed(request: Request, outcome: Outcome) -> TierResult:
    what = f"{outcome.phase or 'starting'}: the process ended with {outcome.signal}"
    return _ended(request, outcome, codes.CRASHED, Verdict.ERROR, what)


def _internal(request: Request, outcome: Outcome) -> TierResult:
    lines = (outcome.error or "").strip().splitlines()
    what = f"tritonport itself failed: {lines[-1] if lines else 'no message'}"
    finding = Diagnostic(codes.INTERNAL, what, request.kernel_file, 1, 1)
    return TierResult(request.tier, Verdict.ERROR, what, (finding,), tuple(lines))
