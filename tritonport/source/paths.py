"""From the paths of a command line to the Python files they stand for."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

STDIN = "-"
"""The path that stands for standard input."""

# Directories that hold other people's code, or none.
_SKIPPED = frozenset({"__pycache__", "build", "dist", "node_modules", "site-packages", "venv"})


@dataclass(frozen=True)
class InputFile:
    """One file to work on.

    Attributes:
        file: where it is.
        path: how it is called in messages: as the user named it, or below the directory that the user named.
        relative: its place below the directory that the user named (its bare name, for a file), for `--out-dir`.
        directory: that directory, as the user named it; None for a file that is named.
    """

    file: Path
    path: str
    relative: Path
    directory: str | None = None

    @property
    def explicit(self) -> bool:
        """Named on the command line, not found in a directory."""
        return self.directory is None


def find_inputs(paths: Sequence[str], exclude: Sequence[str] = (), output: Path | None = None) -> list[InputFile]:
    """The files of these paths, in order and each once; directories are walked for `.py` files, sorted by name.

    In directories, hidden ones, virtual environments and build output are passed over, as is what a pattern of
    `exclude` matches (the path below the directory or any name on the way), and the directory `output`. A file that is
    named is always taken.
    """
    found: dict[Path, InputFile] = {}
    for path in paths:
        if os.path.isdir(path):
            for file in _walk(Path(path), exclude, output.resolve() if output else None):
                found.setdefault(file.resolve(), InputFile(file, str(file), file.relative_to(path), path))
        else:
            file = Path(path)
            found[file.resolve()] = InputFile(file, path, Path(file.name))
    return list(found.values())


def _walk(root: Path, exclude: Sequence[str], output: Path | None) -> Iterator[Path]:
    for folder, folders, files in os.walk(root):
        here = Path(folder)
        folders[:] = sorted(
            name for name in folders if _wanted_folder(here / name, root, exclude) and (here / name).resolve() != output
        )
        for name in sorted(files):
            if name.endswith(".py") and not _excluded(here / name, root, exclude):
                yield here / name


def _wanted_folder(folder: Path, root: Path, exclude: Sequence[str]) -> bool:
    if folder.name.startswith(".") or folder.name in _SKIPPED or (folder / "pyvenv.cfg").exists():
        return False
    return not _excluded(folder, root, exclude)


def _excluded(file: Path, root: Path, exclude: Sequence[str]) -> bool:
    below = file.relative_to(root).as_posix()
    return any(fnmatch(below, pattern.rstrip("/")) or fnmatch(file.name, pattern.rstrip("/")) for pattern in exclude)
