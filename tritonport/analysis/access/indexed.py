"""Numbers of a loop written with its index in place of a count of its iterations, and exact quotients for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tritonport.analysis import dims
from tritonport.analysis.access.forms import ZERO, plus, times
from tritonport.analysis.access.loops import Loop, iteration_of, visible
from tritonport.analysis.dims import Dim, Monomial


def by_index(dim: Dim, loops: Sequence[Loop], down: bool = False) -> Dim:
    """Counts of iterations written with the index: `iteration of k * BLOCK_K` is `k` in `range(0, K, BLOCK_K)`.

    Of a loop that goes down it is the other way round, so that what is added up is positive, unless `down` is said: a
    tile that moves on while the index falls, and one that falls with it.
    """
    for loop in visible(loops):
        counted = iteration_of(loop.target)
        if goes_down(loop) and not down:
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


def by_count(dim: Dim, loops: Sequence[Loop]) -> Dim:
    """Indices written with counts of iterations: `k` is `iteration of k * BLOCK_K` in `range(0, K, BLOCK_K)`."""
    for loop in visible(loops):
        if loop.first is not None and loop.stride is not None and loop.target in dim.atoms():
            counted = dims.symbol(iteration_of(loop.target))
            dim = _exchanged(dim, loop.target, plus(loop.first, times(loop.stride, counted)))
    return dim


def goes_down(loop: Loop) -> bool:
    """Whether every iteration makes the index of a loop smaller."""
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


def quotient(dim: Dim, divisor: Dim) -> Dim | None:
    """dim / divisor, exact, for a divisor of one term; None where a term is no multiple of it."""
    if len(divisor.terms) != 1:
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
    return polynomial(found)


def polynomial(terms: Mapping[Monomial, int]) -> Dim:
    """A polynomial of products and how often each counts."""
    return Dim(tuple(sorted((key, value) for key, value in terms.items() if value)), "")


def term(monomial: Monomial, factor: int) -> Dim:
    """A polynomial of one product."""
    return polynomial({monomial: factor})


__all__ = ["by_count", "by_index", "goes_down", "polynomial", "quotient", "term"]
