"""Where in the user's files an exception comes from."""

import os
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType


@dataclass(frozen=True)
class Place:
    """A position in a file: line and column from 1."""

    path: str
    line: int
    column: int = 1

    def __str__(self) -> str:
        return f"{self.path}:{self.line}:{self.column}"


def first_line(error: BaseException) -> str:
    """`KeyError: 'x'`: the type of an exception and the first line of its text that says something."""
    text = next((line.strip() for line in str(error).splitlines() if line.strip()), "")
    name = type(error).__name__
    return f"{name}: {text}" if text else name


def _column(frame: traceback.FrameSummary) -> int:
    # Python 3.10 does not record columns.
    offset: int | None = getattr(frame, "colno", None)
    return 1 if offset is None else offset + 1


def _innermost(trace: TracebackType | None, files: Mapping[str, str]) -> Place | None:
    for frame in reversed(traceback.extract_tb(trace)):
        if frame.filename in files and frame.lineno:
            return Place(files[frame.filename], frame.lineno, _column(frame))
    return None


_OWN = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
"""tritonport itself, whose frames lead to every import of a case."""


def _import_chain(error: BaseException, files: Mapping[str, str]) -> list[Place]:
    """The lines that an exception of an import went through, outermost first, without those of tritonport and Python's
    import system.

    Files below the current directory are named from there.
    """
    chain: list[Place] = []
    for frame in traceback.extract_tb(error.__traceback__):
        if frame.filename.startswith("<") or frame.filename.startswith(_OWN + os.sep) or not frame.lineno:
            continue
        if f"{os.sep}importlib{os.sep}" in frame.filename:
            continue
        below = os.path.relpath(frame.filename)
        name = files.get(frame.filename, frame.filename if below.startswith("..") else below)
        chain.append(Place(name, frame.lineno, _column(frame)))
    return chain


def import_failure(error: BaseException, files: Mapping[str, str]) -> tuple[Place | None, str]:
    """Where a module raises that an import of the user's reaches, and words for the imports that lead there.

    The place is in the user's files where one of them imports it; None where nothing says.

    Args:
        error, files: as for `place_of`.
    """
    place = place_of(error, files)
    if isinstance(error, SyntaxError):
        return place, ""
    chain = _import_chain(error, files)
    if not chain:
        return place, ""
    # A package is imported before the file in it: then no line of the file has run.
    steps = list(dict.fromkeys(f"{step.path}:{step.line}" for step in chain))
    if place is None:
        return chain[-1], f" (imported by {' > '.join(steps[:-1])})" if len(steps) > 1 else ""
    at = f"{place.path}:{place.line}"
    later = steps[steps.index(at) + 1 :] if at in steps else []
    return place, f" (in {' > '.join(later)})" if later else ""


def place_of(error: BaseException, files: Mapping[str, str]) -> Place | None:
    """The innermost position of an exception that lies in one of the given files; None where there is none.

    Args:
        error: raised, so that it carries its traceback. Its causes and contexts are looked at too, outermost first.
        files: file names as they stand in code objects, each with the path that the user knows.
    """
    if isinstance(error, SyntaxError) and error.filename is not None and error.filename in files and error.lineno:
        return Place(files[error.filename], error.lineno, max(error.offset or 1, 1))
    # What an emulated kernel raises names its own place: its statements are not frames of this process.
    file, line = getattr(error, "path", None), getattr(error, "line", None)
    if isinstance(file, str) and file in files and isinstance(line, int):
        return Place(files[file], line, 1)
    found = _innermost(error.__traceback__, files)
    if found is not None:
        return found
    cause = error.__cause__ or error.__context__
    return place_of(cause, files) if cause is not None else None
