"""Tiles that a program reads before it writes them: `dk += ...` on what an earlier kernel left there.

A copy to memory begins when every thread has put its part of the value into shared memory. Where that value is made of
what a load brought, the load has ended by then, so that the copy cannot overtake it. Nothing says when the copy can be
seen by the loads behind it: there may be none of them, not even in the next iteration of a loop.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

import libcst as cst

from tritonport.analysis import dims
from tritonport.analysis.access import Access, Form, Loop
from tritonport.analysis.access.forms import ALWAYS, plus, show, times
from tritonport.analysis.access.indexed import quotient, term
from tritonport.analysis.dims import Dim
from tritonport.source.walk import assigned_names, walk
from tritonport.upgrade.dots import called, reads_of
from tritonport.upgrade.liveness import live_at_end, live_behind
from tritonport.upgrade.slices import names_of
from tritonport.upgrade.tma.boxes import Box, Side
from tritonport.upgrade.tma.digits import by_digits, changes
from tritonport.upgrade.tma.iterations import differing
from tritonport.upgrade.tma.regions import offset_as_in
from tritonport.upgrade.values import path_to


def is_read_first(load: Access, store: Access) -> bool:
    """Whether a load brings what a store of its own block, or under an `if` of that, then writes over: the same
    elements, and a value that is made of them. Where each element of the value is a sum with one of them, the load has
    ended by then whatever else is read; of any other value nothing is read behind the store."""
    same = isinstance(load.address, Form) and isinstance(store.address, Form) and _bare(load) == _bare(store)
    if not same or [one.node for one in load.loops] != [one.node for one in store.loops]:
        return False
    block = _block_of(load)
    places = [next((place for place, line in enumerate(block) if _has(line, one.node)), -1) for one in (load, store)]
    first, last = places
    if first < 0 or last < first or not _is_plain(block[first]):
        return False
    held = _held(block[first:last], load.node)
    summed = _summed(block[first:last], load.node)
    behind = block[last + 1 :]
    line = block[last]
    if not _is_plain(line):
        inner = _block_of(store)
        if not isinstance(line, cst.If) or not any(one is inner[0] for one in _own_lines(line)):
            return False
        place = next(place for place, one in enumerate(inner) if _has(one, store.node))
        held, summed = _held(inner[:place], load.node, held), _summed(inner[:place], load.node, summed, held)
        behind = [*inner[place + 1 :], *behind]
    value = _value_of(store)
    if value is not None and _is_term(value, load.node, summed, held):
        return True
    made = value is not None and (_has(value, load.node) or any(reads_of(value, name) for name in held))
    return made and not _read_behind(block, behind, held, store)


def apart(store: Access, box: Box) -> tuple[str, ...] | None:
    """What a launch is asked for the tiles of a store to have no element in common, whatever the iteration; None where
    that is not shown."""
    found = _by_blocks(store, box)
    return found if found is not None else by_digits(store, box)


def repeats(store: Access, box: Box) -> str | None:
    """Why a store may write elements that it has written before: a loop around it that moves its tile nowhere, or by
    less than the tile is wide; None where no loop is known to.

    Copies to memory have no order among each other, however long ago they were begun.
    """
    for loop in store.loops:
        changing = {loop.target or "iteration", *assigned_names(loop.node)} - {""}
        if _in_one_iteration(store, loop):
            continue
        moved = [side for side in box.sides if _is_made_of(side.coordinate, changing, store)]
        differ = {loop.target or "iteration", *differing(loop.node)} - {""}
        over = f" over {loop.target}" if loop.target.strip("_") else ""
        if not any(_is_made_of(side.coordinate, differ, store) for side in moved):
            return f"each iteration of the loop{over} writes the same elements, and copies have no order"
        if len(moved) == 1 and moved[0].axis is not None and _moves_within(moved[0], loop, changing, store):
            return f"iterations of the loop{over} write elements that others have written, and copies have no order"
    return None


def _in_one_iteration(store: Access, loop: Loop) -> bool:
    """Whether a store stands under a test of a loop's index for a number that the loop leaves as it is: `if k == 0`."""
    if loop.kind not in ("range", "static_range") or not loop.target or not isinstance(loop.node, cst.For):
        return False
    made = set(assigned_names(loop.node.body))
    for block, place in path_to(store.node, loop.node.body) or ():
        line = block[place]
        if not isinstance(line, cst.If) or not any(node is store.node for node in walk(line.body)):
            continue
        test = line.test
        if isinstance(test, cst.Comparison) and len(test.comparisons) == 1:
            (one,) = test.comparisons
            is_index = isinstance(test.left, cst.Name) and test.left.value == loop.target and loop.target not in made
            read = names_of(one.comparator)
            calls = any(isinstance(node, cst.Call) for node in walk(one.comparator))
            if is_index and isinstance(one.operator, cst.Equal) and not calls and not read & {loop.target, *made}:
                return True
    return False


def _is_made_of(number: Dim, names: Collection[str], access: Access) -> bool:
    parts = [text for atom in number.atoms() for text in (atom, *_origins(atom, access))]
    return any(re.search(rf"\b{re.escape(name)}\b", text) for name in names for text in parts)


def _moves_within(side: Side, loop: Loop, changing: Collection[str], store: Access) -> bool:
    """Whether a loop moves a coordinate by some number that is no whole block, and by nothing else."""
    moving = [(key, value) for key, value in side.coordinate.terms if loop.target in key]
    if len(moving) != 1 or moving[0][0].count(loop.target) != 1:
        return False
    ((key, value),) = moving
    factor = term(tuple(atom for atom in key if atom != loop.target), value)
    if _is_made_of(plus(side.coordinate, term(key, value), -1), changing, store) or _is_made_of(
        factor, changing, store
    ):
        return False
    step = times(factor, loop.stride) if loop.stride is not None else factor
    return not _is_whole(step, side.size)


def _is_whole(distance: Dim, size: str) -> bool:
    """Whether a distance is a multiple of the width of a tile, as far as the text shows."""
    if size.isdecimal():
        return all(value % int(size) == 0 for _, value in distance.terms)
    if size.isidentifier():
        return quotient(distance, dims.symbol(size)) is not None
    return re.sub(r"[()\s]", "", show(distance)) == re.sub(r"[()\s]", "", size)


def writes_again(store: Access, other: Access) -> bool:
    """Whether a program may come to two stores, and they are known to have elements in common: they begin at the same,
    or so many elements apart that a tile is wider, or may be."""
    one, another = store.address, other.address
    if not isinstance(one, Form) or not isinstance(another, Form) or store is other:
        return False
    if (one.head, one.axes) != (another.head, another.axes):
        return False
    # A second loop may come to the places of a first one again, whatever it calls its index.
    apart_by = plus(one.offset, offset_as_in(store.loops, other), -1).value
    sizes = [_number_of(axis.size, store) for axis in one.axes if axis is not None and axis.stride.value == 1]
    if apart_by is None or (apart_by != 0 and any(size is not None and abs(apart_by) >= size for size in sizes)):
        return False
    for node in walk(store.kernel.node.body):
        if isinstance(node, cst.If) and node.orelse is not None:
            (first, rest), (other_first, other_rest) = _within(node, (store, other))
            if (first and other_rest) or (rest and other_first):
                return False
    return True


def _number_of(size: str, access: Access) -> int | None:
    """The width of a tile, where the text says it or gives its name a number (`NB: gl.constexpr = 16`)."""
    if size.isdecimal():
        return int(size)
    meant = access.numbers.get(size)
    return meant.value if meant is not None else None


def _within(node: cst.If, accesses: Sequence[Access]) -> list[tuple[bool, bool]]:
    """Per access whether it stands in the first branch of an `if`, and in the other."""
    assert node.orelse is not None
    return [(_has(node.body, one.node), _has(node.orelse, one.node)) for one in accesses]


def _origins(atom: str, access: Access) -> list[str]:
    """What stands behind an atom, and behind what that is made of."""
    found: list[str] = []
    left = [atom]
    while left:
        text = left.pop()
        more = [origin for name, origin in access.origins.items() if name in text and origin not in found]
        found += more
        left += more
    return found


def _by_blocks(store: Access, box: Box) -> tuple[str, ...] | None:
    """Where loops move the two dimensions of a matrix alone."""
    moved: list[Side] = []
    for loop in store.loops:
        sides = [side for side in box.sides if loop.target in side.coordinate.atoms()]
        if len(sides) != 1 or sides[0].axis is None or sides[0] in moved or not _goes_by_blocks(sides[0], loop, store):
            return None
        moved += sides
    if not moved:
        return ()
    changing = {name for loop in store.loops for name in (loop.target, *assigned_names(loop.node))} - {""}
    if any(changes(side.coordinate, store, changing) for side in box.sides if side not in moved):
        return None  # what else moves may take the tile back
    # Rows lie apart where each has room for the extent of the columns.
    rows, columns = sorted(box.inner, key=lambda side: side.stride.value == 1)
    ends = [extent.size for extent in columns.extents if extent.when == ALWAYS]
    if columns.stride.value != 1 or rows.stride.value == 1 or not ends:
        return None
    if quotient(rows.stride, ends[0]) is not None:
        return ()  # both are above zero where there is a descriptor
    return (f"{show(rows.stride)} >= {show(ends[0])}",)


def _bare(access: Access) -> tuple[object, ...]:
    form = access.address
    assert isinstance(form, Form)
    return form.head, form.offset, form.axes


def _goes_by_blocks(side: Side, loop: Loop, store: Access) -> bool:
    """Whether each iteration of a loop moves a coordinate by a block of its dimension, and nothing else moves it."""
    if loop.kind not in ("range", "static_range") or loop.stride is None or loop.first is None:
        return False
    moving = [(key, value) for key, value in side.coordinate.terms if loop.target in key]
    if len(moving) != 1 or moving[0][0].count(loop.target) != 1:
        return False
    key, value = moving[0]
    factor = term(tuple(atom for atom in key if atom != loop.target), value)
    rest = {*factor.atoms(), *plus(side.coordinate, term(key, value), -1).atoms()}
    parts = [text for atom in rest for text in (atom, store.origins.get(atom, ""))]
    changing = {loop.target, *assigned_names(loop.node)} - {""}
    if any(re.search(rf"\b{re.escape(name)}\b", text) for name in changing for text in parts):
        return False
    return show(times(factor, loop.stride)) in (side.size, f"-{side.size}")


def _block_of(access: Access) -> Sequence[cst.BaseStatement]:
    """The statements among which an access stands."""
    blocks = [one for one in walk(access.kernel.node) if isinstance(one, cst.IndentedBlock)]
    around = [one for one in blocks if _has(one, access.node)]
    # The innermost comes last, as blocks are walked from the outside.
    return [one for one in around[-1].body if isinstance(one, cst.BaseStatement)] if around else []


def _own_lines(node: cst.If) -> list[cst.BaseStatement]:
    """The statements of the branches of an `if`."""
    blocks = [node.body, *([node.orelse.body] if isinstance(node.orelse, cst.Else) else [])]
    return [line for block in blocks for line in block.body if isinstance(line, cst.BaseStatement)]


def _held(lines: Sequence[cst.BaseStatement], load: cst.Call, before: Collection[str] = ()) -> set[str]:
    """The names whose values are made of what a load brings, behind statements of which the first has it; `before`:
    those whose values are before the statements."""
    held = set(before)
    for line in lines:
        assigned = set(assigned_names(cst.IndentedBlock([line])))
        small = line.body[0] if isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1 else None
        value = small.value if isinstance(small, (cst.Assign, cst.AnnAssign, cst.AugAssign)) else None
        made = value is not None and (_has(value, load) or any(reads_of(value, name) for name in held))
        if made:
            held |= assigned
        elif not isinstance(small, cst.AugAssign):
            # What an `if` or a loop assigns may be made of something else.
            held -= assigned
    return held


def _summed(
    lines: Sequence[cst.BaseStatement], load: cst.Call, before: Collection[str] = (), known: Collection[str] = ()
) -> set[str]:
    """The names whose every element is a sum with an element that a load brings; `before`: those before the lines,
    `known`: the names that are made of it in any way."""
    summed, held = set(before), set(known)
    for line in lines:
        assigned = set(assigned_names(cst.IndentedBlock([line])))
        small = line.body[0] if isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1 else None
        target = small.targets[0].target if isinstance(small, cst.Assign) and len(small.targets) == 1 else None
        is_sum = False
        if isinstance(small, cst.Assign):
            is_sum = isinstance(target, cst.Name) and _is_term(small.value, load, summed, held)
        elif isinstance(small, cst.AugAssign) and isinstance(small.operator, (cst.AddAssign, cst.SubtractAssign)):
            is_sum = _is_term_of((small.target, small.value), load, summed, held)
        summed = summed | assigned if is_sum else summed - assigned
        held = _held([line], load, held)
    return summed


def _is_term(node: cst.BaseExpression, load: cst.Call, summed: Collection[str], held: Collection[str]) -> bool:
    """Whether what a load brings is one term of a sum, of which nothing else is made of it."""
    if node is load:
        return True
    if isinstance(node, cst.Name):
        return node.value in summed
    if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, (cst.Add, cst.Subtract)):
        return _is_term_of((node.left, node.right), load, summed, held)
    if called(node) == "convert_layout" and isinstance(node, cst.Call) and len(node.args) == 2:
        return _is_term(node.args[0].value, load, summed, held)
    if called(node) == "to" and isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
        return len(node.args) == 1 and _is_term(node.func.value, load, summed, held)
    return False


def _is_term_of(
    sides: tuple[cst.BaseExpression, cst.BaseExpression],
    load: cst.Call,
    summed: Collection[str],
    held: Collection[str],
) -> bool:
    """Whether what a load brings is a term of one of two sides, and the other is not made of it."""
    return any(
        _is_term(one, load, summed, held) and not _is_made(other, load, held) for one, other in (sides, sides[::-1])
    )


def _is_made(node: cst.BaseExpression, load: cst.Call, held: Collection[str]) -> bool:
    """Whether an expression is made of what a load brings."""
    return _has(node, load) or any(reads_of(node, name) for name in held)


def _read_behind(
    block: Sequence[cst.BaseStatement], behind: Sequence[cst.BaseStatement], held: set[str], store: Access
) -> bool:
    """Whether a name that holds something in a block is read by the statements behind it, or where they lead to."""
    held = set(held)
    for line in behind:
        if any(reads_of(line, name) for name in held):
            return True
        if _is_plain(line):
            held -= set(assigned_names(cst.IndentedBlock([line])))
    function = store.kernel.node
    if block[0] in function.body.body:
        return False
    if store.loops:
        loop = store.loops[-1].node
        live = live_at_end(function, loop) | live_behind(function, loop)
        if block[0] in loop.body.body:
            return bool(held & live)
    inside = {id(node) for line in block for node in walk(line)}
    lines = [one for one in walk(function.body) if isinstance(one, cst.BaseSmallStatement) and id(one) not in inside]
    return any(reads_of(line, name) for line in lines for name in held)


def _value_of(store: Access) -> cst.BaseExpression | None:
    named = [one.value for one in store.node.args if one.keyword is not None and one.keyword.value == "value"]
    placed = [one.value for one in store.node.args if one.keyword is None]
    return named[0] if named else placed[1] if len(placed) > 1 else None


def _is_plain(line: cst.BaseStatement) -> bool:
    return isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1


def _has(node: cst.CSTNode, part: cst.CSTNode) -> bool:
    return any(one is part for one in walk(node))


__all__ = ["apart", "is_read_first", "repeats", "writes_again"]
