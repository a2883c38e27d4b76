"""T2 and T3: original and port run on the same inputs, and what they computed is compared."""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from textwrap import shorten
from typing import Any

from tritonport.report.diagnostic import Diagnostic, InputError
from tritonport.source.embedded import embedded_modules
from tritonport.verify import codes, hints
from tritonport.verify.boundary import boundary_variations, read_sizes
from tritonport.verify.case import DEFAULT_SEEDS, load_case, read_source
from tritonport.verify.compare import bitwise_equal
from tritonport.verify.compile.kernels import find_kernels
from tritonport.verify.coverage import coverage_notes
from tritonport.verify.culprits import findings_of
from tritonport.verify.device import gpu_target, has_gpu
from tritonport.verify.exact_run import ExactRun, run_exactly
from tritonport.verify.failures import Failures, Stopped, describe, is_not_emulated, is_refusal
from tritonport.verify.fallback import fallbacks_of, notes_of, summary_of, ways_of
from tritonport.verify.isolate import report_phase
from tritonport.verify.judge import ReferenceMismatch, RunResult, judge_alone, judge_run
from tritonport.verify.launches import Launch
from tritonport.verify.places import first_line, place_of
from tritonport.verify.repeats import check_repeats
from tritonport.verify.request import Port, Request, make_port
from tritonport.verify.saved import SavedRun, load_saved, save_run
from tritonport.verify.side import Backend, Side, SideFailed, SideRun, Variation, emulator, gpu, variations_of
from tritonport.verify.summary import summarize
from tritonport.verify.verdict import TierResult, Verdict, worst

_SUMMARY_WIDTH = 90
_EXACT_SHARE = 0.3
"""Of the time of the tier, what a launch of an exact run may take."""


def run_emulated(request: Request) -> TierResult:
    """T2: both sides in the CPU emulator. Raises InputError where the original or its case cannot be loaded."""
    # Before the process is stopped: the emulator can still say at which line of the kernel it was.
    enter = partial(emulator, request.targets[0], 0.8 * request.timeout)
    return _run(request, enter, request.targets[0])


def run_on_gpu(request: Request) -> TierResult:
    """T3: both sides on the GPU; NOT-RUN where there is none. Raises InputError as T2 does."""
    if not has_gpu():
        return TierResult("T3", Verdict.NOT_RUN, "no GPU")
    return _run(request, gpu, gpu_target())


def _run(request: Request, enter: Callable[[], AbstractContextManager[Backend]], target: str) -> TierResult:
    if request.case is None:
        return TierResult(request.tier, Verdict.NOT_COMPARABLE, "no case")
    port = make_port(request, target)
    if port.text == read_source(Path(request.kernel_file)):
        message = "the port is the original: no kernel was converted, so there is nothing to compare"
        why = tuple(found for found in port.diagnostics if found.severity == "error")
        why = why or (Diagnostic(codes.NOT_COMPARABLE, message, request.kernel_file, 1, 1, hint=hints.UNCONVERTED),)
        return TierResult(request.tier, Verdict.NOT_COMPARABLE, "the port is the original", why)
    with enter() as backend:
        try:
            return _Comparison(request, port, backend, target).run()
        except Stopped as stopped:
            summary = shorten(stopped.finding.message, _SUMMARY_WIDTH, placeholder="...")
            return TierResult(request.tier, stopped.verdict, summary, (stopped.finding,))


class _Comparison:
    """One tier on one file: all seeds and variants."""

    def __init__(self, request: Request, port: Port, backend: Backend, target: str) -> None:
        self.target = target
        self.started = time.monotonic()
        self.request = request
        self.port_text = port.text
        self.failures = Failures(request, port.text)
        self.fallbacks = fallbacks_of(port.text)
        strings = [kernel for module in embedded_modules(port.text) for kernel in find_kernels(module.text)]
        self.in_strings = any(kernel.language == "gluon" for kernel in strings)
        assert request.case is not None
        self.saved = load_saved(Path(request.replay)) if request.replay is not None else None
        inputs = None if self.saved is None else self.saved.inputs
        files = Path(request.case), Path(request.kernel_file)
        report_phase("original: import")
        self.original = Side("original", load_case(*files), backend, inputs)
        report_phase("port: import")
        try:
            ported = load_case(*files, port.text, port.code_file)
        except InputError as error:
            # The original loads, so it is the port that cannot.
            raise self.failures.of_import(error.diagnostic) from error
        self.port = Side("port", ported, backend, inputs)
        self.backend = backend
        self.notes: list[str] = []
        self.launched: dict[str, Launch] = {}
        self.first_launches: tuple[Launch, ...] = ()

    def run(self) -> TierResult:
        """Runs everything. Raises Stopped where the case itself cannot be used."""
        results = [self._compare(variation) for variation in self._variations()]
        results += self._at_boundaries(results[0].variation, _by_most_tiles(results))
        results += self._other_configurations(results[0].variation)
        verdict = worst(result.verdict for result in results)
        bad = [result for result in results if result.verdict is verdict]
        findings = findings_of(bad, self.original, self.port, self.launched.values(), self.request.kernel_file)
        for result in results:
            self.notes += [f"{result.variation}: {note}" for note in result.notes]
        ways = [way for result in results for way in result.ways]
        self.notes += notes_of(ways)
        if self.saved is None:
            masks = self.backend.masks
            self.notes += coverage_notes(self.request, self.port_text, self.port.case, self.launched.keys(), masks)
        data = {
            "runs": [result.to_json() for result in results],
            "kernels": [{"name": name, "gluon": launch.gluon} for name, launch in self.launched.items()],
        }
        summary = summarize(verdict, results) + summary_of(ways)
        return TierResult(self.request.tier, verdict, summary, findings, tuple(self.notes), data)

    def _variations(self) -> list[Variation]:
        if self.saved is not None:
            return [self.saved.variation]
        seeds = self.request.seeds or self.original.case.seeds or DEFAULT_SEEDS
        try:
            return variations_of(self.original, seeds)
        except SideFailed as failed:
            raise self.failures.of_case(self.original, failed) from failed

    def _at_boundaries(self, first: Variation, tiled: Variation) -> list[RunResult]:
        """Sizes at the edges of the blocks that the first inputs are cut into, while half of the time is left.

        So too the inputs of `tiled`, placed in memory in other ways.
        """
        case = self.original.case
        if self.saved is not None or not self.request.boundaries or not (case.sizes or case.views):
            return []
        try:
            sizes = read_sizes(case.sizes)
        except ValueError as error:
            raise self.failures.of_protocol(f"of the case: {error}") from error
        variations, notes = boundary_variations(sizes, first.seed, self.first_launches)
        self.notes += notes
        variations += [replace(tiled, views=((name, kind),)) for name, kinds in case.views.items() for kind in kinds]
        results = []
        for number, variation in enumerate(variations):
            if time.monotonic() - self.started > 0.5 * self.request.timeout:
                missing = len(variations) - number
                self.notes.append(f"{missing} of {len(variations)} boundary shapes not run: --timeout is near")
                break
            results.append(self._compare(variation))
        return results

    def _other_configurations(self, first: Variation) -> list[RunResult]:
        """The other configurations of autotuned kernels, on the first inputs, while half of the time is left."""
        if self.saved is not None:
            return []
        results = []
        for config in range(1, self.backend.choice.most):
            if time.monotonic() - self.started > 0.5 * self.request.timeout:
                missing = self.backend.choice.most - config
                self.notes.append(f"{missing} of {self.backend.choice.most} configurations not run: --timeout is near")
                break
            variation = replace(first, config=config)
            original, reason = self._run_original(variation)
            if original is None:
                # A tuner passes over what does not compile or fit.
                self.notes.append(f"{variation}: not compared: {reason}")
            else:
                results.append(self._judge(variation, original, reason))
        return results

    def _compare(self, variation: Variation) -> RunResult:
        original, reason = self._run_original(variation)
        return self._judge(variation, original, reason)

    def _judge(self, variation: Variation, original: SideRun | None, reason: str) -> RunResult:
        try:
            port = self.port.run(variation)
        except SideFailed as failed:
            if original is None and failed.step == "launch":
                problem = f"{reason}; nor does the port: {describe(failed.error)}"
                hint = hints.NOT_EMULATED if is_not_emulated(failed.error) else hints.ORIGINAL_REFUSED
                return _uncompared(variation, problem, hint)
            return self._port_raised(variation, failed)
        self.first_launches = self.first_launches or port.launches
        self.launched.update({launch.kernel: launch for launch in port.launches})
        if unfit := self._unfit(variation, original, port):
            return unfit
        try:
            result = self._judge_runs(variation, original, port, reason)
        except SideFailed as failed:
            raise self.failures.of_case(self.original, failed) from failed
        except ReferenceMismatch as error:
            raise self.failures.of_protocol(str(error)) from error
        if result.verdict is Verdict.FAIL:
            self._save(result, original, port)
        return replace(result, ways=ways_of(port.launches, self.fallbacks))

    def _judge_runs(self, variation: Variation, original: SideRun | None, port: SideRun, reason: str) -> RunResult:
        """The port against the original or the reference; on a GPU, where results may move, in several runs."""
        reference = self.original.reference(variation)
        tol = self.original.case.tol
        exact = cache(lambda: self.original.reference_in_double(variation))
        limit = _EXACT_SHARE * self.request.timeout

        @cache
        def exact_run() -> ExactRun:
            assert original is not None
            return run_exactly(self.original, variation, original, self.target, limit)

        def judge(run: SideRun, repeats: Sequence[SideRun] = ()) -> RunResult:
            if original is not None:
                return judge_run(variation, original, run, reference, exact, tol, repeats, exact_run)
            assert reference is not None
            return judge_alone(variation, run, reference, tol)

        if original is None and reference is None:
            problem = f"{reason}, and the case has no reference"
            return _uncompared(variation, problem, hints.NO_REFERENCE)
        if original is None:
            self.notes.append(f"{variation}: compared with reference, because {reason}")
        result = judge(port)
        if self.request.tier != "T3":
            return result
        run_original, run_port = partial(self.original.run, variation), partial(self._run_port_again, variation)
        return check_repeats(result, original, port, run_original, run_port, judge, "atomic" in self.port_text)

    def _run_port_again(self, variation: Variation) -> SideRun:
        try:
            return self.port.run(variation)
        except SideFailed as failed:
            raise self.failures.of_port(self.port, variation, failed) from failed

    def _run_original(self, variation: Variation) -> tuple[SideRun | None, str]:
        """The original's run, or None and why it cannot run here."""
        try:
            return self.original.run(variation), ""
        except SideFailed as failed:
            # What Triton or the emulator refuses says something about them; anything else is a case that raises.
            if failed.step != "launch" or not is_refusal(failed.error):
                raise self.failures.of_case(self.original, failed) from failed
            place = place_of(failed.error, self.original.case.files)
            where = f" at {place}" if place else ""
            return None, f"the original does not run here{where}: {describe(failed.error)}"

    def _unfit(self, variation: Variation, original: SideRun | None, port: SideRun) -> RunResult | None:
        """Why a run of the port shows nothing about it; None where it does."""
        problem, hint = None, hints.NO_LAUNCH
        if not port.launches and self.in_strings:
            # On a GPU torch compiles and launches what `torch.compile` wrote itself, past Triton's launch hooks.
            pass
        elif not port.launches:
            problem = "the case launches no kernel"
        elif not any(launch.gluon for launch in port.launches):
            problem = f"the case launches no Gluon kernel of the port, only {port.launches[0].kernel} as Triton"
        elif original is not None and not (
            original.inputs.keys() == port.inputs.keys()
            and all(bitwise_equal(leaf, port.inputs[name]) for name, leaf in original.inputs.items())
        ):
            problem = "make_inputs gives other inputs when it is called again with the same seed"
            problem += f": {_first_other(original.inputs, port.inputs)} differs"
            hint = hints.OTHER_INPUTS
        return None if problem is None else _uncompared(variation, problem, hint)

    def _port_raised(self, variation: Variation, failed: SideFailed) -> RunResult:
        if failed.step != "launch":
            raise self.failures.of_case(self.port, failed)
        if is_not_emulated(failed.error):
            problem = f"the emulator cannot run the port: {describe(failed.error)}"
            return _uncompared(variation, problem, hints.NOT_EMULATED)
        raise self.failures.of_port(self.port, variation, failed)

    def _save(self, result: RunResult, original: SideRun | None, port: SideRun) -> None:
        if self.request.save_dir is None:
            return
        inputs = self.port.inputs(result.variation)
        outputs: Mapping[str, Any] = {} if original is None else {**original.results, **original.mutated}
        run = SavedRun(self.request, result.variation, inputs, outputs, {**port.results, **port.mutated})
        try:
            self.notes.append(f"{result.variation}: saved as {save_run(Path(self.request.save_dir), run)}")
        except Exception as error:
            # A folder that cannot be written, or an argument that cannot be pickled: the failure stands all the same.
            self.notes.append(f"{result.variation}: cannot be saved in {self.request.save_dir}: {first_line(error)}")


def _first_other(original: Mapping[str, Any], port: Mapping[str, Any]) -> str:
    """The name of the first input that is not the same for both sides."""
    names = dict.fromkeys([*original, *port])
    both = original.keys() & port.keys()
    return next(name for name in names if name not in both or not bitwise_equal(original[name], port[name]))


def _uncompared(variation: Variation, problem: str, hint: str) -> RunResult:
    return RunResult(variation, Verdict.NOT_COMPARABLE, ((codes.NOT_COMPARABLE, problem),), hint=hint)


def _by_most_tiles(results: list[RunResult]) -> Variation:
    """The inputs whose launches take the tiles most often: placed otherwise they are to take the pointers."""
    return max(results, key=lambda result: sum(not way.fallback for way in result.ways)).variation
