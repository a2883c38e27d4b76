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
_OF_THE_FIRST = frozenset({"cast", "cdiv", "ceil", "floor", "max_constancy", "max_contiguous", "multiple_of"})
_NEVER = frozenset({"abs", "len", "num_programs", "num_warps", "program_id"})
_KEEPS = (ast.Add, ast.Mult, ast.LShift, ast.BitOr, ast.BitXor, ast.Pow)
_OF_THE_LEFT = (ast.FloorDiv, ast.Div, ast.Mod, ast.RShift)


Needed = frozenset[str] | None
"""The arguments by which a number is zero or more, where they are; None where it may be below zero all the same."""
_ALWAYS: frozenset[str] = frozenset()


@lru_cache(maxsize=256)
def above_zero_by(function: Kernel, depth: int = _MOST) -> Needed:
    """The arguments that have to be zero or more for every number that a function returns to be; None where that is not
    enough.

    What it divides by is taken for more than zero: a schedule divides by sizes of groups, and a program that finds none
    left would divide by zero.
    """
    text = cst.Module([]).code_for_node(function.node.with_changes(decorators=[], leading_lines=[]))
    (node,) = ast.parse(text).body
    assert isinstance(node, ast.FunctionDef)
    return _Walk(function, depth).of(node)


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

    def __init__(self, function: Kernel, depth: int) -> None:
        self.function, self.depth = function, depth
        self.known: dict[str, Needed] = {one.name: frozenset({one.name}) for one in function.parameters}
        self.factors = {name: frozenset({name}) for name in self.known}
        self.divisors: set[str] = set()
        self.returned: Needed = _ALWAYS

    def of(self, node: ast.FunctionDef) -> Needed:
        try:
            self._block(node.body)
        except _NotFollowed:
            return None
        ends = any(isinstance(one, ast.Return) for one in ast.walk(node))
        return self.returned - self.divisors if ends and self.returned is not None else None

    def _block(self, statements: Sequence[ast.stmt]) -> None:
        for statement in statements:
            self._statement(statement)

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
        if isinstance(target, ast.Name):
            self.known[target.id], self.factors[target.id] = self._by(value), self._factors(value)
            return
        names = [one.id for one in getattr(target, "elts", []) if isinstance(one, ast.Name)]
        if not names or len(names) != len(getattr(target, "elts", [])):
            raise _NotFollowed
        items = getattr(value, "elts", [])
        by = [self._by(one) for one in items] if len(items) == len(names) else [self._by(value)] * len(names)
        self.known |= dict(zip(names, by, strict=True))
        self.factors |= dict.fromkeys(names, _ALWAYS)

    def _factors(self, node: ast.expr) -> frozenset[str]:
        """The arguments that a product is made of."""
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            return self._factors(node.left) | self._factors(node.right)
        return self.factors.get(node.id, _ALWAYS) if isinstance(node, ast.Name) else _ALWAYS

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
            return self._all([node.body, node.orelse])
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
            if isinstance(node.op, (ast.FloorDiv, ast.Div)):
                self.divisors |= self._factors(node.right)
            return self._by(node.left)
        if isinstance(node.op, ast.BitAnd):
            return self._least(self._by(node.left), self._by(node.right))
        if isinstance(node.op, ast.Sub):
            # `x - x % n`
            rest = node.right
            part = isinstance(rest, ast.BinOp) and isinstance(rest.op, ast.Mod)
            whole = part and ast.dump(rest.left) == ast.dump(node.left)  # type: ignore[attr-defined]
            return self._by(node.left) if whole else None
        return self._all([node.left, node.right]) if isinstance(node.op, _KEEPS) else None

    @staticmethod
    def _least(*parts: Needed) -> Needed:
        """By which of several the least is needed: one of them is enough."""
        return min((part for part in parts if part is not None), key=len, default=None)

    def _call(self, node: ast.Call) -> Needed:
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        given = [*node.args, *(one.value for one in node.keywords)]
        if name in _NEVER:
            return _ALWAYS
        if name == "to" and isinstance(node.func, ast.Attribute):
            return self._by(node.func.value)
        if name in _OF_THE_FIRST:
            return self._by(given[0]) if given else None
        if name in ("max", "maximum"):
            return self._least(*map(self._by, given))
        if name == "where":
            return self._all(given[1:]) if len(given) == 3 else None
        if name in _OF_ALL:
            return self._all(given)
        meanings = self.function.module.lookup(ast.unparse(node.func)) if self.depth else []
        if not meanings or any(one.kernel is None for one in meanings):
            return None
        by = [above_zero_by(one.kernel, self.depth - 1) for one in meanings if one.kernel is not None]
        return self._all(given) if None not in by else None


__all__ = ["above_zero_by"]
