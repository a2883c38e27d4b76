"""The exit codes that every command shares."""

from collections.abc import Iterable

DONE = 0
"""Done; the parity holds."""
FINDINGS = 1
"""`--check` would change something, a construct was left, the parity does not hold."""
UNUSABLE = 2
"""Usage, configuration, unreadable or unparsable input, internal error."""
NOT_RUN = 3
"""Nothing was run or nothing could be compared."""

_WORST_FIRST = (UNUSABLE, FINDINGS, NOT_RUN, DONE)
_NOT_COMPARED = frozenset({"TP805", "TP806"})
_NO_KERNEL = "TP003"


def worst_exit_code(codes: Iterable[int]) -> int:
    """The exit code of a run over several files: the worst of 2 > 1 > 3 > 0; 0 for none."""
    return min(codes, key=_WORST_FIRST.index, default=DONE)


def diagnostic_exit_code(code: str, severity: str) -> int:
    """What one diagnostic makes of the exit code: TP0 and TP9 are 2, but a file without kernels is a finding."""
    if code.startswith(("TP0", "TP9")) and code != _NO_KERNEL:
        return UNUSABLE
    if code in _NOT_COMPARED:
        return NOT_RUN
    return FINDINGS if severity == "error" else DONE
