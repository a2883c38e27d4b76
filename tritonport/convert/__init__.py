"""The literal port: a Triton file in, the same file with its kernels in Gluon out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from tritonport.convert.block_pointers import without_block_pointers
from tritonport.convert.follow import FollowedFile
from tritonport.convert.long_lines import break_long_lines
from tritonport.convert.module import ModuleWriter
from tritonport.convert.outcomes import KernelOutcome, outcomes_of
from tritonport.convert.rewrite import rewrite
from tritonport.convert.torch_strings import with_kernel_source
from tritonport.layouts.recover.claims import KernelClaims, RecoveredLayouts
from tritonport.report import Diagnostic
from tritonport.source.embedded import Embedded, embedded_modules, with_text
from tritonport.source.module import SourceModule
from tritonport.source.project import shared_project


@dataclass(frozen=True)
class ConvertOptions:
    """What the output is for.

    Attributes:
        triton: the Triton version whose names are written, "3.6" to "3.9".
        target: the architecture, e.g. "sm_90".
        kernels: names of the kernels to convert; None for all.
        follow: port the helpers that kernels call from other files of the project too, into files of their own.
        recovered: by kernel, the layouts to write in place of those that the port would choose.
        stage: how far to take them: "literal", or a stage of `tritonport.upgrade`.
    """

    triton: str = "3.9"
    target: str = "sm_90"
    kernels: frozenset[str] | None = None
    follow: bool = False
    recovered: Mapping[str, RecoveredLayouts] = field(default_factory=dict)
    stage: str = "literal"


@dataclass(frozen=True)
class Conversion:
    """What came of one file.

    Attributes:
        followed: what it needs of the Gluon versions of other files (`ConvertOptions.follow`).
        copied: where the accesses stand in the input that a stage has copied, as line and column.
    """

    text: str
    kernels: tuple[KernelOutcome, ...]
    diagnostics: tuple[Diagnostic, ...]
    followed: tuple[FollowedFile, ...] = ()
    copied: frozenset[tuple[int, int]] = frozenset()


def convert_text(text: str, *, path: str, options: ConvertOptions | None = None) -> Conversion:
    """Port every kernel of a file that can be ported exactly; leave the others as they are and say why.

    Raises:
        InputError: the text is not Python (TP001).
    """
    options = options or ConvertOptions()
    project = shared_project()
    project.prepare = without_block_pointers
    converted = _convert_module(text, path, options)
    strings = embedded_modules(text)
    if not strings:
        return converted
    # What is run from a string has no folder to import from.
    options = replace(options, follow=False)
    inner = [_convert_module(string.text, path, options) for string in strings]
    return in_strings(converted, strings, inner)


def claims_for_text(text: str, *, path: str, options: ConvertOptions | None = None) -> dict[str, KernelClaims]:
    """What the analysis says of the values of every kernel that can be ported, by the kernel's name."""
    from tritonport.convert.claims import claims_of

    options = options or ConvertOptions()
    project = shared_project()
    project.prepare = without_block_pointers
    module = without_block_pointers(SourceModule(text, path, project), options.target)
    writer = ModuleWriter(module, options.triton, options.kernels, options.target)
    writer.run()
    return claims_of(writer)


def _convert_module(text: str, path: str, options: ConvertOptions) -> Conversion:
    """One file, or one string of a file that is a module of its own."""
    module = without_block_pointers(SourceModule(text, path, shared_project()), options.target)
    writer = ModuleWriter(module, options.triton, options.kernels, options.target, options.recovered, options.follow)
    writer.run()
    rewritten, followed = rewrite(writer)
    output = break_long_lines(rewritten, text, str(writer.config.default_indent))
    outcomes = tuple(outcomes_of(module, writer, options.kernels))
    diagnostics = sorted([*writer.refusals.values(), *writer.diagnostics], key=lambda found: found.sort_key)
    return Conversion(output, outcomes, tuple(diagnostics), followed.files)


def in_strings(outer: Conversion, strings: Sequence[Embedded], inner: Sequence[Conversion]) -> Conversion:
    """The file with the modules in its strings converted too; lines are those of the file."""
    text, kernels, diagnostics = outer.text, list(outer.kernels), list(outer.diagnostics)
    # The strings stand in the same order in the converted text.
    for place, string, conversion in reversed(list(zip(embedded_modules(text), strings, inner, strict=True))):
        if conversion.text != string.text:
            literal = with_text(text[place.start : place.end], with_kernel_source(conversion.text))
            text = text[: place.start] + literal + text[place.end :]
    for string, conversion in zip(strings, inner, strict=True):
        shift = string.line - 1
        kernels += [replace(kernel, line=kernel.line + shift) for kernel in conversion.kernels]
        diagnostics += [replace(found, line=found.line + shift) for found in conversion.diagnostics]
    kernels.sort(key=lambda kernel: kernel.line)
    diagnostics.sort(key=lambda found: found.sort_key)
    return Conversion(text, tuple(kernels), tuple(diagnostics), outer.followed)
