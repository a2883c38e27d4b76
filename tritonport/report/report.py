"""What a run over files found: counts, and an exit code that follows from them."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from tritonport.report.diagnostic import Diagnostic
from tritonport.report.exit_codes import DONE, FINDINGS, diagnostic_exit_code, worst_exit_code

KERNEL_STATUSES = ("converted", "left", "already", "skipped")
"""`left`: stays Triton; `already`: is Gluon; `skipped`: not named by `--kernel`."""


@dataclass(frozen=True)
class KernelStatus:
    """One kernel of a file: its name, the line of its `def` (from 1), and one of `KERNEL_STATUSES`.

    Attributes:
        why: what keeps one that is left, whether that is reported or not; None where nothing does.
    """

    name: str
    line: int
    status: str
    why: Diagnostic | None = None


@dataclass(frozen=True)
class FileReport:
    """What a run found in one file.

    Attributes:
        path: the file as the user named it.
        kernels: in the order of the file; empty where it has none or could not be read.
        diagnostics: in the order of the file.
        changed: the output differs from the input.
        source_lines: the text of the lines that diagnostics name, by line number, without line ends.
        is_directory: it is about a directory without kernels, and no file.
    """

    path: str
    kernels: tuple[KernelStatus, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    changed: bool = False
    source_lines: Mapping[int, str] = field(default_factory=dict)
    is_directory: bool = False

    @property
    def exit_code(self) -> int:
        """2 for an input that cannot be used, 1 for a kernel left or an error, 3 where nothing was compared, else 0."""
        codes = [diagnostic_exit_code(found.code, found.severity) for found in self.diagnostics]
        if any(kernel.status == "left" for kernel in self.kernels):
            codes.append(FINDINGS)
        return worst_exit_code(codes)


@dataclass
class Report:
    """The files of a run, in order.

    Attributes:
        files: one report per file.
        check: a file that would change is a finding.
        dry: the run only says what it would do.
    """

    files: list[FileReport] = field(default_factory=list)
    check: bool = False
    dry: bool = False

    def add(self, file: FileReport) -> None:
        """Take one more file in."""
        self.files.append(file)

    @property
    def diagnostics(self) -> list[Diagnostic]:
        """All findings, file by file, each file's by place."""
        return [found for file in self.files for found in sorted(file.diagnostics, key=lambda one: one.sort_key)]

    def kernels(self, status: str) -> int:
        """How many kernels of the run have a status."""
        return sum(kernel.status == status for file in self.files for kernel in file.kernels)

    @property
    def changed_files(self) -> int:
        """How many files the run changed, or would change."""
        return sum(file.changed for file in self.files)

    def severities(self) -> Counter[str]:
        """How many findings there are of each severity."""
        return Counter(found.severity for found in self.diagnostics)

    def statistics(self) -> Iterator[tuple[int, str, str]]:
        """(count, code, name) of each code found, the most frequent first."""
        counts = Counter((found.code, found.name) for found in self.diagnostics)
        for (code, name), count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
            yield count, code, name

    def only_errors(self) -> "Report":
        """The same report with nothing but its errors."""
        files = [
            replace(file, diagnostics=tuple(one for one in file.diagnostics if one.severity == "error"))
            for file in self.files
        ]
        return replace(self, files=files)

    @property
    def exit_code(self) -> int:
        """The worst of 2 > 1 > 3 > 0 over the files."""
        codes = [file.exit_code for file in self.files]
        if self.check:
            codes.extend(FINDINGS if file.changed else DONE for file in self.files)
        return worst_exit_code(codes)

    def summary(self) -> str:
        """One line for a person: `3 kernels converted, 1 left as it was, in 2 files`."""
        parts = []
        for status, words in (
            ("converted", "would be converted" if self.dry else "converted"),
            ("left", "left as " + ("it is" if self.dry else "it was")),
            ("already", "already Gluon"),
            ("skipped", "not asked for"),
        ):
            if count := self.kernels(status):
                parts.append(f"{count} {words}")
        unusable = sum(file.exit_code == 2 for file in self.files)
        if unusable:
            parts.append(f"{_count(unusable, 'file')} with an error")
        kernels = sum(len(file.kernels) for file in self.files)
        files = sum(not file.is_directory for file in self.files)
        where = _count(files, "file")
        if files < len(self.files):
            empty = len(self.files) - files
            below = "1 directory" if empty == 1 else f"{empty} directories"
            where = f"{where} and {below}" if files else below
        if not parts:
            return f"no kernels in {where}"
        return f"{_count(kernels, 'kernel')} in {where}: {', '.join(parts)}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
