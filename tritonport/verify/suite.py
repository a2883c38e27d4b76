"""The user's own tests: a command runs with the originals and again with their ports, and is compared test by test."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tritonport.report.diagnostic import Diagnostic, InputError
from tritonport.verify import codes, hints
from tritonport.verify.case import read_source
from tritonport.verify.compile.kernels import find_kernels
from tritonport.verify.device import has_gpu
from tritonport.verify.hook.command import CommandRun, fresh, run_command
from tritonport.verify.hook.settings import Settings
from tritonport.verify.request import Port, Request, make_port, stage_changes_nothing
from tritonport.verify.verdict import FileResult, TierResult, Verdict, worst

DEFAULT_TIMEOUT = 1800.0
"""Seconds for one run of the command."""
_TAIL = 12
_TEST_FILES = ("test_", "conftest")


@dataclass(frozen=True)
class SuiteOptions:
    """A command, and what it is run with.

    Attributes:
        command: its words.
        tiers: `T2` (every launch in the CPU emulator), `T3` (on the GPU), or both.
        requested: whether the user named the tiers.
        target: the architecture to write for and to emulate.
        triton: the Triton version to convert for.
        stages: how far to convert: `literal`, or stages of `tritonport.upgrade`; the command runs once for each.
        port: a file that holds the port of the one kernel file; None converts.
        timeout: seconds for one run of the command.
    """

    command: tuple[str, ...]
    tiers: tuple[str, ...]
    requested: bool = False
    target: str = "sm_90"
    triton: str = "3.9"
    stages: tuple[str, ...] = ("literal",)
    port: str | None = None
    timeout: float = DEFAULT_TIMEOUT


@dataclass
class TestRun:
    """One test in one run of the command.

    Attributes:
        outcome: `passed`, `failed`, `skipped`, `xfailed`, or `missing` where it never ended or never started.
        message: what a failure says, one line; empty for the others.
        path, line: where it failed.
        launches: how many launches of each (file, kernel, gluon).
    """

    __test__ = False  # not a test itself, whatever its name

    outcome: str = "missing"
    message: str = ""
    path: str = ""
    line: int = 1
    launches: dict[tuple[str, str, bool], int] = field(default_factory=dict)


@dataclass(frozen=True)
class TestResult:
    """One test, original against port."""

    __test__ = False

    name: str
    verdict: Verdict
    why: str
    original: TestRun
    port: TestRun

    def launched(self, file: str) -> int:
        """How many Gluon kernels of a file (a real path) it launched with the port."""
        return sum(count for (where, _, gluon), count in self.port.launches.items() if gluon and where == file)

    def to_json(self) -> dict[str, Any]:
        """As it stands in the report."""
        return {
            "test": self.name,
            "verdict": self.verdict.value,
            "original": self.original.outcome,
            "port": self.port.outcome,
            "why": self.why,
            "launches": [
                {"file": os.path.relpath(file), "kernel": kernel, "gluon": gluon, "count": count}
                for (file, kernel, gluon), count in self.port.launches.items()
            ],
        }


def has_kernel(file: Path) -> bool:
    """Whether a file found in a directory takes part: it parses and has a kernel."""
    try:
        return bool(find_kernels(read_source(file)))
    except (InputError, SyntaxError):
        return False


def check_suite(
    files: Sequence[str], options: SuiteOptions, on_progress: Callable[[str, str], None] = lambda file, what: None
) -> list[FileResult]:
    """Runs the command with the originals, and with the ports of these files on each stage; one result for each pair.

    Raises InputError for a file that cannot be read or does not parse, or a command that cannot be started.
    """
    ports = {stage: {file: _port(file, stage, options) for file in files} for stage in options.stages}
    requested = frozenset(options.tiers) if options.requested else frozenset()
    tiers: dict[_Key, list[TierResult]] = {(stage, file): [] for file in files for stage in options.stages}
    for tier in options.tiers:
        on_progress(files[0], f"{tier} {' '.join(options.command)}")
        for key, result in _run_tier(tier, ports, options, on_progress).items():
            tiers[key].append(result)
    command = " ".join(options.command)
    return [FileResult(file, command, tuple(found), requested, stage) for (stage, file), found in tiers.items()]


_Key = tuple[str, str]
"""A stage and a file."""


def _port(file: str, stage: str, options: SuiteOptions) -> Port:
    request = Request("T2", file, port=options.port, triton=options.triton, stage=stage)
    port = make_port(request, options.target)
    return replace(port, literal=stage_changes_nothing(request, options.target))


def _run_tier(
    tier: str,
    ports: Mapping[str, Mapping[str, Port]],
    options: SuiteOptions,
    on_progress: Callable[[str, str], None],
) -> dict[_Key, TierResult]:
    every = {(stage, file): port for stage, of_stage in ports.items() for file, port in of_stage.items()}
    if tier == "T3" and not has_gpu():
        return {key: TierResult(tier, Verdict.NOT_RUN, "no GPU") for key in every}
    converted = {key: port for key, port in every.items() if port.text != read_source(Path(key[1]))}
    found = {key: _unconverted(tier, key[1], port) for key, port in every.items() if key not in converted}
    if not converted:
        return found
    files = list(dict.fromkeys(file for _, file in converted))
    target = options.target if tier == "T2" else None
    with tempfile.TemporaryDirectory(prefix="tritonport-") as name:
        folder = Path(name)

        def run(side: str, texts: Mapping[str, str]) -> CommandRun:
            on_progress(files[0], f"{tier} {side}: {' '.join(options.command)}")
            settings = fresh(Settings(str(folder), texts, target, options.timeout), folder / f"{side}-records")
            work = folder / side
            work.mkdir()
            return _run(options.command, settings, work, options.timeout, files)

        original = run("original", {})
        for stage in ports:
            own = {file: port for (of, file), port in converted.items() if of == stage}
            if not own:
                continue
            place = folder / f"ports-{stage}"
            place.mkdir()
            runs = {"original": original, "port": run(f"port-{stage}", _write_ports(place, own))}
            tests = compare_runs(original, runs["port"], " ".join(options.command))
            for file, port in own.items():
                result = _judged(tier, file, tests, runs)
                note = (f"the stage {stage} changes nothing here: the port is the literal one",) if port.literal else ()
                found[stage, file] = replace(result, notes=(*note, *result.notes))
    return {key: found[key] for key in every}


def default_tiers() -> tuple[str, ...]:
    """The GPU where there is one, else the emulator."""
    return ("T3",) if has_gpu() else ("T2",)


def _unconverted(tier: str, file: str, port: Port) -> TierResult:
    message = "the port is the original: no kernel was converted, so there is nothing to compare"
    why = tuple(found for found in port.diagnostics if found.severity == "error")
    why = why or (Diagnostic(codes.NOT_COMPARABLE, message, file, 1, 1, hint=hints.UNCONVERTED),)
    return TierResult(tier, Verdict.NOT_COMPARABLE, "the port is the original", why)


def _write_ports(folder: Path, ports: Mapping[str, Port]) -> dict[str, str]:
    written = enumerate(ports.items())
    return {os.path.realpath(file): _write(folder, number, file, port) for number, (file, port) in written}


def _write(folder: Path, number: int, file: str, port: Port) -> str:
    """A file that holds the port, with the name of the original: it is what tracebacks name."""
    if port.code_file is not None:
        return str(port.code_file.resolve())
    place = folder / f"port-{number}" / Path(file).name
    place.parent.mkdir()
    place.write_text(port.text, encoding="utf-8")
    return str(place)


def _run(command: Sequence[str], settings: Settings, work: Path, timeout: float, files: Sequence[str]) -> CommandRun:
    # Pytest compiles test modules itself; without its rewriting of asserts they are imported as any other.
    plain = any(Path(file).name.startswith(_TEST_FILES) or Path(file).stem.endswith("_test") for file in files)
    options = {"PYTEST_ADDOPTS": f"{os.environ.get('PYTEST_ADDOPTS', '')} --assert=plain".strip()} if plain else {}
    try:
        return run_command(command, settings, work, timeout, options)
    except OSError as error:
        message = f"cannot run {command[0]}: {error.strerror or error}"
        raise InputError(Diagnostic(codes.UNREADABLE, message, files[0], 1, 1)) from error


def test_runs(run: CommandRun, command: str) -> dict[str, TestRun]:
    """The tests of one run, by name; the command itself where it is not pytest."""
    if not any(record["event"] == "session" for record in run.tests):
        outcome = "passed" if run.code == 0 else "missing" if run.timed_out else "failed"
        lines = run.last_lines(1)
        message = "" if run.code == 0 else lines[-1] if lines else f"exit status {run.code}"
        alone = TestRun(outcome, message, launches=_counted(run.launches))
        return {command: alone}
    tests: dict[str, TestRun] = {}
    for record in run.tests:
        if record["event"] == "session":
            continue
        test = tests.setdefault(record["test"], TestRun())
        if record["event"] == "start":
            # Begun anew: a plugin runs tests that failed once more.
            tests[record["test"]] = TestRun(launches=test.launches)
        else:
            _take(test, record)
    return tests


test_runs.__test__ = False  # type: ignore[attr-defined]


def _take(test: TestRun, record: Mapping[str, Any]) -> None:
    for key, count in _counted(record["launches"]).items():
        test.launches[key] = test.launches.get(key, 0) + count
    outcome = record["outcome"]
    if outcome == "failed" and test.outcome != "failed":
        test.outcome, test.message = "failed", str(record["message"]).splitlines()[0]
        test.path, test.line = record["path"], record["line"]
    elif outcome in ("skipped", "xfailed") or (outcome == "passed" and record["when"] == "call"):
        test.outcome = outcome


def _counted(launches: Sequence[Mapping[str, Any]]) -> dict[tuple[str, str, bool], int]:
    counts: dict[tuple[str, str, bool], int] = {}
    for one in launches:
        key = (one["file"], one["kernel"], one["gluon"])
        counts[key] = counts.get(key, 0) + one["count"]
    return counts


def compare_runs(original: CommandRun, port: CommandRun, command: str) -> list[TestResult]:
    """Every test of either run, in the order of the original's."""
    before, after = test_runs(original, command), test_runs(port, command)
    names = [*before, *(name for name in after if name not in before)]
    return [_compare(name, before.get(name, TestRun()), after.get(name, TestRun())) for name in names]


def _compare(name: str, original: TestRun, port: TestRun) -> TestResult:
    gluon = sum(count for (_, _, is_gluon), count in port.launches.items() if is_gluon)
    if original.outcome == "skipped" and port.outcome == "skipped":
        verdict, why = Verdict.NOT_RUN, "skipped"
    elif original.outcome != "passed":
        verdict, why = Verdict.NOT_COMPARABLE, f"{_told(original)} with the original{_said(original)}"
    elif port.outcome == "passed" and gluon == 0:
        verdict, why = Verdict.NOT_COMPARABLE, "launches no Gluon kernel"
    elif port.outcome == "passed":
        verdict, why = Verdict.PASS, "1 launch" if gluon == 1 else f"{gluon} launches"
    else:
        verdict, why = Verdict.FAIL, f"passes with the original and {_told(port)} with the port{_said(port)}"
    return TestResult(name, verdict, why, original, port)


_TOLD = {"failed": "fails", "skipped": "is skipped", "xfailed": "fails as expected", "missing": "does not end"}


def _told(test: TestRun) -> str:
    return _TOLD.get(test.outcome, test.outcome)


def _said(test: TestRun) -> str:
    return f": {test.message}" if test.message else ""


def _judged(tier: str, file: str, tests: Sequence[TestResult], runs: Mapping[str, CommandRun]) -> TierResult:
    """The verdict on one file: of the tests that launch its kernels, and those that fail with no kernel to blame."""
    real = os.path.realpath(file)
    own = [one for one in tests if one.launched(real) or (one.verdict is Verdict.FAIL and not _gluon_files(one))]
    data = {"command_seconds": {side: round(run.seconds, 3) for side, run in runs.items()}}
    data |= {"tests": [one.to_json() for one in (own or tests)]}  # type: ignore[dict-item]
    notes = tuple(f"{one.verdict.value} {one.name}: {one.why}" for one in (own or tests))
    seconds = round(sum(run.seconds for run in runs.values()), 3)
    if not own:
        problem, hint = _nothing(tests, runs["original"])
        finding = Diagnostic(codes.NOT_COMPARABLE, problem, file, 1, 1, hint=hint)
        verdict = Verdict.NOT_COMPARABLE if _ran(runs["original"]) else Verdict.ERROR
        tail = () if tests else tuple(runs["original"].last_lines(_TAIL))
        return TierResult(tier, verdict, problem, (finding,), (*notes, *tail), data, seconds)
    verdict = worst(one.verdict for one in own if one.verdict is not Verdict.NOT_COMPARABLE)
    verdict = verdict if verdict is not Verdict.NOT_RUN else Verdict.NOT_COMPARABLE
    findings = tuple(_finding(one, file) for one in own if one.verdict is Verdict.FAIL)
    summary = _counts(own, len(tests) - len(own))
    return TierResult(tier, verdict, summary, findings, notes, data, seconds)


def _counts(own: Sequence[TestResult], others: int) -> str:
    """How many tests pass, and the first of those that say nothing: what fails has a finding of its own."""
    passed = sum(one.verdict is Verdict.PASS for one in own)
    unsaid = [one for one in own if one.verdict in (Verdict.NOT_COMPARABLE, Verdict.NOT_RUN)]
    more = f" (and {len(unsaid) - 1} more)" if len(unsaid) > 1 else ""
    not_compared = f", not compared: {unsaid[0].name} {unsaid[0].why}{more}" if unsaid else ""
    return f"{passed} of {len(own)} tests pass with the port{not_compared}; {others} others do not launch it"


def _ran(run: CommandRun) -> bool:
    """Whether a command came as far as the user's own code: what that raises is for them, a wrong call for the shell.

    A module that raises when it is imported ends Python with 1, and pytest, which collects it, with 2.
    """
    return run.code in (0, 1, 5) or (run.code == 2 and " during collection" in run.output)


def _gluon_files(test: TestResult) -> set[str]:
    return {file for (file, _, gluon) in test.port.launches if gluon}


def _nothing(tests: Sequence[TestResult], run: CommandRun) -> tuple[str, str]:
    """Why no test says anything of a file, and what to do."""
    if run.timed_out:
        return "the command did not end in time with the originals", hints.TOO_SLOW
    if not tests:
        return f"the command ran no test (exit status {run.code})", hints.NO_TEST
    bad = next((one for one in tests if one.original.outcome != "passed"), None)
    said = f"; {bad.name}: {bad.why}" if bad else ""
    return f"no test launches a Gluon kernel of the file{said}", hints.FAILING_TESTS if bad else hints.NO_GLUON_TEST


def _finding(test: TestResult, file: str) -> Diagnostic:
    """At the line that fails: of the test, or of the port, which is in no file, by the name of the original."""
    path, line, message = file, 1, f"{test.name} {test.why}"
    if test.port.path and Path(test.port.path).exists():
        path, line = os.path.relpath(test.port.path), max(test.port.line, 1)
    kernels = sorted({kernel for (_, kernel, gluon) in test.port.launches if gluon})
    return Diagnostic(codes.TEST_FAILS, message, path, line, 1, ", ".join(kernels) or None)
