"""One set of inputs: every version is checked against the original, and those that are right are timed in turns."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from tritonport.bench.clock import Clock, Step
from tritonport.bench.interleave import Effort, interleaved
from tritonport.bench.launches import (
    INPUT,
    Recorded,
    Repeatable,
    SharedArena,
    changed,
    copied,
    least_bytes,
    poison,
    record,
    restore,
    rewritten,
    run_all,
)
from tritonport.bench.result import Lane, SizeResult, Status
from tritonport.bench.sizes import Size, work_of
from tritonport.bench.statistics import ORIGINAL
from tritonport.verify.case import Case, Inputs
from tritonport.verify.compare import Difference, compare
from tritonport.verify.isolate import report_phase
from tritonport.verify.judge import ReferenceMismatch, match_reference
from tritonport.verify.launches import Configurations, SameChoice, pinned_autotuners
from tritonport.verify.places import first_line
from tritonport.verify.repeats import ORIGINAL_RUNS
from tritonport.verify.tensors import input_leaves, leaves, replace_inputs


@dataclass(frozen=True)
class Loaded:
    """One version of the file, with the case executed against it; None and a lane that says why where there is none."""

    stage: str
    case: Case | None
    lane: Lane | None = None


class Unusable(Exception):
    """The inputs, or the original on them, are nothing to measure against."""


def measure(size: Size, original: Case, versions: Sequence[Loaded], clock: Clock, effort: Effort) -> SizeResult:
    """Checks and times every version on one set of inputs. A version whose results are wrong is not timed.

    Raises InputError where the case says of its work what it may not.
    """
    try:
        return _Measurement(size, original, clock).run(versions, effort)
    except Unusable as error:
        return SizeResult(size.label, size.sizes, problem=str(error))


class _Measurement:
    def __init__(self, size: Size, original: Case, clock: Clock) -> None:
        self.size = size
        self.clock = clock
        self.case = original
        report_phase(f"{ORIGINAL}: make inputs, {size.label}")
        try:
            self.inputs = size.build()
        except Exception as error:
            raise Unusable(f"the inputs cannot be made: {_told(error)}") from error
        self.before = copied(input_leaves(self.inputs))
        self.arena = SharedArena()
        report_phase(f"{ORIGINAL}: launch, {size.label}")
        try:
            self.original = record(original, self.inputs, self.before, self.arena, clock)
        except Exception as error:
            raise Unusable(f"the original does not run: {_told(error)}") from error
        self.timed: dict[str, Recorded] = {ORIGINAL: self.original}
        self._exact: dict[str, Any] | None = None
        self._runs: list[tuple[Configurations, Recorded]] = []
        if not self._selected(self.original):
            raise Unusable("the case launches no kernel that can be launched again")
        self._refuse_zeros()

    def run(self, versions: Sequence[Loaded], effort: Effort) -> SizeResult:
        """Everything: the check of every version, then the timing of those that are right."""
        lanes = [self._lane(ORIGINAL, self.original, ())]
        for version in versions:
            lanes.append(version.lane or self._check(version))
        launches = self._selected(self.original)
        now = input_leaves(self.inputs)
        written = [now[name] for name in self._changed_by(self.original)]
        work = work_of(self.case, self.inputs, least_bytes(launches, written))
        if len(self.timed) == 1:
            return SizeResult(self.size.label, self.size.sizes, tuple(lanes), work)
        report_phase(f"timing: {self.size.label}")
        steps = {stage: (self._prepare(one), run_all(self._selected(one))) for stage, one in self.timed.items()}
        timings = interleaved(steps, self.clock, effort)
        return SizeResult(self.size.label, self.size.sizes, tuple(lanes), work, timings)

    def _refuse_zeros(self) -> None:
        """Zeros switch fewer transistors than data: on them a device clocks higher than it would."""
        written = self._changed_by(self.original)
        for name, leaf in self.before.items():
            if name in written or not leaf.dtype.is_floating_point or leaf.numel() < 2:
                continue
            values = leaf.float() if leaf.dtype.itemsize == 1 else leaf
            if not bool(values.any()):
                raise Unusable(f"the input {name} is all zeros: its time would say nothing of the time for data")

    def _selected(self, found: Recorded) -> list[Repeatable]:
        wanted = self.size.kernels
        return [one for one in found.launches if not wanted or one.kernel in wanted]

    def _changed_by(self, found: Recorded) -> list[str]:
        """The inputs that a version changes."""
        return [name for name in self.before if f"{INPUT}{name}" in found.computed]

    def _prepare(self, found: Recorded) -> Step:
        """Brings back every input that some version changes, and what else this one writes over."""
        names = dict.fromkeys(name for one in (*self.timed.values(), found) for name in self._changed_by(one))
        now = input_leaves(self.inputs)
        pairs = [*((now[name], self.before[name]) for name in names), *found.fresh]

        def prepare() -> None:
            with torch.no_grad():
                for tensor, before in pairs:
                    tensor.copy_(before)

        return prepare

    def _lane(self, stage: str, found: Recorded, notes: Sequence[str]) -> Lane:
        launches = self._selected(found)
        resources = tuple(one.resources() for one in launches)
        launch_us = self.clock.queueing(run_all(launches))
        self._prepare(found)()
        kernels = tuple(one.kernel for one in launches)
        return Lane(stage, Status.TIMED, "", kernels, resources, tuple(notes), launch_us)

    def _check(self, version: Loaded) -> Lane:
        """A lane that may be timed, or the reason why it may not."""
        stage, case = version.stage, version.case
        assert case is not None
        report_phase(f"{stage}: launch, {self.size.label}")
        try:
            found = record(case, self.inputs, self.before, self.arena, self.clock)
        except Exception as error:
            restore(self.inputs, self.before, changed(self.inputs, self.before))
            return Lane(stage, Status.FAILED, f"does not run: {_told(error)}")
        launches = self._selected(found)
        if not any(one.gluon for one in launches):
            return Lane(stage, Status.NOT_APPLICABLE, "no Gluon kernel is launched here")
        expected = self.original
        wrong, notes = self._differences(found.computed, expected)
        if wrong and found.configurations != expected.configurations:
            # Each side has a tuner, and another configuration may sum in another order: hold equal ones together.
            expected = self._another_run(found.configurations)
            wrong, notes = self._differences(found.computed, expected)
        if wrong:
            return Lane(stage, Status.WRONG, wrong)
        other = self._repeats_differ(found, expected)
        if other:
            return Lane(stage, Status.WRONG, f"its launches alone compute another {other}")
        self.timed[stage] = found
        still = sorted({one.kernel for one in launches if not one.gluon})
        return self._lane(stage, found, [*notes, *(f"{kernel} is Triton here" for kernel in still)])

    def _repeats_differ(self, found: Recorded, expected: Recorded) -> str | None:
        """The result that the recorded launches, repeated as they are timed, do not compute again; None for none."""
        given = {leaf.data_ptr() for leaf in input_leaves(self.inputs).values()}
        names = rewritten(found)
        self._prepare(found)()
        kept = {tensor.data_ptr() for tensor, _ in found.fresh}
        for name in names:
            if found.results[name].data_ptr() not in given | kept:
                poison(found.results[name])
        run_all(found.launches)()
        # Atomics add in another order each time: what differs by that is as near to the reference as before.
        again = copied({name: found.results[name] for name in names})
        pairs = {name: (found.computed[name], again[name]) for name in names}
        restore(self.inputs, self.before, changed(self.inputs, self.before))
        differ = {
            name: one for name, pair in pairs.items() if (one := self._difference(name, *pair, expected)) is not None
        }
        return next((name for name, one in differ.items() if not one.tolerable), None)

    def _differences(self, computed: Mapping[str, Any], original: Recorded) -> tuple[str, list[str]]:
        """What is wrong (empty where nothing is), and the differences that are allowed."""
        expected = original.computed
        names = [*expected, *(name for name in computed if name not in expected)]
        found: list[Difference] = []
        for name in names:
            before = self.before.get(name.removeprefix(INPUT))
            wanted, given = expected.get(name, before), computed.get(name, before)
            if wanted is None or given is None:
                return f"{name} is there on one side only", []
            one = self._difference(name, wanted, given, original)
            found += [] if one is None else [one]
        wrong = next((one.text for one in found if not one.tolerable), "")
        return wrong, [one.text for one in found]

    def _difference(self, name: str, original: Any, port: Any, run: Recorded) -> Difference | None:
        """How two results differ, held against the reference; None where they are equal bit for bit.

        Where the original's own result moves from run to run (atomics), the worst of such runs is what counts.
        """
        if compare(name, original, port) is None:
            return None
        found = compare(name, original, port, self._reference().get(name))
        if found is None or found.tolerable:
            return found
        repeats = [one[name] for one in self._runs_like(run) if name in one]
        if all(compare(name, original, one) is None for one in repeats):
            return found
        return compare(name, original, port, self._reference().get(name), repeats)

    def _runs_like(self, run: Recorded) -> list[Mapping[str, Any]]:
        """What further runs of the original compute in the same configurations; run when they are needed first."""
        wanted = run.configurations
        while sum(of == wanted for of, _ in self._runs) < ORIGINAL_RUNS - 1:
            self._another_run(wanted)
        return [found.computed for of, found in self._runs if of == wanted]

    def _another_run(self, configurations: Configurations) -> Recorded:
        """The original once more, its kernels launched in these configurations."""
        with pinned_autotuners(SameChoice(configurations)):
            found = record(self.case, self.inputs, self.before, self.arena, self.clock)
        self._runs.append((configurations, found))
        return found

    def _reference(self) -> dict[str, Any]:
        """What the results should be, computed where it is needed first; empty where the case cannot say."""
        if self._exact is None:
            self._exact = {}
            if self.case.reference is not None:
                inputs: Inputs = replace_inputs(self.inputs, _own_copy)
                try:
                    exact = leaves(self.case.reference(**inputs), "result")
                    self._exact = match_reference(self.original.results, exact)
                except (ReferenceMismatch, RuntimeError):
                    # One that is too large for the device judges nothing.
                    self._exact = {}
        return self._exact


def _own_copy(_: str, tensor: Any) -> Any:
    return tensor.detach().clone().requires_grad_(tensor.requires_grad)


def _told(error: Exception) -> str:
    message = getattr(error, "message", None)
    return message.splitlines()[0] if isinstance(message, str) and message else first_line(error)
