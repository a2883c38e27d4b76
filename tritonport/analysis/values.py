"""Abstract values: what the analysis knows of an expression in a kernel without running it.

The values of a kernel form a graph. A tensor value remembers the operation that made it and its operands, and how the
layout of each operand relates to the operation's own (`Operand.path`). `layouts.solver` reads that graph; nothing
here chooses a layout.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import libcst as cst

from tritonport.analysis import strides as stride_kinds
from tritonport.analysis.dims import Dim
from tritonport.analysis.place import Place
from tritonport.analysis.strides import Stride
from tritonport.analysis.terms import Dot, Root, Slice, Step, Term


class Kind(Enum):
    CONSTEXPR = "constexpr"
    SCALAR = "scalar"
    TENSOR = "tensor"
    TUPLE = "tuple"
    NONE = "None"
    FUNCTION = "function"
    DTYPE = "dtype"
    DESCRIPTOR = "descriptor"  # a tensor descriptor made in the kernel: `shape` is that of its block
    OBJECT = "object"  # a module, class, enum member or anything else a kernel only passes on


class Missing(Enum):
    MISSING = "missing"


MISSING = Missing.MISSING


@dataclass(eq=False)
class Operand:
    """One tensor or scalar operand of an operation.

    `path` holds the axes that `expand_dims` would add, outermost first: an operand at path (1,) of a focus term F has
    the layout Slice(1, F). `separate` operands have a layout of their own, unrelated to the focus. `steps` lead on
    from there: the operand of a permutation has the focus permuted back.
    """

    node: cst.BaseExpression | None
    value: Value
    path: tuple[int, ...] = ()
    separate: Root | None = None
    steps: tuple[Step, ...] = ()


@dataclass(eq=False)
class Value:
    """What is known of one value.

    Attributes:
        shape: sizes of a tensor, outermost first; empty for everything else.
        dim: the symbolic number of an integer constexpr.
        known: the Python value of a constexpr, where the source fixes it.
        element: the element type as source text (`gl.float16`), or the pointer arguments it is read through.
        strides: for an index or pointer tensor, how it moves along each dimension.
        factor: what multiplying an index by this scalar does to its stride.
        pointers: source text of the arguments (or `gl.` dtypes) whose element type an access through this value has.
        multiples: arguments that have to be multiples of 16 for the value, apart from the index along its contiguous
            dimension, to be one. What cannot be told is left out. A product of compile-time arguments is one entry.
        cheap: index arithmetic that is written again per layout instead of converted.
        arithmetic: the operation alone would be cheap, whatever it is applied to.
        choice: a merge of branches of which only one is compiled.
        loose: a merge that has the layout of whichever branch is compiled; nothing that reads it minds which.
        unread: a merge of such branches that nothing reads.
        partial: a merge of tensors with numbers: where the branch of a number is compiled it is one.
        volatile: a read that must happen exactly as often as the source says.
        once: a read of memory that the kernel also writes: it has no second copy, and no two warps read one element.
        shared: of a descriptor's tile that stays in shared memory: whether its dots sum along its last dimension, and
            their precision.
        result_axis: a reduction's own term is Slice(result_axis, focus); None: the focus itself.
        inner: the shape of the focus where it is not that of the result.
        outcome: the steps from the focus to the operation's own term.
        place: of a dot, where it stands.
    """

    kind: Kind
    shape: tuple[Dim, ...] = ()
    dim: Dim | None = None
    known: Any = MISSING
    items: tuple[Value, ...] = ()
    function: Any = None
    strides: tuple[Stride, ...] = ()
    factor: Stride = stride_kinds.STRIDED
    pointers: tuple[str, ...] = ()
    op: str = ""
    operands: list[Operand] = field(default_factory=list)
    multiples: frozenset[str] = frozenset()
    cheap: bool = False
    arithmetic: bool = False
    choice: bool = False
    loose: bool = False
    unread: bool = False
    partial: bool = False
    volatile: bool = False
    once: bool = False
    depth: int = 0
    focus: Root | None = None
    result_axis: int | None = None
    inner: tuple[Dim, ...] | None = None
    outcome: tuple[Step, ...] = ()
    element: tuple[str, ...] = ()
    dot: Dot | None = None
    place: Place | None = None
    access: tuple[stride_kinds.Order | None, tuple[str, ...], frozenset[str]] | None = None
    shared: tuple[bool, str] | None = None
    node: cst.CSTNode | None = None

    @property
    def is_tensor(self) -> bool:
        return self.kind is Kind.TENSOR

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def term(self) -> Term:
        """The layout term of an operation's result; only after the solver gave it a focus."""
        assert self.focus is not None, f"{self.op} has no layout term"
        term: Term = self.focus if self.result_axis is None else Slice(self.result_axis, self.focus)
        for step in self.outcome:
            term = step.apply(term)
        return term


def none() -> Value:
    return Value(Kind.NONE, known=None)


def constant(known: Any, dim: Dim | None = None) -> Value:
    factor = stride_kinds.UNIT if known == 1 and not isinstance(known, bool) else stride_kinds.STRIDED
    return Value(Kind.CONSTEXPR, known=known, dim=dim, factor=factor)


def scalar(
    factor: Stride = stride_kinds.STRIDED, pointers: tuple[str, ...] = (), multiples: frozenset[str] = frozenset()
) -> Value:
    return Value(Kind.SCALAR, factor=factor, pointers=pointers, multiples=multiples)


def opaque() -> Value:
    return Value(Kind.OBJECT)


def dtype(text: str, element: tuple[str, ...] = ()) -> Value:
    return Value(Kind.DTYPE, known=text, element=element)


class Refusal(Exception):
    """A construct that cannot be ported exactly: the kernel is left as it was.

    Carries a diagnostic code, one line of text and the node it is about.
    """

    def __init__(self, code: str, message: str, node: cst.CSTNode | None = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.node = node
        self.hint = hint
