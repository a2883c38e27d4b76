"""Judging many mutants of one port: the original runs once, and each mutant in a fork with a time limit."""

from __future__ import annotations

import os
import pickle
import select
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tritonport.report.diagnostic import InputError
from tritonport.verify.boundary import boundary_variations, read_sizes
from tritonport.verify.case import DEFAULT_SEEDS, Case, load_case
from tritonport.verify.fallback import fallbacks_of, ways_of
from tritonport.verify.judge import RunResult, judge_alone, judge_run
from tritonport.verify.places import first_line
from tritonport.verify.side import Backend, Side, SideFailed, SideRun, Variation, emulator, variations_of
from tritonport.verify.verdict import Verdict

_LAUNCH_LIMIT = 8.0
"""Seconds for one emulated launch of a mutant: a loop that a flip makes endless ends here."""
_MUTANT_LIMIT = 40.0
"""Seconds for all runs of a mutant."""


@dataclass(frozen=True)
class Judgement:
    """What T2 makes of a mutant.

    Attributes:
        killed: whether it fails, as parity-check has it.
        how: why it fails, or what it passed with.
        seconds: wall time.
        tiles: how many launches took the kernel of tiles of a port that keeps one of pointers too.
    """

    killed: bool
    how: str
    seconds: float = 0.0
    tiles: int = 0


@dataclass(frozen=True)
class _Baseline:
    """One run of the original (None: this Triton refuses it), and what it is held to."""

    variation: Variation
    run: SideRun | None
    reference: dict[str, Any] | None
    exact: dict[str, Any] | None


def judge_mutants(kernel_file: Path, case_file: Path, target: str, texts: Sequence[str]) -> list[Judgement]:
    """T2 of every text as the port of a kernel file, in this process and forks of it.

    Raises what the original raises: a fixture whose original does not run in the emulator measures nothing.
    """
    import torch

    # A pool of threads does not survive a fork.
    torch.set_num_threads(1)
    with emulator(target, _LAUNCH_LIMIT) as backend:
        case = load_case(case_file, kernel_file)
        baselines = _baselines(Side("original", case, backend), case, backend)
        return [_judged(lambda text=text: _judge(kernel_file, case, text, backend, baselines)) for text in texts]  # type: ignore[misc]


def _baselines(original: Side, case: Case, backend: Backend) -> list[_Baseline]:
    """The original on every seed, variant and configuration that T2 runs."""
    seeds = case.seeds or DEFAULT_SEEDS
    found = [_baseline(original, variation) for variation in variations_of(original, seeds)]
    if found[0].run is not None:
        edges, _ = boundary_variations(read_sizes(case.sizes), seeds[0], found[0].run.launches)
        found += [_baseline(original, variation) for variation in edges]
    return found + [_baseline(original, Variation(seeds[0], 0, n)) for n in range(1, backend.choice.most)]


def _baseline(original: Side, variation: Variation) -> _Baseline:
    run = None
    try:
        run = original.run(variation)
    except SideFailed as failed:
        if failed.step != "launch" or original.case.reference is None:
            raise
    return _Baseline(variation, run, original.reference(variation), original.reference_in_double(variation))


def _judge(kernel_file: Path, case: Case, text: str, backend: Backend, baselines: list[_Baseline]) -> Judgement:
    try:
        port = Side("port", load_case(case.path, kernel_file, text), backend)
    except InputError as error:
        return Judgement(True, f"import: {error.diagnostic.message}")
    tolerated, tiles, fallbacks = False, 0, fallbacks_of(text)
    for baseline in baselines:
        try:
            run = port.run(baseline.variation)
        except SideFailed as failed:
            if type(failed.error).__name__ == "NotEmulated":
                return Judgement(False, f"not emulated: {first_line(failed.error)}")
            return Judgement(True, getattr(failed.error, "message", None) or first_line(failed.error))
        result = _result(baseline, run, case)
        if result.verdict is Verdict.FAIL:
            return Judgement(True, result.problems[0][1])
        tolerated |= result.verdict is not Verdict.PASS
        tiles += sum(not way.fallback for way in ways_of(run.launches, fallbacks))
    return Judgement(False, "within tolerance" if tolerated else "equal bit for bit", tiles=tiles)


def _result(baseline: _Baseline, port: SideRun, case: Case) -> RunResult:
    if baseline.run is None:
        assert baseline.reference is not None
        return judge_alone(baseline.variation, port, baseline.reference, case.tol)
    return judge_run(baseline.variation, baseline.run, port, baseline.reference, lambda: baseline.exact, case.tol)


def _judged(function: Callable[[], Judgement]) -> Judgement:
    """The result of a function that runs in a fork of this process, whatever becomes of the fork."""
    start = time.monotonic()
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        status = 1
        try:
            with os.fdopen(writer, "wb") as stream:
                stream.write(pickle.dumps(function()))
            status = 0
        finally:
            os._exit(status)
    os.close(writer)
    ready, _, _ = select.select([reader], [], [], _MUTANT_LIMIT)
    if not ready:
        os.kill(child, signal.SIGKILL)
    with os.fdopen(reader, "rb") as stream:
        told = stream.read()
    os.waitpid(child, 0)
    seconds = round(time.monotonic() - start, 2)
    if not ready:
        return Judgement(True, f"not done after {_MUTANT_LIMIT:g} s", seconds)
    if not told:
        return Judgement(True, "the process ended", seconds)
    verdict: Judgement = pickle.loads(told)
    return replace(verdict, seconds=seconds)
