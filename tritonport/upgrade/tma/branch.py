"""One branch of an `if` whose test the launch knows."""

from __future__ import annotations

from dataclasses import dataclass

from tritonport.upgrade.decided import denied


@dataclass(frozen=True)
class Branch:
    """A test, and which of its two branches is meant (0 or 1).

    Attributes:
        test: as the kernel writes it.
        on_host: as the launch writes it.
    """

    test: str
    on_host: str
    taken: int

    @property
    def condition(self) -> str:
        """When that branch is taken, as the launch writes it."""
        return denied(self.on_host) if self.taken else self.on_host


__all__ = ["Branch"]
