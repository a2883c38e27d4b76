"""Where the results of a run go: standard output, files, a diff, or nowhere."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tritonport.report import Diagnostic, InputError
from tritonport.run.followed import HelperFile, HelperFiles, renamed_imports
from tritonport.run.request import Outcome
from tritonport.run.textfile import SourceText, write_atomically
from tritonport.source.paths import InputFile
from tritonport.source.project import path_in_package

_LINE = re.compile(r"[^\n]*\n|[^\n]+")


@dataclass(frozen=True)
class Destination:
    """One of: a file, a directory, in place, a diff (with no file written), nothing; else standard output.

    packages: below the directory, files of packages lie in the folders of their packages, so that the tree can be laid
    over the original one.
    """

    file: Path | None = None
    directory: Path | None = None
    in_place: bool = False
    diff: bool = False
    nothing: bool = False
    packages: bool = False

    def below(self, one: InputFile) -> Path:
        """Where the result of a file lies below the directory."""
        inside = path_in_package(one.file.absolute()) if self.packages else Path()
        return inside if len(inside.parts) > 1 else one.relative


def deliver(
    outcomes: Sequence[Outcome], destination: Destination, print_bytes: Callable[[bytes], object]
) -> list[Outcome]:
    """Write the results; the outcomes again, with a finding (TP006) where one could not be written."""
    delivered = []
    helpers = HelperFiles()
    for one in outcomes:
        try:
            one = _with_helpers(one, destination, helpers)
            _deliver(one, destination, print_bytes)
        except InputError as error:
            one = _with_finding(one, error)
        delivered.append(one)
    if not destination.nothing:
        for path, held in helpers.changed():
            try:
                _deliver_helpers(path, held, destination, print_bytes)
            except InputError as error:
                delivered[-1] = _with_finding(delivered[-1], error)
    return delivered


def _with_finding(one: Outcome, error: InputError) -> Outcome:
    report = replace(one.result.report, diagnostics=(*one.result.report.diagnostics, error.diagnostic))
    return replace(one, result=replace(one.result, report=report))


def _with_helpers(one: Outcome, destination: Destination, helpers: HelperFiles) -> Outcome:
    """The outcome with its imports naming the files that its helpers are put into."""
    if not one.result.followed or one.result.text is None:
        return one
    renamed = helpers.place(one.result.followed, lambda file: _helper_target(file, one, destination))
    return replace(one, result=replace(one.result, text=renamed_imports(one.result.text, renamed)))


def _helper_target(file: Path, one: Outcome, destination: Destination) -> Path:
    if destination.directory is None or one.input is None:
        return file
    return destination.directory / _relative(file, one.input)


def _relative(file: Path, main: InputFile) -> Path:
    """Where a file lies in the tree of results: in its package, else as it lies to the file that is converted."""
    inside = path_in_package(file)
    base = main.file.resolve()
    for _ in main.relative.parts:
        base = base.parent
    return file.relative_to(base) if len(inside.parts) == 1 and file.is_relative_to(base) else inside


def _deliver_helpers(
    path: Path, held: HelperFile, destination: Destination, print_bytes: Callable[[bytes], object]
) -> None:
    if destination.diff:
        print_bytes(unified_diff(str(path), held.before, held.text).encode())
        return
    _make_folder(path.parent, str(path))
    write_atomically(path, held.text.encode(), str(path))


def output_file(one: Outcome, destination: Destination) -> Path | None:
    """The file that a result goes to; None where it goes to no file."""
    if destination.file is not None:
        return destination.file
    if one.input is None:
        return None
    if destination.directory is not None:
        return destination.directory / destination.below(one.input)
    return one.input.file if destination.in_place else None


def _deliver(one: Outcome, destination: Destination, print_bytes: Callable[[bytes], object]) -> None:
    source, text = one.result.source, one.result.text
    if source is None or text is None or destination.nothing:
        return
    if destination.diff:
        print_bytes(unified_diff(one.result.report.path, source.text, text).encode())
        return
    file = output_file(one, destination)
    if file is None:
        print_bytes(_encode(one, source, text))
    elif one.result.report.changed or (not destination.in_place and (one.result.has_kernels or destination.file)):
        if destination.directory is not None:
            _make_folder(file.parent, str(file))
        write_atomically(file, _encode(one, source, text), str(file))


def _encode(one: Outcome, source: SourceText, text: str) -> bytes:
    try:
        return source.encode(text)
    except UnicodeEncodeError as error:
        raise _cannot_write(one.result.report.path, str(error)) from None


def _make_folder(folder: Path, path: str) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _cannot_write(path, error.strerror or str(error)) from None


def _cannot_write(path: str, why: str) -> InputError:
    return InputError(Diagnostic("TP006", f"cannot write the file: {why}", path, 1, 1))


def unified_diff(path: str, before: str, after: str) -> str:
    """A diff that `git apply` and `patch -p1` take; empty where nothing changed."""
    if before == after:
        return ""
    from difflib import unified_diff as diff

    name = path.lstrip("/")
    # Split at newlines alone: str.splitlines would also split at a form feed inside a line.
    lines = diff(_LINE.findall(before), _LINE.findall(after), f"a/{name}", f"b/{name}")
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)
