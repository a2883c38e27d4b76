"""Diagnostics as comments in source code.

Two forms, each a comment of its own or at the end of a line:

    # tritonport: TP106 num_stages=3 is not applied     a note, written above a statement by the converter
    # tritonport: ignore[TP106]                         written by a person: do not report TP106 for this statement
    # tritonport: ignore[TP106, loop-hint-kept]         several, by code or by name
    # tritonport: ignore                                everything
"""

import re
from collections.abc import Collection

from tritonport.report.diagnostic import Diagnostic

EVERYTHING = "*"
"""Stands for all codes in what `ignored_codes` returns."""

_NOTE = re.compile(r"#\s*tritonport:\s*(TP\d{3})\b")
_IGNORE = re.compile(r"#\s*tritonport:\s*ignore(?:\s*\[([^\]]*)\])?\s*(?:$|#|--|[^\w\[\s])")


def render_note(diagnostic: Diagnostic) -> str:
    """The one-line comment of a diagnostic, without indentation or newline: `# tritonport: TP301 message`."""
    return f"# tritonport: {diagnostic.code} {' '.join(diagnostic.message.split())}"


def note_code(comment: str) -> str | None:
    """The code of a comment that `render_note` wrote; None for any other comment."""
    match = _NOTE.match(comment.strip())
    return match[1] if match else None


def ignored_codes(comment: str) -> frozenset[str]:
    """What a comment asks to ignore: codes, names, or `EVERYTHING`; empty for a comment that asks nothing.

    `# noqa` and other remarks may stand before or after it on the same line.
    """
    match = _IGNORE.search(comment)
    if match is None:
        return frozenset()
    if match[1] is None:
        return frozenset({EVERYTHING})
    return frozenset(item.strip() for item in match[1].split(",") if item.strip())


def is_ignored(diagnostic: Diagnostic, ignored: Collection[str]) -> bool:
    """Whether a set from `ignored_codes` covers a diagnostic, by its code or its name."""
    return EVERYTHING in ignored or diagnostic.code in ignored or (bool(ignored) and diagnostic.name in ignored)


def strip_notes(text: str, codes: Collection[str] | None = None) -> str:
    """The text without the lines that are nothing but a note of one of these codes (None: of any code)."""
    kept = []
    for line in text.splitlines(keepends=True):
        code = note_code(line) if line.lstrip().startswith("#") else None
        if code is None or (codes is not None and code not in codes):
            kept.append(line)
    return "".join(kept)
