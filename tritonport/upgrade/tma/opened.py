"""Calls of the file's own functions, with the body of the function in the place of the call.

A function that reads a tile through a pointer, or that says where a tile is, hides from a kernel what its copies need
to know. In the form of the kernel with the copies the body stands where it was called.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import replace

import libcst as cst

from tritonport.analysis.effects import LOADS, effects_in
from tritonport.convert.names import Names
from tritonport.convert.snippets import available
from tritonport.source.kernel import Kernel, Origin
from tritonport.source.walk import assigned_names, calls_in, replaced, walk
from tritonport.upgrade.slices import names_of
from tritonport.upgrade.tma.assume import Assumed, specialised
from tritonport.upgrade.tma.returns import Returns, Way, opens

_EMITTED = available("sm_90")
_OF_NUMBERS = (ast.Compare, ast.BoolOp, ast.UnaryOp, ast.Constant, ast.cmpop, ast.boolop, ast.unaryop)
_DEPTH = 3
"""How deep calls are opened."""


def opened(kernel: Kernel) -> tuple[Kernel, tuple[Way, ...], frozenset[str]]:
    """The kernel with functions of its file in the place of their calls; itself where there is none to open.

    Second: the ways to `if`s in it that were early returns on what only the kernel knows. A function may return values
    of two types there, and an `if` may not leave a name with two: such a branch has to be decided before the form is
    of use. Third: the names of the functions.
    """
    opener = _Opener(kernel)
    body = opener.block(kernel.node.body, _DEPTH)
    if not opener.functions:
        return kernel, (), frozenset()
    form = replace(kernel, node=kernel.node.with_changes(body=body), origins={**kernel.origins, **opener.origins})
    form = specialised(form, _settled(form))
    return form, tuple(opener.open_ways), frozenset(opener.functions)


def _settled(kernel: Kernel) -> list[Assumed]:
    """The branches of `if`s whose tests are of numbers alone, now that an argument stands where a parameter did."""
    found = []
    for node in walk(kernel.node.body):
        if isinstance(node, cst.If) and names_of(node.test) <= {"True", "False", "None"}:
            test = kernel.module.tree.code_for_node(node.test).strip()
            parts = ast.walk(ast.parse(test, mode="eval").body)
            if all(isinstance(one, _OF_NUMBERS) for one in parts):
                found.append(Assumed(test, test, int(not eval(test, {"__builtins__": {}}))))
    return found


class _Opener:
    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.own = {*(one.name for one in kernel.parameters), *assigned_names(kernel.node.body)}
        taken = {one.value for one in walk(kernel.node) if isinstance(one, cst.Name)}
        bindings = kernel.module.bindings
        self.names = Names({*taken, *bindings.imported, *bindings.assigned, *bindings.kernels})
        self.constexprs = {one.name for one in kernel.parameters if one.constexpr}
        self.functions: set[str] = set()
        self.open_ways: list[Way] = []
        self.origins: dict[cst.Call, Origin] = {}

    def block(self, body: cst.BaseSuite, depth: int) -> cst.BaseSuite:
        """A block with the calls in it opened."""
        if not isinstance(body, cst.IndentedBlock):
            return body
        lines: list[cst.BaseStatement] = []
        for line in body.body:
            lines += self._line(line, depth)
        return body.with_changes(body=lines)

    def _line(self, line: cst.BaseStatement, depth: int) -> list[cst.BaseStatement]:
        if isinstance(line, cst.For) and "static_range" in names_of(line.iter) | _attributes(line.iter):
            return [line]
        if isinstance(line, (cst.For, cst.While)):
            return [line.with_changes(body=self.block(line.body, depth))]
        if isinstance(line, cst.If):
            return [self._branches(line, depth)]
        found = self._expanded(line) if depth else None
        if found is None:
            return [line]
        return [one for made in found for one in self._line(made, depth - 1)]

    def _branches(self, node: cst.If, depth: int) -> cst.If:
        orelse = node.orelse
        if isinstance(orelse, cst.If):
            orelse = self._branches(orelse, depth)
        elif orelse is not None:
            orelse = orelse.with_changes(body=self.block(orelse.body, depth))
        return node.with_changes(body=self.block(node.body, depth), orelse=orelse)

    def _expanded(self, line: cst.BaseStatement) -> list[cst.BaseStatement] | None:
        """The statements of the function that a line calls; None where it stays."""
        if not isinstance(line, cst.SimpleStatementLine) or len(line.body) != 1:
            return None
        small = line.body[0]
        call = small.value if isinstance(small, (cst.Assign, cst.Expr)) else None
        if not isinstance(call, cst.Call) or not isinstance(call.func, cst.Name):
            return None
        callee = self.kernel.module.bindings.kernels.get(call.func.value)
        if callee is None or callee.name in _EMITTED or callee.language != "gluon" or callee.name == self.kernel.name:
            return None
        if not opens(callee.node) or LOADS not in effects_in(callee.module, callee.node.body):
            return None
        given = _given(callee, call)
        if given is None or self._free(callee) & self.own:
            return None
        self.functions.add(callee.name)
        return self._body(line, small, callee, given)

    def _free(self, callee: Kernel) -> set[str]:
        """The names of the module that a function reads."""
        own = {*(one.name for one in callee.parameters), *assigned_names(callee.node.body)}
        return names_of(callee.node.body) - own

    def _body(
        self,
        line: cst.SimpleStatementLine,
        small: cst.BaseSmallStatement,
        callee: Kernel,
        given: Mapping[str, cst.BaseExpression],
    ) -> list[cst.BaseStatement]:
        changed = set(assigned_names(callee.node.body))
        meanings: dict[str, cst.BaseExpression] = {}
        made: list[cst.BaseStatement] = []
        for parameter in callee.parameters:
            value = given[parameter.name]
            if parameter.name not in changed and _is_simple(value):
                meanings[parameter.name] = value
                continue
            name = cst.Name(self.names.fresh(parameter.name))
            meanings[parameter.name] = name
            made.append(_bound(name, value, callee, parameter.name))
        for local in dict.fromkeys(assigned_names(callee.node.body)):
            if local not in meanings:
                meanings[local] = cst.Name(self.names.fresh(local))
        self.own |= {one.value for one in meanings.values() if isinstance(one, cst.Name)}
        body = _renamed(callee.node.body, meanings)
        assert isinstance(body, cst.IndentedBlock)
        # An argument that stands in the place of a parameter has no call in it.
        was = small.value if isinstance(small, (cst.Assign, cst.Expr)) else None
        assert isinstance(was, cst.Call)
        for node, origin in zip(calls_in(body), calls_in(callee.node.body), strict=True):
            self.origins[node] = Origin(origin, callee, was)
        lines = list(body.body)[1 if callee.node.get_docstring() is not None else 0 :]
        returns = Returns(line, small, self.constexprs, self.kernel.module.tree)
        made += returns.replaced([one for one in lines if isinstance(one, cst.BaseStatement)])
        self.open_ways += returns.open_ways
        self.origins |= {call: Origin(was) for call, was in returns.again.items()}
        if made and hasattr(made[0], "leading_lines"):
            made[0] = made[0].with_changes(leading_lines=line.leading_lines)
        return made


def _given(callee: Kernel, call: cst.Call) -> dict[str, cst.BaseExpression] | None:
    """What each parameter of a function is; None where a call does not say."""
    names = [parameter.name for parameter in callee.parameters]
    if any(parameter.star for parameter in callee.parameters):
        return None
    found = {one.name: one.default for one in callee.parameters if one.default is not None}
    for place, argument in enumerate(call.args):
        if argument.star or (argument.keyword is None and place >= len(names)):
            return None
        found[argument.keyword.value if argument.keyword is not None else names[place]] = argument.value
    return found if found.keys() == set(names) else None


def _is_simple(value: cst.BaseExpression) -> bool:
    """Whether an argument may stand wherever its parameter did."""
    if isinstance(value, cst.Attribute):
        return _is_simple(value.value)
    return isinstance(value, (cst.Name, cst.Integer, cst.Float, cst.SimpleString))


def _bound(name: cst.Name, value: cst.BaseExpression, callee: Kernel, parameter: str) -> cst.BaseStatement:
    constexpr = any(one.name == parameter and one.constexpr for one in callee.parameters)
    if constexpr:
        given = next(one for one in callee.node.params.params if one.name.value == parameter)
        if given.annotation is not None:
            statement: cst.BaseSmallStatement = cst.AnnAssign(name, given.annotation, value)
            return cst.SimpleStatementLine([statement])
    return cst.SimpleStatementLine([cst.Assign([cst.AssignTarget(name)], value)])


def _renamed(body: cst.BaseSuite, meanings: Mapping[str, cst.BaseExpression]) -> cst.CSTNode:
    kept = {id(one.attr) for one in walk(body) if isinstance(one, cst.Attribute)}
    kept |= {id(one.keyword) for one in walk(body) if isinstance(one, cst.Arg) and one.keyword is not None}
    swaps: dict[cst.CSTNode, cst.CSTNode] = {}
    for one in walk(body):
        if isinstance(one, cst.Name) and id(one) not in kept and one.value in meanings:
            swaps[one] = meanings[one.value].deep_clone()
    return replaced(body, swaps)  # type: ignore[no-any-return]


def _attributes(node: cst.CSTNode) -> set[str]:
    return {one.attr.value for one in walk(node) if isinstance(one, cst.Attribute)}


__all__: Sequence[str] = ["opened"]
