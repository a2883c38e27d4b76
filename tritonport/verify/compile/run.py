"""Compiling files: originals and their ports side by side, with the bars, for every target asked for."""

from __future__ import annotations

import functools
import importlib.util
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tritonport.layouts.recover.claims import KernelClaims
from tritonport.layouts.recover.compare import LAYOUT, TYPE
from tritonport.report import NOT_RUN, Diagnostic, InputError, worst_exit_code
from tritonport.report.diagnostic import unknown_kernel
from tritonport.report.exit_codes import FINDINGS, UNUSABLE
from tritonport.verify import codes
from tritonport.verify.compile.bars import BarResult, compare, registers_hold
from tritonport.verify.compile.compiler import warm_up
from tritonport.verify.compile.forked import Outcome, run_forked
from tritonport.verify.compile.kernels import KernelSource, find_kernels
from tritonport.verify.compile.resources import CompileFailure, Resources
from tritonport.verify.compile.side import CompiledSpec, Side, SideRequest, compile_side
from tritonport.verify.compile.signature import guess

# A side has no limit of its own: loading it and each of its kernels have one.
_NO_LIMIT = 10.0 * 24 * 3600


@dataclass(frozen=True)
class CompileRequest:
    """What a run is asked to do.

    against: the original of the one (ported) file given. against_triton: hold what the analysis says of the originals
    against the compiler. guess_signature: compile kernels without an entry in
    ``COMPILE_SPECS`` too. timeout: seconds per kernel. as_launched: with the software pipelining the source asks for.
    """

    targets: tuple[str, ...] = ("sm_90",)
    triton: str = "3.9"
    against: Path | None = None
    case: Path | None = None
    kernels: frozenset[str] | None = None
    guess_signature: bool = False
    timeout: float = 120.0
    as_launched: bool = False
    against_triton: bool = False
    cache: Path | None = None
    jobs: int = 1


@dataclass(frozen=True)
class Pair:
    """One specification of one kernel for one target, original and port.

    path and line: the kernel's ``def`` in the original. port: None where there is nothing to compare.
    bars: empty unless both sides compiled. refused: nothing of the file could be converted for this target.
    """

    path: str
    line: int
    target: str
    original: CompiledSpec
    port: CompiledSpec | None = None
    bars: tuple[BarResult, ...] = ()
    refused: bool = False

    @property
    def kernel(self) -> str:
        """The kernel's name."""
        return self.original.kernel

    @property
    def failed(self) -> tuple[BarResult, ...]:
        """The bars that do not hold, the register bar by its own 10 %."""
        return tuple(bar for bar in self.bars if not bar.passed)


@dataclass(frozen=True)
class FileCompile:
    """What came of one file. diagnostics: findings that are about the file or about a kernel that was not compiled."""

    path: str
    pairs: tuple[Pair, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()


@dataclass(frozen=True)
class CompileReport:
    """The files of a run, in order."""

    files: tuple[FileCompile, ...] = ()

    @property
    def pairs(self) -> list[Pair]:
        """Every pair of the run."""
        return [pair for file in self.files for pair in file.pairs]

    @functools.cached_property
    def registers_hold(self) -> bool:
        """The register bar over all pairs that were compared: within 20 % in one of ten, 10 % in the others."""
        return registers_hold([pair.bars for pair in self.pairs if pair.bars])

    def findings(self, file: FileCompile) -> list[Diagnostic]:
        """All that is wrong with one file, the register bar judged over the whole run."""
        return [*file.diagnostics, *(found for pair in file.pairs for found in self._pair_findings(pair))]

    def layout_differences(self, file: FileCompile) -> list[Diagnostic]:
        """Where a port has another layout than Triton chose: no finding, what it costs is for the bars to say."""
        return list(dict.fromkeys(found for pair in file.pairs for found in _disagreements(pair, LAYOUT)))

    def _pair_findings(self, pair: Pair) -> Iterable[Diagnostic]:
        words = f"{pair.target}, {pair.original.label}" if pair.original.label else pair.target

        def finding(code: str, message: str, failure: CompileFailure | None = None) -> Diagnostic:
            place = failure if failure is not None and failure.line else None
            path, line = (place.path, place.line) if place else (pair.path, pair.line)
            return Diagnostic(code, f"{message} [{words}]", path, line, 1, pair.kernel)

        for side, spec in (("the original", pair.original), ("the port", pair.port)):
            if spec is None:
                continue
            if isinstance(spec.result, CompileFailure) and not spec.refused_as_expected:
                failure = spec.result
                if spec.guessed and side == "the original":
                    message = f"the original does not compile with the guessed signature: {failure.message}"
                    yield finding(codes.NOT_RUN, message, failure)
                    return
                code = {"timeout": codes.TIMEOUT, "crash": codes.CRASHED}.get(failure.reason, codes.COMPILE_FAILED)
                yield finding(code, f"{side} does not compile: {failure.message}", failure)
            elif isinstance(spec.result, Resources) and spec.expect_error is not None:
                yield finding(codes.NOT_REFUSED, f"{side} compiles; it should fail with {spec.expect_error!r}")
            for text in spec.forbidden:
                yield finding(codes.RESOURCE_BAR, f"{side} has {text!r} in its PTX, which the case forbids")
        if pair.port is not None and isinstance(pair.port.result, Resources):
            original = pair.original.result
            if pair.port.result.language == "triton" and isinstance(original, Resources):
                yield finding(codes.KERNEL_LOST, "the kernel is still Triton in the port")
        yield from _disagreements(pair, TYPE)
        if pair.original.heard is not None and pair.original.heard.failed:
            yield finding(codes.INTERNAL, f"the compiler's IR cannot be read: {pair.original.heard.failed}")
        for bar in pair.failed:
            if not (bar.allowed and self.registers_hold):
                yield finding(codes.RESOURCE_BAR, f"{bar.name}: {bar.text}")

    @property
    def exit_code(self) -> int:
        """0 all compiled and every bar holds, 1 findings, 2 unusable input, 3 something or everything not compiled."""
        found = [_exit_code(one) for file in self.files for one in self.findings(file)]
        if not any(
            isinstance(pair.original.result, Resources) or pair.original.refused_as_expected for pair in self.pairs
        ):
            found.append(NOT_RUN)
        return worst_exit_code(found)


def _disagreements(pair: Pair, kind: str) -> Iterable[Diagnostic]:
    heard = pair.original.heard
    words = f"{pair.target}, {pair.original.label}" if pair.original.label else pair.target
    code = codes.TYPE_DISAGREES if kind == TYPE else codes.LAYOUT_DISAGREES
    for found in heard.comparison.disagreements if heard is not None else ():
        if found.kind == kind:
            yield Diagnostic(code, f"{found} [{words}]", found.path, found.line, found.column, pair.kernel)


def _exit_code(found: Diagnostic) -> int:
    if found.code in (codes.NOT_RUN, codes.NOT_COMPARABLE):
        return NOT_RUN
    unusable = found.code.startswith(("TP0", "TP9")) and found.code != codes.NO_KERNEL
    return UNUSABLE if unusable else FINDINGS


@dataclass
class _Plan:
    """One file on its way: its kernels, and which request of the run is which side of which target."""

    path: str
    kernels: Sequence[KernelSource] = ()
    diagnostics: list[Diagnostic] = field(default_factory=list)
    sides: dict[str, list[int]] = field(default_factory=dict)  # target -> the original's request, then the port's
    refused: set[str] = field(default_factory=set)  # targets that nothing could be converted for

    def line_of(self, kernel: str) -> int:
        return next((found.node.lineno for found in self.kernels if found.name == kernel), 1)


def _find_case(file: Path, request: CompileRequest) -> Path | None:
    from tritonport.verify.case import find_case

    try:
        return find_case(file, request.case)
    except InputError as error:
        if error.diagnostic.code == codes.NOT_COMPARABLE:
            return None
        raise


def _convert(plan: _Plan, text: str, target: str, request: CompileRequest) -> str | None:
    """The port of a Triton text for one target; None, with diagnostics, where nothing could be converted."""
    from tritonport.convert import ConvertOptions, convert_text

    options = ConvertOptions(triton=request.triton, target=target, kernels=request.kernels)
    try:
        conversion = convert_text(text, path=plan.path, options=options)
    except InputError as error:
        plan.diagnostics.append(error.diagnostic)
        return None
    except Exception as error:  # a bug in the converter: the originals are still of use
        message = f"the conversion failed: {type(error).__name__}: {error}"
        plan.diagnostics.append(Diagnostic(codes.INTERNAL, message, plan.path, 1, 1))
        return None
    known = {(found.code, found.line, found.column) for found in plan.diagnostics}
    for found in conversion.diagnostics:
        if found.severity == "error" and (found.code, found.line, found.column) not in known:
            plan.diagnostics.append(found)
    return conversion.text if any(kernel.status == "converted" for kernel in conversion.kernels) else None


def _claims(plan: _Plan, text: str, target: str, request: CompileRequest) -> dict[str, KernelClaims]:
    """What the analysis says of the kernels; nothing where it cannot read the file, which the conversion reports."""
    from tritonport.convert import ConvertOptions, claims_for_text

    if not request.against_triton:
        return {}
    options = ConvertOptions(triton=request.triton, target=target, kernels=request.kernels)
    try:
        return claims_for_text(text, path=plan.path, options=options)
    except InputError:
        return {}


def _plan_file(file: Path, path: str, request: CompileRequest, requests: list[SideRequest]) -> _Plan:
    from tritonport.verify.case import read_source

    original, shown = (file, path) if request.against is None else (request.against, str(request.against))
    plan = _Plan(shown)
    try:
        text = read_source(file)
        original_text = read_source(original)
        plan.kernels = _kernels(original_text, shown)
        if request.against is not None:
            # Kernels that the port's file does not have are not under test.
            names = {kernel.name for kernel in _kernels(text, path)}
            plan.kernels = [kernel for kernel in plan.kernels if kernel.name in names]
        if not plan.kernels:
            raise InputError(Diagnostic(codes.NO_KERNEL, "no kernel to compile in this file", path, 1, 1))
        case = _find_case(original, request)
        if case is None and not request.guess_signature:
            message = "not compiled: no case beside the file says with which arguments (or use --guess-signature)"
            raise InputError(Diagnostic(codes.NOT_RUN, message, path, 1, 1))
        guesses = tuple(guess(original_text, str(original))) if request.guess_signature else ()
        ported = any(kernel.language == "gluon" for kernel in plan.kernels)
        for target in request.targets:
            port = text if request.against else (None if ported else _convert(plan, text, target, request))
            if port is None and not ported:
                plan.refused.add(target)
            for side in [None] if port is None else [None, port]:
                plan.sides.setdefault(target, []).append(len(requests))
                requests.append(
                    SideRequest(
                        file=original,
                        path=shown,
                        target=target,
                        text=side,
                        case=case,
                        guesses=guesses,
                        kernels=request.kernels,
                        timeout=request.timeout,
                        as_launched=request.as_launched,
                        cache=request.cache / ("original" if side is None else "port") if request.cache else None,
                        claims=_claims(plan, original_text, target, request) if side is None else {},
                    )
                )
    except InputError as error:
        plan.diagnostics.append(error.diagnostic)
    return plan


def _kernels(text: str, path: str) -> list[KernelSource]:
    try:
        return find_kernels(text)
    except (SyntaxError, ValueError) as error:
        line, column = getattr(error, "lineno", None) or 1, getattr(error, "offset", None) or 1
        message = f"does not parse: {getattr(error, 'msg', error)}"
        raise InputError(Diagnostic(codes.UNPARSABLE, message, path, line, column)) from error


def side_of(outcome: Outcome[Side], request: SideRequest) -> Side:
    """What a child that compiled one side gave back; a finding where it ended in another way."""
    if outcome.value is not None:
        return outcome.value
    if outcome.status == "SIGALRM":
        found = Diagnostic(codes.TIMEOUT, "loading the file takes too long", request.path, 1, 1)
    elif outcome.ended == "raised":
        lines = outcome.output.strip().splitlines() or ["no output"]
        found = Diagnostic(codes.INTERNAL, lines[-1], request.path, 1, 1)
    else:
        found = Diagnostic(codes.CRASHED, f"loading the file ends the process: {outcome.status}", request.path, 1, 1)
    return Side(diagnostics=(found,))


def _pairs(plan: _Plan, sides: Sequence[Side], request: CompileRequest) -> FileCompile:
    pairs: list[Pair] = []
    diagnostics = list(plan.diagnostics)
    for target, indices in plan.sides.items():
        original, port = sides[indices[0]], sides[indices[1]] if len(indices) > 1 else None
        for side in (original, port):
            diagnostics += [found for found in (side.diagnostics if side else ()) if found not in diagnostics]
        # The two sides have the same entries: those of one case, then those of one list of guesses.
        ports: Sequence[CompiledSpec | None] = port.compiled if port is not None else ()
        if len(ports) != len(original.compiled):
            if port is not None and not port.diagnostics and not original.diagnostics:
                message = f"{len(original.compiled)} kernels to compile in the original, {len(ports)} in the port"
                diagnostics.append(Diagnostic(codes.NOT_COMPARABLE, message, plan.path, 1, 1))
            ports = [None] * len(original.compiled)
        for left, right in zip(original.compiled, ports, strict=True):
            bars: Sequence[BarResult] = ()
            both = right is not None and isinstance(left.result, Resources) and isinstance(right.result, Resources)
            if both and right is not None and right.result.language == "gluon":  # type: ignore[union-attr]
                bars = compare(left.result, right.result)  # type: ignore[arg-type]
            line, refused = plan.line_of(left.kernel), target in plan.refused
            pairs.append(Pair(plan.path, line, target, left, right, tuple(bars), refused))
    compiled = {pair.kernel for pair in pairs}
    wanted = [one for one in plan.kernels if one.is_entry and (not request.kernels or one.name in request.kernels)]
    for kernel in wanted if plan.sides and not diagnostics else []:
        if kernel.name not in compiled:
            message = "not compiled: COMPILE_SPECS of the case has no entry for it (or use --guess-signature)"
            line = kernel.node.lineno
            diagnostics.append(Diagnostic(codes.NOT_RUN, message, plan.path, line, 1, kernel.name))
    if not pairs and not diagnostics:
        diagnostics.append(_nothing_to_compile(plan))
    return FileCompile(plan.path, tuple(pairs), tuple(diagnostics))


def _nothing_to_compile(plan: _Plan) -> Diagnostic:
    """Why a file with jitted functions gave nothing: what others call is compiled with its callers."""
    names = ", ".join(kernel.name for kernel in plan.kernels)
    verb = "is a helper" if len(plan.kernels) == 1 else "are helpers"
    message = f"not compiled: {names} {verb}, and the file has no kernel under a @triton.jit decorator that it launches"
    hint = "Write the decorator above the kernel: what a call such as `kernel = triton.jit(kernel)` makes is not found."
    return Diagnostic(codes.NOT_RUN, message, plan.path, plan.kernels[0].node.lineno, 1, hint=hint)


def _check_names(plans: Sequence[_Plan], request: CompileRequest) -> None:
    """Raises InputError (TP004) for a name in `request.kernels` that no file has, unless a file could not be read."""
    names = {kernel.name for plan in plans for kernel in plan.kernels}
    unreadable = any(found.code in (codes.UNPARSABLE, codes.UNREADABLE) for plan in plans for found in plan.diagnostics)
    for name in sorted((request.kernels or frozenset()) - names):
        if not unreadable:
            raise InputError(unknown_kernel(name, names, plans[0].path if plans else "."))


def prepare_process(files: Iterable[Path], targets: Iterable[str]) -> None:
    """Import once what every child needs. Triton's interpreter would take the place of the kernels to compile."""
    os.environ.pop("TRITON_INTERPRET", None)
    for target in targets:
        warm_up(target)
    if importlib.util.find_spec("torch") and any(b"torch" in file.read_bytes() for file in files if file.is_file()):
        import torch  # noqa: F401


def compile_files(
    files: Sequence[tuple[Path, str]],
    request: CompileRequest,
    progress: Callable[[int, int, str], None] | None = None,
) -> CompileReport:
    """Compile every kernel of every (file, path to show), and of its port.

    A Triton file is converted in memory, once per target. A file with Gluon kernels is compiled alone, or compared
    with `request.against`. One file's failure never stops the others. InputError where `request.kernels` names a kernel
    that no file has.
    """
    requests: list[SideRequest] = []
    plans = [_plan_file(file, path, request, requests) for file, path in files]
    _check_names(plans, request)
    outcomes: list[Outcome[Side]] = []
    if requests:
        prepare_process((side.case or side.file for side in requests), request.targets)
        ended = 0

        def done(index: int, outcome: Outcome[Side]) -> None:
            nonlocal ended
            ended += 1
            if progress is not None:
                progress(ended, len(requests), f"{requests[index].path} ({requests[index].target})")

        calls = [functools.partial(compile_side, side) for side in requests]
        outcomes = run_forked(calls, timeout=_NO_LIMIT, jobs=request.jobs, done=done)
    sides = [side_of(outcome, side) for outcome, side in zip(outcomes, requests, strict=True)]
    return CompileReport(tuple(_pairs(plan, sides, request) for plan in plans))
