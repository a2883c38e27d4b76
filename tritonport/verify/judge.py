"""The verdict on one set of inputs: what the port computed, beside the original and the reference."""

import math
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any

import torch

from tritonport.verify import codes, hints
from tritonport.verify.case import Tolerance
from tritonport.verify.compare import (
    EXACT_RUN,
    MEAN_OF_RUNS,
    OF_CASE,
    Difference,
    Error,
    bitwise_equal,
    check_exact_run,
    check_reference,
    compare,
    mean_of_runs,
)
from tritonport.verify.exact_run import ExactRun
from tritonport.verify.fallback import Way
from tritonport.verify.poison import is_poison
from tritonport.verify.side import SideRun, Variation
from tritonport.verify.verdict import Verdict

Results = Mapping[str, Any]

_INPUT = "input "
"""Before the name of an input that was changed."""


@dataclass(frozen=True)
class RunResult:
    """What one set of inputs showed.

    Attributes:
        variation: the inputs.
        verdict: the outcome.
        problems: (code, text) of what is wrong, worst first.
        notes: further lines for the reader.
        compared: how many results and changed inputs were compared.
        differences: those that are not equal bit for bit, by name.
        hint: what to do about the problems; None stands for what the pages of their codes say.
        ways: which way the launches of kernels took that have two.
    """

    variation: Variation
    verdict: Verdict
    problems: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()
    compared: int = 0
    differences: Mapping[str, Difference] = field(default_factory=dict)
    ways: tuple[Way, ...] = ()
    hint: str | None = None

    def to_json(self) -> dict[str, Any]:
        """As it stands in the report."""
        return {
            "seed": self.variation.seed,
            "variant": self.variation.variant,
            "sizes": dict(self.variation.sizes),
            "views": dict(self.variation.views),
            "configuration": self.variation.config,
            "verdict": self.verdict.value,
            "compared": self.compared,
            "differences": [
                {
                    "name": name,
                    "text": found.text,
                    "count": found.count,
                    "total": found.total,
                    "ulp": found.ulp,
                    "passing_atol": _finite(found.atol),
                    "passing_rtol": _finite(found.rtol),
                    "reference": found.source or None,
                    "port_error": _error_json(found.port),
                    "original_error": _error_json(found.original),
                    "tolerable": found.tolerable,
                }
                for name, found in self.differences.items()
            ],
            "launches": [way.to_json() for way in self.ways],
        }


def _finite(value: float | None) -> float | None:
    """A number that JSON can hold."""
    return value if value is not None and math.isfinite(value) else None


def _error_json(error: Error | None) -> dict[str, float | None] | None:
    return None if error is None else {"max": _finite(error.largest), "rms": _finite(error.rms)}


class ReferenceMismatch(Exception):
    """The reference returns another number of results than the launch: nothing can be compared with it."""


def match_reference(results: Results, reference: Results) -> dict[str, Any]:
    """The reference of each result: by name where the structures agree, else in order.

    Raises ReferenceMismatch where there are more or fewer.
    """
    if results.keys() == reference.keys():
        return dict(reference)
    if len(results) != len(reference):
        raise ReferenceMismatch(f"reference returns {_count(len(reference))}, launch {_count(len(results))}")
    return dict(zip(results, reference.values(), strict=True))


def _count(number: int) -> str:
    return f"{number} result" if number == 1 else f"{number} results"


def judge_alone(variation: Variation, port: SideRun, reference: Results, tol: Tolerance) -> RunResult:
    """The port against the reference, where the original cannot run. Raises ReferenceMismatch."""
    matched = match_reference(port.results, reference)
    if not matched:
        return RunResult(
            variation,
            Verdict.NOT_COMPARABLE,
            ((codes.NOT_COMPARABLE, "launch returns no tensor"),),
            hint=hints.NO_RESULT,
        )
    wrong = [text for name, leaf in port.results.items() if (text := check_reference(name, leaf, matched[name], tol))]
    found = tuple((codes.MISMATCH, f"{text} (port)") for text in wrong)
    return RunResult(variation, Verdict.FAIL if wrong else Verdict.PASS_TOLERANCE, found, (), len(matched))


def judge_run(
    variation: Variation,
    original: SideRun,
    port: SideRun,
    reference: Results | None,
    exact: Callable[[], Results | None],
    tol: Tolerance,
    repeats: Sequence[SideRun] = (),
    exact_run: Callable[[], ExactRun] | None = None,
) -> RunResult:
    """The port against the original.

    Args:
        reference: what the original is held to, under `tol`; None where the case has none.
        exact: computes the reference in float64; called only where something differs.
        repeats: further runs of the original on the same inputs. What changes among them is held to the error of the
            worst one, against their mean where there is no reference.
        exact_run: runs the original without rounding; called only where something differs that has no reference.

    Raises ReferenceMismatch.
    """
    if original.results.keys() != port.results.keys():
        text = f"the port returns {_count(len(port.results))}, the original {_count(len(original.results))}"
        return RunResult(variation, Verdict.FAIL, ((codes.MISMATCH, text),))
    pairs = _pairs(original, port)
    if not any(_says_something(leaf) for leaf, _ in pairs.values()):
        what = "writes nothing into its results" if pairs else "returns no tensor and changes none of its inputs"
        text = f"nothing to compare: the original {what}"
        return RunResult(variation, Verdict.NOT_COMPARABLE, ((codes.NOT_COMPARABLE, text),), hint=hints.NO_RESULT)
    matched = None if reference is None else match_reference(original.results, reference)
    differences = {name: found for name, pair in pairs.items() if (found := compare(name, *pair))}
    notes: tuple[str, ...] = ()
    runs = (original, *repeats)
    wrong = [] if matched is None else [text for run in runs for text in _wrong(run, matched, tol)]
    if wrong:
        same = "differs from it" if differences else "computes the same"
        times = f" in some of {len(runs)} runs" if repeats else ""
        text = f"the original is wrong{times}, and the port {same}: {wrong[0]}"
        no_measure = ((codes.NOT_COMPARABLE, text),)
        return RunResult(
            variation, Verdict.NOT_COMPARABLE, no_measure, (), len(pairs), differences, hint=hints.WRONG_ORIGINAL
        )
    if differences:
        best = {} if matched is None else dict(_best_reference(original, matched, exact(), tol))
        judged, notes = _without_reference(original, differences.keys() - best.keys(), exact_run)
        moves = moving(runs)
        for name in differences:
            moved = [run_leaf(run, name) for run in repeats] if name in moves else []
            reference_of, source = (best[name], OF_CASE) if name in best else (judged.get(name), EXACT_RUN)
            if reference_of is None and moved:
                reference_of, source = mean_of_runs([pairs[name][0], *moved]), MEAN_OF_RUNS
            found = compare(name, *pairs[name], reference_of, moved, source)
            differences[name] = found or differences[name]
    problems = _problems(original, port, differences)
    verdict = Verdict.FAIL if problems else Verdict.PASS_TOLERANCE if differences else Verdict.PASS
    return RunResult(variation, verdict, problems, (*_notes(original, differences), *notes), len(pairs), differences)


def _without_reference(
    original: SideRun, names: Set[str], exact_run: Callable[[], ExactRun] | None
) -> tuple[Results, tuple[str, ...]]:
    """What an exact run of the original says of results that differ and have no reference, and what to say of it."""
    floats = [name for name in sorted(names) if _is_floating(run_leaf(original, name))]
    if exact_run is None or not floats:
        return {}, ()
    run = exact_run()
    found, notes = {}, [run.note]
    for name in floats:
        if name in run.results:
            unfit = check_exact_run(name, run_leaf(original, name), run.results[name])
            if unfit is None:
                found[name] = run.results[name]
            else:
                notes.append(f"the exact run is no reference: {unfit}")
    return found, tuple(notes)


def _is_floating(leaf: Any) -> bool:
    return isinstance(leaf, torch.Tensor) and leaf.dtype.is_floating_point


def _pairs(original: SideRun, port: SideRun) -> dict[str, tuple[Any, Any]]:
    """What is compared: the results, and the inputs that either side changed."""
    return {name: (run_leaf(original, name), run_leaf(port, name)) for name in _compared((original, port))}


def _compared(runs: Sequence[SideRun]) -> list[str]:
    """The names of the results, and of the inputs that any of the runs changed."""
    changed = dict.fromkeys(f"{_INPUT}{name}" for run in runs for name in run.mutated)
    return [*runs[0].results, *changed]


def run_leaf(run: SideRun, name: str) -> Any:
    """What a run gave under a name of the comparison: a result, or an input as it was afterwards; None for neither."""
    if name in run.results:
        return run.results[name]
    name = name.removeprefix(_INPUT)
    return run.mutated.get(name, run.inputs.get(name))


def moving(runs: Sequence[SideRun]) -> set[str]:
    """The names of what is not the same, bit for bit, in all of several runs of one side on the same inputs."""

    def same(name: str, run: SideRun) -> bool:
        leaves = [run_leaf(runs[0], name), run_leaf(run, name)]
        return all(leaf is not None for leaf in leaves) and bitwise_equal(*leaves)

    return {name for name in _compared(runs) if not all(same(name, run) for run in runs[1:])}


def _says_something(leaf: Any) -> bool:
    if not isinstance(leaf, torch.Tensor):
        return leaf is not None
    return leaf.numel() > 0 and not bool(is_poison(leaf).all())


def _wrong(original: SideRun, matched: Results, tol: Tolerance) -> list[str]:
    return [
        text for name, leaf in original.results.items() if (text := check_reference(name, leaf, matched[name], tol))
    ]


def _best_reference(original: SideRun, matched: Results, exact: Results | None, tol: Tolerance) -> Results:
    """The reference in float64 where it agrees with the plain one, else the plain one.

    A reference that depends on the type of its inputs (their epsilon, their bits) computes something else in float64.
    """
    if exact is None or len(exact) != len(matched):
        return matched
    in_double = match_reference(original.results, exact)
    agree = all(check_reference(name, leaf, in_double[name], tol) is None for name, leaf in matched.items())
    return in_double if agree else matched


def _problems(original: SideRun, port: SideRun, differences: Mapping[str, Difference]) -> tuple[tuple[str, str], ...]:
    problems = [
        (found.code, found.text + _hint(name, found)) for name, found in differences.items() if not found.tolerable
    ]
    if not original.overruns:
        problems += [(codes.OUT_OF_BOUNDS, f"the port: {overrun}") for overrun in port.overruns]
    return tuple(problems)


def _hint(name: str, found: Difference) -> str:
    if found.code != codes.MISMATCH or found.total == 0:
        return ""
    missing = "" if found.port is not None else "; there is no reference to judge it by"
    return f"; {_passing(found)} would pass{missing}"


def _passing(found: Difference) -> str:
    tolerances = [
        f"{key}={value:.3g}" for key, value in (("atol", found.atol), ("rtol", found.rtol)) if value is not None
    ]
    return " or ".join(tolerances)


def _notes(original: SideRun, differences: Mapping[str, Difference]) -> tuple[str, ...]:
    notes = [f"{found.text}; {_passing(found)} would pass" for found in differences.values() if found.tolerable]
    notes += [f"the original: {overrun}" for overrun in original.overruns]
    return tuple(notes)
