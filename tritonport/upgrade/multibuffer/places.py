"""Where the statements of a function stand: the block of each, and the blocks around that."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import libcst as cst

from tritonport.source.walk import children, walk


@dataclass(frozen=True, eq=False)
class Place:
    """A statement: the block it is in, its index there, and the places of the statements around it, innermost last."""

    statement: cst.CSTNode
    block: cst.BaseSuite
    index: int
    around: tuple[Place, ...]

    def within(self, block: cst.BaseSuite) -> Place | None:
        """The statement of a block that this one is, or stands in; None where it stands elsewhere."""
        return next((one for one in (*self.around, self) if one.block is block), None)


def places_of(function: cst.FunctionDef) -> dict[cst.CSTNode, Place]:
    """The places of all statements of a function."""
    return {place.statement: place for place in _in_block(function.body, ())}


def statement_of(node: cst.CSTNode, places: Mapping[cst.CSTNode, Place]) -> Place:
    """The innermost statement around a node."""
    by_depth = sorted(places.items(), key=lambda one: -len(one[1].around))
    return next(place for statement, place in by_depth if any(item is node for item in walk(statement)))


def _in_block(block: cst.BaseSuite, around: tuple[Place, ...]) -> Iterator[Place]:
    for index, statement in enumerate(block.body):
        place = Place(statement, block, index, around)
        yield place
        for inner in _blocks(statement):
            yield from _in_block(inner, (*around, place))


def _blocks(statement: cst.CSTNode) -> Iterator[cst.BaseSuite]:
    for child in children(statement):
        if isinstance(child, cst.BaseSuite):
            yield child
        elif isinstance(child, (cst.If, cst.Else)):
            yield from _blocks(child)


__all__ = ["Place", "places_of", "statement_of"]
