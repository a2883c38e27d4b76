"""T0: what the text of a port shows without running it."""

from pathlib import Path

from tritonport.report.diagnostic import Diagnostic
from tritonport.verify import codes
from tritonport.verify.case import read_source
from tritonport.verify.compile.kernels import KernelSource, find_kernels
from tritonport.verify.places import first_line
from tritonport.verify.request import Port, Request, make_port
from tritonport.verify.verdict import TierResult, Verdict


def run_static(request: Request) -> TierResult:
    """The port parses, holds every kernel of the original as Gluon, converts to itself, and no error was reported.

    Raises InputError where the original cannot be read or does not parse.
    """
    original = read_source(Path(request.kernel_file))
    findings: list[Diagnostic] = []
    ported = 0
    for target in request.targets if request.port is None else request.targets[:1]:
        port = make_port(request, target)
        shown = request.port or request.kernel_file
        try:
            kernels = find_kernels(port.text)
        except SyntaxError as error:
            message = f"the port for {target} does not parse: {first_line(error)}"
            return _result([Diagnostic(codes.UNPARSABLE, message, shown, error.lineno or 1, error.offset or 1)], 0)
        before = find_kernels(original)
        if not before:
            message = "no kernel in the file"
            finding = Diagnostic(codes.NO_KERNEL, message, request.kernel_file, 1, 1)
            return TierResult("T0", Verdict.NOT_COMPARABLE, message, (finding,))
        errors = [found for found in port.diagnostics if found.severity == "error"]
        findings += errors
        # A kernel that was left as it was has its diagnostic already.
        left = {found.kernel for found in errors}
        findings += [found for found in _lost(before, kernels, request) if found.kernel not in left]
        findings += _not_idempotent(port, request, target)
        ported = sum(kernel.language == "gluon" for kernel in kernels)
    return _result(list(dict.fromkeys(findings)), ported)


def _result(findings: list[Diagnostic], ported: int) -> TierResult:
    if findings:
        noun = "finding" if len(findings) == 1 else "findings"
        return TierResult("T0", Verdict.FAIL, f"{len(findings)} {noun}", tuple(findings))
    noun = "function" if ported == 1 else "functions"
    return TierResult("T0", Verdict.PASS, f"{ported} Gluon {noun}")


def _lost(before: list[KernelSource], after: list[KernelSource], request: Request) -> list[Diagnostic]:
    """The entry kernels of the original that the port has not, or has as Triton still."""
    languages = {kernel.qualname: kernel.language for kernel in after}
    found = []
    for kernel in before:
        language = languages.get(kernel.qualname)
        if language == "gluon" or not kernel.is_entry:
            continue
        what = "is not in the port" if language is None else "is Triton in the port still"
        found.append(
            Diagnostic(
                codes.KERNEL_LOST,
                f"{kernel.qualname} {what}",
                request.kernel_file,
                kernel.node.lineno,
                kernel.node.col_offset + 1,
                kernel.name,
            )
        )
    return found


def _not_idempotent(port: Port, request: Request, target: str) -> list[Diagnostic]:
    from tritonport.convert import ConvertOptions, convert_text

    path = request.port or request.kernel_file
    again = convert_text(port.text, path=path, options=ConvertOptions(triton=request.triton, target=target)).text
    if again == port.text:
        return []
    pairs = zip(port.text.splitlines(), again.splitlines(), strict=False)
    line = next((n for n, (old, new) in enumerate(pairs, 1) if old != new), 1 + min(map(_lines, (port.text, again))))
    text = port.text.splitlines()[line - 1].strip() if line <= _lines(port.text) else "the end"
    message = f"converting the port again for {target} changes it at line {line}: {text}"
    # A position in a port that is in no file means nothing: the file that it came from is named.
    return [Diagnostic(codes.NOT_IDEMPOTENT, message, path, line if request.port else 1, 1)]


def _lines(text: str) -> int:
    return len(text.splitlines())
