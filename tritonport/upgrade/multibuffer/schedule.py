"""Where in an iteration the copies of a later one begin, and the statements that they need run."""

from __future__ import annotations

import libcst as cst

from tritonport.source.walk import assigned_names
from tritonport.upgrade.multibuffer.ring_loop import RingLoop
from tritonport.upgrade.slices import read_names


def refill_places(loop: RingLoop) -> dict[int, int]:
    """For each statement that runs ahead, by index, the statement of the body behind which it does.

    A copy begins behind the last read of the tiles that its barrier announces. Statements that one of the others
    depends on keep their order: a coordinate is not advanced before the copies that stand before that have read it.
    """
    own = {step.place: barrier.last for barrier in loop.barriers for step in barrier.copies}
    begin = min(own.values())
    defined = {place: set(assigned_names(cst.IndentedBlock([loop.body[place]]))) for place in loop.split.ahead}
    read = {place: read_names(loop.body[place]) for place in loop.split.ahead}
    found: dict[int, int] = {}
    for place in loop.split.ahead:
        before = [
            found[other]
            for other in found
            if defined[other] & (read[place] | defined[place]) or read[other] & defined[place]
        ]
        found[place] = max([own.get(place, begin), *before])
    return found


__all__ = ["refill_places"]
