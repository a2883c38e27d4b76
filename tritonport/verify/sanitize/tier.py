"""T4 of a file: which sanitizers run, and what their verdicts come to."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import tritonport
from tritonport.report.diagnostic import Diagnostic, InputError
from tritonport.verify import codes
from tritonport.verify.case import read_source
from tritonport.verify.device import gpu_target, has_gpu
from tritonport.verify.processes import run_to_end
from tritonport.verify.request import Port, Request, make_port
from tritonport.verify.sanitize.judge import Report, Texts, Watched, judge
from tritonport.verify.sanitize.tools import SANITIZERS, Sanitizer, find_program
from tritonport.verify.sanitize.worker import Job, read_records
from tritonport.verify.verdict import TierResult, Verdict, worst

_SPARE = 5.0
"""Seconds of a sanitizer's time that are not for its process: to start it, and to read what it wrote."""


def run_sanitizers(
    request: Request,
    on_phase: Callable[[str], None] = lambda phase: None,
    sanitizers: Sequence[Sanitizer] = SANITIZERS,
    device: str = "cuda",
) -> TierResult:
    """The port of a file under each sanitizer; each gets an equal share of the time that is left.

    Args:
        on_phase: called with the name of each sanitizer before it runs.
        device: `cuda`, or `cpu` for the emulator, in which sanitizers see nothing.
    """
    start = time.monotonic()
    if device == "cuda" and not has_gpu():
        return TierResult("T4", Verdict.NOT_RUN, "no GPU")
    if request.case is None:
        return TierResult("T4", Verdict.NOT_COMPARABLE, "no case")
    try:
        port = make_port(request, _target(request, device))
    except InputError as error:
        found = error.diagnostic
        return TierResult("T4", Verdict.ERROR, found.message, (found,))
    if port.text == read_source(Path(request.kernel_file)):
        message = "the port is the original: no kernel was converted, so there is nothing to watch"
        finding = Diagnostic(codes.NOT_COMPARABLE, message, request.kernel_file, 1, 1)
        return TierResult("T4", Verdict.NOT_COMPARABLE, "the port is the original", (finding,))
    reports = []
    for number, sanitizer in enumerate(sanitizers):
        reason = sanitizer.missing(_triton_version())
        if reason is not None:
            reports.append(Report(sanitizer.name, Verdict.NOT_RUN, reason))
            continue
        on_phase(sanitizer.name)
        share = (start + request.timeout - time.monotonic()) / (len(sanitizers) - number)
        reports.append(_run(sanitizer, request, port, device, max(share - _SPARE, 1.0)))
    return _combined(reports, time.monotonic() - start)


def _combined(reports: Sequence[Report], seconds: float) -> TierResult:
    """The worst of the verdicts; what did not run is told, and is no pass."""
    data = {"sanitizers": [one.to_json() for one in reports]}
    return TierResult(
        "T4",
        worst(one.verdict for one in reports),
        "; ".join(_words(one) for one in reports),
        tuple(found for one in reports for found in one.findings),
        tuple(f"{one.verdict.value} {one.name}: {text}" for one in reports for text in (one.summary, *one.notes)),
        data,
        round(seconds, 3),
    )


def _words(report: Report) -> str:
    not_run = "not run: " if report.verdict is Verdict.NOT_RUN else ""
    return f"{report.name} {not_run}{report.summary}"


def _run(sanitizer: Sanitizer, request: Request, port: Port, device: str, seconds: float) -> Report:
    """One sanitizer: the port under it, and the original where the port alone does not say enough."""
    with tempfile.TemporaryDirectory(prefix="tritonport-") as name:
        folder = Path(name)
        texts = Texts(request.kernel_file, read_source(Path(request.kernel_file)), request.port, port.text)
        code_file = port.code_file.resolve() if port.code_file is not None else folder / Path(request.kernel_file).name
        if port.code_file is None:
            code_file.write_text(port.text, encoding="utf-8")
        start = time.monotonic()
        sides = ("original", "port") if sanitizer.compares else ("port",)
        watched = _watch(sanitizer, request, code_file, sides, device, folder / "port", seconds)
        report = judge(sanitizer, watched, texts, _triton_version(), seconds)
        left = seconds - (time.monotonic() - start)
        if report.verdict is Verdict.FAIL and sanitizer.program and left > 1.0:
            # What the original does too is no fault of the port.
            watched = _watch(sanitizer, request, code_file, ("original",), device, folder / "original", left)
            report = report.beside(judge(sanitizer, watched, texts, _triton_version(), left))
        return report


def _watch(
    sanitizer: Sanitizer,
    request: Request,
    code_file: Path,
    sides: tuple[str, ...],
    device: str,
    folder: Path,
    seconds: float,
) -> Watched:
    folder.mkdir()
    assert request.case is not None
    job = Job(
        os.path.abspath(request.kernel_file),
        os.path.abspath(request.case),
        str(code_file),
        sides,
        device,
        request.targets[0],
        request.seeds,
        0.5 * seconds,
    )
    job.write(folder)
    command = [sys.executable, "-m", "tritonport.verify.sanitize.worker", str(folder)]
    if sanitizer.program:
        program = find_program(sanitizer.program[0])
        assert program is not None
        command = [program, *sanitizer.program[1:], *command]
    try:
        ended = run_to_end(command, _environment(sanitizer.environment), folder / "output", seconds)
    except OSError as error:
        return Watched(None, (), f"{command[0]} cannot be started: {error.strerror or error}")
    return Watched(ended, tuple(read_records(folder)))


def _environment(switches: Mapping[str, str]) -> dict[str, str]:
    # Under TRITON_INTERPRET a jitted function is none.
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    here = str(Path(tritonport.__file__).resolve().parents[1])
    paths = [here, *filter(None, environment.get("PYTHONPATH", "").split(os.pathsep))]
    environment["PYTHONPATH"] = os.pathsep.join(dict.fromkeys(paths))
    environment.setdefault("TRITON_DEFAULT_FP_FUSION", "0")
    return environment | dict(switches)


def _target(request: Request, device: str) -> str:
    return gpu_target() if device == "cuda" else request.targets[0]


def _triton_version() -> str:
    try:
        return version("triton")
    except PackageNotFoundError:
        import triton

        return str(triton.__version__)
