"""Polynomials as source text, on the host and in the kernel."""

from __future__ import annotations

import ast
import copy
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from tritonport.analysis import dims
from tritonport.analysis.access import Access
from tritonport.analysis.access.forms import ZERO, plus, show, times
from tritonport.analysis.access.indexed import by_index, goes_down, polynomial, quotient, term
from tritonport.analysis.access.loops import iteration_of, visible
from tritonport.analysis.dims import Dim, Monomial
from tritonport.source.kernel import Kernel
from tritonport.source.walk import assigned_names

HOST_FUNCTIONS = {"cdiv": "{triton}.cdiv", "minimum": "min", "maximum": "max", "min": "min", "max": "max"}
_ARITHMETIC = (ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Mod, ast.BitAnd, ast.BitOr)


class Spelled(Exception):
    """A polynomial that cannot be written where it is needed, and why."""


class HostNames:
    """What a launch knows: the numbers among the arguments of a kernel, and what the kernel makes of these alone.

    Args:
        pointers: arguments that are none.
        meanings: the numbers that names of the kernel's own stand for.
    """

    def __init__(
        self, kernel: Kernel, triton: str, pointers: set[str], meanings: Mapping[str, Dim] | None = None
    ) -> None:
        self.triton = triton
        self.meanings = dict(meanings or {})
        self.arguments = {one.name for one in kernel.parameters}
        code = kernel.module.tree.code_for_node
        self.known = {
            one.name: code(one.default) if one.default is not None else None
            for one in kernel.parameters
            if one.name not in pointers and not one.star
        }

    def of_arguments(self) -> HostNames:
        """What a launch knows without the names of the kernel's own."""
        found = copy.copy(self)
        found.meanings = {}
        return found

    def is_atom(self, atom: str) -> bool:
        """Whether an atom of a polynomial is a number that the launch knows."""
        try:
            self._text(ast.parse(atom, mode="eval").body)
        except (Spelled, SyntaxError):
            return False
        return True

    def split(self, dim: Dim) -> tuple[Dim, Dim]:
        """The terms that a launch knows, and the others."""
        known = {key: value for key, value in dim.terms if all(self.is_atom(atom) for atom in key)}
        return polynomial(known), polynomial({key: value for key, value in dim.terms if key not in known})

    def factors(self, monomial: Monomial) -> tuple[Monomial, Monomial]:
        """The atoms of a product that a launch knows, and the others."""
        known = tuple(atom for atom in monomial if self.is_atom(atom))
        return known, tuple(atom for atom in monomial if not self.is_atom(atom))

    def text(self, dim: Dim) -> str:
        """A polynomial as the heuristic of a launch writes it: `args["M"] - 1`.

        Raises:
            Spelled: it has a part that the launch does not know.
        """
        return self._text(ast.parse(show(dim), mode="eval").body)

    def source(self, text: str) -> str:
        """An expression of the kernel as the heuristic of a launch writes it.

        Raises:
            Spelled: it has a part that the launch does not know.
        """
        return self._text(ast.parse(text, mode="eval").body)

    def _text(self, node: ast.expr) -> str:
        if isinstance(node, ast.Constant) and isinstance(node.value, int):
            return str(node.value)
        if (
            isinstance(node, ast.Subscript)
            and isinstance(node.value, ast.Name)
            and isinstance(node.slice, ast.Constant)
        ):
            # An element of a tuple, of strides for instance.
            return f"{self._text(node.value)}[{ast.unparse(node.slice)}]"
        if isinstance(node, ast.Name) and node.id in self.known:
            default = self.known[node.id]
            return f'args["{node.id}"]' if default is None else f'args.get("{node.id}", {default})'
        if isinstance(node, ast.Name) and node.id in self.meanings:
            return self._meaning(node.id)
        if isinstance(node, ast.BinOp) and isinstance(node.op, _ARITHMETIC):
            _, operator, _ = ast.unparse(ast.BinOp(ast.Name("x"), node.op, ast.Name("y"))).split()
            of_one = operator in "*+" and isinstance(node.left, ast.BinOp) and type(node.left.op) is type(node.op)
            left = self._text(node.left) if of_one else self._grouped(node.left)
            return f"{left} {operator} {self._grouped(node.right)}"
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.Not)):
            return f"{'-' if isinstance(node.op, ast.USub) else 'not '}{self._grouped(node.operand)}"
        if isinstance(node, ast.BoolOp):
            word = " and " if isinstance(node.op, ast.And) else " or "
            return word.join(self._grouped(value) for value in node.values)
        if isinstance(node, ast.IfExp):
            chosen, test, other = (self._grouped(part) for part in (node.body, node.test, node.orelse))
            return f"({chosen} if {test} else {other})"
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], (ast.Is, ast.IsNot)):
            nothing = isinstance(node.comparators[0], ast.Constant) and node.comparators[0].value is None
            if nothing and isinstance(node.left, ast.Name) and node.left.id in self.arguments:
                return f'args["{node.left.id}"] {"is" if isinstance(node.ops[0], ast.Is) else "is not"} None'
        elif isinstance(node, ast.Compare) and len(node.ops) == 1:
            operator = ast.unparse(ast.Compare(ast.Name("x"), node.ops, [ast.Name("y")])).removeprefix("x").strip("y ")
            return f"{self._grouped(node.left)} {operator} {self._grouped(node.comparators[0])}"
        if isinstance(node, ast.Call) and not node.keywords:
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if name in HOST_FUNCTIONS:
                arguments = ", ".join(self._text(argument) for argument in node.args)
                return f"{HOST_FUNCTIONS[name].format(triton=self.triton)}({arguments})"
        raise Spelled(f"`{ast.unparse(node)}` is not known to the launch")

    def _meaning(self, name: str) -> str:
        meant = self.meanings.pop(name)  # what a name is made of has not itself in it
        try:
            node = ast.parse(show(meant), mode="eval").body
            return self._grouped(node)
        except SyntaxError:
            raise Spelled(f"`{name}` is not known to the launch") from None
        finally:
            self.meanings[name] = meant

    def _grouped(self, node: ast.expr) -> str:
        text = self._text(node)
        return f"({text})" if isinstance(node, (ast.BinOp, ast.BoolOp, ast.Compare, ast.UnaryOp)) else text


def as_operand(test: str) -> str:
    """A condition as it stands beside `and`."""
    node = ast.parse(test, mode="eval").body
    loose = isinstance(node, ast.IfExp) or (isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or))
    return f"({test})" if loose else test


def meanings(kernel: Kernel, accesses: Iterable[Access]) -> dict[str, Dim]:
    """The numbers that the names of a kernel stand for which it assigns once."""
    assigned = Counter([*(one.name for one in kernel.parameters), *assigned_names(kernel.node.body)])
    found: dict[str, Dim] = {}
    for access in accesses:
        found.update((name, number) for name, number in access.numbers.items() if assigned[name] == 1)
    return {name: number for name, number in found.items() if name not in number.atoms()}


class KernelNames:
    """How a coordinate is written at the place of an access: with the names that stand for its parts there."""

    def __init__(self, access: Access, constexprs: Sequence[str]) -> None:
        self.every = access.numbers
        every = [*(one.name for one in access.kernel.parameters), *assigned_names(access.kernel.node.body)]
        moved = {name for loop in access.loops for name in assigned_names(loop.node.body)}
        self.constant = {name for name, times in Counter(every).items() if times == 1} - moved
        self.numbers = {name: number for name, number in self.every.items() if name not in access.partial}
        self.loops = visible(access.loops)
        self.constexprs = [dims.symbol(name) for name in constexprs]

    def text(self, dim: Dim) -> str:
        """A coordinate as source text.

        Raises:
            Spelled: a part of it has no name at this place.
        """
        parts = []
        for loop in self.loops:
            passed = times(loop.stride, dims.number(-1)) if goes_down(loop) and loop.stride is not None else None
            left = ZERO
            for key, value in dim.terms:
                others = tuple(atom for atom in key if atom != iteration_of(loop.target))
                factor = quotient(term(others, value), passed) if passed is not None and others != key else None
                if factor is not None and loop.first is not None and all(value < 0 for _, value in factor.terms):
                    # What falls with the iterations falls with the index.
                    passed_by = plus(loop.first, dims.symbol(loop.target), -1)
                    left = plus(left, times(factor, passed_by))
                    continue
                if factor is None or loop.first is None:
                    left = plus(left, term(key, value))
                    continue
                count = f"{self._spelled(loop.first)} - {loop.target}"
                parts.append(count if factor == dims.ONE else f"({count}) * {dims.grouped(self._spelled(factor))}")
            dim = left
        if not parts or dim.terms:
            parts.append(self._spelled(dim))
        return " + ".join(parts)

    def _spelled(self, dim: Dim) -> str:
        if dim.value is not None:
            return str(dim.value)
        whole = self._named(dim)
        if whole is not None:
            return whole
        for name, number in self.numbers.items():
            # What is left when a named sum is taken out has fewer terms.
            if len(number.terms) < 2 and number != dim:
                continue
            for factor in (dims.ONE, *self.constexprs):
                left = plus(dim, times(number, factor), -1)
                if len(left.terms) < len(dim.terms) and (not left.terms or any(value > 0 for _, value in left.terms)):
                    part = name if factor == dims.ONE else f"{name} * {show(factor)}"
                    return f"{part} + {self._spelled(left)}" if left.terms else part
        less = [self._term(key, -value) for key, value in dim.terms if value < 0]
        more = [self._term(key, value) for key, value in dim.terms if value > 0]
        if not more:
            raise Spelled(f"its coordinate {show(dim)} goes down")
        return " - ".join([" + ".join(more), *less])

    def _named(self, dim: Dim) -> str | None:
        """`pid_m * BLOCK_M`, where `pid_m` is a name for what is multiplied; the shortest there is."""
        for factor in (dims.ONE, *self.constexprs):
            for name, number in self.numbers.items():
                if number.value is None and times(number, factor) == dim:
                    return name if factor == dims.ONE else f"{name} * {show(factor)}"
        return None

    def _term(self, monomial: Monomial, factor: int) -> str:
        own = self._named(polynomial({monomial: factor}))
        if own is not None:
            return own
        parts = [self._atom(atom) for atom in monomial]
        return " * ".join([*(parts if parts else ["1"]), *([str(factor)] if factor != 1 else [])])

    def _atom(self, atom: str) -> str:
        name = next((name for name, number in self.numbers.items() if number == dims.symbol(atom)), None)
        if name is not None:
            return name
        for loop in self.loops:
            if atom == iteration_of(loop.target) and loop.first is not None and loop.stride is not None:
                since = plus(dims.symbol(loop.target), loop.first, -1)
                step = dims.grouped(self._spelled(loop.stride)) if not goes_down(loop) else ""
                if step:
                    return f"({dims.grouped(self._spelled(since))} // {step})"
        try:
            node = ast.parse(atom, mode="eval").body
        except SyntaxError:
            raise Spelled(f"`{atom}` has no name where the tile is copied") from None
        for one in ast.walk(node):
            if isinstance(one, ast.Name) and not self._stands_for_itself(one.id):
                raise Spelled(f"`{atom}` has no name where the tile is copied")
        # Unparsed: what the analysis puts together has more brackets than it needs.
        return atom if isinstance(node, (ast.Name, ast.Call)) else f"({ast.unparse(node)})"

    def _stands_for_itself(self, name: str) -> bool:
        number = self.every.get(name)
        return number is None or number == dims.symbol(name) or name in self.constant


__all__ = [
    "HOST_FUNCTIONS",
    "HostNames",
    "KernelNames",
    "Spelled",
    "as_operand",
    "by_index",
    "goes_down",
    "meanings",
    "quotient",
    "term",
]
