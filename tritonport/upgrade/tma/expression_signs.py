"""What is known of the signs of expressions, where that of the names and the sums in them is."""

from __future__ import annotations

import ast
import re
from abc import ABC, abstractmethod
from collections.abc import Collection
from functools import lru_cache

import libcst as cst

from tritonport.analysis import dims
from tritonport.analysis.access import Access
from tritonport.analysis.access.forms import plus, times
from tritonport.analysis.dims import Dim
from tritonport.source.kernel import Kernel
from tritonport.source.walk import walk
from tritonport.upgrade.dots import called
from tritonport.upgrade.tma.schedules import above_zero_by, absent_in, is_above_zero_by_default, unpacks
from tritonport.upgrade.tma.terms import HOST_FUNCTIONS

_SCHEDULE = frozenset({"program_id", "num_programs", "where", *HOST_FUNCTIONS})
_MOST = 16
"""How many branches are followed to what a name is after them."""


class ExpressionSigns(ABC):
    """What is known of the signs of a kernel's numbers at one place.

    Attributes:
        asking: whether the launch may be asked for more than the signs of arguments.
        relied: what the answers rely on: arguments that are not below zero, and conditions on arguments (`T >= C`).
        sizes: the arguments that are above zero wherever the kernel compiles.
    """

    def __init__(self, access: Access, kernel: Kernel, positive: Collection[str], asking: bool) -> None:
        self.access, self.kernel, self.positive, self.asking = access, kernel, positive, asking
        self.parameters = {one.name: one.constexpr for one in kernel.parameters}
        self.loops = {loop.target: loop for loop in access.loops}
        self.relied: set[str] = set()
        self.sizes = sizes_of(kernel.node)

    def meant(self, atom: str) -> str:
        """The source of an atom, with what stands behind the names in it that are no source: `x after an if`."""
        origins = self.access.origins
        text = origins.get(atom, atom)
        for _ in range(_MOST):
            names = [name for name in origins if " after an if" in name and name in text]
            if not names:
                break
            longest = max(names, key=len)
            parts = re.split(rf"(?<!\w){re.escape(longest)}(?! #)", text)
            text = f"({origins[longest]})".join(parts)
        return text

    @abstractmethod
    def of(self, dim: Dim) -> bool:
        """Whether a polynomial is zero or more."""

    @abstractmethod
    def name(self, name: str) -> bool:
        """Whether what a name stands for is zero or more."""

    def node(self, node: ast.expr) -> bool:
        """Whether an expression is zero or more."""
        if isinstance(node, ast.Constant):
            return isinstance(node.value, int) and node.value >= 0
        if isinstance(node, ast.Name):
            return self.name(node.id)
        if isinstance(node, ast.BinOp):
            if isinstance(node.op, (ast.Add, ast.Mult)):
                return self.node(node.left) and self.node(node.right)
            if isinstance(node.op, ast.Sub):
                return self.of(as_dim(node))
            if isinstance(node.op, ast.Mod):
                # The sign of the dividend; of compile-time numbers, which Python divides, that of the divisor.
                return self.node(node.left) and (not self._compile_time(node.right) or self._divides(node.right))
            return isinstance(node.op, (ast.FloorDiv, ast.Div)) and self.node(node.left) and self._divides(node.right)
        if isinstance(node, ast.IfExp):
            return self.node(node.body) and self.node(node.orelse)
        return isinstance(node, ast.Call) and self._call(node)

    def _divides(self, node: ast.expr) -> bool:
        """Whether what something is divided by is above zero, where the launch is asked for the signs of its arguments.

        A schedule divides by sizes of groups (`min(height - first, GROUP)`), which no program leaves at zero.
        """
        relied = set(self.relied)
        if self.node(node):
            return True
        self.relied = relied
        return self._of_sizes(node)

    def _compile_time(self, node: ast.expr) -> bool:
        """Whether an expression is a number that the kernel is compiled for."""
        if isinstance(node, ast.Constant):
            return True
        if isinstance(node, ast.Name):
            return bool(self.parameters.get(node.id))
        parts = list(ast.iter_child_nodes(node))
        return bool(parts) and all(self._compile_time(one) for one in parts if isinstance(one, ast.expr))

    def _call(self, node: ast.Call) -> bool:
        if any(one.kernel is not None for one in self.kernel.module.lookup(ast.unparse(node.func))):
            return self._schedule(node)  # whatever it is called
        name = function_of(node)
        if name in ("program_id", "num_programs"):
            return True
        if name == "to" and isinstance(node.func, ast.Attribute):
            return len(node.args) == 1 and self._converted(node)
        if name in ("floor", "ceil"):
            return len(node.args) == 1 and self.node(node.args[0])
        if name in ("max", "maximum"):
            return any(self.node(argument) for argument in node.args)
        if name == "swizzle2d":
            return all(self.node(argument) for argument in node.args)
        if name == "where":
            return len(node.args) == 3 and all(self.node(argument) for argument in node.args[1:])
        if name in ("cdiv", "min", "minimum"):
            return all(self.node(argument) for argument in node.args)
        return self._schedule(node)

    def _converted(self, node: ast.Call) -> bool:
        """A cast to an integer that keeps the sign."""
        assert isinstance(node.func, ast.Attribute)
        to = ast.unparse(node.args[0]).rpartition(".")[2]
        return to in ("int32", "int64") and self.node(node.func.value)

    def _schedule(self, node: ast.Call) -> bool:
        """Whether a call gives nothing below zero: of jit functions, of the file or of one that it imports from, that
        make a place in a schedule of tiles of the program's id and of sizes."""
        if unpacks(node):
            return False
        meanings = self.kernel.module.lookup(ast.unparse(node.func))
        for one in meanings:
            needed = above_zero_by(one.kernel, absent_in(one.kernel, node)) if one.kernel is not None else None
            if needed is None or one.kernel is None:
                return False
            given = {parameter.name: value for parameter, value in zip(one.kernel.parameters, node.args, strict=False)}
            given |= {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg is not None}
            if not all(self.node(given[name]) for name in sorted(needed & given.keys())):
                return False
            if not all(is_above_zero_by_default(one.kernel, name) for name in needed - given.keys()):
                return False
        return bool(meanings)

    def _of_sizes(self, node: ast.expr) -> bool:
        """Whether an expression is made of the program's id and of what never goes below zero alone."""
        functions = {id(one.func) for one in ast.walk(node) if isinstance(one, ast.Call)}
        for one in ast.walk(node):
            if isinstance(one, ast.Call) and function_of(one) not in _SCHEDULE:
                return False
            if isinstance(one, (ast.USub, ast.Invert)):
                return False
            if isinstance(one, ast.Name) and id(one) not in functions and not self._size(one.id):
                return False
        return True

    def _size(self, name: str) -> bool:
        if name in self.kernel.module.bindings.imported or name in self.parameters:
            return True
        if name in self.loops:
            return self.name(name)
        meant = self.access.numbers.get(name)
        if meant is None or name in meant.atoms():
            return False
        try:
            return all(self._of_sizes(ast.parse(self.meant(atom), mode="eval").body) for atom in meant.atoms())
        except SyntaxError:
            return False


@lru_cache(maxsize=16)
def sizes_of(function: cst.FunctionDef) -> frozenset[str]:
    """The names that every compiled version of a kernel has for the length of a range, which is above zero."""
    if not isinstance(function.body, cst.IndentedBlock):
        return frozenset()
    lines = [line for line in function.body.body if isinstance(line, cst.SimpleStatementLine)]
    calls = [node for line in lines for node in walk(line) if called(node) == "arange"]
    ends = [one.args[1].value for one in calls if isinstance(one, cst.Call) and len(one.args) > 1]
    return frozenset(one.value for one in ends if isinstance(one, cst.Name))


def as_dim(node: ast.expr) -> Dim:
    """An expression as a polynomial; what is no sum or product is an atom of it."""
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return dims.number(node.value)
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub, ast.Mult)):
        left, right = as_dim(node.left), as_dim(node.right)
        return (
            times(left, right)
            if isinstance(node.op, ast.Mult)
            else plus(left, right, 1 if isinstance(node.op, ast.Add) else -1)
        )
    return dims.symbol(ast.unparse(node))


def function_of(node: ast.Call) -> str:
    """The last name of the function that an expression calls."""
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


__all__ = ["ExpressionSigns", "function_of"]
