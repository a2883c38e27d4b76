"""What is known of the signs of a kernel's numbers."""

from __future__ import annotations

import ast
from collections.abc import Collection

from tritonport.analysis import dims
from tritonport.analysis.access import Access, Loop
from tritonport.analysis.access.forms import plus, times
from tritonport.analysis.access.loops import iteration_of
from tritonport.analysis.dims import Dim
from tritonport.source.kernel import Kernel
from tritonport.upgrade.tma.terms import HOST_FUNCTIONS, goes_down, quotient, term

_SCHEDULE = frozenset({"program_id", "num_programs", "where", *HOST_FUNCTIONS})


def never_negative(dim: Dim, access: Access, kernel: Kernel, positive: Collection[str] = ()) -> tuple[str, ...] | None:
    """The arguments that must not be negative for a coordinate to be zero or more; None where that is not shown.

    It is shown of a sum of products of indices that start at zero or above, of the program's id, of sizes, and of what
    a schedule of tiles makes of these alone. `positive`: names of what is above zero.
    """
    signs = _Signs(access, kernel, positive)
    return tuple(sorted(signs.relied)) if signs.of(dim) else None


class _Signs:
    """What is known of the signs of a kernel's numbers at one place.

    Attributes:
        relied: the arguments that the answers rely on: run-time ones, and compile-time ones that are a summand.
    """

    def __init__(self, access: Access, kernel: Kernel, positive: Collection[str]) -> None:
        self.access, self.kernel, self.positive = access, kernel, positive
        self.parameters = {one.name: one.constexpr for one in kernel.parameters}
        self.loops = {loop.target: loop for loop in access.loops}
        self.relied: set[str] = set()

    def of(self, dim: Dim) -> bool:
        """Whether a polynomial is zero or more."""
        for monomial, factor in self._without_last(dim).terms:
            if factor < 0 or not all(self._atom(atom) for atom in monomial):
                return False
            if monomial and all(self.parameters.get(atom) for atom in monomial):
                self.relied.update(monomial)
        return True

    def _without_last(self, dim: Dim) -> Dim:
        """`cdiv(K, B) * B - B` as one of its terms, which is enough: of a size above zero there is a block."""
        for monomial, factor in dim.terms:
            for atom in monomial if factor > 0 else ():
                others = list(monomial)
                others.remove(atom)
                less = term(tuple(others), -factor)
                counted = less.terms[0] in dim.terms and self._counts_blocks(atom)
                if counted and all(self._atom(one) for one in others):
                    return self._without_last(plus(plus(dim, less, -1), term(monomial, factor), -1))
        return dim

    def _counts_blocks(self, atom: str) -> bool:
        try:
            node = ast.parse(atom, mode="eval").body
        except SyntaxError:
            return False
        if not isinstance(node, ast.Call) or _called(node) != "cdiv" or len(node.args) != 2:
            return False
        return all(isinstance(one, ast.Name) and one.id in self.positive for one in node.args)

    def _atom(self, atom: str) -> bool:
        if any(atom == iteration_of(name) for name in self.loops):
            return True
        try:
            node = ast.parse(self.access.origins.get(atom, atom), mode="eval").body
        except SyntaxError:
            return False
        return self._name(node.id) if isinstance(node, ast.Name) else self._node(node)

    def _name(self, name: str) -> bool:
        if name in self.parameters:
            if not self.parameters[name]:
                self.relied.add(name)
            return True
        if name in self.loops:
            return self._counts_up(self.loops[name]) or self._counts_down(self.loops[name])
        origin = self.access.origins.get(name, name)
        if origin != name:
            return self._atom(name)
        # A name of the kernel: what it stands for. One that stands for itself is not known.
        meant = self.access.numbers.get(name)
        return meant is not None and name not in meant.atoms() and self.of(meant)

    def _counts_up(self, loop: Loop) -> bool:
        if loop.kind not in ("range", "static_range") or loop.first is None or loop.stride is None:
            return False
        return all(factor > 0 for _, factor in loop.stride.terms) and self.of(loop.first)

    def _counts_down(self, loop: Loop) -> bool:
        """Whether a loop that goes down ends before its index is below zero.

        Its index stays above its end. Where the step divides the first index, every index is a multiple of the step, so
        that an end of one step below zero is enough: `range(cdiv(K, B) * B - B, -B, -B)`.
        """
        if loop.kind not in ("range", "static_range") or loop.end is None or not goes_down(loop):
            return False
        assert loop.first is not None and loop.stride is not None
        if self.of(plus(loop.end, dims.ONE)):
            return True
        step = times(loop.stride, dims.number(-1))
        # The launch asks that what the step is made of is not below zero; no loop has a step of zero.
        sizes = step.atoms()
        if len(step.terms) != 1 or quotient(loop.first, step) is None or not all(map(self.parameters.get, sizes)):
            return False
        self.relied.update(sizes)
        return self.of(plus(loop.end, step))

    def _node(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Constant):
            return isinstance(node.value, int) and node.value >= 0
        if isinstance(node, ast.Name):
            return self._name(node.id)
        if isinstance(node, ast.BinOp):
            if isinstance(node.op, (ast.Add, ast.Mult)):
                return self._node(node.left) and self._node(node.right)
            if isinstance(node.op, ast.Mod):
                return self._node(node.left)  # the sign of the dividend
            # A schedule divides by sizes of groups, which no program leaves at zero.
            return isinstance(node.op, ast.FloorDiv) and self._node(node.left) and self._of_sizes(node.right)
        if isinstance(node, ast.IfExp):
            return self._node(node.body) and self._node(node.orelse)
        return isinstance(node, ast.Call) and self._call(node)

    def _call(self, node: ast.Call) -> bool:
        name = _called(node)
        if name in ("program_id", "num_programs"):
            return True
        if name in ("max", "maximum"):
            return any(self._node(argument) for argument in node.args)
        if name == "where":
            return len(node.args) == 3 and all(self._node(argument) for argument in node.args[1:])
        if name in ("cdiv", "min", "minimum"):
            return all(self._node(argument) for argument in node.args)
        # What a function of the project makes of the program's id and of sizes alone is a place in a schedule of tiles.
        return self._is_kernel(node) and all(self._of_sizes(one) for one in node.args)

    def _is_kernel(self, node: ast.Call) -> bool:
        """Whether every function that a call can mean is a jit function, of the file or of one that it imports from."""
        meanings = self.kernel.module.lookup(ast.unparse(node.func))
        return bool(meanings) and all(one.kind == "kernel" for one in meanings)

    def _of_sizes(self, node: ast.expr) -> bool:
        """Whether an expression is made of the program's id and of what never goes below zero alone."""
        functions = {id(one.func) for one in ast.walk(node) if isinstance(one, ast.Call)}
        for one in ast.walk(node):
            if isinstance(one, ast.Call) and _called(one) not in _SCHEDULE:
                return False
            if isinstance(one, ast.Name) and id(one) not in functions and not self._size(one.id):
                return False
        return True

    def _size(self, name: str) -> bool:
        if name in self.kernel.module.bindings.imported or name in self.parameters:
            return True
        if name in self.loops:
            return self._name(name)
        meant = self.access.numbers.get(name)
        if meant is None or name in meant.atoms():
            return False
        try:
            return all(self._of_sizes(ast.parse(atom, mode="eval").body) for atom in meant.atoms())
        except SyntaxError:
            return False


def _called(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


__all__ = ["never_negative"]
