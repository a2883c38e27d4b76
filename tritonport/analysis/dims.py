"""Symbolic sizes: integer expressions over a kernel's compile-time names.

A dimension is kept twice: as the polynomial that decides equality (`2 * D` and `D * 2` are one size) and as the
source text that goes into the output. What a polynomial cannot say (`D // 2`, `next_power_of_2(N)`) is an atom named
by its own text.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

Monomial = tuple[str, ...]


@dataclass(frozen=True)
class Dim:
    """One symbolic integer.

    `terms` maps a sorted tuple of atoms to its integer coefficient; the empty tuple is the constant.
    `text` is how the author spelled it, with locals that are not visible at the head of a kernel written out.
    `choice` is, of a size that a compile-time test picks, the text of the test, and the sizes where it holds and not.
    """

    terms: tuple[tuple[Monomial, int], ...]
    text: str
    choice: tuple[str, Dim, Dim] | None = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Dim) and self.terms == other.terms

    def __hash__(self) -> int:
        return hash(self.terms)

    @property
    def value(self) -> int | None:
        """The number, when the size has no symbol in it."""
        if not self.terms:
            return 0
        if len(self.terms) == 1 and self.terms[0][0] == ():
            return self.terms[0][1]
        return None

    @property
    def is_one(self) -> bool:
        return self.value == 1

    @property
    def may_be_one(self) -> bool:
        """Whether it is 1, or what a compile-time test picks where it does not hold, or does."""
        return self.is_one or (self.choice is not None and any(size.may_be_one for size in self.choice[1:]))

    @property
    def picked(self) -> tuple[Dim, ...]:
        """The sizes that compile-time tests may pick; the size itself where none does."""
        return (self,) if self.choice is None else tuple(one for size in self.choice[1:] for one in size.picked)

    def atoms(self) -> frozenset[str]:
        return frozenset(atom for monomial, _ in self.terms for atom in monomial)


def number(value: int) -> Dim:
    return Dim((((), value),) if value else (), str(value))


ONE = number(1)


def symbol(name: str, text: str | None = None) -> Dim:
    return Dim((((name,), 1),), text if text is not None else name)


def _dim(terms: Mapping[Monomial, int], text: str) -> Dim:
    return Dim(tuple(sorted((key, value) for key, value in terms.items() if value)), text)


def chosen(test: str, body: Dim, orelse: Dim) -> Dim:
    """The size that a compile-time test picks; what the same test picked in a part of it is known there."""
    if body.choice is not None and body.choice[0] == test:
        body = body.choice[1]
    if orelse.choice is not None and orelse.choice[0] == test:
        orelse = orelse.choice[2]
    if body == orelse:
        return body
    text = f"({body.text} if {test} else {orelse.text})"
    return Dim((((text,), 1),), text, (test, body, orelse))


def decided(size: Dim, tests: Mapping[str, bool]) -> Dim:
    """A size where compile-time tests are known to hold (True), or not."""
    while size.choice is not None and size.choice[0] in tests:
        size = size.choice[1] if tests[size.choice[0]] else size.choice[2]
    return size


def add(left: Dim, right: Dim, text: str, sign: int = 1) -> Dim:
    terms = dict(left.terms)
    for key, value in right.terms:
        terms[key] = terms.get(key, 0) + sign * value
    return _dim(terms, text)


def multiply(left: Dim, right: Dim, text: str) -> Dim:
    terms: dict[Monomial, int] = {}
    for left_key, left_value in left.terms:
        for right_key, right_value in right.terms:
            key = tuple(sorted(left_key + right_key))
            terms[key] = terms.get(key, 0) + left_value * right_value
    return _dim(terms, text)


def divide(left: Dim, right: Dim, text: str) -> Dim:
    """Floor division: exact where every coefficient divides, else an atom."""
    divisor = right.value
    if divisor and all(value % divisor == 0 for _, value in left.terms):
        return _dim({key: value // divisor for key, value in left.terms}, text)
    return opaque(f"({_canonical(left)})//({_canonical(right)})", text)


def quotient(left: Dim, right: Dim, text: str) -> Dim | None:
    """What `right` has to be multiplied by to give `left`; None where that is not a sum of products of names."""
    if len(right.terms) != 1:
        return None
    (atoms, divisor) = right.terms[0]
    found: dict[Monomial, int] = {}
    for key, value in left.terms:
        rest = list(key)
        for atom in atoms:
            if atom not in rest:
                return None
            rest.remove(atom)
        if value % divisor:
            return None
        found[tuple(rest)] = value // divisor
    return _dim(found, text)


def product(sizes: Iterable[Dim]) -> Dim:
    """The number of elements of a shape."""
    result = ONE
    for size in sizes:
        result = multiply(result, size, "")
    return result


def power(left: Dim, exponent: int, text: str) -> Dim:
    result = ONE
    for _ in range(exponent):
        result = multiply(result, left, text)
    return Dim(result.terms, text)


def opaque(key: str, text: str) -> Dim:
    """An atom: equal only to itself, whatever the spelling of its parts."""
    return Dim((((key,), 1),), text)


def grouped(text: str) -> str:
    """Parentheses where a spelling is more than one term."""
    simple = all(character.isalnum() or character in "_." for character in text)
    wrapped = text.startswith("(") and text.endswith(")") and text.count("(") == 1
    called = text.endswith(")") and text.split("(")[0].replace(".", "").isidentifier() and text.count("(") == 1
    return text if simple or wrapped or called else f"({text})"


def _canonical(dim: Dim) -> str:
    return "+".join("*".join((str(value), *key)) for key, value in dim.terms) or "0"


def canonical(dim: Dim) -> str:
    """A spelling that is the same for equal sizes."""
    return _canonical(dim)
