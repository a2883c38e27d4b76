"""Values of block pointers and what is done with them, by the place in the function where that is."""

from __future__ import annotations

from dataclasses import dataclass, field

import libcst as cst

Part = tuple[str, int]
"""A part of a block pointer: ("base", 0), ("shape", dim), ("stride", dim), ("offset", dim), ("block", dim)."""


@dataclass(frozen=True, eq=False)
class Place:
    """A position in a function: statements in source order, and the loops around."""

    number: int
    loops: tuple[cst.CSTNode, ...]


@dataclass(eq=False)
class Definition:
    """One value of a block pointer: `make`, `advance`, `copy` of another name, or a `parameter` of a helper.

    `parts` holds source text; an advance lists the amounts of the offsets that it moves. `sources` are the
    definitions that an advance or a copy starts from. `padding` is that of a tensor descriptor, which is followed
    like a block pointer at offset 0 where the target has no copy engine; None for block pointers.
    """

    how: str
    place: Place
    node: cst.CSTNode
    rank: int
    parts: dict[Part, str] = field(default_factory=dict)
    sources: frozenset[Definition] = frozenset()
    name: str = ""
    padding: str | None = None


@dataclass(eq=False)
class Use:
    """A load or a store through a block pointer, a call of a helper that takes it, or its element type."""

    how: str
    node: cst.BaseExpression
    place: Place
    definitions: frozenset[Definition]
    checked: tuple[int, ...] = ()
    padding: str = ""
    parameter: str = ""


MIXED = Definition("mixed", Place(-1, ()), cst.Pass(), 0)
"""A name that is a block pointer on some paths alone."""


def joined(
    left: dict[str, frozenset[Definition]], right: dict[str, frozenset[Definition]]
) -> dict[str, frozenset[Definition]]:
    joined: dict[str, frozenset[Definition]] = {}
    for name in [*left, *(name for name in right if name not in left)]:
        first, second = left.get(name), right.get(name)
        if first is None or second is None:
            joined[name] = first or second or frozenset()
        else:
            joined[name] = first | second if bool(first) == bool(second) else first | second | {MIXED}
    return joined
