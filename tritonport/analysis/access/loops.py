"""The loops around an access."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import libcst as cst

from tritonport.analysis.dims import Dim


@dataclass(eq=False)
class Loop:
    """A `for` or `while` of a kernel.

    Attributes:
        kind: "range", "static_range" or "while".
        target: the loop variable; empty where there is none.
        start, stop, step: the bounds as nodes, None where the source leaves them out.
        stages: the expression of `num_stages=` in the loop's hint, if it has one.
        first, end, stride: start, stop and step as polynomials, once the loop has been read; None where they are none.
        unknown: why `first` is None, where it is not known.
        ends: what the index of a loop that goes up stays below: the end, and what that is the least of.
    """

    node: cst.For | cst.While
    kind: str
    target: str = ""
    start: cst.BaseExpression | None = None
    stop: cst.BaseExpression | None = None
    step: cst.BaseExpression | None = None
    stages: cst.BaseExpression | None = None
    parents: tuple[Loop, ...] = field(default=())
    first: Dim | None = None
    end: Dim | None = None
    unknown: str = ""
    ends: tuple[Dim, ...] = ()
    stride: Dim | None = None


def iteration_of(index: str) -> str:
    """The atom that counts the iterations of a loop whose index does not."""
    return f"iteration of {index}"


def visible(loops: Sequence[Loop]) -> list[Loop]:
    """Of loops around a place those whose index no inner one of the same name hides there, outermost first."""
    inner: set[str] = set()
    found = []
    for loop in reversed(loops):
        if loop.target not in inner:
            found.append(loop)
        inner |= {loop.target} - {""}
    return found[::-1]


def read_loop(node: cst.For | cst.While, parents: tuple[Loop, ...]) -> Loop:
    """The loop of a statement; `kind` is "other" for what is not a range."""
    if isinstance(node, cst.While):
        return Loop(node, "while", parents=parents)
    target = node.target.value if isinstance(node.target, cst.Name) else ""
    call = node.iter
    name = ""
    if isinstance(call, cst.Call):
        name = call.func.attr.value if isinstance(call.func, cst.Attribute) else getattr(call.func, "value", "")
    if name not in ("range", "static_range") or not isinstance(call, cst.Call):
        return Loop(node, "other", target, parents=parents)
    positional = [argument.value for argument in call.args if argument.keyword is None]
    keywords = {argument.keyword.value: argument.value for argument in call.args if argument.keyword is not None}
    start: cst.BaseExpression | None = None
    if len(positional) == 1:
        stop: cst.BaseExpression | None = positional[0]
    else:
        start = positional[0] if positional else keywords.get("arg1")
        stop = positional[1] if len(positional) > 1 else keywords.get("arg2")
    step = positional[2] if len(positional) > 2 else keywords.get("step")
    return Loop(node, name, target, start, stop, step, keywords.get("num_stages"), parents)


__all__ = ["Loop", "iteration_of", "read_loop", "visible"]
