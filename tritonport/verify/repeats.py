"""Results that change from run to run: sums whose order nothing determines are told apart from races.

On a GPU the order of programs, and so that of their atomics, changes from run to run. What moves in the original too is
held to the error of the original's worst run, in every run of the port. What moves in the port alone is a race, unless
the port has atomics; and then each of its runs must be as good as a single one has to be.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from tritonport.verify import codes
from tritonport.verify.judge import RunResult, moving
from tritonport.verify.side import SideRun
from tritonport.verify.verdict import Verdict, worst

ORIGINAL_RUNS = 16
"""Runs of an original whose results move: twice the error of the worst of so many is not reached by chance."""

Judge = Callable[[SideRun, Sequence[SideRun]], RunResult]
"""Judges a run of the port, given the runs of the original after the first."""


def check_repeats(
    result: RunResult,
    original: SideRun | None,
    port: SideRun,
    run_original: Callable[[], SideRun],
    run_port: Callable[[], SideRun],
    judge: Judge,
    atomics: bool,
) -> RunResult:
    """The verdict on a run of the port once it has been run again, and the original where that says more.

    Args:
        result: what `judge` made of `port` by one run of the original.
        original: its run; None where it does not run here.
        run_original, run_port: run a side again on the same inputs.
        atomics: whether the port has atomics.
    """
    ports = (port, run_port())
    moves = moving(ports)
    if not moves and (original is None or result.verdict is not Verdict.FAIL):
        return result
    originals = () if original is None else (original, *(run_original() for _ in range(ORIGINAL_RUNS - 1)))
    undetermined = moving(originals) if originals else set()
    repeats = originals[1:] if undetermined else ()
    result = _worst([judge(run, repeats) for run in (ports if moves else ports[:1])])
    alone = sorted(moves - undetermined)
    text = f"two runs of the port differ in {', '.join(sorted(moves))}" if moves else ""
    if alone and not atomics:
        agree = f", {len(originals)} of the original agree in {', '.join(alone)}" if originals else ""
        return replace(
            result, verdict=Verdict.FAIL, problems=(*result.problems, (codes.NOT_DETERMINISTIC, text + agree))
        )
    notes = [text] if moves else []
    if undetermined:
        notes.append(f"{len(originals)} runs of the original differ in {', '.join(sorted(undetermined))}")
    return replace(result, notes=(*result.notes, *notes))


def _worst(results: Sequence[RunResult]) -> RunResult:
    verdict = worst(result.verdict for result in results)
    return next(result for result in results if result.verdict is verdict)
