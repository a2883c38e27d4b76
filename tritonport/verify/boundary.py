"""Boundary shapes: sizes at the edges of the blocks that a launch cuts them into.

A case says by `SIZES` which parameters of its `make_inputs` are sizes, and which block cuts each: the name of a
constexpr, with the value that the plain case was launched with, or a number. Each size in turn is one, one
below the block, the block, and one past it, and the least that the kernel takes where that is said.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tritonport.verify.launches import Launch
from tritonport.verify.side import Variation


@dataclass(frozen=True)
class Size:
    """A size that a launch cuts into blocks.

    Attributes:
        block: the name of the constexpr that holds the block, or the block itself.
        least: the smallest size that the kernel takes, 0 or more.
    """

    block: str | int
    least: int = 1

    def values(self, block: int) -> tuple[int, ...]:
        """The sizes to run, in order, for a block."""
        edges = {self.least, 1, block - 1, block, block + 1}
        return tuple(sorted(value for value in edges if value >= self.least))


def read_sizes(given: Any) -> dict[str, Size]:
    """`SIZES` of a case: parameter to block, or to a pair of the block and the least size.

    Raises ValueError where it is something else.
    """
    if not isinstance(given, Mapping):
        raise ValueError("SIZES is a dict of parameters of make_inputs")
    sizes = {}
    for name, value in given.items():
        block, least = value if isinstance(value, tuple) and len(value) == 2 else (value, 1)
        known = isinstance(block, str) or (isinstance(block, int) and block > 0)
        if not known or not isinstance(least, int) or least < 0:
            raise ValueError(f"SIZES[{name!r}] is neither a block nor a pair of a block and the least size")
        sizes[name] = Size(block, least)
    return sizes


def boundary_variations(
    sizes: Mapping[str, Size], seed: int, launches: Iterable[Launch]
) -> tuple[list[Variation], list[str]]:
    """The variations with one size at an edge of its block, and notes on the sizes whose block is not known.

    Args:
        launches: of the plain case with this seed; the largest value of a constexpr counts.
    """
    blocks: dict[str, int] = {}
    for launch in launches:
        for name, value in launch.numbers.items():
            blocks[name] = max(value, blocks.get(name, 0))
    variations, notes = [], []
    for name, size in sizes.items():
        block = size.block if isinstance(size.block, int) else blocks.get(size.block)
        if block is None:
            notes.append(f"SIZES of the case: no launch has a {size.block} for {name}")
            continue
        variations += [Variation(seed, sizes=((name, value),)) for value in size.values(block)]
    return variations, notes
