"""A kernel file by itself in the emulator: hand-written Gluon, or Triton, that is nobody's port."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from tritonport.report.diagnostic import Diagnostic, InputError
from tritonport.verify import codes
from tritonport.verify.case import DEFAULT_SEEDS, Case, find_case, load_case
from tritonport.verify.isolate import run_isolated
from tritonport.verify.parity import DEFAULT_TIMEOUTS, Progress, ended_badly, run_environment
from tritonport.verify.request import Request
from tritonport.verify.verdict import FileResult, TierResult, Verdict, worst

if TYPE_CHECKING:
    from tritonport.verify.judge import RunResult
    from tritonport.verify.launches import Launch
    from tritonport.verify.side import Side, SideFailed, Variation

TIER = "T2"


@dataclass(frozen=True)
class EmulateOptions:
    """What to run.

    Attributes:
        target: the GPU to play.
        case: a file to use in place of the case that is found.
        seeds: in place of those of the case.
        timeout: seconds for a file.
        jobs: files at work at once.
    """

    target: str = "sm_90"
    case: str | None = None
    seeds: tuple[int, ...] | None = None
    timeout: float = DEFAULT_TIMEOUTS[TIER]
    jobs: int = 1


def emulate_files(
    files: Sequence[str], options: EmulateOptions, on_progress: Progress = lambda file, what: None
) -> list[FileResult]:
    """Runs the case of each file; the results are in the order of the files."""
    with ThreadPoolExecutor(max(1, options.jobs)) as pool:
        return list(pool.map(lambda file: _emulate_file(file, options, on_progress), files))


def _emulate_file(file: str, options: EmulateOptions, on_progress: Progress) -> FileResult:
    on_progress(file, "emulate")
    try:
        case = str(find_case(Path(file), Path(options.case) if options.case else None))
    except InputError as error:
        found = error.diagnostic
        verdict = Verdict.NOT_COMPARABLE if found.code == codes.NOT_COMPARABLE else Verdict.ERROR
        return FileResult(file, None, (TierResult(TIER, verdict, "no case", (found,)),))
    request = Request(TIER, file, case, None, "", (options.target,), options.seeds, timeout=options.timeout)
    outcome = run_isolated(
        run_alone,
        request,
        timeout=options.timeout,
        environment=run_environment(request),
        on_phase=lambda phase: on_progress(file, phase),
    )
    result: TierResult = outcome.value if outcome.returned else ended_badly(request, outcome)
    if outcome.timed_out:
        # There is no original here: a kernel that does not end is at fault itself.
        result = replace(result, verdict=Verdict.FAIL)
    return FileResult(file, case, (replace(result, seconds=round(outcome.seconds, 3)),))


def run_alone(request: Request) -> TierResult:
    """Every seed and variant of the case, in this process, compared with the case's reference."""
    from tritonport.verify.side import Side, emulator

    assert request.case is not None
    try:
        with emulator(request.targets[0], 0.8 * request.timeout) as backend:
            case = load_case(Path(request.case), Path(request.kernel_file))
            return _Runs(request, case, Side("kernel", case, backend)).run()
    except InputError as error:
        return TierResult(TIER, Verdict.ERROR, error.diagnostic.message, (error.diagnostic,))


class _Runs:
    """The runs of one case."""

    def __init__(self, request: Request, case: Case, side: Side) -> None:
        self._request = request
        self._case = case
        self._side = side
        self._kernels: dict[str, str] = {}

    def run(self) -> TierResult:
        """Stops at the first fault; a wrong number does not stop the other runs."""
        from tritonport.verify.side import SideFailed, Variation

        results, compared = [], 0
        try:
            seeds = self._request.seeds or self._case.seeds or DEFAULT_SEEDS
            count = len(self._side.variants(seeds[0]))
            for variation in [*map(Variation, seeds), *(Variation(seeds[0], n) for n in range(1, count))]:
                results.append(self._one(variation))
            for config in range(1, self._side.backend.choice.most):
                results.append(self._one(Variation(seeds[0], 0, config)))
        except SideFailed as failed:
            return self._failed(failed)
        compared = sum(result.compared for result in results)
        verdict = worst(result.verdict for result in results)
        problems = [(result, code, text) for result in results for code, text in result.problems]
        findings = tuple(
            Diagnostic(code, f"{text} ({result.variation})", self._request.kernel_file, 1, 1)
            for result, code, text in problems[:5]
        )
        summary = f"{compared} results of {len(results)} runs within tolerance"
        if verdict is Verdict.NOT_COMPARABLE:
            summary = f"{len(results)} runs without a fault; {problems[0][2]}"
        elif verdict is Verdict.FAIL:
            summary = f"{sum(result.verdict is Verdict.FAIL for result in results)} of {len(results)} runs"
        data = {
            "runs": [result.to_json() for result in results],
            "kernels": [{"name": name, "dialect": dialect} for name, dialect in sorted(self._kernels.items())],
        }
        launched = ", ".join(f"{name} ({dialect})" for name, dialect in sorted(self._kernels.items()))
        return TierResult(TIER, verdict, summary, findings, (f"launched: {launched}",), data)

    def _one(self, variation: Variation) -> RunResult:
        from tritonport.verify.judge import ReferenceMismatch, RunResult, judge_alone
        from tritonport.verify.side import SideFailed

        run = self._side.run(variation)
        self._kernels.update({one.kernel: "gluon" if one.gluon else "triton" for one in run.launches})
        problem = None
        if not run.launches:
            problem = "the case launches no kernel"
        elif not any(self._is_own(one) for one in run.launches):
            problem = f"the case launches no kernel of this file, only {run.launches[0].kernel} of another"
        else:
            reference = self._side.reference(variation)
            if reference is None:
                problem = "the case has no reference to compare with"
        if problem is not None:
            return RunResult(variation, Verdict.NOT_COMPARABLE, ((codes.NOT_COMPARABLE, problem),))
        assert reference is not None
        try:
            return judge_alone(variation, run, reference, self._case.tol)
        except ReferenceMismatch as error:
            raise SideFailed("reference", error, []) from error

    def _is_own(self, launch: Launch) -> bool:
        """Whether a kernel is of the file that was named, whatever else its case imports."""
        from tritonport.verify.launches import definition

        return Path(definition(launch.function)[0]).resolve() == Path(self._request.kernel_file).resolve()

    def _failed(self, failed: SideFailed) -> TierResult:
        from tritonport.verify.places import place_of

        error = failed.error
        unknown = type(error).__name__ == "NotEmulated"
        in_kernel = failed.step == "launch" and type(error).__name__ == "EmulationError"
        verdict = Verdict.NOT_COMPARABLE if unknown else Verdict.FAIL if in_kernel else Verdict.ERROR
        text = str(getattr(error, "message", "") or f"{failed.step} raises {type(error).__name__}: {error}")
        program = getattr(error, "program", None)
        where = f" (program {program})" if program is not None else ""
        place = place_of(error, self._case.files)
        path, line = (place.path, place.line) if place else (str(self._request.case), 1)
        code = codes.NOT_COMPARABLE if unknown else codes.RAISED
        code = codes.OUT_OF_BOUNDS if text.startswith("out-of-bounds") else code
        finding = Diagnostic(code, f"{text.splitlines()[0]}{where}", path, line, 1, getattr(error, "kernel", None))
        return TierResult(TIER, verdict, text.splitlines()[0][:90], (finding,))
