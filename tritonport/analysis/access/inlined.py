"""Functions that only compute addresses: what a call of one is, as a form of its arguments.

A function is followed where every statement of it is an assignment, a loop over a number of iterations that the call
says, or the `return` at its end, and where all that it computes are sums and products. What a schedule of tiles makes
with quotients and minima stays a number of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst

from tritonport.analysis import dims
from tritonport.analysis.access import forms
from tritonport.analysis.access.calls import CallReader
from tritonport.analysis.access.expressions import ExpressionReader
from tritonport.analysis.access.forms import Each, Form, Opaque, Several, Value
from tritonport.source.kernel import Kernel
from tritonport.source.walk import walk

_ALLOWED = frozenset({"len", "static_range", "range", "static_assert", "to", "cdiv", "cast"})
_OPERATORS = (cst.Add, cst.Subtract, cst.Multiply, cst.AddAssign, cst.SubtractAssign, cst.MultiplyAssign)
_STATEMENTS = (cst.Expr, cst.Assign, cst.AnnAssign, cst.AugAssign, cst.Return, cst.Pass)
_WITHOUT_ASSIGNMENT: dict[type[cst.BaseAugOp], cst.BaseBinaryOp] = {
    cst.AddAssign: cst.Add(),
    cst.SubtractAssign: cst.Subtract(),
    cst.MultiplyAssign: cst.Multiply(),
}
_MOST = 16
"""How many iterations are followed, and how deep calls are."""


class _NotFollowed(Exception):
    """A call that stays a number of its own."""


def sums_alone(function: cst.FunctionDef) -> bool:
    """Whether a function only adds and multiplies what it is given, and returns that at its end."""
    lines = function.body.body
    last = lines[-1] if lines else None
    if not isinstance(last, cst.SimpleStatementLine) or not isinstance(last.body[-1], cst.Return):
        return False
    for node in walk(function.body):
        if isinstance(node, cst.Return) and node is not last.body[-1]:
            return False
        chooses = isinstance(node, (cst.If, cst.While, cst.IfExp, cst.Comparison))
        if chooses and not _is_asserted(function, node) and not _is_type(function, node):
            return False
        if isinstance(node, cst.BaseSmallStatement) and not isinstance(node, _STATEMENTS):
            return False
        if isinstance(node, cst.Call) and _name(node) not in _ALLOWED:
            return False
        if isinstance(node, (cst.BinaryOperation, cst.AugAssign)) and not isinstance(node.operator, _OPERATORS):
            return False
    return True


def _fills(function: cst.FunctionDef) -> bool:
    """Whether a function makes a tensor of one number, as ports spell `x[None]` of a number: by `to_tensor(value)` and
    `full(shape, scalar, scalar.dtype)`."""
    names = [one.name.value for one in function.params.params]
    lines = [one.body[0] for one in function.body.body if isinstance(one, cst.SimpleStatementLine)]
    lines = lines[1:] if function.get_docstring() is not None else lines
    if len(names) != 3 or len(lines) != 2 or len(lines) != len(function.body.body) - bool(function.get_docstring()):
        return False
    made, last = lines
    if not isinstance(made, cst.Assign) or not isinstance(last, cst.Return) or last.value is None:
        return False
    target, calls = made.targets[0].target, [one for one in (made.value, last.value) if isinstance(one, cst.Call)]
    if not isinstance(target, cst.Name) or [_name(one) for one in calls] != ["to_tensor", "full"]:
        return False
    given = [one.value for call in calls for one in call.args[:2]]
    wanted = [names[0], names[1], target.value]
    return [one.value if isinstance(one, cst.Name) else "" for one in given] == wanted and target.value not in names


def followed(reader: ExpressionReader, node: cst.Call, callee: Kernel, depth: int = 0) -> Value | None:
    """The form of what a call returns; None where it is not followed."""
    if _fills(callee.node) and len(node.args) == 3:
        value, shape = (reader.evaluate(one.value) for one in node.args[:2])
        number = isinstance(value, Form) and value.is_scalar and value.head is None
        if number and isinstance(value, Form) and isinstance(shape, Several):
            rank = len(shape.items)
            return Form(value.offset, (None,) * rank, (None,) * rank, layout=reader.text(node.args[2].value))
        return None
    if depth > _MOST or any(parameter.star for parameter in callee.parameters) or not sums_alone(callee.node):
        return None
    try:
        return _Function(reader, node, callee, depth).result()
    except _NotFollowed:
        return None


class _Function(CallReader):
    """Evaluates the body of a function with the forms of a call's arguments."""

    def __init__(self, caller: ExpressionReader, node: cst.Call, callee: Kernel, depth: int) -> None:
        super().__init__(callee.module, callee)
        self.depth = depth
        names = [parameter.name for parameter in callee.parameters]
        for place, argument in enumerate(node.args):
            if argument.star or (argument.keyword is None and place >= len(names)):
                raise _NotFollowed
            name = argument.keyword.value if argument.keyword is not None else names[place]
            self.environment[name] = caller.evaluate(argument.value)
        for parameter in callee.parameters:
            if parameter.name not in self.environment:
                if not isinstance(parameter.default, cst.Integer):
                    raise _NotFollowed
                self.environment[parameter.name] = self.evaluate(parameter.default)

    def memory(self, node: cst.Call, kind: str) -> Value:
        """What only adds and multiplies has no accesses."""
        return Opaque(f"`{self._shortened(node)}` is no sum of coordinates", node)

    def followed(self, node: cst.Call, callee: Kernel) -> Value | None:
        return followed(self, node, callee, self.depth + 1)

    def result(self) -> Value:
        """What the function returns."""
        found = self._run(self.kernel.node.body)
        if found is None or isinstance(found, Opaque):
            raise _NotFollowed
        return found

    def _run(self, body: cst.BaseSuite) -> Value | None:
        for statement in body.body:
            if isinstance(statement, cst.For):
                self._repeat(statement)
                continue
            for small in _small(statement):
                if isinstance(small, cst.Return):
                    return self.evaluate(small.value) if small.value is not None else None
                self._assignment(small)
        return None

    def _assignment(self, small: cst.BaseSmallStatement) -> None:
        if isinstance(small, cst.AugAssign):
            operator = _WITHOUT_ASSIGNMENT[type(small.operator)]
            self._bind(small.target, self.evaluate(cst.BinaryOperation(small.target, operator, small.value)))
        elif isinstance(small, cst.Assign):
            value = self.evaluate(small.value)
            for target in small.targets:
                self._bind(target.target, value)
        elif isinstance(small, cst.AnnAssign) and small.value is not None:
            self._bind(small.target, self.evaluate(small.value))

    def _bind(self, target: cst.BaseExpression, value: Value) -> None:
        if not isinstance(target, cst.Name):
            raise _NotFollowed
        self.environment[target.value] = value

    def _repeat(self, node: cst.For) -> None:
        call = node.iter
        if not isinstance(call, cst.Call) or len(call.args) != 1 or not isinstance(node.target, cst.Name):
            raise _NotFollowed
        if (name := self._mapped(node, call.args[0].value)) is not None:
            self._map(node, name)
            return
        count = self._number(call.args[0].value)
        if count > _MOST:
            raise _NotFollowed
        for place in range(count):
            self.environment[node.target.value] = forms.number(place)
            self._run(node.body)

    def _mapped(self, node: cst.For, count: cst.BaseExpression) -> str | None:
        """The name of an empty tuple that a loop adds one item to for each item of a tuple of the launch."""
        if not isinstance(count, cst.Call) or _name(count) != "len" or not isinstance(count.args[0].value, cst.Name):
            return None
        given = self.environment.get(count.args[0].value.value)
        small = [one for line in node.body.body for one in _small(line)]
        if not isinstance(given, Form) or len(small) != 1 or not isinstance(small[0], cst.AugAssign):
            return None
        target, value = small[0].target, small[0].value
        empty = isinstance(target, cst.Name) and self.environment.get(target.value) == Several(())
        one = isinstance(value, cst.Tuple) and len(value.elements) == 1
        if not empty or not one or not isinstance(small[0].operator, cst.AddAssign) or given.offset.value is not None:
            return None
        assert isinstance(target, cst.Name)
        return target.value if given == Form(given.offset, head=given.head) else None

    def _map(self, node: cst.For, name: str) -> None:
        (small,) = (one for line in node.body.body for one in _small(line))
        assert (
            isinstance(small, cst.AugAssign)
            and isinstance(small.value, cst.Tuple)
            and isinstance(node.target, cst.Name)
        )
        index, value = node.target.value, small.value.elements[0].value
        around = dict(self.environment)

        def item(place: int) -> Value:
            before, self.environment = self.environment, {**around, index: forms.number(place)}
            try:
                return self.evaluate(value)
            except _NotFollowed:
                return Opaque(f"`{self.text(value)}` is no number of the launch", value)
            finally:
                self.environment = before

        self.environment[name] = Each(item)

    def _number(self, node: cst.BaseExpression) -> int:
        value = self.evaluate(node)
        if not isinstance(value, Form) or not value.is_scalar or value.offset.value is None:
            raise _NotFollowed
        return value.offset.value

    def _name(self, node: cst.Name) -> Value:
        if node.value not in self.environment:
            raise _NotFollowed
        return self.environment[node.value]

    def _call(self, node: cst.Call) -> Value:
        if _name(node) == "len" and len(node.args) == 1:
            for one in (node.args[0].value, *self._as_long(node)):
                value = self.evaluate(one)
                if isinstance(value, Several):
                    return forms.number(len(value.items))
            raise _NotFollowed
        if _name(node) == "cast" and len(node.args) == 2:
            return self.evaluate(node.args[0].value)
        return super()._call(node)

    def _as_long(self, node: cst.Call) -> Iterator[cst.BaseExpression]:
        """What a function asserts to be as long as the tuple of a call of `len`."""
        for call in _asserts(self.kernel.node):
            test = call.args[0].value if call.args else None
            if isinstance(test, cst.Comparison) and isinstance(test.comparisons[0].operator, cst.Equal):
                sides = [test.left, test.comparisons[0].comparator]
                if any(node.deep_equals(side) for side in sides):
                    yield from (
                        side.args[0].value for side in sides if isinstance(side, cst.Call) and _name(side) == "len"
                    )

    def _other(self, node: cst.BaseExpression, parts: list[Value]) -> Value:
        functions = {id(item) for one in walk(node) if isinstance(one, cst.Call) for item in walk(one.func)}
        for one in walk(node):
            if isinstance(one, cst.Name) and id(one) not in functions:
                value = self._name(one)
                if not isinstance(value, Form) or not value.is_scalar:
                    raise _NotFollowed
                self.reassigned.add(one.value)
        return Form(dims.opaque(self._resolved(node), ""))


def _small(statement: cst.CSTNode) -> Sequence[cst.BaseSmallStatement]:
    if isinstance(statement, cst.BaseSmallStatement):
        return [statement]
    if not isinstance(statement, cst.SimpleStatementLine):
        raise _NotFollowed
    return statement.body


def _name(node: cst.Call) -> str:
    return node.func.attr.value if isinstance(node.func, cst.Attribute) else getattr(node.func, "value", "")


def _is_asserted(function: cst.FunctionDef, node: cst.CSTNode) -> bool:
    """Whether a comparison is part of a static_assert."""
    return any(node is one for call in _asserts(function) for one in walk(call))


def _is_type(function: cst.FunctionDef, node: cst.CSTNode) -> bool:
    """Whether a node says the type of a cast alone: `tl.cast(x, tl.int64 if WIDE else tl.int32)`."""
    casts = (one for one in walk(function.body) if isinstance(one, cst.Call) and _name(one) in ("cast", "to"))
    types = (one.args[-1].value for one in casts if one.args)
    return any(node is part for one in types if isinstance(one, cst.IfExp) for part in walk(one))


def _asserts(function: cst.FunctionDef) -> Iterator[cst.Call]:
    return (one for one in walk(function.body) if isinstance(one, cst.Call) and _name(one) == "static_assert")


__all__ = ["followed", "sums_alone"]
