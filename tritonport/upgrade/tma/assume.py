"""Branches that the copies of a kernel take for granted: an `if` on what the launch knows is decided before the launch.

Where the two branches give an address two forms (sequences of any lengths or of one, a state by rows or by columns),
one of them can be copied. The form of the kernel with the copies is then the kernel with that branch in the place of
the `if`, and the launches that take the other one have no descriptors. What chooses between two values, `0 if FORWARD
else last`, is such an `if` too.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

import libcst as cst

from tritonport.analysis.access import Access, Form, accesses_of
from tritonport.analysis.access.expressions import LANGUAGE
from tritonport.analysis.effects import LOADS, effects_in
from tritonport.source.kernel import Kernel, Origin
from tritonport.source.module import SourceModule
from tritonport.source.syntax import dotted
from tritonport.source.walk import assigned_names, replaced, walk
from tritonport.upgrade.dots import called
from tritonport.upgrade.slices import names_of
from tritonport.upgrade.tma.branch import Branch
from tritonport.upgrade.tma.terms import HostNames, Spelled
from tritonport.upgrade.tma.wide import targets_of


class Assumed(Branch):
    """The branch of an `if` that the copies know to be taken."""


def specialised(kernel: Kernel, assumed: Sequence[Assumed]) -> Kernel:
    """The kernel with the branches that are taken in the place of their `if`s; itself where nothing is assumed."""
    if not assumed:
        return kernel
    chooser = _Chooser(kernel, {one.test: one.taken for one in assumed})
    node = kernel.node.visit(chooser)
    assert isinstance(node, cst.FunctionDef)
    return replace(kernel, node=node, origins={**kernel.origins, **chooser.made})


def without_loads(kernel: Kernel, operands: Sequence[Access], triton: str) -> tuple[Assumed, ...]:
    """Of `if`s that read in one branch what addresses of operands outside of it are made of: the branch that reads
    nothing."""
    wanted: dict[frozenset[int], set[str]] = {}
    found: dict[str, Assumed] = {}
    for test, on_host, nodes in _decided(kernel, triton):
        for node in nodes:
            if not isinstance(node, cst.If):
                continue
            bodies = [branch_of(node, taken) for taken in (0, 1)]
            reads = [body is not None and LOADS in effects_in(kernel.module, body) for body in bodies]
            reading = bodies[reads.index(True)] if reads[0] != reads[1] else None
            if reading is None:
                continue
            inside = {id(one) for one in walk(reading)}
            outside = [one for one in operands if id(one.node) not in inside]
            key = frozenset(id(one) for one in outside)
            if key not in wanted:
                wanted[key] = address_names(kernel, outside)
            if wanted[key] & _made_of_loads(reading, kernel.module):
                found.setdefault(test, Assumed(test, on_host, reads.index(False)))
    return tuple(found.values())


def of_one_type(kernel: Kernel, operands: Sequence[Access]) -> tuple[Assumed, ...]:
    """Of `if`s that cast operands whose types differ (`if a.dtype != b.dtype:`): the branch for those of one type.

    What tensor cores multiply is of one type, so the cast is the exception, and an operand that keeps its type stays
    where it was copied to.
    """
    bases: dict[str, set[str | None]] = {}
    for access in operands:
        bases.setdefault(access.target, set()).add(access.base)
    found: dict[str, Assumed] = {}
    for node, test in _tests(kernel):
        compared = _types_compared(node.test)
        if compared is None:
            continue
        first, second, taken = compared
        pointers = [next(iter(bases[name])) for name in (first, second) if len(bases.get(name, ())) == 1]
        loads = {name: sum(one.target == name for one in operands) for name in (first, second)}
        alone = all(_assigned_outside(kernel, name, test) == loads[name] for name in (first, second))
        if len(pointers) == 2 and None not in pointers and alone:
            one, other = (f'args["{pointer}"].dtype' for pointer in pointers)
            found[test] = Assumed(test, f"{one} {'!=' if taken else '=='} {other}", taken)
    return tuple(found.values())


def _types_compared(test: cst.BaseExpression) -> tuple[str, str, int] | None:
    """The variables of `a.dtype != b.dtype`, and the branch that is taken where the types are equal."""
    if not isinstance(test, cst.Comparison) or len(test.comparisons) != 1:
        return None
    operator = test.comparisons[0].operator
    names = [
        side.value.value
        for side in (test.left, test.comparisons[0].comparator)
        if isinstance(side, cst.Attribute) and side.attr.value == "dtype" and isinstance(side.value, cst.Name)
    ]
    if len(names) != 2 or not isinstance(operator, (cst.Equal, cst.NotEqual)):
        return None
    return names[0], names[1], int(isinstance(operator, cst.NotEqual))


def _assigned_outside(kernel: Kernel, name: str, test: str) -> int:
    """How many statements give a variable a value, those under this test left out."""
    under = {id(one) for node, text in _tests(kernel) if text == test for one in walk(node)}
    outside = [one for one in walk(kernel.node.body) if id(one) not in under]
    small = (cst.SimpleStatementLine([one]) for one in outside if isinstance(one, cst.BaseSmallStatement))
    loops = sum(isinstance(one, cst.For) and name in names_of(one.target) for one in outside)
    return loops + sum(name in assigned_names(cst.IndentedBlock([one])) for one in small)


def choices(kernel: Kernel, operands: Sequence[Access], triton: str) -> list[tuple[Assumed, Assumed]]:
    """The two ways to decide each test whose branches assign what addresses of operands outside of it are made of.

    The branch without the flag comes first: one that a kernel asks for is the exception more often than the rule.
    """
    found = []
    for test, on_host, nodes in _decided(kernel, triton):
        inside = {id(one) for node in nodes for one in walk(node) if isinstance(one, cst.Call)}
        wanted = address_names(kernel, [one for one in operands if id(one.node) not in inside])
        bodies = [branch_of(node, taken) for node in nodes if isinstance(node, cst.If) for taken in (0, 1)]
        bodies += [cst.IndentedBlock([line]) for line in _lines_with(kernel, nodes)]
        if any(body is not None and wanted & set(assigned_names(body)) for body in bodies):
            first = 0 if test.startswith("not ") else 1
            found.append((Assumed(test, on_host, first), Assumed(test, on_host, 1 - first)))
    return found


def branch_of(statement: cst.If, taken: int) -> cst.BaseSuite | None:
    """The first branch of an `if`, or the second; None where there is no second."""
    if taken == 0:
        return statement.body
    orelse = statement.orelse
    return cst.IndentedBlock([orelse]) if isinstance(orelse, cst.If) else orelse.body if orelse is not None else None


def address_names(kernel: Kernel, operands: Sequence[Access]) -> set[str]:
    """The names that the addresses and masks of accesses are made of, and the bounds of the loops whose indices they
    are made of."""
    found: set[str] = set()
    for access in operands:
        for argument in access.node.args:
            found |= reached(argument.value, kernel.node)
        for loop in reversed(access.loops):
            for bound in (loop.start, loop.stop) if loop.target in found else ():
                found |= reached(bound, kernel.node) if bound is not None else set()
    return found


def reached(
    node: cst.BaseExpression, function: cst.FunctionDef, names: Callable[[cst.CSTNode], set[str]] = names_of
) -> set[str]:
    """The names that an expression is made of, through all assignments of a function.

    What compile-time values (layouts) are made of is left out: no address or mask is computed from it.

    Args:
        names: the names of one expression that count.
    """
    found = names(node)
    left = _assigned_in(function.body)
    while True:
        hit = [one for one in left if not found.isdisjoint(one[0])]
        if not hit:
            return found
        left = tuple(one for one in left if found.isdisjoint(one[0]))
        for _, value, read in hit:
            found |= read if names is names_of else names(value)


@lru_cache(maxsize=16)
def _assigned_in(body: cst.BaseSuite) -> tuple[tuple[frozenset[str], cst.BaseExpression, frozenset[str]], ...]:
    """Of each assignment of run-time values: the names that it gives a value, that value, and the names in it."""
    found = []
    for one in walk(body):
        if not isinstance(one, (cst.Assign, cst.AnnAssign, cst.AugAssign)) or one.value is None:
            continue
        if isinstance(one, cst.AnnAssign) and (dotted(one.annotation.annotation) or "").endswith("constexpr"):
            continue
        targets = frozenset(name for target in targets_of(one) for name in names_of(target))
        found.append((targets, one.value, frozenset(names_of(one.value))))
    return tuple(found)


def pointing(node: cst.CSTNode, module: SourceModule) -> set[str]:
    """The names in an expression whose memory its value may point to: none of what is loaded, and none of types."""
    hidden = {id(part) for one in walk(node) if _holds_no_pointer(one, module) for part in walk(one)}
    swaps: dict[cst.CSTNode, cst.CSTNode] = {}
    for one in walk(node):
        if isinstance(one, cst.Name) and id(one) in hidden:
            swaps[one] = cst.Integer("0")
    return names_of(replaced(node, swaps)) if swaps else names_of(node)


_OF_DESCRIPTORS = frozenset({"tma_load", "tma_operand"})
"""Functions of the port that bring a tile of a descriptor."""


def _holds_no_pointer(node: cst.CSTNode, module: SourceModule) -> bool:
    """Whether a node is what a load of the language or of a descriptor brings, or the type of something."""
    if isinstance(node, cst.Attribute):
        return node.attr.value in ("dtype", "element_ty", "type", "shape")
    if called(node) in _OF_DESCRIPTORS:
        return True
    if not isinstance(node, cst.Call) or called(node) != "load":
        return False
    names = module.qualified_names(node.func)
    return any(name.startswith(LANGUAGE) for name in names) or (isinstance(node.func, cst.Attribute) and not names)


def _lines_with(kernel: Kernel, nodes: Sequence[cst.If | cst.IfExp]) -> list[cst.SimpleStatementLine]:
    """The lines that choose between values by one of some tests."""
    wanted = {id(node) for node in nodes if isinstance(node, cst.IfExp)}
    lines = (line for line in walk(kernel.node.body) if isinstance(line, cst.SimpleStatementLine)) if wanted else ()
    return [line for line in lines if any(id(one) in wanted for one in walk(line))]


def chooses(access: Access) -> bool:
    """Whether what chooses between two values is in the address of an access."""
    form = access.address
    numbers = [form.offset, *(axis.stride for axis in form.axes if axis is not None)] if isinstance(form, Form) else []
    return any(" if " in text for number in numbers for atom in number.atoms() for text in _texts(atom, access))


def _texts(atom: str, access: Access) -> tuple[str, str]:
    return atom, access.origins.get(atom, "")


def _decided(kernel: Kernel, triton: str) -> list[tuple[str, str, list[cst.If | cst.IfExp]]]:
    """The tests that the launch decides: as the kernel and as the launch write them, and what asks them."""
    accesses = accesses_of(kernel.module, kernel)
    host = HostNames(kernel, triton, {access.base for access in accesses if access.base is not None})
    changed = set(assigned_names(kernel.node.body))
    nodes: dict[str, list[cst.If | cst.IfExp]] = {}
    for node in walk(kernel.node.body):
        if isinstance(node, (cst.If, cst.IfExp)):
            nodes.setdefault(_text(kernel, node), []).append(node)
    found = []
    for test, same in nodes.items():
        if _numbers_of(same[0].test) & changed:
            continue
        try:
            found.append((test, host.source(test), same))
        except Spelled:
            continue
    return found


def _numbers_of(test: cst.BaseExpression) -> set[str]:
    """The names whose values a test reads; `x is None` is the same whatever is added to `x`."""
    if isinstance(test, cst.Comparison) and isinstance(test.comparisons[0].operator, (cst.Is, cst.IsNot)):
        return set()
    return names_of(test)


def _made_of_loads(body: cst.BaseSuite, module: SourceModule) -> set[str]:
    """The names that statements give numbers out of memory, or what they make of these."""
    found: set[str] = set()
    while True:
        before = len(found)
        for one in walk(body):
            if not isinstance(one, (cst.Assign, cst.AnnAssign, cst.AugAssign)) or one.value is None:
                continue
            if LOADS in effects_in(module, one.value) or names_of(one.value) & found:
                found |= {name for target in targets_of(one) for name in names_of(target)}
        if len(found) == before:
            return found


def _text(kernel: Kernel, node: cst.If | cst.IfExp) -> str:
    text = kernel.module.tree.code_for_node(node.test).strip()
    return text if isinstance(node, cst.If) else " ".join(text.split())  # a value may go on in another line


class _Chooser(cst.CSTTransformer):
    """Puts one branch in the place of each `if` on a decided test, and one value in that of a choice."""

    def __init__(self, kernel: Kernel, taken: Mapping[str, int]) -> None:
        super().__init__()
        self.taken = {id(node): taken[test] for node, test in _tests(kernel) if test in taken}
        chosen = [one for one in walk(kernel.node.body) if isinstance(one, cst.IfExp) and _text(kernel, one) in taken]
        self.chosen = {id(one): taken[_text(kernel, one)] for one in chosen}
        self.lines = {id(line) for line in _lines_with(kernel, chosen)}
        self.chained = _chained(kernel.node)
        self.made: dict[cst.Call, Origin] = {}

    def visit_SimpleStatementLine(self, node: cst.SimpleStatementLine) -> bool:
        return id(node) in self.lines

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.BaseExpression:
        self.made[updated_node] = Origin(original_node)
        return updated_node

    def leave_IfExp(self, original_node: cst.IfExp, updated_node: cst.IfExp) -> cst.BaseExpression:
        taken = self.chosen.get(id(original_node))
        if taken is None:
            return updated_node
        value = updated_node.orelse if taken else updated_node.body
        alone = isinstance(value, (cst.Name, cst.Integer, cst.Float, cst.Attribute, cst.Call))
        if alone or value.lpar or not original_node.lpar:
            return value
        return value.with_changes(lpar=original_node.lpar, rpar=original_node.rpar)

    def leave_If(
        self, original_node: cst.If, updated_node: cst.If
    ) -> cst.BaseStatement | cst.FlattenSentinel[cst.BaseStatement] | cst.RemovalSentinel:
        taken = self.taken.get(id(original_node))
        if taken is None:
            return updated_node
        if id(original_node) in self.chained:
            orelse = updated_node.orelse if taken else cst.Else(body=updated_node.body)
            return cst.RemoveFromParent() if orelse is None else orelse  # type: ignore[return-value]
        body = branch_of(updated_node, taken)
        lines = [one for one in body.body if isinstance(one, cst.BaseStatement)] if body is not None else []
        return cst.FlattenSentinel(lines) if lines else cst.RemoveFromParent()


def _tests(kernel: Kernel) -> list[tuple[cst.If, str]]:
    return [(node, _text(kernel, node)) for node in walk(kernel.node.body) if isinstance(node, cst.If)]


def _chained(function: cst.FunctionDef) -> Collection[int]:
    """The `elif`s of a function, by identity."""
    ifs = (node for node in walk(function.body) if isinstance(node, cst.If))
    return {id(node.orelse) for node in ifs if isinstance(node.orelse, cst.If)}


__all__ = [
    "Assumed",
    "address_names",
    "choices",
    "chooses",
    "of_one_type",
    "pointing",
    "reached",
    "specialised",
    "without_loads",
]
