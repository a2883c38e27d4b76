"""What the analysis says of the values of a kernel, as data that another process can hold against the compiler.

A claim is text: sizes, element types and layouts are expressions over the kernel's arguments, which
`layouts.recover.scope` evaluates for one specialisation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tritonport.analysis.pinned import Pinned

Place = tuple[str, int, int]
"""An expression of a file: its path, its line, and its number in its function (`layouts.recover.numbering`)."""

Chain = tuple[Place, ...]
"""An expression, and the calls of helpers that lead to it, innermost first."""


@dataclass(frozen=True)
class Claim:
    """What the analysis says of one expression.

    Attributes:
        name: the variable that the expression is assigned to, else its text.
        path, line, column: where the expression begins.
        shape: sizes as Python expressions, outermost first; None for a scalar.
        element: the element type as source text (`gl.float16`), or the pointer arguments it may be read through.
        layout: an expression over the names of `KernelClaims.layouts`; empty where the value is written again for each
            layout that asks for it, or where another claim decides.
    """

    chain: Chain
    name: str
    path: str
    line: int
    column: int
    shape: tuple[str, ...] | None
    element: tuple[str, ...] = ()
    layout: str = ""


@dataclass(frozen=True)
class KernelClaims:
    """The claims about one kernel and the helpers it calls.

    Attributes:
        kernel: its name. line: of its `def`.
        claims: in the order of the source.
        prelude: source of the functions that layouts are made with, as the port has them.
        locals: the compile-time variables at the head of the kernel, as (name, expression), in order.
        layouts: the kernel's layouts as (name, expression), in order.
        flags: arguments that the port adds: name -> the arguments that are multiples of 16 where it is true.
    """

    kernel: str
    line: int
    claims: tuple[Claim, ...]
    prelude: str = ""
    locals: tuple[tuple[str, str], ...] = ()
    layouts: tuple[tuple[str, str], ...] = ()
    flags: tuple[tuple[str, tuple[str, ...]], ...] = ()


@dataclass(frozen=True)
class RecoveredLayouts:
    """The layouts that Triton's compiler chose for one specialisation of a kernel.

    Attributes:
        label: the specialisation in a few words.
        layouts: by the chain of the claim that asks for it.
    """

    label: str
    layouts: Mapping[Chain, Pinned]


__all__ = ["Chain", "Claim", "KernelClaims", "Place", "RecoveredLayouts"]
