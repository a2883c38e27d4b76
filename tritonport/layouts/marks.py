"""What the solver has to know of values beyond what they are computed from: who reads them, and how often."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import libcst as cst

from tritonport.analysis.frame import Frame
from tritonport.analysis.terms import Root, resolve
from tritonport.analysis.values import Operand, Value


def mark_unread(frames: Iterable[Frame]) -> None:
    """Where the branches of a compile-time `if` meet, the names that nothing reads further down: only one branch is
    compiled, so each may leave a layout and a shape of its own."""
    walked = list(frames)
    merges = [merge for frame in walked for merge in frame.merges]
    live = {read for frame in walked for read in frame.reads.values()}
    work = [*live, *(merge for merge in merges if not merge.decided)]
    live.update(work)
    while work:
        for source in work.pop().sources:
            if source not in live:
                live.add(source)
                work.append(source)
    for merge in merges:
        merge.unread = merge not in live
        if merge.value.op == "phi":
            merge.value.unread = merge.unread


def mark_updated(values: list[Value]) -> None:
    """Loads of memory that the kernel also writes happen once, each element in one thread where it has enough of them.

    In a slice of a tile's layout several warps would read the same element, and nothing keeps one of them from storing
    the new value before another has read the old one. The conversion to the tile's layout has a barrier.
    """
    written = {
        pointer
        for value in values
        if value.op == "store" or value.op.startswith("atomic")
        for operand in value.operands[:1]
        for pointer in operand.value.pointers
    }
    for value in values:
        if value.op == "load":
            value.once = value.volatile or bool(written.intersection(value.element))


def mark_chains(frames: Iterable[Frame], values: list[Value]) -> None:
    """What the warps of a dot are divided by beside its own shape (Triton's AccelerateMatmul.cpp).

    Warpgroup instructions: a dot whose result another dot of the same loop body takes as an operand has its warps along
    one side of the tile (`warpsPerTileV3`). mma.sync: so have all the dots of one block that hang together, and the
    last of them says which side, since that is the first that the compiler rewrites (`warpsPerTileV2`). There, dots
    hang together by what addresses they have in common, too; apart from each other they do better in their own shapes.
    """
    carried = {id(merge.value) for frame in frames for merge in frame.merges if not isinstance(merge.statement, cst.If)}
    users: dict[int, list[Value]] = {}
    for value in values:
        if id(value) not in carried:
            for operand in value.operands:
                users.setdefault(id(operand.value), []).append(value)
    dots = [value for value in values if value.dot is not None and value.focus is not None]
    groups: dict[Value, list[Value]] = {value: [value] for value in dots}
    reached: dict[Value, Value] = {}
    for value in dots:
        assert value.focus is not None
        for user in _reached(value, users):
            value.focus.chained |= user.dot is not None
            other = user if user in groups else reached.setdefault(user, value)
            if groups[other] is not groups[value]:
                groups[value] += groups[other]
                groups.update(dict.fromkeys(groups[other], groups[value]))
    for value in dots:
        assert value.focus is not None
        last = _last_beside(value, groups[value])
        if last is not None and not (value.focus.chained and last is value):
            value.focus.follows = last.shape


def _reached(value: Value, users: Mapping[int, Sequence[Value]]) -> dict[Value, None]:
    """What is made of a dot's result in the same loop body, down to the next dots on each way."""
    found: dict[Value, None] = {}
    work = list(users.get(id(value), []))
    while work:
        user = work.pop()
        if user not in found and user.depth == value.depth:
            found[user] = None
            if user.dot is None:
                work += users.get(id(user), [])
    return found


def _last_beside(value: Value, group: Iterable[Value]) -> Value | None:
    """The last of the dots of a group that are compiled into the block of a dot wherever that one is; None where no
    launch has another one there."""
    if value.place is None:
        return None
    last, alone = (value.place.position, value), True
    for other in group:
        if other is not value and other.place is not None and other.rank == value.rank:
            alone &= not value.place.may_be_beside(other.place)
            if other.place.always_beside(value.place) and other.place.position > last[0]:
                last = other.place.position, other
    return None if alone else last[1]


def mark_loose(values: list[Value]) -> None:
    """What a compile-time `if` decides and dots alone read, each branch leaves in its own layout: of a tile and its
    transpose one is as good as the other on the way to shared memory."""
    users: dict[int, list[tuple[Value, Operand]]] = {}
    for value in values:
        for operand in value.operands:
            users.setdefault(id(operand.value), []).append((value, operand))

    def only_dots(value: Value) -> bool:
        return all(
            (user.dot is not None and operand.separate is not None)
            or (user.choice and only_dots(user))
            or (_is_unary(user) and only_dots(user))
            for user, operand in users.get(id(value), [])
        )

    for value in values:
        value.loose = value.choice and value.focus is not None and id(value) in users and only_dots(value)


def _is_unary(value: Value) -> bool:
    """Whether an elementwise operation has one tile among its operands, so that it works in any layout."""
    return value.arithmetic and value.op != "phi" and sum(operand.value.is_tensor for operand in value.operands) == 1


def mark_either(values: list[Value]) -> set[Value]:
    """Sums that a compile-time `if` takes along one side of a tile or the other, and that are stored and nothing else.

    `o = tl.sum(state * q[None, :], 1)` where a flag is set, and `tl.sum(state * q[:, None], 0)` where it is not: each
    branch leaves its slice of the tile's layout, and the store converts whichever it is. With one layout for both, one
    of the branches would convert twice.

    Returns the values whose result only the store reads.
    """
    users: dict[int, list[tuple[Value, Operand]]] = {}
    for value in values:
        for operand in value.operands:
            users.setdefault(id(operand.value), []).append((value, operand))
    found: set[Value] = set()
    for value in values:
        if not (value.choice and value.focus is not None and value.rank == 1):
            continue
        if len({_summed_axis(operand.value) for operand in value.operands} - {None}) < 2:
            continue
        if any(_summed_axis(operand.value) is None for operand in value.operands):
            continue
        chain = _stored_chain(value, users)
        if chain:
            value.loose = True
            for one in chain:
                assert one.focus is not None
                one.focus.either = True
            found.add(chain[-1])
    return found


def _summed_axis(value: Value) -> int | None:
    """The dimension of a tile along which a vector was summed up; None where it is no such sum."""
    while _is_unary(value):
        value = next(operand.value for operand in value.operands if operand.value.is_tensor)
    return value.result_axis if value.op == "reduce" else None


def _stored_chain(value: Value, users: Mapping[int, Sequence[tuple[Value, Operand]]]) -> list[Value]:
    """A vector and what is made of it, element by element, up to the one store that takes it; empty where something
    else reads one of them."""
    chain = [value]
    while True:
        readers = users.get(id(chain[-1]), ())
        if len(readers) != 1:
            return []
        user, operand = readers[0]
        if user.op == "store":
            return chain if user.rank == 1 and operand is user.operands[1] else []
        if not _is_unary(user) or user.focus is None or user.rank != 1:
            return []
        chain.append(user)


def mark_rowwise(values: list[Value]) -> None:
    """Results of dots whose rows are reduced: a row of such a tile should not be in two warps."""
    for value in values:
        if value.op == "reduce" and value.focus is not None:
            root = resolve(value.focus)
            if isinstance(root, Root) and root.dot is not None and value.result_axis == root.rank - 1:
                root.rowwise = True


def mark_beside(values: list[Value]) -> None:
    """Tiles of dots whose other tile has narrower elements, it seems: it is cast, or it alone has scales.

    Triton's coalescing pass gives tiles of one shape that lie the same way as many elements per thread as the
    narrowest of them fills 16 bytes with (`CoalescePass::setCoalescedEncoding`): their indices and masks are one.
    """
    for value in values:
        if value.dot is None:
            continue
        left, right = (_read_tile(operand.value) for operand in value.operands[:2])
        if left is None or right is None or left[0] is right[0]:
            continue
        narrow = value.dot.scaled if any(value.dot.scaled) else (left[1], right[1])
        if narrow == (False, True):
            left[0].beside = right[0]
        elif narrow == (True, False):
            right[0].beside = left[0]


def _read_tile(value: Value) -> tuple[Root, bool] | None:
    """The layout in which an operand of a dot is read from memory, and whether it is cast on its way; None where it is
    more than a tile of its own."""
    cast = False
    while value.op != "load":
        if value.op != "permute" and not (value.arithmetic and value.op != "phi"):
            return None
        tiles = [operand.value for operand in value.operands if operand.value.rank == value.rank and not operand.path]
        if len(tiles) != 1:
            return None
        cast |= value.op == "cast" and value.element != tiles[0].element
        value = tiles[0]
    root = resolve(value.focus) if value.focus is not None else None
    return (root, cast) if isinstance(root, Root) and root.pinned is None and root.dot is None else None
