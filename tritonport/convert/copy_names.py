"""The names of the copies that a variable has in several layouts."""

from __future__ import annotations

from tritonport.analysis.terms import Slice, Term, base_of, is_narrow, normal
from tritonport.convert.names import Names, suffix
from tritonport.convert.wants import Want
from tritonport.convert.webs import Webs


def name_copies(webs: Webs, names: Names, known: dict[Term, str]) -> None:
    """Name the copies of every variable after their layouts, `known` by the names of those.

    A variable that the source assigns anew is assigned anew in its copies too.
    """
    numbered = list(known)
    given: dict[tuple[object, ...], str] = {}
    for web in webs.all():
        if web.staged:
            web.staged_name = names.fresh(web.staged_name)
    for web in webs.all():
        if len(web.copies) < 2 and not (web.expensive and web.copies):
            continue
        terms = [next(term for term in want if term is not None) for want, _ in web.copies.values()]
        if web.expensive:
            bound = next(term for term in web.bound if term is not None)
            others = [bound, *terms]
        else:
            others = terms
        plain = [other for other in others if not is_narrow(other)]
        ordered = sorted(web.copies.items(), key=lambda item: _copy_order(item[1][0], numbered))
        if len(plain) == 1 and sum(other.name == web.name for other in webs.all()) > 1:
            # The source assigns to a name what it computes from another value of that name: the copy that keeps it
            # comes last.
            ordered.sort(key=lambda item: not any(term is not None and is_narrow(term) for term in item[1][0]))
        web.copies = dict(ordered)
        for wanted, (want, _) in ordered:
            term = next(term for term in want if term is not None)
            if len(plain) == 1 and term is plain[0] and not web.expensive:
                # The copies for stores have names of their own; this is the variable that the source has.
                web.copies[wanted] = (want, web.name)
                continue
            label = suffix(term, known, others if is_narrow(term) else plain)
            copy = (web.name, label, wanted)
            if web.expensive or web.reads_itself or copy not in given:
                given[copy] = names.fresh(f"{web.name}_{label}")
            web.copies[wanted] = (want, given[copy])


def _copy_order(want: Want, numbered: list[Term]) -> tuple[int, tuple[int, ...]]:
    """Copies stand in the order of the layouts, and for one layout from the first dimension to the last."""
    term = next(term for term in want if term is not None)
    base = base_of(term)
    place = numbered.index(base) if base in numbered else len(numbered)
    return place, tuple(-axis for axis in _axes(normal(term)))


def _axes(term: Term) -> tuple[int, ...]:
    axes: list[int] = []
    while isinstance(term, Slice):
        axes.append(term.axis)
        term = normal(term.parent)
    return tuple(axes)
