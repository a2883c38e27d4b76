"""T1: every specification of the case compiles as the port, and the port uses no more than the original does."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tritonport.report.diagnostic import Diagnostic, InputError
from tritonport.verify import codes
from tritonport.verify.case import PORT_MARK, Case, load_case
from tritonport.verify.isolate import report_phase
from tritonport.verify.request import Request, make_port
from tritonport.verify.verdict import TierResult, Verdict, worst


@dataclass
class _Tally:
    """What the specifications of all targets came to."""

    verdicts: list[Verdict] = field(default_factory=list)
    findings: list[Diagnostic] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    pairs: list[Any] = field(default_factory=list)
    registers: list[Diagnostic] = field(default_factory=list)
    rows: list[dict[str, Any]] = field(default_factory=list)


def run_compile(request: Request) -> TierResult:
    """Compiles original and port for every target.

    Raises InputError where the original or its case cannot be loaded, or a specification does not fit its kernel.
    """
    if request.case is None:
        return TierResult("T1", Verdict.NOT_COMPARABLE, "no case")
    original = load_case(Path(request.case), Path(request.kernel_file))
    if not original.compile_specs:
        return TierResult("T1", Verdict.NOT_RUN, "the case has no COMPILE_SPECS")
    tally = _Tally()
    for target in request.targets:
        port = make_port(request, target)
        try:
            ported = load_case(Path(request.case), Path(request.kernel_file), port.text, port.code_file)
        except InputError as error:
            tally.verdicts.append(Verdict.FAIL)
            tally.findings.append(error.diagnostic)
            continue
        _compile_target(request, target, original, ported, tally)
    done = sum(one in (Verdict.PASS, Verdict.PASS_TOLERANCE) for one in tally.verdicts)
    summary = f"{done} of {len(tally.verdicts)} specifications for {', '.join(request.targets)}"
    if not _hold_registers(tally):
        # The bar is one over all of them, and no specification of its own.
        tally.verdicts.append(Verdict.FAIL)
        summary += ", of which too many take more registers"
    return TierResult(
        "T1", worst(tally.verdicts), summary, tuple(tally.findings), tuple(tally.notes), {"kernels": tally.rows}
    )


def _compile_target(request: Request, target: str, original: Case, ported: Case, tally: _Tally) -> None:
    from tritonport.verify.compile import SpecError, compile_specs, complete

    if len(original.compile_specs) != len(ported.compile_specs):
        tally.verdicts.append(Verdict.FAIL)
        counts = f"{len(ported.compile_specs)} COMPILE_SPECS with the port, {len(original.compile_specs)} without"
        tally.findings.append(Diagnostic(codes.COMPILE_FAILED, f"the case has {counts}", request.kernel_file, 1, 1))
        return
    results: list[list[Any]] = []
    for side, case in (("original", original), ("port", ported)):
        report_phase(f"{side}: compile for {target}")
        specs: list[Any] = []
        for entry in case.compile_specs:
            try:
                specs.append(complete(entry))
            except SpecError as error:
                raise InputError(Diagnostic(codes.CASE_PROTOCOL, str(error), str(request.case), 1, 1)) from error
        with case.space.active():
            results.append(compile_specs(specs, target, timeout=request.timeout))
    for entry, *pair in zip(original.compile_specs, *results, strict=True):
        spec = complete(entry)
        place = _Place(request, original, ported, spec.fn, f"{spec.kernel} ({spec.label}) for {target}")
        row = {"kernel": spec.kernel, "specification": spec.label, "target": target}
        row |= {"original": pair[0].to_json(), "port": pair[1].to_json()}
        if spec.expect_error is not None and _refusal(pair[0], spec.expect_error):
            verdict = _refused(spec.expect_error, pair[1], place, tally)
        else:
            if spec.expect_error is not None:
                tally.notes.append(f"{place.label}: this Triton does not refuse the original: {spec.expect_error!r}")
            verdict = _held(spec.ptx_forbid, pair[0], pair[1], place, tally, row)
        row["verdict"] = verdict.value
        tally.verdicts.append(verdict)
        tally.rows.append(row)


def _hold_registers(tally: _Tally) -> bool:
    """Whether the pairs keep the bar of registers: one in ten may take up to 20 % more."""
    from tritonport.verify.compile import registers_hold

    holds = bool(registers_hold(tally.pairs))
    if holds:
        tally.notes += [found.message for found in tally.registers]
    else:
        tally.findings += tally.registers
    return holds


@dataclass(frozen=True)
class _Place:
    """Where to report a finding about one kernel."""

    request: Request
    original: Case
    ported: Case
    function: Any
    label: str

    def diagnostic(self, code: str, message: str, failure: Any = None) -> Diagnostic:
        """At the failure's line where the port is in a file, else at the kernel of the original."""
        from tritonport.verify.launches import definition

        path = self.ported.files.get(failure.path) if failure is not None and failure.line else None
        if path is not None and not path.endswith(PORT_MARK):
            return Diagnostic(code, message, path, failure.line, 1, failure.kernel)
        if path is not None:
            line = Path(failure.path).read_text(encoding="utf-8").splitlines()[failure.line - 1].strip()
            message += f"; line {failure.line} of the port: {line}"
        file, line_number = definition(self.function)
        shown = self.original.files.get(file, self.request.kernel_file)
        return Diagnostic(code, message, shown, line_number, 1, self.function.fn.__name__)


_GONE = "have been removed"
"""In the refusal of what the installed Triton no longer has: a port without it may well compile."""


def _refusal(result: Any, expected: str) -> bool:
    from tritonport.verify.compile import CompileFailure

    return isinstance(result, CompileFailure) and (expected in result.message or expected in result.details)


def _refused(expected: str, port: Any, place: _Place, tally: _Tally) -> Verdict:
    """The verdict on a specification that the original is refused with."""
    from tritonport.verify.compile import CompileFailure

    if _refusal(port, expected) or (_GONE in expected and not isinstance(port, CompileFailure)):
        return Verdict.PASS
    what = f"is refused with another text: {port.message}" if isinstance(port, CompileFailure) else "compiles"
    message = f"{place.label} must be refused with {expected!r}; the port {what}"
    tally.findings.append(place.diagnostic(codes.NOT_REFUSED, message))
    return Verdict.FAIL


def _held(
    forbidden: tuple[str, ...], original: Any, port: Any, place: _Place, tally: _Tally, row: dict[str, Any]
) -> Verdict:
    """The verdict on a specification that must compile."""
    from tritonport.verify.compile import CompileFailure, compare

    if isinstance(port, CompileFailure):
        both = isinstance(original, CompileFailure)
        message = f"{place.label} does not compile: {port.message}" + (" (nor does the original)" if both else "")
        tally.findings.append(place.diagnostic(codes.COMPILE_FAILED, message, port))
        return Verdict.NOT_COMPARABLE if both else Verdict.FAIL
    verdict = Verdict.PASS
    for text in forbidden:
        if text in port.mma or text in port.ptx:
            message = f"{place.label} has {text!r} in its PTX, which the case forbids"
            tally.findings.append(place.diagnostic(codes.COMPILE_FAILED, message))
            verdict = Verdict.FAIL
    if isinstance(original, CompileFailure):
        tally.notes.append(f"{place.label}: the original does not compile: {original.message}")
        return verdict
    bars = compare(original, port)
    if place.request.stage == "literal":
        tally.pairs.append(bars)
    row["bars"] = [{"name": bar.name, "passed": bar.passed, "text": bar.text} for bar in bars]
    for bar in bars:
        if bar.passed:
            continue
        if place.request.stage != "literal":
            # What a stage adds, such as the addresses of its ring, it may pay for: the bars are those of literal ports.
            tally.notes.append(f"{place.label}: {bar.text}")
        elif bar.name == "registers":
            tally.registers.append(place.diagnostic(codes.RESOURCE_BAR, f"{place.label}: {bar.text}"))
        else:
            tally.findings.append(place.diagnostic(codes.RESOURCE_BAR, f"{place.label}: {bar.text}"))
            verdict = Verdict.FAIL
    return verdict
