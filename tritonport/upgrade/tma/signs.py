"""What is known of the signs of a kernel's numbers."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator

from tritonport.analysis import dims
from tritonport.analysis.access import Access, Condition, Loop
from tritonport.analysis.access.forms import plus, show, times
from tritonport.analysis.access.indexed import goes_down, polynomial, quotient, term
from tritonport.analysis.access.loops import iteration_of, visible
from tritonport.analysis.dims import Dim
from tritonport.source.kernel import Kernel
from tritonport.upgrade.tma.expression_signs import ExpressionSigns, function_of


def never_negative(dim: Dim, access: Access, kernel: Kernel, positive: Collection[str] = ()) -> tuple[str, ...] | None:
    """What a launch is asked for a coordinate to be zero or more: names of arguments that must not be negative, and
    conditions on arguments. None where it is not shown.

    It is shown of a sum of products of indices that start at zero or above, of the program's id, of sizes, and of what
    a schedule of tiles makes of these alone. `positive`: names of what is above zero.
    """
    for asking in (False, True):
        signs = _Signs(access, kernel, positive, asking)
        signs.facts += signs.by_blocks(dim)
        if signs.of(dim):
            return tuple(sorted(signs.relied))
    return None


def in_whole_steps(
    distance: Dim, step: Dim, access: Access, kernel: Kernel, positive: Collection[str] = ()
) -> tuple[str, ...] | None:
    """What a launch is asked for a distance to be so many whole steps: conditions on arguments. None where it is not
    shown."""
    signs = _Signs(access, kernel, positive, asking=True)
    return tuple(sorted(signs.relied)) if signs.divides(step, distance) else None


class _Signs(ExpressionSigns):
    """The signs of sums, with the indices of loops and what `if`s say."""

    def __init__(self, access: Access, kernel: Kernel, positive: Collection[str], asking: bool) -> None:
        super().__init__(access, kernel, positive, asking)
        self.facts = [_difference(one) for one in access.facts]

    def by_blocks(self, dim: Dim) -> list[Dim]:
        """What the facts say in whole blocks: where `i * B >= V`, `i >= cdiv(V, B)`."""
        found = []
        for atom in sorted(dim.atoms()):
            names = self._counted(atom)
            for fact in self.facts if names is not None else ():
                size, block = (dims.symbol(name) for name in names or ())
                blocks = quotient(plus(fact, size), block)
                if blocks is not None and show(block) in self.positive:
                    found.append(plus(blocks, dims.symbol(atom), -1))
        return found

    def of(self, dim: Dim) -> bool:
        """Whether a polynomial is zero or more; if not of itself, then with the index of a loop at its bound."""
        relied = set(self.relied)
        for shown in (self._terms, self._asked_of_launch):
            if shown(dim):
                return True
            self.relied = set(relied)
        for loop in reversed(visible(self.access.loops)):
            for bounds in (self._at_bounds, self._at_last):
                # What a bound relies on is asked too.
                for bounded in bounds(dim, loop):
                    if self.of(bounded):
                        return True
                    self.relied = set(relied)
                self.relied = set(relied)
        for fact in self.facts:
            for less in self._without(fact, dim):
                facts = self.facts
                self.facts = [one for one in facts if one is not fact]
                shown_less = self.of(less)
                self.facts = facts
                if shown_less:
                    return True
                self.relied = set(relied)
            self.relied = set(relied)
        self.relied = relied
        return False

    def _without(self, fact: Dim, dim: Dim) -> Iterator[Dim]:
        """What is left of a polynomial where something that an `if` says is not below zero is taken out of it, as often
        as one of its terms says."""
        for key, value in dim.terms:
            for part in fact.terms:
                times_it = quotient(term(key, value), term(*part))
                if times_it is not None and all(n > 0 for _, n in times_it.terms) and self._terms(times_it):
                    yield plus(dim, times(fact, times_it), -1)

    def _terms(self, dim: Dim) -> bool:
        for monomial, factor in self._without_last(self._without_remainders(dim)).terms:
            if factor < 0 or not all(self._atom(atom) for atom in monomial):
                return False
        return True

    def _asked_of_launch(self, dim: Dim) -> bool:
        """Whether what is not shown of a polynomial is a difference of arguments, which the launch looks at."""
        known = polynomial({key: value for key, value in dim.terms if all(atom in self.parameters for atom in key)})
        rest = plus(dim, known, -1)
        if not self.asking or not self._terms(rest):
            return False
        less = [(key, -value) for key, value in known.terms if value < 0]
        more = plus(known, polynomial(dict(less)))
        if not less or not more.atoms():
            return False
        self.relied.add(f"{show(more)} >= {show(polynomial(dict(less)))}")
        return True

    def _at_bounds(self, dim: Dim, loop: Loop) -> Iterator[Dim]:
        """A polynomial with the index of a loop at the bound at which it is least."""
        parts = [(key, value) for key, value in dim.terms if loop.target in key]
        if loop.kind not in ("range", "static_range") or loop.first is None or loop.stride is None or not parts:
            return
        ends = self._ends(loop)
        falls = bool(ends) and goes_down(loop)
        rising = all(value > 0 for _, value in parts)
        if not rising and not all(value < 0 for _, value in parts):
            return
        if any(key.count(loop.target) > 1 for key, _ in parts):
            return
        if not (self._falls(loop) if falls else self._rises(loop)):
            return
        # Of a falling index the end is the least, of a rising one the start.
        for bound in ends if falls == rising else [loop.first]:
            found = dim
            for key, value in parts:
                others = tuple(atom for atom in key if atom != loop.target)
                if not all(self._atom(atom) for atom in others):
                    return
                found = plus(plus(found, term(key, value), -1), times(term(others, value), bound))
            yield found

    def _at_last(self, dim: Dim, loop: Loop) -> Iterator[Dim]:
        """A polynomial that falls with the count of iterations, with the count of the last one, where the step divides
        the way to the end."""
        counted = iteration_of(loop.target)
        parts = [(key, value) for key, value in dim.terms if counted in key]
        if loop.first is None or loop.end is None or loop.stride is None or not parts:
            return
        trips = quotient(plus(loop.end, loop.first, -1), loop.stride)
        if trips is None or any(value > 0 or key.count(counted) > 1 for key, value in parts):
            return
        found = dim
        for key, value in parts:
            others = tuple(atom for atom in key if atom != counted)
            if not all(self._atom(atom) for atom in others):
                return
            last = plus(trips, dims.ONE, -1)
            found = plus(plus(found, term(key, value), -1), times(term(others, value), last))
        yield found

    def _ends(self, loop: Loop) -> list[Dim]:
        """What the index of a loop does not go beyond: the number before its end, and where the step divides the way to
        the end the one a step before it."""
        assert loop.first is not None and loop.stride is not None
        if loop.end is None:
            return []
        down = goes_down(loop)
        one = times(dims.ONE, dims.number(-1)) if not down else dims.ONE
        found = [plus(loop.end, one)]
        if loop.stride != times(one, dims.number(-1)) and self.divides(loop.stride, plus(loop.end, loop.first, -1)):
            found.append(plus(loop.end, loop.stride, -1))
        return found

    def divides(self, step: Dim, distance: Dim) -> bool:
        """Whether a step of one compile-time number divides a distance, of which the launch is asked what is left."""
        if len(step.terms) != 1 or abs(step.terms[0][1]) != 1 or len(step.terms[0][0]) != 1:
            return quotient(distance, step) is not None if len(step.terms) == 1 else False
        size = step.terms[0][0][0]
        if not self.parameters.get(size):
            return False
        for key, value in distance.terms:
            if quotient(term(key, value), step) is not None:
                continue
            multiple = next((atom for atom in key if atom in self.parameters), None)
            if multiple is None:
                return False
            self.relied.add(f"{multiple} % {size} == 0")
        return True

    def _without_remainders(self, dim: Dim) -> Dim:
        """`x - x % n` left out: of an x that is not below zero it is a multiple that is not, either."""
        for monomial, factor in dim.terms:
            for atom in monomial if factor < 0 else ():
                others = list(monomial)
                others.remove(atom)
                whole = next((one for one in dim.atoms() if _is_remainder(atom, one)), None)
                if whole is None or not all(self._atom(one) for one in (whole, *others)):
                    continue
                pair = plus(term(tuple(sorted((*others, whole))), -factor), term(monomial, factor))
                if set(pair.terms) <= set(dim.terms):
                    return self._without_remainders(plus(dim, pair, -1))
        return dim

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
        names = self._counted(atom)
        return names is not None and all(name in self.positive for name in names)

    @staticmethod
    def _counted(atom: str) -> tuple[str, str] | None:
        """The names in `cdiv(V, B)`."""
        try:
            node = ast.parse(atom, mode="eval").body
        except SyntaxError:
            return None
        if not isinstance(node, ast.Call) or function_of(node) != "cdiv" or len(node.args) != 2:
            return None
        names = [one.id for one in node.args if isinstance(one, ast.Name)]
        return (names[0], names[1]) if len(names) == 2 else None

    def _atom(self, atom: str) -> bool:
        if any(atom == iteration_of(name or "iteration") for name in self.loops):
            return True
        try:
            node = ast.parse(self.meant(atom), mode="eval").body
        except SyntaxError:
            return False
        return self.name(node.id) if isinstance(node, ast.Name) else self.node(node)

    def name(self, name: str) -> bool:
        if name in self.parameters:
            if name not in self.sizes:
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
        if loop.kind not in ("range", "static_range") or loop.first is None:
            return False
        return self._rises(loop) and self.of(loop.first)

    def _rises(self, loop: Loop) -> bool:
        """Whether no iteration makes the index of a loop smaller; the launch is asked for the signs in its step."""
        return loop.stride is not None and all(factor > 0 for _, factor in loop.stride.terms) and self.of(loop.stride)

    def _falls(self, loop: Loop) -> bool:
        """Whether every iteration makes the index of a loop smaller; the launch is asked for the signs in its step."""
        return goes_down(loop) and loop.stride is not None and self.of(times(loop.stride, dims.number(-1)))

    def _counts_down(self, loop: Loop) -> bool:
        """Whether a loop that goes down ends before its index is below zero.

        Its index stays above its end. Where the step divides the way to the end, it stays a whole step above it, so
        that an end of one step below zero is enough: `range(cdiv(K, B) * B - B, -B, -B)`.
        """
        if loop.kind not in ("range", "static_range") or loop.end is None or not self._falls(loop):
            return False
        assert loop.first is not None and loop.stride is not None
        if self.of(plus(loop.end, dims.ONE)):
            return True
        step = times(loop.stride, dims.number(-1))
        # The launch asks that what the step is made of is not below zero; no loop has a step of zero.
        sizes = step.atoms()
        relied = set(self.relied)
        aligned = self.divides(step, plus(loop.first, loop.end, -1)) or (
            len(step.terms) == 1 and quotient(loop.first, step) is not None
        )
        if aligned and all(map(self.parameters.get, sizes)) and self.of(plus(loop.end, step)):
            self.relied.update(sizes)
            return True
        self.relied = relied
        return False


def _difference(fact: Condition) -> Dim:
    """What is zero or more where a comparison of numbers holds."""
    above = fact.operator in (">", ">=")
    more, less = (fact.form, fact.bound) if above else (fact.bound, fact.form)
    found = plus(more.offset, less.offset, -1)
    return found if "=" in fact.operator else plus(found, dims.ONE, -1)


def _is_remainder(atom: str, of: str) -> bool:
    """Whether an atom is what is left of another one: `x % n` of `x`."""
    try:
        node, whole = (ast.parse(text, mode="eval").body for text in (atom, of))
    except SyntaxError:
        return False
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod) and ast.dump(node.left) == ast.dump(whole)


__all__ = ["in_whole_steps", "never_negative"]
