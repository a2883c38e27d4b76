"""Polynomials as source text, on the host and in the kernel, and what is known of their signs."""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping, Sequence

from tritonport.analysis import dims
from tritonport.analysis.access import Access, Loop
from tritonport.analysis.access.forms import ZERO, plus, show, times
from tritonport.analysis.access.loops import iteration_of
from tritonport.analysis.dims import Dim, Monomial
from tritonport.source.kernel import Kernel

_ON_HOST = {"cdiv": "{triton}.cdiv", "minimum": "min", "maximum": "max", "min": "min", "max": "max"}
_SCHEDULE = frozenset({"program_id", "num_programs", "where", *_ON_HOST})
_ARITHMETIC = (ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Mod)


class Spelled(Exception):
    """A polynomial that cannot be written where it is needed, and why."""


class HostNames:
    """What a launch knows: the numbers among the arguments of a kernel."""

    def __init__(self, kernel: Kernel, triton: str, pointers: set[str]) -> None:
        self.triton = triton
        self.arguments = {one.name for one in kernel.parameters}
        code = kernel.module.tree.code_for_node
        self.known = {
            one.name: code(one.default) if one.default is not None else None
            for one in kernel.parameters
            if one.name not in pointers and not one.star
        }

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
        return _dim(known), _dim({key: value for key, value in dim.terms if key not in known})

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
        if isinstance(node, ast.Name) and node.id in self.known:
            default = self.known[node.id]
            return f'args["{node.id}"]' if default is None else f'args.get("{node.id}", {default})'
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
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], (ast.Is, ast.IsNot)):
            nothing = isinstance(node.comparators[0], ast.Constant) and node.comparators[0].value is None
            if nothing and isinstance(node.left, ast.Name) and node.left.id in self.arguments:
                return f'args["{node.left.id}"] {"is" if isinstance(node.ops[0], ast.Is) else "is not"} None'
        elif isinstance(node, ast.Compare) and len(node.ops) == 1:
            operator = ast.unparse(ast.Compare(ast.Name("x"), node.ops, [ast.Name("y")])).removeprefix("x").strip("y ")
            return f"{self._grouped(node.left)} {operator} {self._grouped(node.comparators[0])}"
        if isinstance(node, ast.Call) and not node.keywords:
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if name in _ON_HOST:
                arguments = ", ".join(self._text(argument) for argument in node.args)
                return f"{_ON_HOST[name].format(triton=self.triton)}({arguments})"
        raise Spelled(f"`{ast.unparse(node)}` is not known to the launch")

    def _grouped(self, node: ast.expr) -> str:
        text = self._text(node)
        return f"({text})" if isinstance(node, (ast.BinOp, ast.BoolOp, ast.Compare)) else text


class KernelNames:
    """How a coordinate is written at the place of an access: with the names that stand for its parts there."""

    def __init__(self, access: Access, constexprs: Sequence[str]) -> None:
        self.numbers = access.numbers
        self.loops = access.loops
        self.constexprs = [dims.symbol(name) for name in constexprs]

    def text(self, dim: Dim) -> str:
        """A coordinate as source text.

        Raises:
            Spelled: a part of it has no name at this place.
        """
        parts = []
        for loop in self.loops:
            passed = times(loop.stride, dims.number(-1)) if _goes_down(loop) and loop.stride is not None else None
            left = ZERO
            for key, value in dim.terms:
                others = tuple(atom for atom in key if atom != iteration_of(loop.target))
                factor = quotient(term(others, value), passed) if passed is not None and others != key else None
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
                if len(left.terms) < len(dim.terms):
                    part = name if factor == dims.ONE else f"{name} * {show(factor)}"
                    return f"{part} + {self._spelled(left)}" if left.terms else part
        return " + ".join(self._term(key, value) for key, value in dim.terms)

    def _named(self, dim: Dim) -> str | None:
        """`pid_m * BLOCK_M`, where `pid_m` is a name for what is multiplied; the shortest there is."""
        for factor in (dims.ONE, *self.constexprs):
            for name, number in self.numbers.items():
                if number.value is None and times(number, factor) == dim:
                    return name if factor == dims.ONE else f"{name} * {show(factor)}"
        return None

    def _term(self, monomial: Monomial, factor: int) -> str:
        own = self._named(_dim({monomial: factor}))
        if own is not None:
            return own
        parts = [self._atom(atom) for atom in monomial]
        if factor < 0:
            raise Spelled("it goes down")
        return " * ".join([*(parts if parts else ["1"]), *([str(factor)] if factor != 1 else [])])

    def _atom(self, atom: str) -> str:
        name = next((name for name, number in self.numbers.items() if number == dims.symbol(atom)), None)
        if name is not None:
            return name
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
        number = self.numbers.get(name)
        return number is None or number == dims.symbol(name)


def by_index(dim: Dim, loops: Sequence[Loop]) -> Dim:
    """Counts of iterations written with the index: `iteration of k * BLOCK_K` is `k` in `range(0, K, BLOCK_K)`.

    Of a loop that goes down it is the other way round, so that what is added up is positive.
    """
    for loop in loops:
        counted = iteration_of(loop.target)
        if _goes_down(loop):
            assert loop.first is not None and loop.stride is not None
            index = plus(loop.first, times(loop.stride, dims.symbol(counted)))
            dim = _exchanged(dim, loop.target, index)
            continue
        if counted not in dim.atoms() or loop.first is None:
            continue
        found = ZERO
        for key, value in dim.terms:
            part = term(key, value)
            if counted in key:
                others = list(key)
                others.remove(counted)
                factor = quotient(term(tuple(others), value), loop.stride) if loop.stride is not None else None
                if factor is not None:
                    part = times(factor, plus(dims.symbol(loop.target), loop.first, -1))
            found = plus(found, part)
        dim = found
    return dim


def _goes_down(loop: Loop) -> bool:
    stride = loop.stride
    return loop.first is not None and stride is not None and bool(stride.terms) and all(n < 0 for _, n in stride.terms)


def _exchanged(dim: Dim, atom: str, meaning: Dim) -> Dim:
    """A polynomial with another one in the place of an atom."""
    found = ZERO
    for key, value in dim.terms:
        part = term(tuple(one for one in key if one != atom), value)
        for _ in range(key.count(atom)):
            part = times(part, meaning)
        found = plus(found, part)
    return found


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
            return self._counts_up(self.loops[name])
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


def _quotient(dim: Dim, divisor: Dim | None) -> Dim | None:
    """The exact quotient by one product; None where it does not divide every term."""
    if divisor is None or len(divisor.terms) != 1:
        return None
    atoms, number = divisor.terms[0]
    found: dict[Monomial, int] = {}
    for key, value in dim.terms:
        left = list(key)
        for atom in atoms:
            if atom not in left:
                return None
            left.remove(atom)
        if value % number:
            return None
        found[tuple(left)] = value // number
    return _dim(found)


def quotient(dim: Dim, divisor: Dim) -> Dim | None:
    """dim / divisor, exact, for a divisor of one term; None where a term is no multiple of it."""
    return _quotient(dim, divisor)


def _dim(terms: Mapping[Monomial, int]) -> Dim:
    return Dim(tuple(sorted((key, value) for key, value in terms.items() if value)), "")


def term(monomial: Monomial, factor: int) -> Dim:
    """A polynomial of one product."""
    return _dim({monomial: factor})


__all__ = ["HostNames", "KernelNames", "Spelled", "by_index", "never_negative", "quotient", "term"]
