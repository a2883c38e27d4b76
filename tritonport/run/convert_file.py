"""Converting one file, whatever happens: the result is data, never an exception."""

import re
import warnings
from dataclasses import dataclass, replace
from pathlib import Path

from tritonport.convert import Conversion, ConvertOptions, convert_text
from tritonport.convert.follow import FollowedFile
from tritonport.convert.outcomes import KernelOutcome
from tritonport.report import Diagnostic, FileReport, InputError, KernelStatus, Selection, strip_notes
from tritonport.run.textfile import SourceText, decode_source, read_bytes


@dataclass(frozen=True)
class Recover:
    """How to find the layouts that Triton's compiler chooses (`--layouts recovered`).

    Attributes:
        case: the file with COMPILE_SPECS; None: the one beside the kernels.
        guess_signature: compile kernels that no case names too.
        specialisation: which of a kernel's entries in COMPILE_SPECS, from 1.
    """

    case: Path | None = None
    guess_signature: bool = False
    specialisation: int = 1


@dataclass(frozen=True)
class ConvertTask:
    """One file to convert.

    Attributes:
        path: how messages call the file.
        file: where it is; None where the bytes are given.
        data: the bytes of standard input.
        explicit: the user named it, so a file without kernels is a finding.
        recover: write the layouts of Triton's compiler in place of the port's own.
    """

    path: str
    options: ConvertOptions
    selection: Selection
    file: Path | None = None
    data: bytes = b""
    explicit: bool = True
    recover: Recover | None = None


@dataclass(frozen=True)
class FileResult:
    """What came of one file.

    Attributes:
        report: counts and findings.
        source: the file as it was read; None where it could not be.
        text: the converted text; None where there is none to write (an unusable file, one without kernels in a walk).
        has_kernels: the file defines a kernel.
        followed: what the port needs of the Gluon versions of other files.
        traceback: of an internal error.
    """

    report: FileReport
    source: SourceText | None = None
    text: str | None = None
    has_kernels: bool = False
    traceback: str | None = None
    followed: tuple[FollowedFile, ...] = ()


def convert_file(task: ConvertTask) -> FileResult:
    """Read and convert one file; writes nothing."""
    source: SourceText | None = None
    try:
        data = task.data if task.file is None else read_bytes(task.file, task.path)
        # Every kernel is made by a name with "jit" in it, and parsing is what takes the time.
        if not task.explicit and b"jit" not in data:
            return FileResult(FileReport(task.path))
        source = decode_source(data, task.path)
        _refuse_deep_nesting(source.text, task.path)
        conversion = _convert(task, source.text)
    except InputError as error:
        return FileResult(_unusable(task.path, error.diagnostic, source), source)
    except Exception as error:
        return _internal_error(task.path, error, source)
    return _result(task, source, conversion)


def _convert(task: ConvertTask, text: str) -> Conversion:
    if task.options.stage != "literal":
        from tritonport.upgrade import upgrade_text

        return upgrade_text(text, path=task.path, options=task.options)
    if task.recover is None or task.file is None:
        return convert_text(text, path=task.path, options=task.options)
    from tritonport.verify.compile.recovered import recover_layouts

    recovered, diagnostics = recover_layouts(
        task.file,
        task.path,
        text,
        task.options,
        case=task.recover.case,
        guess_signature=task.recover.guess_signature,
        specialisation=task.recover.specialisation,
    )
    conversion = convert_text(text, path=task.path, options=replace(task.options, recovered=recovered))
    found = sorted([*diagnostics, *conversion.diagnostics], key=lambda one: one.sort_key)
    return replace(conversion, diagnostics=tuple(found))


def _refuse_deep_nesting(text: str, path: str) -> None:
    """Raise InputError (TP001) for nesting at which LibCST's parser overflows its stack and ends the process.

    Python's own compiler refuses it with an exception. Whatever else is wrong with the text is left to the converter.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            # Compiled, not only parsed: Python 3.10 parses any depth, and only then finds it too deep.
            compile(text, path, "exec", dont_inherit=True)
    except SyntaxError as error:
        if "nested" in (error.msg or ""):
            found = Diagnostic("TP001", error.msg, path, error.lineno or 1, error.offset or 1)
            raise InputError(found) from None
    except (RecursionError, MemoryError):
        raise InputError(Diagnostic("TP001", "an expression is nested too deeply to parse", path, 1, 1)) from None
    except ValueError as error:  # a null byte, before Python 3.12
        raise InputError(Diagnostic("TP001", str(error), path, 1, 1)) from None


def _result(task: ConvertTask, source: SourceText, conversion: Conversion) -> FileResult:
    found = [one for one in conversion.diagnostics if task.selection.covers(one)]
    if not conversion.kernels and task.explicit:
        found.append(Diagnostic("TP003", "no Triton kernel in this file", task.path, 1, 1))
    text = conversion.text
    if task.selection.hidden and text != source.text:
        text = strip_notes(text, task.selection.hidden)
    report = FileReport(
        path=task.path,
        kernels=tuple(_status(one, conversion) for one in conversion.kernels),
        diagnostics=tuple(found),
        changed=text != source.text,
        source_lines=_lines(source.text, found),
    )
    return FileResult(report, source, text, bool(conversion.kernels), followed=conversion.followed)


def _status(one: KernelOutcome, conversion: Conversion) -> KernelStatus:
    of_it = [found for found in conversion.diagnostics if found.kernel == one.name and found.severity == "error"]
    return KernelStatus(one.name, one.line, one.status, of_it[0] if of_it and one.status == "left" else None)


def _unusable(path: str, found: Diagnostic, source: SourceText | None) -> FileReport:
    lines = _lines(source.text, [found]) if source else {}
    return FileReport(path, diagnostics=(found,), source_lines=lines)


def _internal_error(path: str, error: Exception, source: SourceText | None) -> FileResult:
    import traceback

    message = f"tritonport failed on this file: {type(error).__name__}: {' '.join(str(error).split())[:200]}"
    report = FileReport(path, diagnostics=(Diagnostic("TP901", message.rstrip(": "), path, 1, 1),))
    return FileResult(report, source, traceback="".join(traceback.format_exception(error)))


def _lines(text: str, found: list[Diagnostic]) -> dict[int, str]:
    if not found:
        return {}
    # Not str.splitlines: to Python, a form feed or U+2028 does not end a line.
    lines = re.split("\r\n|\n|\r", text)
    return {one.line: lines[one.line - 1] for one in found if 0 < one.line <= len(lines)}
