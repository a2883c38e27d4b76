"""Writing the Gluon versions of helper files (`--follow`), which several ports of a run may share."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from tritonport.convert.follow import SUFFIX, FollowedFile
from tritonport.report import Diagnostic, InputError

_MARK = "# tritonport: stage literal"


@dataclass
class HelperFile:
    """The content of one file, by what it defines."""

    header: str
    imports: list[str] = field(default_factory=list)
    functions: dict[str, str] = field(default_factory=dict)
    before: str = ""

    def fits(self, other: FollowedFile) -> bool:
        """Whether what another port needs is there already, or can be added under its name."""
        return all(self.functions.get(name, text) == text for name, text in other.functions)

    def add(self, other: FollowedFile) -> None:
        # A file with a dot in it stays one for its architecture, whatever else is added.
        self.header = self.header if " for " in self.header.partition(",")[0] else other.header
        self.imports += [line for line in other.imports if line not in self.imports]
        for name, text in other.functions:
            self.functions.setdefault(name, text)

    @property
    def text(self) -> str:
        """The file."""
        return (
            "\n\n\n".join(
                ["\n".join([self.header, *self.imports]), *(text.strip("\n") for text in self.functions.values())]
            )
            + "\n"
        )


def parse_helpers(text: str) -> HelperFile | None:
    """A file that an earlier run wrote; None for any other."""
    if not text.startswith(_MARK):
        return None
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return None
    lines = text.split("\n")
    found = HelperFile(lines[0], before=text)
    for node in tree.body:
        source = _source(node, lines)
        if isinstance(node, ast.Import | ast.ImportFrom):
            found.imports.append(source.strip())
        elif isinstance(node, ast.FunctionDef):
            found.functions[node.name] = source
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            found.functions[node.targets[0].id] = source
        else:
            return None
    return found


def _source(node: ast.stmt, lines: list[str]) -> str:
    """A statement with its decorators and the comment right above it."""
    decorators = node.decorator_list if isinstance(node, ast.FunctionDef) else []
    start = min([node.lineno, *(one.lineno for one in decorators)]) - 1
    while start > 1 and lines[start - 1].startswith("#"):
        start -= 1
    return "\n".join(lines[start : node.end_lineno]) + "\n"


class HelperFiles:
    """All such files of a run. A file that cannot hold what one more port needs gets a neighbour with a number."""

    def __init__(self) -> None:
        self._files: dict[Path, HelperFile | None] = {}

    def place(self, files: Iterable[FollowedFile], target: Callable[[Path], Path]) -> dict[str, str]:
        """Put what a port needs into files; how its import statements have to name them, where that changes.

        target: from where a Gluon version stands beside its helper file to where this run writes it.
        """
        renamed: dict[str, str] = {}
        files = list(files)
        chosen: list[tuple[HelperFile, FollowedFile]] = []
        for one in files:
            number = 1
            while not (held := self._held(target(_beside(one.file, number)), one)):
                number += 1
            chosen.append((held, one))
            if number > 1:
                renamed |= {name: f"{name}_{number}" for name in one.references}
        for held, one in chosen:
            lines = tuple(renamed_imports(line, renamed) for line in one.imports)
            held.add(FollowedFile(one.module, one.file, one.header, lines, one.functions, one.references))
        return renamed

    def _held(self, path: Path, wanted: FollowedFile) -> HelperFile | None:
        if path not in self._files:
            self._files[path] = _read(path, wanted.header)
        held = self._files[path]
        return held if held is not None and held.fits(wanted) else None

    def changed(self) -> list[tuple[Path, HelperFile]]:
        """The files that are not on disk as they should be."""
        files = [(path, held) for path, held in self._files.items() if held is not None]
        return [(path, held) for path, held in files if held.functions and held.text != held.before]


def _beside(file: Path, number: int) -> Path:
    return file.with_name(f"{file.stem}{SUFFIX}{'' if number == 1 else f'_{number}'}.py")


def _read(path: Path, header: str) -> HelperFile | None:
    """The file of an earlier run, an empty one where there is none, None where it is somebody else's."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return HelperFile(header)
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(Diagnostic("TP002", f"cannot read the file: {error}", str(path), 1, 1)) from None
    return parse_helpers(text)


def renamed_imports(text: str, renamed: dict[str, str]) -> str:
    """`from a import x` as `from b import x`, at the beginning of a line."""
    for old, new in renamed.items():
        text = re.sub(rf"^from {re.escape(old)} import ", f"from {new} import ", text, flags=re.MULTILINE)
    return text


__all__ = ["HelperFile", "HelperFiles", "parse_helpers", "renamed_imports"]
