"""Splitting a loop: what has to run some iterations ahead for the copies, and what stays with the computation."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import libcst as cst

from tritonport.analysis.access import Loop
from tritonport.source.kernel import Kernel
from tritonport.source.syntax import dotted
from tritonport.source.walk import assigned_names, replaced, walk
from tritonport.upgrade.dots import called, is_dot
from tritonport.upgrade.facts import Facts, covered, may_meet

_EFFECTS = ("load", "store", "atomic_", "wait", "arrive", "commit", "copy", "device_print", "device_assert")
_DIVIDES = (cst.FloorDivide, cst.Modulo, cst.Divide)


class NotSplit(Exception):
    """A loop that cannot be split, and why."""


@dataclass(frozen=True)
class Split:
    """The statements of a loop's body by index.

    Attributes:
        ahead: those that the copies need, the copied loads among them.
        stays: those that the computation needs; some of `ahead` are needed twice.
        renamed: names that both assign: the copies work on `next_` versions of them.
        carried: of these, the ones with a value from before the loop.
    """

    ahead: tuple[int, ...]
    stays: tuple[int, ...]
    renamed: tuple[str, ...]
    carried: tuple[str, ...]


def split(
    body: Sequence[cst.BaseStatement],
    loads: Mapping[int, Iterable[cst.CSTNode]],
    kept: Iterable[cst.CSTNode],
    live_after: set[str],
    index: str,
    may_load: Callable[[cst.CSTNode], bool] = lambda node: False,
    facts: Sequence[Facts] = (),
) -> Split:
    """Split a body around its copied loads.

    Args:
        loads: per statement, the expressions that its copy needs (address and mask).
        kept: expressions of the loads that the computation evaluates for its own iteration.
        live_after: names that are read when the loop has ended.
        index: the loop variable.
        may_load: whether a call is a load that may run ahead, since it will be masked off beyond the last iteration.
        facts: under which `if`s that are decided when the kernel is compiled each statement stands; under none without.

    Raises:
        NotSplit: a statement that would have to run ahead does more than compute a number.
    """
    defined = [set(assigned_names(_wrapped(statement))) for statement in body]
    read = [read_names(statement) for statement in body]
    ahead = _closure(set().union(*(names_of(part) for parts in loads.values() for part in parts)), defined, read, loads)
    for place in ahead:
        if place not in loads:
            check_pure(body[place], may_load)
    if any(index in names for names in defined):
        raise NotSplit(f"the loop assigns its own index {index}")
    rest = [place for place in range(len(body)) if place not in ahead]
    needed = live_after | set().union(*(read[place] for place in rest), *(names_of(part) for part in kept))
    back = _closure(needed, defined, read, loads, within=[place for place in ahead if place not in loads])
    made = set().union(*(defined[place] for place in ahead if place not in loads))
    shared = made & set().union(*(defined[place] for place in back))
    carried = [name for name in sorted(shared) if _reads_before_write(name, ahead, defined, read, facts)]
    return Split(tuple(ahead), tuple(sorted({*rest, *back})), tuple(sorted(shared)), tuple(carried))


def made_anew(
    body: Sequence[cst.BaseStatement], ahead: Iterable[int], loads: Collection[int], facts: Sequence[Facts] = ()
) -> list[str]:
    """The names that each iteration that runs ahead assigns before it reads them; not what its `loads` bring."""
    known: dict[str, list[Facts]] = {}
    carried: set[str] = set()
    for place in ahead:
        own = _facts_at(facts, place)
        carried |= {name for name in read_names(body[place]) if not covered(own, known.get(name, ()))}
        for name in assigned_names(_wrapped(body[place])) if place not in loads else ():
            known.setdefault(name, []).append(own)
    return sorted(known.keys() - carried)


def asks_for_more(body: Sequence[cst.BaseStatement], ahead: Iterable[int], loop: Loop, kernel: Kernel) -> bool:
    """Whether what runs ahead asks the index of a loop, or what is made of that and of compile-time numbers, for more
    than sums and products: a number lacks what a tensor has, and is divided another way where it is below zero."""
    index = loop.target
    numbers = {index}
    sizes = {one.name for one in kernel.parameters if one.constexpr}

    def is_number(node: cst.CSTNode) -> bool:
        return bool(names_of(node) & numbers) and names_of(node) <= numbers | sizes

    def may_be_below_zero(node: cst.CSTNode) -> bool:
        counts_up = loop.start is None or isinstance(loop.start, cst.Integer)
        goes_down = any(isinstance(one, (cst.Subtract, cst.Minus)) for one in walk(node))
        return goes_down or not counts_up or bool(names_of(node) & numbers - {index})

    for place in ahead:
        statement = body[place]
        for node in walk(statement):
            if isinstance(node, cst.Attribute) and (index in names_of(node.value) or is_number(node.value)):
                return True
            if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, _DIVIDES):
                if is_number(node.left) and may_be_below_zero(node.left):
                    return True
            elif isinstance(node, cst.Call) and any(is_number(one.value) for one in node.args):
                path = dotted(node.func)
                if path is not None and any(one.kernel is not None for one in kernel.module.lookup(path)):
                    return True
                if called(node).startswith("rand"):
                    return True
        small = statement.body[0] if isinstance(statement, cst.SimpleStatementLine) else None
        if isinstance(small, cst.Assign) and is_number(small.value):
            numbers |= set(assigned_names(_wrapped(statement)))
    return False


ARITHMETIC = (cst.Add, cst.Subtract, cst.Multiply, cst.FloorDivide, cst.Modulo)
_TRANSPARENT = (cst.SimpleStatementLine, cst.Assign, cst.List, cst.Tuple, cst.Element, cst.Comparison)


def is_reckoned_with(node: cst.CSTNode, name: str) -> bool:
    """Whether arithmetic and comparisons alone read a name: a number may stand there in the place of a constant."""
    if name not in names_of(node) or isinstance(node, cst.Name):
        return True
    arithmetic = isinstance(node, cst.BinaryOperation) and isinstance(node.operator, ARITHMETIC)
    if not arithmetic and not isinstance(node, (*_TRANSPARENT, cst.ComparisonTarget)):
        return False
    return all(is_reckoned_with(child, name) for child in node.children)


def _wrapped(statement: cst.BaseStatement) -> cst.IndentedBlock:
    """A statement below another node: `assigned_names` looks at what a node holds."""
    return cst.IndentedBlock([statement])


def names_of(node: cst.CSTNode) -> set[str]:
    """The names that an expression reads."""
    return _read_in(list(walk(node)), set())


def _read_in(nodes: list[cst.CSTNode], skipped: set[int]) -> set[str]:
    """The names among nodes, other than the skipped ones, attributes and keywords."""
    skipped |= {id(item.attr) for item in nodes if type(item) is cst.Attribute}
    skipped |= {id(item.keyword) for item in nodes if type(item) is cst.Arg and item.keyword is not None}
    return {item.value for item in nodes if type(item) is cst.Name and id(item) not in skipped}


def read_names(statement: cst.CSTNode) -> set[str]:
    """The names that a statement reads; its plain targets are none."""
    nodes = list(walk(statement))
    targets = [node.target for node in nodes if type(node) is cst.AssignTarget or type(node) is cst.AnnAssign]
    return _read_in(nodes, {id(item) for target in targets for item in walk(target)})


def around(line: cst.BaseStatement, load: cst.BaseExpression) -> cst.CSTNode:
    """What is left of a statement without its load: what the computation does with it, in its own iteration."""
    left: cst.CSTNode = replaced(line, {load: cst.Name("None")})
    return left


def _closure(
    needed: set[str],
    defined: list[set[str]],
    read: list[set[str]],
    loads: Mapping[int, Iterable[cst.CSTNode]],
    within: Sequence[int] | None = None,
) -> list[int]:
    """The statements that the needed names depend on; without `within`, together with the loads themselves."""
    found = set(loads) if within is None else set()
    candidates = [place for place in (range(len(defined)) if within is None else within) if place not in loads]
    changed = True
    while changed:
        changed = False
        for place in candidates:
            if place not in found and defined[place] & needed:
                found.add(place)
                needed = needed | read[place]
                changed = True
    return sorted(found)


def check_pure(statement: cst.BaseStatement, may_load: Callable[[cst.CSTNode], bool] = lambda node: False) -> None:
    """Raises NotSplit for a statement that does more than compute a number; may_load: loads that are no access."""
    code = cst.Module([]).code_for_node(statement).strip().splitlines()[0]
    if not isinstance(statement, cst.SimpleStatementLine):
        raise NotSplit(f"where it is copied from depends on a branch or an inner loop: `{code}`")
    if not is_pure(statement, may_load):
        raise NotSplit(f"where it is copied from depends on `{code}`, which cannot run ahead")


def is_pure(node: cst.CSTNode, may_load: Callable[[cst.CSTNode], bool] = lambda node: False) -> bool:
    """Whether a node only computes: no access to memory, no dot, nothing that waits or prints.

    may_load: loads that are no access in this sense.
    """
    calls = [one for one in walk(node) if not may_load(one)]
    names = [called(one) for one in calls]
    effects = any(name.startswith(effect) or name.endswith(effect) for name in names for effect in _EFFECTS)
    return not effects and not any(is_dot(one) for one in calls)


def _reads_before_write(
    name: str, places: Sequence[int], defined: list[set[str]], read: list[set[str]], facts: Sequence[Facts]
) -> bool:
    made: list[Facts] = []
    for place in places:
        own = _facts_at(facts, place)
        if name in read[place] and not covered(own, made):
            # Before the loop it may have no value where a branch leaves it out.
            if own or any(may_meet(own, one) for one in made):
                raise NotSplit(f"where it is copied from depends on `{name}`, which a branch changes")
            return True
        if name in defined[place]:
            made.append(own)
    return False


def _facts_at(facts: Sequence[Facts], place: int) -> Facts:
    return facts[place] if facts else frozenset()


__all__ = [
    "ARITHMETIC",
    "NotSplit",
    "Split",
    "around",
    "asks_for_more",
    "check_pure",
    "is_pure",
    "is_reckoned_with",
    "made_anew",
    "names_of",
    "read_names",
    "split",
]
