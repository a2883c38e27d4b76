"""Choosing where tensors share a layout and where a conversion is written.

Every operation that is not cheap has one layout term, its focus. An edge says that an operand should have a given
slice of its consumer's focus. Edges are taken in the order of what a conversion on them would cost: inside loops
before outside, larger tensors before smaller, and early in the program before late. Each is satisfied by unification
where that is possible. What is left are the cheapest places to convert: after the loops, on the smaller tensor, just
before a store.

Index arithmetic takes no part: it is written once for each layout that asks for it. Vectors that are read from memory
through such indices join it where two tiles want them differently: reading a row of weights twice is cheaper than
moving it between threads, and the compiler does the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby

from tritonport.analysis.dims import canonical
from tritonport.analysis.frame import Definition, Frame
from tritonport.analysis.pinned import Pinned
from tritonport.analysis.terms import Access, Root, Slice, Term, equivalent, normal, resolve, root_of
from tritonport.analysis.values import Kind, Operand, Value
from tritonport.layouts.edges import Edge
from tritonport.layouts.majority import outvoted
from tritonport.layouts.marks import (
    mark_beside,
    mark_chains,
    mark_either,
    mark_loose,
    mark_rowwise,
    mark_unread,
    mark_updated,
)
from tritonport.layouts.ranks import check_ranks
from tritonport.layouts.shared_tiles import mark_shared
from tritonport.layouts.turned import turn_states
from tritonport.layouts.unification import holds_neighbours, rearranged, unify
from tritonport.layouts.vector_groups import VectorGroup, vector_groups
from tritonport.layouts.vectors import is_apart, is_vector_load, is_vector_store, keep_apart, vectors_before_loops


def wrap(path: tuple[int, ...], term: Term) -> Term:
    """The layout an operand needs so that adding `path`'s axes gives `term`."""
    for axis in reversed(path):
        term = Slice(axis, term)
    return term


def needs_layout(value: Value) -> bool:
    return value.is_tensor or any(operand.value.is_tensor for operand in value.operands)


def wanted(operand: Operand, focus: Term) -> Term:
    """The layout an operation with this focus wants of an operand."""
    if operand.separate is not None:
        return operand.separate
    term = wrap(operand.path, focus)
    for step in operand.steps:
        term = step.apply(term)
    return term


def frames_of(frame: Frame) -> Iterator[Frame]:
    yield frame
    for callee in frame.calls.values():
        yield from frames_of(callee)
    for others in frame.variants.values():
        for callee in others:
            yield from frames_of(callee)


def collect(frames: Iterable[Frame]) -> list[Value]:
    """Every value of the frames, operands before their users."""
    found: dict[int, Value] = {}
    for frame in frames:
        roots: list[Value] = [*frame.values.values()]
        definitions: list[Definition] = [*frame.parameters.values(), *frame.targets.values(), *frame.merges]
        roots += [definition.value for definition in definitions]
        roots += [value for _, value in frame.returns]
        for root in roots:
            if id(root) not in found:
                _visit(root, found)
    return list(found.values())


def _visit(root: Value, found: dict[int, Value]) -> None:
    stack: list[tuple[Value, bool]] = [(root, False)]
    entered: set[int] = set()
    while stack:
        value, leaving = stack.pop()
        if leaving:
            found[id(value)] = value
            continue
        if id(value) in found or id(value) in entered:
            continue
        entered.add(id(value))
        stack.append((value, True))
        stack += [(operand.value, False) for operand in reversed(value.operands)]
        stack += [(item, False) for item in value.items]


def mark_expensive(values: list[Value]) -> None:
    """A value is cheap only if everything it is computed from is cheap."""
    users: dict[int, list[Value]] = {}
    for value in values:
        for operand in value.operands:
            users.setdefault(id(operand.value), []).append(value)
    for value in values:
        value.arithmetic = value.cheap
    work = [value for value in values if needs_layout(value) and not (value.cheap and value.is_tensor)]
    for value in work:
        value.cheap = False
    while work:
        value = work.pop()
        if not value.is_tensor:
            continue
        for user in users.get(id(value), []):
            if user.cheap:
                user.cheap = False
                work.append(user)


def _focus(value: Value, position: int) -> Root:
    shape = value.shape if value.inner is None else value.inner
    if value.op == "reduce":
        shape = value.operands[0].value.shape
        for operand in value.operands:
            if operand.value.is_tensor:
                shape = operand.value.shape
    root = Root(len(shape), shape, whole=value.op == "scan", dot=value.dot)
    if value.access is not None:
        order, pointers, multiples = value.access
        root.order = order
        if order is not None:
            root.accesses.append(Access(pointers, order, position, multiples))
    return root


def _satisfy(edge: Edge) -> None:
    assert edge.consumer.focus is not None
    unify(wanted(edge.operand, edge.consumer.focus), edge.producer.term)


def _pin_of_focus(value: Value, pin: Pinned | None) -> Pinned | None:
    """The layout an operation works in, from the one that its result is given."""
    if pin is None or value.outcome:
        return None
    if value.result_axis is None:
        return pin
    return pin.parent if pin.axis == value.result_axis else None


def solve(frames: list[Frame], pins: Mapping[int, Pinned] | None = None) -> list[Value]:
    """Give every value of one kernel and of the helpers it calls its layout term. Returns the values.

    pins: layouts that are given, by the identity of the value.
    """
    values = collect(frames)
    mark_unread(frame for top in frames for frame in frames_of(top))
    mark_shared(frames, values)
    mark_expensive(values)
    mark_updated(values)
    for position, value in enumerate(values):
        if needs_layout(value) and not (value.cheap or value.unread) and value.shared is None:
            value.focus = _focus(value, position)
            value.focus.single = value.op == "load" and value.once
            value.focus.pinned = _pin_of_focus(value, (pins or {}).get(id(value)))
    mark_chains(frames, values)
    mark_loose(values)
    either = mark_either(values)
    turn_states(values)
    edges: list[Edge] = []
    for value in values:
        if value.focus is None or value.loose:
            continue
        for operand in value.operands:
            if operand.value.is_tensor and operand.value.focus is not None and operand.value not in either:
                edges.append(Edge(operand.value, value, operand, len(edges)))
    again: dict[int, bool] = {}
    late = outvoted(edges)
    ordered = sorted(
        edges, key=lambda edge: (*edge.cost[:3], edge in late, _made_again(edge.producer, again), *edge.cost[3:])
    )
    stored = {edge: None for edge in ordered if _stores_statistic(edge)}
    groups = vector_groups([edge for edge in ordered if edge not in stored])
    inner = {edge for group in groups for edge in group.inner}
    later = {edge for group in groups for edge in group.cut}
    before = vectors_before_loops(ordered)
    vectors = {
        edge: None for edge in ordered if edge not in stored and (_moves_vector(edge) or edge.producer in before)
    }
    vectors = {edge: None for edge in vectors if edge not in inner and edge not in later}
    for edge in _behind_tuples(edges):
        _satisfy(edge)
    for edge in _dots_first(edge for edge in ordered if not (edge in stored or edge in vectors or edge in later)):
        _satisfy(edge)
    for value in values:
        if value.loose:
            _settle(value)
    for group in groups:
        _satisfy_group(group)
    _satisfy_vectors(list(vectors), before)
    for edge in stored:
        if isinstance(normal(edge.producer.term), Slice) and not _meets_conversion(edge.producer):
            continue
        if _converted_anyway(edge, edges, stored):
            edge.producer.focus = Root(1, edge.producer.shape)
        _satisfy(edge)
    merge_equal([value.focus for value in values if value.focus is not None])
    try:
        recompute(edges)
    except IndexError:
        # A dimension that a tensor does not have: that of another path.
        check_ranks(edges)
        raise
    mark_rowwise(values)
    mark_beside(values)
    for value in values:
        root = resolve(value.focus) if value.focus is not None else None
        if isinstance(root, Root):
            root.accesses.sort(key=lambda access: access.position)
    return values


def _settle(merge: Value) -> None:
    """Give a merge that has the layout of whichever branch is compiled the one that all of them leave it in: that of a
    dot's result, which what is made of it has too."""
    terms = [operand.value.term for operand in merge.operands if operand.value.focus is not None]
    if len(terms) == len(merge.operands) and root_of(terms[0]).dot is not None:
        merge.loose = not (all(equivalent(term, terms[0]) for term in terms) and unify(terms[0], merge.term))


def _behind_tuples(edges: Iterable[Edge]) -> Iterator[Edge]:
    """Edges of what is reckoned of the items of a tuple that has a name: in one layout up to where it is used.

    A loop over the items has one text for all of them, so nothing can be converted in it.
    """
    behind: set[Value] = set()
    for edge in edges:
        value = edge.consumer
        passed_on = value.op == "parameter" or (value.arithmetic and value.op != "phi")
        if passed_on and (edge.producer.op == "held" or edge.producer in behind):
            behind.add(value)
            yield edge


def _dots_first(edges: Iterable[Edge]) -> Iterator[Edge]:
    """Edges in their order, but for those of one operation on tiles that meet there: the result of a dot before others.

    What is computed of it and of a tile from memory stays in its layout, and the other tile is converted, which often
    is the narrower: so decides Triton's compiler (`resolveConflicts` of its RemoveLayoutConversions.cpp).
    """
    for _, found in groupby(edges, key=lambda edge: (edge.cost[:-1], id(edge.consumer))):
        together = list(found)
        while together:
            first = next((edge for edge in together if root_of(edge.producer.term).dot is not None), together[0])
            together.remove(first)
            yield first


def _moves_vector(edge: Edge) -> bool:
    return is_vector_load(edge.producer) or is_vector_store(edge.consumer, edge.operand)


def _satisfy_group(group: VectorGroup) -> None:
    """What is reckoned of vectors in the layout in which they are read, apart from tiles that they belong to."""
    terms = [
        edge.producer.term if edge.producer.op == "reduce" else wanted(edge.operand, edge.consumer.focus)
        for edge in group.cut
        if edge.consumer.focus is not None
    ]
    if not keep_apart(group.loads[0], terms):
        for edge in group.cut:
            _satisfy(edge)


def _satisfy_vectors(edges: list[Edge], before: set[Value]) -> None:
    """What reads or writes memory as vectors, the rest being decided: apart from tiles that it belongs to."""
    wants: dict[Value, list[Term]] = {}
    for edge in edges:
        assert edge.consumer.focus is not None
        if is_vector_load(edge.producer) or edge.producer in before:
            wants.setdefault(edge.producer, []).append(wanted(edge.operand, edge.consumer.focus))
        else:
            wants.setdefault(edge.consumer, []).append(edge.producer.term)
    apart = {
        value
        for value, terms in wants.items()
        if not (value in before and any(map(holds_neighbours, terms))) and keep_apart(value, terms)
    }
    for edge in edges:
        if edge.producer not in apart and edge.consumer not in apart:
            _satisfy(edge)


def _stores_statistic(edge: Edge) -> bool:
    """Whether a row or column statistic of a tile is stored, or added to memory, after the loops.

    In the tile's layout each thread holds many elements that other threads have too, and an address for each: it is
    converted once instead, as Triton's compiler does.
    """
    store = edge.consumer
    if store.depth > 0 or store.rank != 1:
        return False
    return store.op == "store" or (
        store.op == "atomic" and len(store.operands) > 1 and store.operands[1].value.focus is not None
    )


def _meets_conversion(value: Value) -> bool:
    """Whether a statistic is computed from others that were converted for it: one conversion more would be two."""
    work, seen = [value], {id(value)}
    while work:
        value = work.pop()
        for operand in value.operands:
            other = operand.value
            if not other.is_tensor or other.focus is None or value.focus is None or other.rank != 1 or is_apart(other):
                continue
            if not equivalent(wanted(operand, value.focus), other.term):
                return True
            if id(other) not in seen:
                seen.add(id(other))
                work.append(other)
    return False


def _converted_anyway(stored: Edge, edges: Iterable[Edge], others: Iterable[Edge]) -> bool:
    """Whether a stored statistic is computed from two, in slices of different layouts, of which the one that would be
    converted for it is converted to be stored too: then the other one meets it there, at no more conversions."""
    value, term = stored.producer, normal(stored.producer.term)
    if not isinstance(term, Slice) or not value.arithmetic or value.op == "phi":
        return False
    if value.focus is None or value.focus.pinned is not None:
        return False
    if any(edge.producer is value and edge is not stored for edge in edges):
        return False
    operands = [edge.producer for edge in edges if edge.consumer is value]
    elsewhere = [operand for operand in operands if not equivalent(operand.term, term)]
    kept = {edge.producer for edge in others if isinstance(normal(edge.producer.term), Slice)}
    return len(operands) == 2 and len(elsewhere) == 1 and elsewhere[0] in kept


def recompute(edges: list[Edge]) -> None:
    """Make vectors cheap that two tiles want in different layouts, where everything they need is cheap to have
    again."""
    known: dict[int, bool] = {}
    for edge in edges:
        producer, focus = edge.producer, edge.consumer.focus
        if producer.focus is None or focus is None or equivalent(wanted(edge.operand, focus), producer.term):
            continue
        if is_apart(producer) or is_apart(edge.consumer):
            continue
        want = wanted(edge.operand, focus)
        # Memory that is read in the layout of a reshape would be read in pieces.
        if (isinstance(normal(want), Slice) or not rearranged(want)) and _recomputable(producer, known):
            _demote(producer, want)


def recompute_addresses(stores: Iterable[Value]) -> None:
    """The same for the addresses and masks of stores that were given a layout after the others: what is stored is
    converted, where it goes is arithmetic."""
    recompute(
        [
            Edge(operand.value, store, operand, 0)
            for store in stores
            for place, operand in enumerate(store.operands)
            if place != 1 and operand.value.is_tensor
        ]
    )


def given_cheaply(value: Value) -> bool:
    """Whether the callers of a helper write an argument in any layout for nothing: each of them in its own text, or
    its own callers where it only passes the argument on."""
    while value.op == "parameter" and value.operands:
        value = value.operands[0].value
        if value.focus is None:
            return True
    return False


def _recomputable(value: Value, known: dict[int, bool], given: bool = True) -> bool:
    """Whether a value and all that it is computed from are cheap to have again; what a loop carries, by what it is
    computed from there too.

    given: whether arguments of a helper count as well.
    """
    reached: dict[int, Value] = {}
    work = [value]
    while work:
        one = work.pop()
        if id(one) in reached or known.get(id(one)):
            continue
        # An index vector that a helper is given is converted once, at its head; what is made of it is written again.
        is_given = given and one.op == "parameter" and (one.rank == 1 or given_cheaply(one))
        if known.get(id(one)) is False or _is_pinned(one) or not (is_given or _is_simple(one)):
            known[id(value)] = False
            return False
        reached[id(one)] = one
        if not is_given:
            work += [operand.value for operand in one.operands if _has_focus(operand.value)]
    known.update(dict.fromkeys(reached, True))
    return True


def _made_again(value: Value, known: dict[int, bool]) -> bool:
    """Whether a vector of a loop is made again for each layout that asks for it, so that what asks decides on its own
    layout first. Not in a helper, which has one text for all of its calls."""
    return value.rank == 1 and value.depth > 0 and _recomputable(value, known, given=False)


def _has_focus(value: Value) -> bool:
    return value.is_tensor and value.focus is not None


def _is_pinned(value: Value) -> bool:
    return value.focus is not None and value.focus.pinned is not None


def _is_simple(value: Value) -> bool:
    """Whether an operation is cheap: index arithmetic, or a vector that is read from memory."""
    # A column of a tile is a vector too, whether its axis was added before or after it was read.
    is_vector = sum(not size.is_one for size in value.shape) <= 1
    simple = (value.arithmetic and value.op != "reshape") or (value.op == "load" and is_vector and not value.once)
    return value.is_tensor and simple


def _demote(value: Value, want: Term) -> None:
    """Make a value cheap, and what it is computed from, down to where the layout that is wanted is there for
    nothing."""
    if value.focus is None or value.op == "parameter" or equivalent(value.term, want):
        return
    value.focus = None
    value.cheap = True
    for operand in value.operands:
        if operand.value.is_tensor:
            _demote(operand.value, wanted(operand, want))


def merge_equal(roots: list[Root]) -> None:
    """One layout for all tiles of one size whose memory lies the same way, whether or not they meet."""
    groups: dict[tuple[str, ...], list[Root]] = {}
    for root in roots:
        chosen = resolve(root)
        if not isinstance(chosen, Root) or chosen.either or any(size is None for size in chosen.shape):
            continue
        key = tuple(canonical(size) for size in chosen.shape if size is not None)
        group = groups.setdefault(key, [])
        if not any(chosen is other or unify(other, chosen) for other in group):
            group.append(chosen)


__all__ = ["Kind", "collect", "frames_of", "mark_expensive", "needs_layout", "solve", "wanted", "wrap"]
