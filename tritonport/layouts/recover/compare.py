"""Claims held against the compiler: where the analysis and Triton say different things of one expression."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tritonport.analysis.pinned import Pinned, pinned
from tritonport.layouts.recover.claims import Chain, Claim
from tritonport.layouts.recover.scope import Scope
from tritonport.layouts.recover.witness import Compiler, Linear, Seen

TYPE, LAYOUT = "type", "layout"


@dataclass(frozen=True)
class Found:
    """One expression as one side has it: element type, shape, layout as a Gluon expression; empty where not known."""

    element: str
    shape: tuple[int, ...] | None
    layout: str = ""

    def __str__(self) -> str:
        sizes = "scalar" if self.shape is None else f"[{', '.join(map(str, self.shape))}]"
        return " ".join(part for part in (self.element, sizes, self.layout) if part)


@dataclass(frozen=True)
class Disagreement:
    """What the analysis inferred of one expression, and what the compiler made of it.

    Attributes:
        kind: "type" where shape or element type differ, which is a bug of the analysis, or "layout".
        same_threads: of a layout: each thread has the same elements, in other registers.
    """

    kind: str
    name: str
    path: str
    line: int
    column: int
    inferred: Found
    triton: Found
    same_threads: bool = False

    def __str__(self) -> str:
        note = " (the same elements per thread, in other registers)" if self.same_threads else ""
        return f"{self.name}: inferred {self.inferred}, Triton has {self.triton}{note}"


@dataclass(frozen=True)
class Witness:
    """What the compiler made of a kernel: `source`, its front end's IR, and `final`, the TTGIR after every pass."""

    source: Mapping[Chain, Sequence[Seen]]
    final: Mapping[Chain, Sequence[Seen]]

    def type_of(self, chain: Chain) -> Seen | None:
        """The result of an expression: what was made last at its place."""
        found = self.source.get(chain) or [seen for seen in self.final.get(chain, ()) if not _is_conversion(seen)]
        return found[-1] if found else None

    def layouts_of(self, chain: Chain, seen: Seen) -> list[Seen]:
        """The tensors that an expression became, in each layout that it was written in, without conversions."""
        direct = [one for one in self.final.get(chain, ()) if _same_type(one, seen)]
        if direct:
            alike = [one for one in direct if one.op == seen.op]
            return [one for one in alike or direct if one.layout is not None]
        if seen.op != "tt.call":
            return []
        inside = [one for place, ones in self.final.items() for one in ones if place[-len(chain) :] == chain]
        return [one for one in inside if _same_type(one, seen) and one.layout is not None][-1:]


def _is_conversion(seen: Seen) -> bool:
    return seen.op == "ttg.convert_layout"


def _same_type(one: Seen, other: Seen) -> bool:
    return (one.shape, one.element) == (other.shape, other.element) and not _is_conversion(one)


def _real_chain(chain: Chain) -> Chain:
    return tuple((os.path.realpath(path), line, number) for path, line, number in chain)


@dataclass(frozen=True)
class Comparison:
    """What came of holding claims against the compiler: `types` and `layouts` say how many could be.

    chosen: the layout that the compiler has for each expression that was compared, by the chain of its claim.
    """

    disagreements: tuple[Disagreement, ...] = ()
    types: int = 0
    layouts: int = 0
    chosen: tuple[tuple[Chain, Pinned], ...] = ()


def compare_claims(claims: Sequence[Claim], witness: Witness, scope: Scope, compiler: Compiler) -> Comparison:
    """Where claims and compiler differ, in the order of the claims. What either leaves open is no disagreement."""
    found: list[Disagreement] = []
    chosen: list[tuple[Chain, Pinned]] = []
    types = layouts = 0
    for claim in claims:
        chain = _real_chain(claim.chain)
        seen = witness.type_of(chain)
        shape = None if claim.shape is None else scope.shape(claim)
        if seen is None or (claim.shape is not None and shape is None):
            continue
        types += 1
        element = scope.element(claim)
        if shape != seen.shape or (element and shape and element != seen.element):
            found.append(_disagreement(TYPE, claim, Found(element, shape), Found(seen.element, seen.shape)))
            continue
        layout = scope.layout(claim)
        maps = [one for one in witness.layouts_of(chain, seen) if one.linear is not None] if shape else []
        if layout is None or shape is None or not maps:
            continue
        agreeing = _agreeing(compiler.linear(layout, shape), maps)
        layouts += 1
        if len({_essential(one.linear) for one in maps if one.linear}) == 1:
            # What the compiler wrote in several layouts is not in any of them: the port may write it so too.
            chosen.append((claim.chain, pinned(maps[0].layout)))
        if agreeing is None:
            found.append(_layouts_differ(claim, shape, layout, maps, compiler))
    return Comparison(tuple(found), types, layouts, tuple(chosen))


def _agreeing(linear: Linear, seen: Sequence[Seen]) -> Seen | None:
    return next((one for one in seen if one.linear and _essential(one.linear) == _essential(linear)), None)


def _layouts_differ(
    claim: Claim, shape: tuple[int, ...], layout: Any, seen: Sequence[Seen], compiler: Compiler
) -> Disagreement:
    linear, chosen = compiler.linear(layout, shape), seen[-1]
    return _disagreement(
        LAYOUT,
        claim,
        Found(chosen.element, shape, repr(layout)),
        Found(chosen.element, chosen.shape, repr(chosen.layout)),
        any(one.linear is not None and _same_threads(one.linear, linear) for one in seen),
    )


def _essential(linear: Linear) -> Linear:
    """A layout without the registers that hold an element once more: the compiler drops them."""
    return (tuple(base for base in linear[0] if any(base)), *linear[1:])


def _same_threads(one: Linear, other: Linear) -> bool:
    """Whether two layouts differ in the order of a thread's registers alone."""
    own, its = _essential(one), _essential(other)
    return own[1:] == its[1:] and sorted(own[0]) == sorted(its[0])


def _disagreement(kind: str, claim: Claim, inferred: Found, triton: Found, same: bool = False) -> Disagreement:
    return Disagreement(kind, claim.name, claim.path, claim.line, claim.column, inferred, triton, same)


__all__ = ["LAYOUT", "TYPE", "Comparison", "Disagreement", "Found", "Witness", "compare_claims"]
