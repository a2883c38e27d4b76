"""The literal port: a Triton file in, the same file with its kernels in Gluon out."""

from __future__ import annotations

from dataclasses import dataclass

from tritonport.convert.module import ModuleWriter
from tritonport.convert.recipes.block_pointer import without_block_pointers
from tritonport.convert.rewrite import rewrite
from tritonport.report import Diagnostic
from tritonport.source.module import SourceModule
from tritonport.source.project import shared_project


@dataclass(frozen=True)
class ConvertOptions:
    """What the output is for.

    Attributes:
        triton: the Triton version whose names are written, "3.6" to "3.9".
        target: the architecture, e.g. "sm_90".
        kernels: names of the kernels to convert; None for all.
    """

    triton: str = "3.9"
    target: str = "sm_90"
    kernels: frozenset[str] | None = None


@dataclass(frozen=True)
class KernelOutcome:
    """What became of one kernel: "converted", "left" (see the diagnostics), "already" Gluon, or "skipped" by
    --kernel."""

    name: str
    line: int
    status: str


@dataclass(frozen=True)
class Conversion:
    text: str
    kernels: tuple[KernelOutcome, ...]
    diagnostics: tuple[Diagnostic, ...]


def convert_text(text: str, *, path: str, options: ConvertOptions | None = None) -> Conversion:
    """Port every kernel of a file that can be ported exactly; leave the others as they are and say why.

    Raises:
        InputError: the text is not Python (TP001).
    """
    options = options or ConvertOptions()
    project = shared_project()
    project.prepare = without_block_pointers
    module = without_block_pointers(SourceModule(text, path, project))
    writer = ModuleWriter(module, options.triton, options.kernels, options.target)
    writer.run()
    output = rewrite(writer)
    outcomes = []
    for kernel in module.kernels:
        line = module.line_of(kernel)
        if kernel.language == "gluon":
            status = "already"
        elif kernel in writer.written or kernel in writer.helpers:
            status = "converted"
        elif options.kernels is not None and kernel.name not in options.kernels:
            status = "skipped"
        else:
            status = "left"
        outcomes.append(KernelOutcome(kernel.qualified, line, status))
    diagnostics = sorted([*writer.refusals.values(), *writer.diagnostics], key=lambda found: found.sort_key)
    return Conversion(output, tuple(outcomes), tuple(diagnostics))
