"""From a failed compile to the one line a person needs: what is wrong, and at which line of the source."""

from __future__ import annotations

import re
from collections.abc import Iterator
from types import ModuleType
from typing import Any

_MLIR = re.compile(r"^(?:loc\(\")?(?P<path>[^\s\":]+\.py)\"?:(?P<line>\d+):\d+\)?: error: (?P<text>.*)$", re.MULTILINE)
_CALLSITE = re.compile(r"^(?:<unknown>|loc\(unknown\)|[^\n]{0,200}?): error: (?P<text>.*)$", re.MULTILINE)
_ABORT = re.compile(r"(?:LLVM ERROR: |Assertion [`']|Fatal Python error: |error: )(?P<text>.*)")


def _jitted(root: Any) -> Iterator[Any]:
    """Every jitted function reachable from `root` through the globals of the functions found."""
    from triton.runtime.jit import JITFunction

    seen: set[int] = set()
    queue = [root]
    while queue:
        fn = queue.pop()
        # By type and not by `hasattr`: what torch loads on demand raises other errors than AttributeError.
        if id(fn) in seen or not isinstance(fn, JITFunction):
            continue
        seen.add(id(fn))
        yield fn
        for value in list(fn.fn.__globals__.values()):
            queue.extend(vars(value).values() if isinstance(value, ModuleType) else [value])


def _line_of(fn: Any, line: int) -> tuple[str, int]:
    """Where line `line` (1-based, counted from ``def``) of a jitted function stands in its file."""
    decorators = next((i for i, text in enumerate(fn.raw_src) if text.lstrip().startswith("def ")), 0)
    return fn.fn.__code__.co_filename, fn.starting_line_number + decorators + line - 1


def _chain(error: BaseException) -> list[BaseException]:
    found = [error]
    while (cause := found[-1].__cause__ or found[-1].__context__) is not None and cause not in found:
        found.append(cause)
    return found


def _text_of(error: BaseException) -> str:
    """The message of one exception, without the source excerpt Triton puts before it."""
    message = getattr(error, "error_message", None)
    if message is None and hasattr(error, "node"):
        return ""
    lines = [line.strip() for line in str(message if message is not None else error).splitlines() if line.strip()]
    return next((line for line in lines if not line.startswith("at ")), type(error).__name__)


def from_exception(error: BaseException, fn: Any, output: str) -> tuple[str, str, int]:
    """(message, path, line) of an exception out of ``triton.compile``; line 0 when the source line is unknown.

    The deepest compilation error names the line, in a helper if that is where it happened, but not inside Triton's own
    library; the front end's own text is the message. Errors of later passes say nothing themselves: their text is in
    `output`, what the compiler printed to its standard error.
    """
    path, line = "", 0
    chain = _chain(error)
    for link in chain:
        source, row = getattr(link, "src", None), getattr(getattr(link, "node", None), "lineno", None)
        if isinstance(source, str) and isinstance(row, int):
            owner = next((found for found in _jitted(fn) if found.src == source), None)
            # A function that is not found, or is Triton's own, was called from the line before it in the chain.
            if owner is not None and not owner.fn.__module__.startswith("triton."):
                path, line = _line_of(owner, row)
    messages = [text for link in chain if (text := _text_of(link))]
    message = messages[-1] if messages else repr(error)
    printed = first_diagnostic(output, fn.fn.__code__.co_filename)
    if printed is not None and (not line or "error encountered during parsing" in message):
        return printed if printed[2] else (printed[0], path, line)
    if type(chain[-1]).__name__ == "PTXASError":
        complaint = re.search(r"error\s*:\s*(.*)", str(chain[-1]))
        message = f"ptxas: {complaint[1]}" if complaint else message
    if not line and not path:
        path = fn.fn.__code__.co_filename
    return message, path, line


def first_diagnostic(output: str, kernel_path: str = "") -> tuple[str, str, int] | None:
    """(message, path, line) of the first error the compiler printed, one in `kernel_path` before any other."""
    found = [(match["text"], match["path"], int(match["line"])) for match in _MLIR.finditer(output)]
    if found:
        return next((place for place in found if place[1] == kernel_path), found[0])
    if match := _CALLSITE.search(output):
        place = re.search(r'"([^"]+\.py)":(\d+)', match[0])
        return match["text"], place[1] if place else "", int(place[2]) if place else 0
    return None


def from_crash(output: str, status: str, kernel_path: str) -> tuple[str, str, int]:
    """(message, path, line) for a compile process that died, from what it printed before."""
    printed = first_diagnostic(output, kernel_path)
    if printed is not None:
        return f"{printed[0]} (the compiler died with {status})", printed[1], printed[2]
    match = _ABORT.search(output)
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    text = match[0].strip() if match else (lines[0] if lines else "no output")
    return f"the compiler died with {status}: {text}", kernel_path, 0
