"""What holds at a place of a kernel: the tests of the `if`s around it, and where places are reached together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

Path = tuple[tuple[int | str, int], ...]
"""The `if`s around a place, from the outermost, each by its identity or its test, and the branch that the place is
in."""
Facts = frozenset[tuple[str, bool]]
"""Tests, as source text without negation, that hold or do not hold."""


def on_every_way(paths: Sequence[Path]) -> bool:
    """Whether a program comes to one of several places whatever branches it takes."""
    if any(not path for path in paths):
        return True
    return any(
        all(on_every_way([path[1:] for path in paths if path[0] == (test, branch)]) for branch in (0, 1))
        for test in {path[0][0] for path in paths}
    )


def may_meet(one: Facts, other: Facts) -> bool:
    """Whether two places are both in the code of some launch."""
    return not any((test, not holds) in other for test, holds in one)


def covered(place: Facts, others: Iterable[Facts]) -> bool:
    """Whether a launch with the code of one place has that of one of the others too."""
    return on_every_way([tuple(sorted(one - place)) for one in others if may_meet(one, place)])


__all__ = ["Facts", "Path", "covered", "may_meet", "on_every_way"]
