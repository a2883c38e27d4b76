"""Where an operation stands among the loops and branches of a kernel, its helpers read into it."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(frozen=True)
class Place:
    """Where an operation stands.

    Attributes:
        region: the body of a loop, or the branch of an `if` that is decided at run time, that becomes one block of the
            compiler's; None: the kernel's own.
        arms: the branches of compile-time `if`s around it.
        position: counts operations in the order in which they are read.
    """

    region: object | None
    arms: frozenset[tuple[Hashable, bool]]
    position: int

    def may_be_beside(self, other: Place) -> bool:
        """Whether some launch compiles both into one block."""
        return self.region is other.region and not any((test, not holds) in other.arms for test, holds in self.arms)

    def always_beside(self, other: Place) -> bool:
        """Whether this operation is compiled into the block of another one wherever that one is."""
        return self.region is other.region and self.arms <= other.arms


class Places:
    """The place of what is being read.

    Attributes:
        tests: the compile-time tests that the branches around it depend on, written out, and whether they hold there.
    """

    def __init__(self) -> None:
        self.tests: Mapping[str, bool] = {}
        self._region: object | None = None
        self._arms: frozenset[tuple[Hashable, bool]] = frozenset()
        self._count = 0

    def here(self) -> Place:
        self._count += 1
        return Place(self._region, self._arms, self._count)

    @contextmanager
    def block(self) -> Iterator[None]:
        """A block of its own: the body of a loop, a branch that is decided at run time."""
        saved = self._region
        self._region = object()
        try:
            yield
        finally:
            self._region = saved

    @contextmanager
    def arm(self, statement: Hashable, holds: bool, test: str | None = None) -> Iterator[None]:
        """A branch of an `if` that is decided at compile time; `test`: by this, where that can be written out."""
        saved = self._arms, self.tests
        self._arms = self._arms | {(statement, holds)}
        if test is not None:
            self.tests = {**self.tests, test: holds}
        try:
            yield
        finally:
            self._arms, self.tests = saved
