"""Accesses whose address an earlier `if` on the same arguments has given two forms: each form gets one of its own.

`if FIRST: p = a else: p = b` and, behind it, `store(p, x)` is `if FIRST: store(p, x) else: store(p, x)`, where each
branch knows which form it has. Where the `if` is about what `p` was made of, the sum stands in the place of `p`; where
that is about what several lines make of it (the rows, the columns, the mask), they stand in both branches too.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

import libcst as cst

from tritonport.analysis.access import Access, Opaque
from tritonport.analysis.access.forms import Value
from tritonport.analysis.access.reader import Reader
from tritonport.source.kernel import Kernel, Origin
from tritonport.source.walk import assigned_names, calls_in, replaced, walk
from tritonport.upgrade.dots import called
from tritonport.upgrade.legality import considered
from tritonport.upgrade.slices import names_of


@dataclass(frozen=True)
class Forms:
    """What decides the form of an access.

    Attributes:
        test: the test of the `if`, the same wherever it is asked.
        pointer: what its pointer stands for, where that is made of what the `if` decides.
        lines: the statements that make its pointer and its mask of what the `if` decides.
    """

    test: str
    pointer: cst.BaseExpression | None = None
    lines: tuple[cst.SimpleStatementLine, ...] = ()


def two_forms(kernel: Kernel) -> dict[int, Forms]:
    """The accesses whose address or mask differs between the branches of an `if`, by the identity of their calls."""
    reader = _Reader(kernel)
    found = [one for one in reader.read() if considered("tma", one) and _has_no_form(one)]
    return {id(one.node): reader.tests[id(one.node)] for one in found if id(one.node) in reader.tests}


class _Reader(Reader):
    """Reads a kernel with, for each access, the test that decides the form of its pointer or its mask."""

    def __init__(self, kernel: Kernel) -> None:
        super().__init__(kernel.module, kernel)
        self.tests: dict[int, Forms] = {}
        self.meanings = _meanings(kernel.node)
        self.chains = _chains(kernel.node)

    def memory(self, node: cst.Call, kind: str) -> Value:
        """The address, as a reader of accesses has it."""
        address = super().memory(node, kind)
        meaning = self.meanings.get(id(node))
        given = {name for place in _places(node) for name in names_of(place)}
        for names, pointer in ((given, None), (names_of(meaning) if meaning is not None else set(), meaning)):
            decided = [test for test, values in self.decided.items() if self._is_decided(names, values)]
            if len(decided) == 1:
                self.tests[id(node)] = Forms(decided[0], pointer)
            if decided:
                break
        self._with_lines(node, given)
        return address

    def _with_lines(self, node: cst.Call, given: set[str]) -> None:
        """The lines before an access that make its pointer and its mask of what one test decides."""
        chain = self.chains.get(id(node), ())
        read = given.union(*(names_of(line) for line in chain))
        found = {test: values for test, values in self.decided.items() if self._is_decided(read, values)}
        known = self.tests.get(id(node))
        if len(found) != 1 or (known is not None and known.test not in found):
            return
        ((test, values),) = found.items()
        made = {name for name in read & values.keys() if self.environment.get(name) is values[name][0]}
        lines: list[cst.SimpleStatementLine] = []
        for line in chain:
            if _read_by(line) & made:
                made |= set(assigned_names(cst.IndentedBlock([line])))
                lines.append(line)
        if known is None or len(lines) > 1:
            self.tests[id(node)] = Forms(test, None, tuple(lines))

    def _is_decided(self, names: set[str], values: Mapping[str, tuple[Value, Value, Value]]) -> bool:
        return any(self.environment.get(name) is values[name][0] for name in names & values.keys())


def _meanings(function: cst.FunctionDef) -> dict[int, cst.BaseExpression]:
    """What the pointers of accesses stand for, by the identity of the calls: where a line before in the same block says
    it, of names that no line changes in between."""
    found: dict[int, cst.BaseExpression] = {}
    for block in walk(function):
        known: dict[str, cst.BaseExpression] = {}
        for line in block.body if isinstance(block, cst.IndentedBlock) else ():
            small = line.body[0] if isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1 else None
            for call in walk(small) if isinstance(small, (cst.Expr, cst.Assign)) else ():
                pointer = _places(call)[:1] if isinstance(call, cst.Call) else []
                if pointer and isinstance(pointer[0], cst.Name) and pointer[0].value in known:
                    found[id(call)] = known[pointer[0].value]
            changed = set(assigned_names(cst.IndentedBlock([line]))) if isinstance(line, cst.BaseStatement) else set()
            known = {name: value for name, value in known.items() if not changed & ({name} | names_of(value))}
            target = small.targets[0].target if isinstance(small, cst.Assign) and len(small.targets) == 1 else None
            if isinstance(small, cst.Assign) and isinstance(target, cst.Name) and not _calls_any(small.value):
                known[target.value] = small.value
    return found


def _chains(function: cst.FunctionDef) -> dict[int, tuple[cst.SimpleStatementLine, ...]]:
    """The lines of the same block that make the pointers and the masks of accesses, by the identity of the calls: of
    what no line changes between them and the access, and by nothing but arithmetic."""
    found: dict[int, tuple[cst.SimpleStatementLine, ...]] = {}
    for block in walk(function):
        made: dict[str, cst.SimpleStatementLine] = {}
        for line in block.body if isinstance(block, cst.IndentedBlock) else ():
            small = line.body[0] if isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1 else None
            for call in walk(small) if isinstance(small, (cst.Expr, cst.Assign)) else ():
                places = _places(call) if isinstance(call, cst.Call) and called(call) in ("load", "store") else []
                names = {name for place in places for name in names_of(place)}
                lines: list[cst.SimpleStatementLine] = []
                for one in reversed(made.values()):
                    if names & set(assigned_names(cst.IndentedBlock([one]))):
                        lines.insert(0, one)
                        names |= _read_by(one)
                if lines:
                    found[id(call)] = tuple(lines)
            changed = set(assigned_names(cst.IndentedBlock([line]))) if isinstance(line, cst.BaseStatement) else set()
            made = {name: one for name, one in made.items() if not changed & ({name} | _read_by(one))}
            target = small.targets[0].target if isinstance(small, cst.Assign) and len(small.targets) == 1 else None
            if isinstance(small, cst.Assign) and isinstance(target, cst.Name) and _only_computes(small.value):
                assert isinstance(line, cst.SimpleStatementLine)
                if target.value not in names_of(small.value):
                    made[target.value] = line
    return found


def _read_by(line: cst.SimpleStatementLine) -> set[str]:
    """The names in the value of an assignment."""
    small = line.body[0]
    return names_of(small.value) if isinstance(small, cst.Assign) else set()


_COMPUTES = frozenset({"arange", "to", "cast", "convert_layout", "multiple_of", "max_contiguous", "SliceLayout"})


def _only_computes(node: cst.BaseExpression) -> bool:
    """Whether an expression is the same again where the names in it are."""
    return all(called(one) in _COMPUTES for one in walk(node) if isinstance(one, cst.Call))


def _calls_any(node: cst.BaseExpression) -> bool:
    """Whether an expression may be another one wherever it stands."""
    return any(isinstance(one, cst.Call) for one in walk(node))


def _places(call: cst.Call) -> list[cst.BaseExpression]:
    """The pointer and the mask of a load or a store."""
    named = {one.keyword.value: one.value for one in call.args if one.keyword is not None}
    placed = [one.value for one in call.args if one.keyword is None]
    names = ("pointer", "mask", "other") if called(call) == "load" else ("pointer", "value", "mask")
    found = dict(zip(names, placed, strict=False)) | named
    return [found[name] for name in ("pointer", "mask") if name in found]


def _has_no_form(access: Access) -> bool:
    if isinstance(access.address, Opaque) or (access.mask is not None and access.mask.opaque):
        return True
    numbers = [access.address.offset, *(axis.stride for axis in access.address.axes if axis is not None)]
    for condition in access.mask.conditions if access.mask is not None else ():
        numbers += [condition.form.offset, condition.bound.offset]
    return any(" after an if" in atom for number in numbers for atom in number.atoms())


def parted(kernel: Kernel, tests: Mapping[int, Forms]) -> tuple[Kernel, dict[int, tuple[cst.Call, cst.Call]]]:
    """The kernel with some accesses in both branches of an `if` on their tests, and the two calls that
    each has become."""
    parter = _Parter(tests)
    node = kernel.node.visit(parter)
    assert isinstance(node, cst.FunctionDef)
    # What is visited is made anew where something in it changes: the calls are those of the new kernel.
    was = {id(call): call for call in calls_in(kernel.node.body)}
    origins = {call: Origin(was[key]) for key, calls in parter.made.items() for call in calls}
    return replace(kernel, node=node, origins={**kernel.origins, **origins}), parter.made


def both_planned(made: Mapping[int, tuple[cst.Call, cst.Call]], planned: Collection[int]) -> set[int]:
    """The accesses of which both calls are planned, by identity."""
    return {key for key, calls in made.items() if all(id(call) in planned for call in calls)}


class _Parter(cst.CSTTransformer):
    def __init__(self, tests: Mapping[int, Forms]) -> None:
        super().__init__()
        self.tests = tests
        self.made: dict[int, tuple[cst.Call, cst.Call]] = {}

    def visit_SimpleStatementLine(self, node: cst.SimpleStatementLine) -> bool:
        return False  # an access is in a line of its own

    def leave_SimpleStatementLine(
        self, original_node: cst.SimpleStatementLine, updated_node: cst.SimpleStatementLine
    ) -> cst.BaseStatement:
        small = original_node.body[0] if len(original_node.body) == 1 else None
        calls = [id(one) for one in walk(small)] if isinstance(small, (cst.Expr, cst.Assign)) else []
        asked = [place for place, one in enumerate(calls) if one in self.tests]
        if len(asked) != 1:
            return updated_node
        key = calls[asked[0]]
        forms = self.tests[key]
        test = cst.parse_expression(forms.test)
        made = [_in_branch(updated_node, test, branch, forms.pointer, asked[0]) for branch in (0, 1)]
        self.made[key] = (made[0][1], made[1][1])
        blocks = [cst.IndentedBlock([*(one.deep_clone() for one in forms.lines), line]) for line, _ in made]
        return cst.If(
            test=test,
            body=blocks[0],
            orelse=cst.Else(blocks[1]),
            leading_lines=updated_node.leading_lines,
        )


def _in_branch(
    line: cst.SimpleStatementLine, test: cst.BaseExpression, branch: int, pointer: cst.BaseExpression | None, place: int
) -> tuple[cst.SimpleStatementLine, cst.Call]:
    """A line of its own for one branch of an `if`, with what it chooses by the same test chosen, and what its pointer
    stands for in the place of that; and the call that is at a place in it."""
    line = line.with_changes(leading_lines=[]).deep_clone()
    call = list(walk(line.body[0]))[place]
    assert isinstance(call, cst.Call)
    swaps: dict[cst.CSTNode, cst.CSTNode] = {
        one: (one.body, one.orelse)[branch]
        for one in walk(line)
        if isinstance(one, cst.IfExp) and one.test.deep_equals(test)
    }
    if pointer is not None:
        swaps[_places(call)[0]] = pointer.deep_clone()
    path = called(call)
    found = replaced(line, swaps) if swaps else line
    assert isinstance(found, cst.SimpleStatementLine)
    return found, next(one for one in walk(found) if isinstance(one, cst.Call) and called(one) == path)


__all__ = ["Forms", "both_planned", "parted", "two_forms"]
