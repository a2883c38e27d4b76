"""Jit functions that say which tile a program computes: whether what they return may be below zero."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from functools import lru_cache

import libcst as cst

from tritonport.source.kernel import Kernel

_MOST = 8
"""How deep calls are followed."""
_OF_ALL = frozenset({"min", "minimum", "swizzle2d"})
_OF_THE_FIRST = frozenset({"ceil", "floor", "max_constancy", "max_contiguous", "multiple_of"})
_NEVER = frozenset({"abs", "len", "num_programs", "num_warps", "program_id"})
_KEEPS = (ast.Add, ast.Mult, ast.LShift, ast.BitOr, ast.BitXor, ast.Pow)
_OF_THE_LEFT = (ast.FloorDiv, ast.Div, ast.Mod, ast.RShift)


Needed = frozenset[str] | None
"""The arguments by which a number is zero or more, where they are; None where it may be below zero all the same."""
_ALWAYS: frozenset[str] = frozenset()


@lru_cache(maxsize=256)
def above_zero_by(function: Kernel, absent: frozenset[str] = frozenset(), depth: int = _MOST) -> Needed:
    """The arguments that have to be zero or more for every number that a function returns to be; None where that is not
    enough.

    `absent`: those that are None, by which tests of them are decided. What is needed includes arguments that it divides
    by. What is left of a size (`min(height - first, GROUP)`), where it divides by that, is taken for more than zero: a
    program that finds none left would divide by zero.
    """
    text = cst.Module([]).code_for_node(function.node.with_changes(decorators=[], leading_lines=[]))
    (node,) = ast.parse(text).body
    assert isinstance(node, ast.FunctionDef)
    return _Walk(function, absent, depth).of(node)


def absent_in(function: Kernel, node: ast.Call) -> frozenset[str]:
    """The arguments of a function that are None in a call of it, which gives that or leaves them out."""
    names = [one.name for one in function.parameters]
    given = {**dict(zip(names, node.args, strict=False)), **{one.arg: one.value for one in node.keywords if one.arg}}
    found = {name for name, value in given.items() if _is_none(value)}
    for one in function.parameters:
        default = one.default
        if one.name not in given and isinstance(default, cst.Name) and default.value == "None":
            found.add(one.name)
    return frozenset(found)


def is_above_zero_by_default(function: Kernel, name: str) -> bool:
    """Whether an argument that a call leaves out is a number that is not below zero."""
    defaults = (one.default for one in function.parameters if one.name == name)
    return any(isinstance(one, cst.Integer) for one in defaults)


def unpacks(node: ast.Call) -> bool:
    """Whether a call does not say one by one which arguments it gives."""
    starred = any(isinstance(one, ast.Starred) for one in node.args)
    return starred or any(one.arg is None for one in node.keywords)


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _both(*parts: Needed) -> Needed:
    found = _ALWAYS
    for part in parts:
        if part is None:
            return None
        found |= part
    return found


class _NotFollowed(Exception):
    """A number that may be below zero is returned, or a statement is not understood."""


class _Walk:
    """Statements in order; per name by which arguments it is zero or more."""

    def __init__(self, function: Kernel, absent: frozenset[str], depth: int) -> None:
        self.function, self.absent, self.depth = function, set(absent), depth
        self.known: dict[str, Needed] = {one.name: frozenset({one.name}) for one in function.parameters}
        self.known |= dict.fromkeys(absent)
        self.returned: Needed = _ALWAYS

    def of(self, node: ast.FunctionDef) -> Needed:
        try:
            self._block(node.body)
        except _NotFollowed:
            return None
        ends = any(isinstance(one, ast.Return) for one in ast.walk(node))
        return self.returned if ends else None

    def _block(self, statements: Sequence[ast.stmt]) -> bool:
        """Follows statements, up to one behind which the function has returned; whether there is one."""
        for statement in statements:
            taken = self._taken(statement.test) if isinstance(statement, ast.If) else None
            if isinstance(statement, ast.Return):
                self._statement(statement)
                return True
            if not isinstance(statement, ast.If) or taken is None:
                self._statement(statement)
            elif self._block(statement.body if taken else statement.orelse):
                return True
        return False

    def _taken(self, test: ast.expr) -> bool | None:
        """Whether a test of an argument that is None holds; None where the call does not say."""
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            taken = self._taken(test.operand)
            return None if taken is None else not taken
        if not isinstance(test, ast.Compare) or not isinstance(test.left, ast.Name) or len(test.ops) != 1:
            return None
        other, operator = test.comparators[0], test.ops[0]
        if test.left.id not in self.absent or not _is_none(other):
            return None
        return isinstance(operator, ast.Is) if isinstance(operator, (ast.Is, ast.IsNot)) else None

    def _statement(self, node: ast.stmt) -> None:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                self._assign(target, node.value)
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            self._assign(node.target, node.value)
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            self._assign(node.target, ast.BinOp(ast.Name(node.target.id), node.op, node.value))
        elif isinstance(node, ast.Return):
            self.returned = _both(self.returned, self._by(node.value) if node.value is not None else None)
        elif isinstance(node, ast.If):
            before = dict(self.known)
            self._block(node.body)
            then, self.known = self.known, before
            self._block(node.orelse)
            self._meet(then)
        elif isinstance(node, (ast.For, ast.While)):
            self._loop(node)
        elif not isinstance(node, (ast.Expr, ast.Pass, ast.Assert)):
            raise _NotFollowed

    def _meet(self, other: dict[str, Needed]) -> None:
        every = {**self.known, **other}
        self.known = {name: _both(self.known.get(name, _ALWAYS), other.get(name, _ALWAYS)) for name in every}

    def _loop(self, node: ast.For | ast.While) -> None:
        self.absent -= {
            one.id for one in ast.walk(node) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)
        }
        while True:
            before = dict(self.known)
            if isinstance(node, ast.For):
                index = self._index(node.iter)
                self.known |= {one.id: index for one in ast.walk(node.target) if isinstance(one, ast.Name)}
            self._block(node.body)
            self._meet(before)
            if all(self.known[name] == value for name, value in before.items()):
                return

    def _index(self, node: ast.expr) -> Needed:
        """Of an index: one that counts up from 0, or from a start, is no less than that."""
        name = node.func.attr if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else ""
        name = node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else name
        if not isinstance(node, ast.Call) or node.keywords or name not in ("range", "static_range"):
            return None
        return _ALWAYS if len(node.args) == 1 else self._all(node.args if len(node.args) > 2 else node.args[:1])

    def _assign(self, target: ast.expr, value: ast.expr) -> None:
        self.absent -= {one.id for one in ast.walk(target) if isinstance(one, ast.Name)}
        if isinstance(target, ast.Name):
            self.known[target.id] = self._by(value)
            return
        names = [one.id for one in getattr(target, "elts", []) if isinstance(one, ast.Name)]
        if not names or len(names) != len(getattr(target, "elts", [])):
            raise _NotFollowed
        items = getattr(value, "elts", [])
        by = [self._by(one) for one in items] if len(items) == len(names) else [self._by(value)] * len(names)
        self.known |= dict(zip(names, by, strict=True))

    def _all(self, nodes: Sequence[ast.expr]) -> Needed:
        return _both(*map(self._by, nodes))

    def _by(self, node: ast.expr) -> Needed:
        if isinstance(node, ast.Constant):
            return _ALWAYS if isinstance(node.value, (int, float)) and node.value >= 0 else None
        if isinstance(node, ast.Name):
            return self.known[node.id] if node.id in self.known else self._of_module(node.id)
        if isinstance(node, (ast.Tuple, ast.List)):
            return self._all(node.elts)
        if isinstance(node, ast.BinOp):
            return self._operation(node)
        if isinstance(node, ast.IfExp):
            taken = self._taken(node.test)
            return self._all([node.body, node.orelse][slice(None) if taken is None else slice(not taken, 2 - taken)])
        if isinstance(node, ast.BoolOp):
            return self._all(node.values)
        if isinstance(node, ast.Subscript):
            return self._by(node.value)
        if isinstance(node, ast.Call):
            return self._call(node)
        is_truth = isinstance(node, ast.Compare) or (isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not))
        return _ALWAYS if is_truth else None

    def _of_module(self, name: str) -> Needed:
        """Of a constant of the file: `N = 4`, or `tl.constexpr(4)`."""
        made = self.function.module.bindings.assignments.get(name, ())
        values = [one.args[0].value if isinstance(one, cst.Call) and len(one.args) == 1 else one for one in made]
        return _ALWAYS if values and all(isinstance(one, cst.Integer) for one in values) else None

    def _operation(self, node: ast.BinOp) -> Needed:
        if isinstance(node.op, _OF_THE_LEFT):
            # The remainder of compile-time numbers, which Python divides, has the sign of the divisor.
            return _both(self._by(node.left), self._divisor(node.right))
        if isinstance(node.op, ast.BitAnd):
            return self._least(self._by(node.left), self._by(node.right))
        if isinstance(node.op, ast.Sub):
            # `x - x % n`
            rest = node.right
            part = isinstance(rest, ast.BinOp) and isinstance(rest.op, ast.Mod)
            whole = part and ast.dump(rest.left) == ast.dump(node.left)  # type: ignore[attr-defined]
            return self._by(node.left) if whole else None
        return self._all([node.left, node.right]) if isinstance(node.op, _KEEPS) else None

    def _divisor(self, node: ast.expr) -> Needed:
        """By which arguments what something is divided by is above zero: none, where it is what is left of a size."""
        found = self._by(node)
        if found is not None:
            return found
        below = any(isinstance(one, (ast.USub, ast.Invert)) for one in ast.walk(node))
        return None if below or isinstance(node, ast.Constant) else _ALWAYS

    @staticmethod
    def _least(*parts: Needed) -> Needed:
        """By which of several the least is needed: one of them is enough."""
        return min((part for part in parts if part is not None), key=len, default=None)

    def _call(self, node: ast.Call) -> Needed:
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        given = [*node.args, *(one.value for one in node.keywords)]
        meanings = self.function.module.lookup(ast.unparse(node.func))
        if any(one.kernel is not None for one in meanings):
            return self._of_functions([one.kernel for one in meanings], node)  # whatever they are called
        if name in _NEVER:
            return _ALWAYS
        if name == "to" and isinstance(node.func, ast.Attribute):
            return self._by(node.func.value) if given and _keeps_sign(given[0]) else None
        if name == "cast":
            return self._by(given[0]) if len(given) > 1 and _keeps_sign(given[1]) else None
        if name == "cdiv":
            return _both(self._by(given[0]), self._divisor(given[1])) if len(given) == 2 else None
        if name in _OF_THE_FIRST:
            return self._by(given[0]) if given else None
        if name in ("max", "maximum"):
            return self._least(*map(self._by, given))
        if name == "where":
            return self._all(given[1:]) if len(given) == 3 else None
        if name in _OF_ALL:
            return self._all(given)
        return None

    def _of_functions(self, functions: Sequence[Kernel | None], node: ast.Call) -> Needed:
        """By which arguments what any of several functions returns is zero or more."""
        given = [*node.args, *(one.value for one in node.keywords)]
        found: list[Needed] = [self._all([one for one in given if not _is_none(one)])]
        for one in functions:
            if one is None or not self.depth:
                return None
            needed = above_zero_by(one, absent_in(one, node), self.depth - 1)
            if needed is None:
                return None
            if unpacks(node):
                return None
            names = {parameter.name for parameter in one.parameters[: len(node.args)]}
            left = needed - names - {keyword.arg for keyword in node.keywords}
            found.append(_ALWAYS if all(is_above_zero_by_default(one, name) for name in left) else None)
        return _both(*found)


def _keeps_sign(dtype: ast.expr) -> bool:
    """Whether a type has room for every number of a schedule."""
    return ast.unparse(dtype).rpartition(".")[2] in ("int32", "int64", "uint32", "uint64", "float32", "float64")


__all__ = ["above_zero_by", "absent_in", "is_above_zero_by_default", "unpacks"]
