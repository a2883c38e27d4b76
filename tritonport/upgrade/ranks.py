"""How many dimensions a value of a Gluon function has, as far as its text shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import libcst as cst

from tritonport.source.kernel import Kernel
from tritonport.source.module import SourceModule
from tritonport.source.syntax import dotted
from tritonport.source.walk import walk
from tritonport.upgrade.dots import called
from tritonport.upgrade.multibuffer.operations import gluon_name

_NUMBERS = frozenset({"program_id", "num_programs", "num_warps", "cdiv", "to_tensor"})
_ELEMENTWISE = frozenset(
    {"minimum", "maximum", "where", "load", "exp", "exp2", "log", "log2", "abs", "clamp", "fdiv", "max_contiguous"}
    | {"multiple_of", "max_constancy"}
)
_METHODS = frozenset({"to", "abs"})
"""Methods of a tensor that keep its shape."""


class Ranks:
    """The ranks of the values of one function.

    Args:
        arguments: the parameters that are numbers or pointers, as those of a launch are.
    """

    def __init__(self, module: SourceModule, kernel: Kernel, arguments: frozenset[str]) -> None:
        self.module = module
        self.kernel = kernel
        self.arguments = arguments
        self._known: dict[str, int | None] = {}

    def of(self, node: cst.BaseExpression) -> int | None:
        """The number of dimensions of an expression, 0 for a number; None where the text does not show it."""
        if isinstance(node, cst.Name):
            return self._of_name(node.value)
        if isinstance(node, (cst.BaseNumber, cst.SimpleString)):
            return 0
        if isinstance(node, (cst.BinaryOperation, cst.BooleanOperation)):
            return self._largest([node.left, node.right])
        if isinstance(node, cst.Comparison):
            return self._largest([node.left, *(one.comparator for one in node.comparisons)])
        if isinstance(node, cst.UnaryOperation):
            return self.of(node.expression)
        if isinstance(node, cst.IfExp):
            return self._largest([node.body, node.orelse])
        if isinstance(node, cst.Subscript):
            return self._of_subscript(node)
        if isinstance(node, cst.Call):
            return self._of_call(node)
        return None

    def _of_name(self, name: str) -> int | None:
        if name in self._known:
            return self._known[name]
        # What a name is changed by in a loop has no more dimensions than it: a pointer that is advanced.
        self._known[name] = 0
        values = self._assigned.get(name, [])
        found = self._largest(values) if values else None
        if name in self.arguments:
            found = found if values else 0
        elif name in self._indices or (not values and name in self.module.bindings.assigned):
            found = 0
        self._known[name] = found
        return found

    def _of_subscript(self, node: cst.Subscript) -> int | None:
        kinds = [one.slice for one in node.slice]
        if all(isinstance(one, cst.Slice) or _is_none(one) for one in kinds):
            return len(kinds)
        return None

    def _of_call(self, node: cst.Call) -> int | None:
        name = gluon_name(self.module, node)
        values = [one.value for one in node.args if one.keyword is None or one.keyword.value in ("mask", "other")]
        if name == "arange":
            return 1
        if name in _NUMBERS:
            return 0
        if name in _ELEMENTWISE or self._is_builtin(node.func):
            return self._largest(values)
        if isinstance(node.func, cst.Attribute) and node.func.attr.value in _METHODS:
            return self.of(node.func.value)
        path = dotted(node.func)
        callee = function_of(self.module, path) if path is not None else None
        if callee is not None and gives_numbers(callee):
            return self._largest([one.value for one in node.args]) if node.args else 0
        return None

    def _is_builtin(self, function: cst.BaseExpression) -> bool:
        """Whether a function is `min` or `max` as Python has them, which Triton takes for its own."""
        bindings = self.module.bindings
        name = function.value if isinstance(function, cst.Name) else ""
        return name in ("min", "max") and name not in {*bindings.imported, *bindings.functions, *bindings.assigned}

    def _largest(self, nodes: Sequence[cst.BaseExpression]) -> int | None:
        found = [self.of(node) for node in nodes]
        known = [one for one in found if one is not None]
        return max(known) if len(known) == len(found) and known else None

    @cached_property
    def _assigned(self) -> Mapping[str, list[cst.BaseExpression]]:
        found: dict[str, list[cst.BaseExpression]] = {}
        for node in walk(self.kernel.node.body):
            if isinstance(node, (cst.AugAssign, cst.AnnAssign)) and isinstance(node.target, cst.Name) and node.value:
                found.setdefault(node.target.value, []).append(node.value)
            if isinstance(node, cst.Assign):
                for one in node.targets:
                    _assign(one.target, node.value, found)
        return found

    @cached_property
    def _indices(self) -> frozenset[str]:
        loops = (node for node in walk(self.kernel.node.body) if isinstance(node, cst.For))
        return frozenset(loop.target.value for loop in loops if isinstance(loop.target, cst.Name))


def function_of(module: SourceModule, path: str) -> Kernel | None:
    """The jit function of the project that a name stands for."""
    meanings = module.lookup(path)
    return meanings[0].kernel if len(meanings) == 1 else None


def gives_numbers(function: Kernel, depth: int = 4) -> bool:
    """Whether what a jit function returns of numbers is numbers: it makes no tile, as `unflatten(pid)` does not."""
    for call in walk(function.node.body):
        if not isinstance(call, cst.Call) or called(call) in (_NUMBERS | _ELEMENTWISE | _METHODS | {"min", "max"}):
            continue
        path = dotted(call.func)
        callee = function_of(function.module, path) if path is not None and depth else None
        if callee is None or not gives_numbers(callee, depth - 1):
            return False
    return True


def _assign(
    target: cst.BaseAssignTargetExpression, value: cst.BaseExpression, found: dict[str, list[cst.BaseExpression]]
) -> None:
    if isinstance(target, cst.Name):
        found.setdefault(target.value, []).append(value)
    elif isinstance(target, (cst.Tuple, cst.List)):
        given = value.elements if isinstance(value, (cst.Tuple, cst.List)) else ()
        for place, element in enumerate(target.elements):
            one = given[place].value if len(given) == len(target.elements) else cst.Ellipsis()
            if isinstance(value, cst.Call):
                one = value  # each of its results
            if isinstance(element.value, cst.Name):
                found.setdefault(element.value.value, []).append(one)


def _is_none(node: cst.BaseSlice) -> bool:
    return isinstance(node, cst.Index) and isinstance(node.value, cst.Name) and node.value.value == "None"


__all__ = ["Ranks", "gives_numbers"]
