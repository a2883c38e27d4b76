"""What a survey knows of one kernel."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from tritonport.report import Diagnostic
from tritonport.run.convert_file import FileResult
from tritonport.source.paths import InputFile
from tritonport.verify.compile.bars import BarResult
from tritonport.verify.compile.kernels import find_kernels
from tritonport.verify.compile.resources import CompileFailure, Resources
from tritonport.verify.compile.signature import Guess


@dataclass
class KernelFinding:
    """One kernel of one package.

    Attributes:
        status: ``converted``, ``partial`` (converted, and a warning says that something of it was left as it was),
            ``refused`` or ``already`` (Gluon).
        diagnostics: those about the kernel.
        seconds: what the conversion of its file took, shared among the file's kernels.
        signature: what it is compiled with.
        original, port: what came of the compile; None where there was none.
        bars: empty unless both compiled.
    """

    package: str
    path: str
    qualname: str
    line: int
    status: str
    diagnostics: list[Diagnostic]
    seconds: float
    signature: Guess | None = None
    original: Resources | CompileFailure | None = None
    port: Resources | CompileFailure | None = None
    bars: list[BarResult] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The name after ``def``."""
        return self.qualname.rpartition(".")[2]

    @property
    def differences(self) -> list[str]:
        """Kinds of instructions (`ptx.meanings`) that one side has and the other lacks: `+` the port's, `-` its lack.

        No proof of a change: the compiler may contract or drop an operation on one side. Every one is worth a look.
        """
        if not isinstance(self.original, Resources) or not isinstance(self.port, Resources):
            return []
        before, after = set(self.original.meanings), set(self.port.meanings)
        return [f"+{one}" for one in sorted(after - before)] + [f"-{one}" for one in sorted(before - after)]

    @property
    def failed(self) -> list[BarResult]:
        """The bars that do not hold; registers within 20 % are allowed in one pair of ten, and judged in the table."""
        return [bar for bar in self.bars if not bar.passed]


def entries(text: str) -> set[str]:
    """The qualified names of the kernels of a source text; helpers that only other kernels call are part of those."""
    if "jit" not in text:
        return set()
    try:
        return {kernel.qualname for kernel in find_kernels(text) if kernel.is_entry}
    except (SyntaxError, ValueError):
        return set()


def find_status(package: str, one: InputFile, result: FileResult, seconds: float) -> Iterator[KernelFinding]:
    """The kernels of one file; a file that could not be used counts as one refused kernel."""
    report = result.report
    if not report.kernels:
        for found in report.diagnostics:
            yield KernelFinding(package, one.path, "-", found.line, "refused", [found], seconds)
        return
    assert result.source is not None
    wanted = entries(result.source.text)
    for kernel in report.kernels:
        if kernel.name not in wanted:
            continue
        about = [found for found in report.diagnostics if found.kernel in (kernel.name, kernel.name.rpartition(".")[2])]
        status = {"left": "refused"}.get(kernel.status, kernel.status)
        if status == "converted" and any(found.severity == "error" for found in about):
            status = "partial"
        share = seconds / len(report.kernels)
        yield KernelFinding(package, one.path, kernel.name, kernel.line, status, about, share)
