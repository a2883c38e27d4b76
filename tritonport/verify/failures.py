"""What a side raised, as a finding: whose fault it is, where it stands, and in which words."""

from dataclasses import dataclass
from pathlib import Path

from tritonport.report.diagnostic import Diagnostic
from tritonport.verify import codes
from tritonport.verify.case import PORT_MARK, Case, read_source
from tritonport.verify.compile.kernels import find_kernels
from tritonport.verify.places import Place, first_line, place_of
from tritonport.verify.request import Request
from tritonport.verify.side import Side, SideFailed, Variation
from tritonport.verify.verdict import Verdict


@dataclass(frozen=True)
class Stopped(Exception):
    """A tier ends here, with this verdict."""

    verdict: Verdict
    finding: Diagnostic


@dataclass(frozen=True)
class Failures:
    """The failures of one tier on one file.

    Attributes:
        request: what the tier was asked to do; it has a case.
        port_text: the source of the port.
    """

    request: Request
    port_text: str

    def of_case(self, side: Side, failed: SideFailed) -> Stopped:
        """The case itself raised."""
        message = f"{failed.step} of the case raises ({side.name}): {describe(failed.error)}"
        return Stopped(Verdict.ERROR, self._raised_at(side, failed, message))

    def of_protocol(self, message: str) -> Stopped:
        """The case does not keep to the protocol."""
        return Stopped(Verdict.ERROR, Diagnostic(codes.CASE_PROTOCOL, message, str(self.request.case), 1, 1))

    def of_port(self, side: Side, variation: Variation, failed: SideFailed) -> Stopped:
        """The port raised, on inputs that the original takes or says nothing about."""
        message = f"the port raises ({variation}): {describe(failed.error)}"
        return Stopped(Verdict.FAIL, self.in_original(self._raised_at(side, failed, message)))

    def of_import(self, finding: Diagnostic) -> Stopped:
        """The port cannot be loaded, though the original can."""
        return Stopped(Verdict.FAIL, self.in_original(finding))

    def in_original(self, finding: Diagnostic) -> Diagnostic:
        """A position in a port that is in no file, as words; what it is reported at is the kernel in the original."""
        if not finding.path.endswith(PORT_MARK):
            return finding
        line = self.port_text.splitlines()[finding.line - 1].strip()
        message = f"{finding.message}; line {finding.line} of the port: {line}"
        kernels = find_kernels(read_source(Path(self.request.kernel_file)))
        at = next((kernel.node for kernel in kernels if kernel.name == finding.kernel), None)
        number, column = (at.lineno, at.col_offset + 1) if at else (1, 1)
        return Diagnostic(finding.code, message, self.request.kernel_file, number, column, finding.kernel)

    def _raised_at(self, side: Side, failed: SideFailed, message: str) -> Diagnostic:
        place = _compile_place(failed, side.case) or place_of(failed.error, side.case.files)
        place = place or Place(str(self.request.case), 1)
        kernel = getattr(failed.error, "kernel", None) or (failed.launches[-1].kernel if failed.launches else None)
        return Diagnostic(_code_of(failed.error), message, place.path, place.line, place.column, kernel)


def is_refusal(error: BaseException) -> bool:
    """Whether Triton, or the emulator in its place, refused to compile or run a kernel."""
    kinds = {kind.__module__.partition(".")[0] for kind in type(error).__mro__}
    return bool(kinds & {"triton", "tritonport"})


def is_not_emulated(error: BaseException) -> bool:
    """Whether the emulator has no model of an operation."""
    return type(error).__name__ == "NotEmulated"


def describe(error: BaseException) -> str:
    """An exception in one line; the emulator's findings with the program that ran."""
    message = getattr(error, "message", None)
    if isinstance(message, str):
        program = getattr(error, "program", None)
        return message.splitlines()[0] + (f" (program {program})" if program is not None else "")
    return first_line(error)


def _code_of(error: BaseException) -> str:
    """The code for what a launch raised: the emulator's findings have their own."""
    text = str(getattr(error, "message", ""))
    if text.startswith("out-of-bounds"):
        return codes.OUT_OF_BOUNDS
    endless = ("time limit" in text, text.startswith("a loop of more than"), "never end" in text)
    return codes.TIMEOUT if any(endless) else codes.RAISED


def _compile_place(failed: SideFailed, case: Case) -> Place | None:
    """Where Triton's front end stopped, for an error that names a node of the kernel."""
    if not failed.launches or not hasattr(failed.error, "node"):
        return None
    from tritonport.verify.compile.diagnose import from_exception

    _, path, line = from_exception(failed.error, failed.launches[-1].function, "")
    return Place(case.files[path], line) if line and path in case.files else None
