"""An iteration that waits for all its tiles where it waits for the first, and fills its rings where it fills the last.

Triton puts a barrier of the whole program before each `mbarrier.wait`, `expect` and copy that follows another use of
the same memory. One between two dots makes the warpgroups of a program meet there, and none computes while another's
dot runs. Where they stand together there is one meeting at the start of an iteration and one at its end. Nothing comes
later for it: the tiles of an iteration were asked for together, and their ring has a place for each iteration ahead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import libcst as cst

from tritonport.source.syntax import bare_call
from tritonport.upgrade.dots import called
from tritonport.upgrade.mma.rings import LoopText, indexed
from tritonport.upgrade.mma.spelling import names_assigned, simple_assignment
from tritonport.upgrade.slices import is_pure, names_of, read_names

Lines = list[cst.BaseStatement]
_COPIES = ("expect", "async_load", "async_copy_global_to_shared")


def gathered(loop: LoopText) -> LoopText:
    """The loop with its waits and its refills in one place each, as far as what stands between lets them move."""
    body = _refills_last(loop, _waits_first(loop, list(loop.body)))
    block = loop.node.body
    assert isinstance(block, cst.IndentedBlock)
    return replace(loop, node=loop.node.with_changes(body=block.with_changes(body=body)))


def _waits_first(loop: LoopText, body: Lines) -> Lines:
    """Waits moved up to the first one."""
    waits = [line for line in body if _is_wait(loop, line)]
    if not waits:
        return body
    place = body.index(waits[0])
    for line in waits[1:]:
        at = body.index(line)
        between = body[place + 1 : at]
        changed = set().union(*(names_assigned(one) for one in between), set())
        used = set().union(*(names_of(one) for one in between), set())
        if not changed & names_of(line) and not indexed(line) & used:
            place += 1
            body.insert(place, body.pop(at))
    return body


def _refills_last(loop: LoopText, body: Lines) -> Lines:
    """Refills moved down to the last one, with the numbers that serve them alone."""
    ready = {name for line in body if _is_wait(loop, line) for name in indexed(line)}
    refills = [line for line in body if _is_refill(loop, line, ready)]
    if len(refills) < 2:
        return body
    end = body.index(refills[-1])
    for line in refills:
        behind = [one for one in body[body.index(line) + 1 : end] if one not in refills]
        if not _may_sink(line, behind):
            return body
    moved = {id(line) for line in (*refills, *_serving(refills, body))}
    stays = [line for line in body if id(line) not in moved]
    before = sum(id(line) not in moved for line in body[:end])
    return [*stays[:before], *(line for line in body if id(line) in moved), *stays[before:]]


def _may_sink(line: cst.BaseStatement, behind: Sequence[cst.BaseStatement]) -> bool:
    """Whether a statement does the same behind these."""
    changed = set().union(*(names_assigned(one) for one in behind), set())
    told = set().union(*(indexed(one) for one in behind if bare_call(one) is not None), set())
    return not changed & names_of(line) and not told & indexed(line)


def _serving(refills: Lines, body: Lines) -> Lines:
    """The statements before the last refill that compute numbers which refills alone read."""
    end = body.index(refills[-1])
    found: Lines = []
    for at in range(end - 1, -1, -1):
        line = body[at]
        made = names_assigned(line)
        readers = [one for one in body if one is not line and made & names_of(one)]
        served = all(one in refills or one in found for one in readers)
        behind = [one for one in body[at + 1 : end] if one not in found and one not in refills]
        plain = simple_assignment(line) is not None and is_pure(line) and not made & read_names(line)
        if plain and readers and served and _may_sink(line, behind):
            found.append(line)
    return found


def _is_wait(loop: LoopText, line: cst.BaseStatement) -> bool:
    call = bare_call(line)
    return call is not None and loop.reader.is_hopper(call, "mbarrier.wait")


def _is_refill(loop: LoopText, line: cst.BaseStatement, ready: set[str]) -> bool:
    """Whether a statement begins to copy by TMA into a place of a ring, or tells its barrier of it."""
    call = bare_call(line)
    copies = call is not None and (called(call) in _COPIES or loop.reader.emitted(call) == "load_tile")
    return copies and bool(indexed(line) & ready)


__all__ = ["gathered"]
