"""Which loads of a loop its dots read, and how."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import libcst as cst

from tritonport.source.walk import assigned_names, walk

_DOT = re.compile(r"(dot|dot_(added|limited|new|as|new_as|new_limited|operand|operands|v2|v3|exact))(_\d+)?")
_INSTRUCTIONS = frozenset({"mma_v2", "warpgroup_mma", "dot_fma", "dot"})
_SHARED_PRECISIONS = ('"tf32"', '"ieee"', "F32_PRECISION")


@dataclass(frozen=True)
class Operand:
    """A tile as an operand of dots: its index and the layout of the result, as source text; None where dots read it
    in registers, or through other operations.

    `several`: the indices and the layouts where several dots read it, as `dot_operands` takes them. They read one copy
    only if `read_alike` says so when the kernel is compiled. `precision`: that of float32, where the dot names an
    argument of its function for it: at some precisions no dot reads the tile as it is.
    """

    index: int | None = None
    result: str | None = None
    several: tuple[str, str] | None = None
    precision: str | None = None

    @property
    def role(self) -> str:
        """Index, layout of the result and precision as arguments of a function of the port."""
        return f"{self.index}, {self.result}" + (f", {self.precision}" if self.precision is not None else "")


def called(node: cst.CSTNode) -> str:
    """The last name of the function that a call names; empty for anything else."""
    if not isinstance(node, cst.Call):
        return ""
    function = node.func
    return function.attr.value if isinstance(function, cst.Attribute) else getattr(function, "value", "")


def is_dot(node: cst.CSTNode) -> bool:
    """Whether a node is a call of a dot, or of a function of the port that puts an operand where dots read it."""
    name = called(node)
    return bool(_DOT.fullmatch(name)) or name in _INSTRUCTIONS


def is_written_dot(node: cst.CSTNode) -> bool:
    """Whether a node is a call of a dot itself, as people write it or as the port does."""
    return (is_dot(node) and not called(node).startswith("dot_operand")) or called(node) == "dot_scaled"


def feeds_dot(name: str, body: Sequence[cst.BaseStatement]) -> bool:
    """Whether a dot of the loop reads a name, or what is computed from it."""
    statements, dots = _flow(tuple(body))
    reached = {name}
    left = statements
    while True:
        hit = [one for one in left if not reached.isdisjoint(one.names)]
        if not hit:
            return any(not reached.isdisjoint(names) for names in dots)
        left = [one for one in left if reached.isdisjoint(one.names)]
        for one in hit:
            reached |= one.assigned


@dataclass(frozen=True)
class _Statement:
    names: frozenset[str]
    assigned: frozenset[str]


@lru_cache(maxsize=16)
def _flow(body: tuple[cst.BaseStatement, ...]) -> tuple[list[_Statement], list[frozenset[str]]]:
    """The names in each small statement of a body with those that it assigns, and the names in each dot. A stage asks
    it of every load of a kernel."""
    nodes = [node for statement in body for node in walk(statement)]
    small = [node for node in nodes if isinstance(node, cst.BaseSmallStatement)]
    statements = [
        _Statement(frozenset(_names(one)), frozenset(assigned_names(cst.SimpleStatementLine([one])))) for one in small
    ]
    return statements, [frozenset(_names(node)) for node in nodes if is_dot(node)]


def operand_of(name: str, body: Sequence[cst.BaseStatement], function: cst.FunctionDef, casts: bool = False) -> Operand:
    """How the dots of a loop read the tile of this name; `casts`: or `name.to(dtype)`, which may be the tile itself."""
    reads = [node for statement in body for node in reads_of(statement, name)]
    found: set[Operand] = set()
    for statement in body:
        for call in walk(statement):
            if not isinstance(call, cst.Call) or not is_dot(call):
                continue
            for place, argument in enumerate(call.args[:2]):
                cast = cast_of(argument.value) if casts else None
                value = argument.value if cast is None else cast[0]
                if isinstance(value, cst.Name) and value.value == name:
                    found.add(role_of(call, place, function))
                    reads = [node for node in reads if node is not value]
    if len(found) != 1 or reads:
        return Operand()
    return found.pop()


def cast_of(node: cst.CSTNode) -> tuple[cst.Name, cst.BaseExpression] | None:
    """The variable and the type of `name.to(dtype)`; None for anything else."""
    if not isinstance(node, cst.Call) or not isinstance(node.func, cst.Attribute) or node.func.attr.value != "to":
        return None
    value = node.func.value
    if not isinstance(value, cst.Name) or len(node.args) != 1 or node.args[0].keyword is not None:
        return None
    return value, node.args[0].value


def role_of(call: cst.Call, place: int, function: cst.FunctionDef) -> Operand:
    """How a dot reads its operand of this index."""
    name = re.sub(r"_\d+$", "", called(call))
    values = [argument.value for argument in call.args]
    code = cst.Module([]).code_for_node
    named = code(values[3]) if len(values) > 3 and _is_given(values[3], function) else None
    shared = named is not None or (len(values) > 3 and code(values[3]) in _SHARED_PRECISIONS)
    plain = len(values) == 3 or (len(values) == 4 and shared)
    if name == "dot_operand" and place == 0 and plain and isinstance(values[1], cst.Integer):
        return Operand(int(values[1].value), code(values[2]), None, named)
    if name == "dot_operands" and place == 0 and len(values) == 3:
        indices, layouts = values[1], values[2]
        if isinstance(indices, cst.List) and isinstance(layouts, cst.List):
            first = indices.elements[0].value
            if isinstance(first, cst.Integer):
                return Operand(int(first.value), code(layouts.elements[0].value), (code(indices), code(layouts)))
    if name in ("dot", "dot_added") and plain:
        return Operand(place, result_layout(values[2], function), None, named)
    if name == "dot_new" and len(values) == 3:
        return Operand(place, code(values[2]))
    if name == "dot_as" and shared:
        return Operand(place, result_layout(values[2], function), None, named)
    if name == "dot_plus" and len(call.args) == len(values) == 4:
        return Operand(place, code(values[3]))
    if name == "dot_new_as" and shared:
        return Operand(place, code(values[2]), None, named)
    return Operand()


def _is_given(node: cst.BaseExpression, function: cst.FunctionDef) -> bool:
    """Whether an expression is an argument of a function that nothing in it assigns."""
    if not isinstance(node, cst.Name) or node.value in assigned_names(function.body):
        return False
    parameters = function.params
    every = (*parameters.posonly_params, *parameters.params, *parameters.kwonly_params)
    return any(one.name.value == node.value for one in every)


def result_layout(accumulator: cst.BaseExpression, function: cst.FunctionDef) -> str | None:
    """The layout that an accumulator is made in, as source text."""
    if not isinstance(accumulator, cst.Name):
        return None
    for node in walk(function):
        if isinstance(node, cst.Assign) and isinstance(node.value, cst.Call):
            names = [target.target.value for target in node.targets if isinstance(target.target, cst.Name)]
            layouts = [
                argument.value
                for argument in node.value.args
                if argument.keyword is not None and argument.keyword.value == "layout"
            ]
            if accumulator.value in names and layouts:
                return cst.Module([]).code_for_node(layouts[0])
    return None


def _names(node: cst.CSTNode) -> Iterator[str]:
    return (item.value for item in walk(node) if isinstance(item, cst.Name))


def reads_of(statement: cst.CSTNode, name: str) -> list[cst.Name]:
    """Where a statement reads a name's value: not where it assigns it or asks only for its type."""
    passed = set()
    for node in walk(statement):
        if isinstance(node, cst.Attribute) and node.attr.value in ("dtype", "shape"):
            passed.add(id(node.value))
        if isinstance(node, cst.AssignTarget):
            passed.add(id(node.target))
        if isinstance(node, cst.Arg) and node.keyword is not None:
            passed.add(id(node.keyword))
        if isinstance(node, cst.Attribute):
            passed.add(id(node.attr))
    return [
        node for node in walk(statement) if isinstance(node, cst.Name) and node.value == name and id(node) not in passed
    ]


__all__ = ["Operand", "called", "cast_of", "feeds_dot", "is_dot", "operand_of", "reads_of", "result_layout", "role_of"]
