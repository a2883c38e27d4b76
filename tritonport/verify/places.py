"""Where in the user's files an exception comes from."""

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
