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


def worst_exit_code(codes: Iterable[int]) -> int:
    """The exit code of a run over several files: the worst of 2 > 1 > 3 > 0; 0 for none."""
    return min(codes, key=_WORST_FIRST.index, default=DONE)
