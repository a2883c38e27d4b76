"""Whether what a function of the project makes of numbers that are not below zero is not below zero, either.

A schedule of tiles adds, multiplies, divides and takes remainders: `first + tile % rows`. What it divides by are sizes,
which may be differences (the rows of the last group); what it returns is made of its arguments by these alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import libcst as cst

from tritonport.source.kernel import Kernel
from tritonport.source.syntax import dotted
from tritonport.source.walk import assigned_names, walk
from tritonport.upgrade.dots import called

_SAME = frozenset({"to", "cast", "multiple_of", "max_contiguous", "max_constancy", "to_tensor"})
_DEPTH = 4
"""How deep calls of functions are followed."""


@lru_cache(maxsize=256)
def keeps_signs(callee: Kernel, depth: int = _DEPTH) -> bool:
    """Whether all that a function returns is zero or more where its arguments are."""
    returned = [one.value for one in walk(callee.node.body) if isinstance(one, cst.Return)]
    function = _Function(callee, depth)
    return bool(returned) and all(one is not None and function.holds(one) for one in returned)


class _Function:
    """The numbers of one function that are zero or more: an induction over its statements, where a name has all the
    values that any of them gives it."""

    def __init__(self, callee: Kernel, depth: int) -> None:
        self.callee, self.depth = callee, depth
        self.parameters = {one.name for one in callee.parameters}
        self.own = set(assigned_names(callee.node.body))
        self.asked: set[str] = set()

    def holds(self, node: cst.BaseExpression) -> bool:
        """Whether an expression is zero or more."""
        if isinstance(node, cst.Name):
            return self._name(node.value)
        if isinstance(node, cst.Integer):
            return True
        if isinstance(node, (cst.Tuple, cst.List)):
            return all(self.holds(one.value) for one in node.elements)
        if isinstance(node, cst.IfExp):
            return self.holds(node.body) and self.holds(node.orelse)
        if isinstance(node, cst.BinaryOperation):
            if isinstance(node.operator, (cst.Add, cst.Multiply)):
                return self.holds(node.left) and self.holds(node.right)
            # The sign of the dividend: a remainder has it, and a quotient by a size.
            return isinstance(node.operator, (cst.FloorDivide, cst.Modulo)) and self.holds(node.left)
        return isinstance(node, cst.Call) and self._call(node)

    def _name(self, name: str) -> bool:
        if name not in self.own:
            return name in self.parameters
        if name in self.asked:
            return True
        before = set(self.asked)
        self.asked.add(name)
        if all(self._given(node, name) for node in walk(self.callee.node.body)):
            return True
        self.asked = before  # what was found with it is not known
        return False

    def _given(self, node: cst.CSTNode, name: str) -> bool:
        """Whether what a statement gives a name is zero or more."""
        if isinstance(node, cst.Assign):
            values = [value for one in node.targets for value in _values(one.target, node.value, name)]
            return all(map(self.holds, values))
        if isinstance(node, cst.AnnAssign) and node.value is not None:
            return all(map(self.holds, _values(node.target, node.value, name)))
        if isinstance(node, cst.AugAssign) and isinstance(node.target, cst.Name) and node.target.value == name:
            kept = isinstance(node.operator, (cst.FloorDivideAssign, cst.ModuloAssign))
            return kept or (isinstance(node.operator, (cst.AddAssign, cst.MultiplyAssign)) and self.holds(node.value))
        if isinstance(node, cst.For) and any(
            isinstance(one, cst.Name) and one.value == name for one in walk(node.target)
        ):
            of_range = called(node.iter) in ("range", "static_range")
            return of_range and isinstance(node.iter, cst.Call) and len(node.iter.args) == 1
        return True

    def _call(self, node: cst.Call) -> bool:
        name = called(node)
        if any(one.star for one in node.args):
            return False
        values = [one.value for one in node.args if one.keyword is None]
        if name in ("program_id", "num_programs"):
            return True
        if name in ("max", "maximum"):
            return any(map(self.holds, values))
        if name in ("min", "minimum", "cdiv"):
            return bool(values) and all(map(self.holds, values))
        if name == "where":
            return len(values) == 3 and all(map(self.holds, values[1:]))
        if name == "to" and isinstance(node.func, cst.Attribute):
            return self.holds(node.func.value)
        if name in _SAME:
            return bool(values) and self.holds(values[0])
        path = dotted(node.func)
        meanings = self.callee.module.lookup(path) if path is not None and self.depth else ()
        kernels = [one.kernel for one in meanings]
        return (
            bool(kernels)
            and all(map(self.holds, (one.value for one in node.args)))
            and all(one is not None and keeps_signs(one, self.depth - 1) for one in kernels)
        )


def _values(target: cst.BaseExpression, value: cst.BaseExpression, name: str) -> Iterator[cst.BaseExpression]:
    """What an assignment gives a name: of a tuple its own part, where that is spelled."""
    if isinstance(target, cst.Name):
        if target.value == name:
            yield value
    elif isinstance(target, (cst.Tuple, cst.List)):
        spelled = isinstance(value, (cst.Tuple, cst.List)) and len(value.elements) == len(target.elements)
        for place, element in enumerate(target.elements):
            own = value.elements[place].value if spelled else value  # type: ignore[attr-defined]
            yield from _values(element.value, own, name)


__all__ = ["keeps_signs"]
