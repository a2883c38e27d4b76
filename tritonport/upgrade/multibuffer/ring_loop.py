"""A loop whose tiles become rings, and its barriers."""

from __future__ import annotations

from dataclasses import dataclass

import libcst as cst

from tritonport.analysis.access import Loop
from tritonport.upgrade.facts import Facts
from tritonport.upgrade.guards import Guard, facts_of
from tritonport.upgrade.multibuffer.copies import Step
from tritonport.upgrade.slices import Split


@dataclass(frozen=True, eq=False)
class Barrier:
    """A barrier in one loop: what it announces, and when its tiles have been read.

    Attributes:
        copies: the expect and the loads, in source order.
        last: the index of the last statement that reads one of its tiles, or waits for them.
        facts: under which `if`s that are decided when the kernel is compiled all its statements stand.
    """

    name: str
    copies: tuple[Step, ...]
    wait: Step
    last: int
    facts: Facts = frozenset()

    @property
    def loads(self) -> tuple[Step, ...]:
        """The steps that copy a tile."""
        return tuple(step for step in self.copies if step.tile)


@dataclass(frozen=True, eq=False)
class RingLoop:
    """A loop whose tiles become rings.

    Attributes:
        body: its statements, one by one also those of `if`s in which tiles are copied: see `guards`.
        guards: per statement, the branches of such `if`s around it.
    """

    loop: Loop
    body: tuple[cst.BaseStatement, ...]
    guards: tuple[Guard, ...]
    barriers: tuple[Barrier, ...]
    split: Split
    upward: bool

    @property
    def facts(self) -> list[Facts]:
        """Per statement, under which `if`s it stands."""
        return [facts_of(guard) for guard in self.guards]
