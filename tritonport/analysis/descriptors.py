"""Tensor descriptors: what a kernel knows of one, and what its methods give back.

A descriptor that the host makes is an argument: its block shape is not in the kernel's text, so its sizes are symbols
spelled `desc.block_shape[0]`, which Gluon can read when it compiles. Where such a size meets another one (an
accumulator, the value that is stored) the two are equal, for Triton checks that; the kernel is then read again with
the size that has a name.

Sources: `triton/language/core.py` (`tensor_descriptor_base`) and `semantic.py` (`descriptor_load` and its neighbours).
"""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from tritonport.analysis import dims, strides
from tritonport.analysis.dims import Dim
from tritonport.analysis.values import Kind, Value, dtype, scalar

PARAMETERS = {
    "load": ("offsets",),
    "store": ("offsets", "value"),
    "gather": ("x_offsets", "y_offset"),
    "scatter": ("value", "x_offsets", "y_offset"),
    "atomic_add": ("offsets", "value"),
    "atomic_and": ("offsets", "value"),
    "atomic_max": ("offsets", "value"),
    "atomic_min": ("offsets", "value"),
    "atomic_or": ("offsets", "value"),
    "atomic_xor": ("offsets", "value"),
}
_MARK = ".block_shape["


class Descriptors:
    """What one kernel's descriptors are known to be.

    Attributes:
        names: the parameters that are descriptors.
        sizes: sizes with a name that a descriptor's own sizes are equal to, by the spelling of the latter.
        changed: something was learned that an earlier part of the kernel could use.
    """

    def __init__(self) -> None:
        self.names: set[str] = set()
        self.sizes: dict[str, Dim] = {}
        self.changed = False

    def add(self, name: str) -> None:
        if name not in self.names:
            self.names.add(name)
            self.changed = True

    def size(self, name: str, dim: int) -> Dim:
        text = f"{name}{_MARK}{dim}]"
        return self.sizes.get(text) or dims.opaque(text, text)

    def meet(self, left: Sequence[Dim], right: Sequence[Dim]) -> None:
        """Sizes of two tensors that meet, aligned at the last dimension."""
        for a, b in zip(reversed(left), reversed(right), strict=False):
            self._equal(a, b)
            self._equal(b, a)

    def _equal(self, unnamed: Dim, named: Dim) -> None:
        if _MARK not in unnamed.text or _MARK in named.text or named.is_one or unnamed.text in self.sizes:
            return
        if len(unnamed.terms) == 1 and unnamed.terms[0] == ((unnamed.text,), 1):
            self.sizes[unnamed.text] = named
            self.changed = True

    def has_method(self, value: Value, method: str, node: cst.Call) -> bool:
        """Whether a method is a descriptor's: pointers have atomics too, whose offsets are not a list."""
        if value.kind is Kind.DESCRIPTOR:
            return method in PARAMETERS
        if value.kind is not Kind.SCALAR or method not in PARAMETERS or len(value.pointers) != 1:
            return False
        if not method.startswith("atomic"):
            return True
        first = node.args[0].value if node.args else None
        return value.pointers[0] in self.names or isinstance(first, (cst.List, cst.Tuple))

    def attribute(self, value: Value, name: str, code: str) -> Value | None:
        """`desc.dtype`, `desc.block_shape`, and of one made in the kernel `desc.shape` and `desc.strides`."""
        if value.kind is Kind.DESCRIPTOR:
            if name == "dtype":
                return dtype(code, value.element)
            if name in ("shape", "strides"):
                return Value(
                    Kind.TUPLE,
                    items=tuple(scalar(strides.argument(f"{code}[{dim}]")) for dim in range(len(value.shape))),
                )
            if name == "block_shape":
                return Value(Kind.TUPLE, items=tuple(Value(Kind.CONSTEXPR, dim=dim) for dim in value.shape))
            return None
        if value.kind is not Kind.SCALAR or len(value.pointers) != 1:
            return None
        if name == "block_shape":
            self.add(value.pointers[0])
            known = (self.size(value.pointers[0], dim) for dim in range(5))
            return Value(Kind.TUPLE, items=tuple(Value(Kind.CONSTEXPR, dim=dim) for dim in known))
        if name == "dtype" and value.pointers[0] in self.names:
            return dtype(code, (f"{value.pointers[0]}.dtype",))
        return None
