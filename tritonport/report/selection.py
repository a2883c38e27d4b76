"""Which diagnostics a user wants to hear of: `--select` and `--ignore`."""

from collections.abc import Collection
from dataclasses import dataclass

from tritonport.report.diagnostic import Diagnostic
from tritonport.rules_data import codes_by_name, diagnostic_codes


@dataclass(frozen=True)
class Selection:
    """The codes that are reported. What makes a file unusable (TP0) and internal errors (TP9) always are."""

    hidden: frozenset[str] = frozenset()

    def covers(self, diagnostic: Diagnostic) -> bool:
        """Whether a diagnostic is to be reported."""
        return diagnostic.code not in self.hidden


def make_selection(select: Collection[str] = (), ignore: Collection[str] = ()) -> Selection:
    """A selection from codes, prefixes (`TP1`) and names; the longer match wins, and `ignore` wins a tie.

    Raises ValueError for one that names no diagnostic; the message names the nearest.
    """
    if not select and not ignore:
        return Selection()
    wanted = [(_length(item), _codes(item)) for item in select]
    unwanted = [(_length(item), _codes(item)) for item in ignore]
    hidden = set()
    for code in diagnostic_codes():
        if code.startswith(("TP0", "TP9")):
            continue
        for_it = max((length for length, codes in wanted if code in codes), default=0 if select else 1)
        against = max((length for length, codes in unwanted if code in codes), default=0)
        if against >= for_it:
            hidden.add(code)
    return Selection(frozenset(hidden))


def _length(item: str) -> int:
    return len(item) if item.startswith("TP") else 5  # a name stands for one whole code


def _codes(item: str) -> frozenset[str]:
    if item in codes_by_name():
        return frozenset({codes_by_name()[item]})
    found = frozenset(code for code in diagnostic_codes() if code.startswith(item)) if item.startswith("TP") else None
    if not found:
        raise ValueError(unknown_diagnostic(item))
    return found


_MISREAD = str.maketrans("OIL", "011")
"""Letters that are taken for digits."""


def unknown_diagnostic(name: str) -> str:
    """What to say of a name that no diagnostic has, with the nearest code or name."""
    from difflib import get_close_matches

    misread = name.upper().translate(_MISREAD)
    near = [misread] if misread in diagnostic_codes() else []
    # Of codes, every other one has the same digits in another order: their beginning is what they are alike in.
    near = near or get_close_matches(name.lower(), codes_by_name(), n=1)
    near = near or sorted(get_close_matches(misread, diagnostic_codes(), n=9), key=lambda code: -_common(code, misread))
    return f"no diagnostic {name!r}" + (f"; did you mean {near[0]!r}?" if near else "")


def _common(one: str, other: str) -> int:
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
