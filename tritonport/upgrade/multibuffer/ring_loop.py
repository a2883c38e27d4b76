"""A loop whose tiles become rings, and its barriers."""

from __future__ import annotations

from dataclasses import dataclass

import libcst as cst

from tritonport.analysis.access import Loop
from tritonport.upgrade.multibuffer.copies import Step
from tritonport.upgrade.slices import Split


@dataclass(frozen=True, eq=False)
class Barrier:
    """A barrier in one loop: what it announces, and when its tiles have been read.

    Attributes:
        copies: the expect and the loads, in source order.
        last: the index of the last statement that reads one of its tiles, or waits for them.
    """

    name: str
    copies: tuple[Step, ...]
    wait: Step
    last: int

    @property
    def loads(self) -> tuple[Step, ...]:
        """The steps that copy a tile."""
        return tuple(step for step in self.copies if step.tile)


@dataclass(frozen=True, eq=False)
class RingLoop:
    """A loop whose tiles become rings."""

    loop: Loop
    body: tuple[cst.BaseStatement, ...]
    barriers: tuple[Barrier, ...]
    split: Split
    upward: bool
