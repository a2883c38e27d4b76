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
        from difflib import get_close_matches

        near = get_close_matches(item, [*diagnostic_codes(), *codes_by_name()], n=1)
        raise ValueError(f"no diagnostic {item!r}" + (f"; did you mean {near[0]!r}?" if near else ""))
    return found
