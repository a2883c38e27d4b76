"""What the front end holds where a compiler holds an IR value: a numpy array and its element type.

Integers are stored signed, as in the IR: the operation, not the value, says whether they are read as unsigned.
bf16 and fp8 values are stored as their bits, pointers as addresses. A scalar is an array of rank 0. The one
exception to shapes: inside the combine function of a reduction a "scalar" may carry a whole tensor of lanes.
"""

from __future__ import annotations

import atexit
from collections.abc import Callable
from typing import Any

import numpy as np
import triton.language as tl
from numpy.typing import NDArray
from triton._C.libtriton import ir

Array = NDArray[Any]

_STORAGE: dict[str, np.dtype[Any]] = {
    "int1": np.dtype(np.bool_),
    "int8": np.dtype(np.int8),
    "uint8": np.dtype(np.int8),
    "int16": np.dtype(np.int16),
    "uint16": np.dtype(np.int16),
    "int32": np.dtype(np.int32),
    "uint32": np.dtype(np.int32),
    "int64": np.dtype(np.int64),
    "uint64": np.dtype(np.int64),
    "fp16": np.dtype(np.float16),
    "bf16": np.dtype(np.uint16),
    "fp32": np.dtype(np.float32),
    "fp64": np.dtype(np.float64),
    "fp8e5": np.dtype(np.uint8),
    "fp8e5b16": np.dtype(np.uint8),
    "fp8e4nv": np.dtype(np.uint8),
    "fp8e4b8": np.dtype(np.uint8),
    "fp8e4b15": np.dtype(np.uint8),
}

UNSIGNED: dict[np.dtype[Any], np.dtype[Any]] = {
    np.dtype(np.int8): np.dtype(np.uint8),
    np.dtype(np.int16): np.dtype(np.uint16),
    np.dtype(np.int32): np.dtype(np.uint32),
    np.dtype(np.int64): np.dtype(np.uint64),
}

_ATTRIBUTE_CONTEXT: Any = None


def _forget_context() -> None:
    # libtriton complains about its objects that outlive the interpreter.
    global _ATTRIBUTE_CONTEXT
    _ATTRIBUTE_CONTEXT = None


def storage(dtype: Any) -> np.dtype[Any]:
    """The numpy type that holds elements of the Triton scalar type ``dtype``."""
    if dtype.is_ptr():
        return np.dtype(np.uint64)
    return _STORAGE[dtype.name]


def same_type(left: Any, right: Any) -> bool:
    """Whether the IR has one type for two: its integers know no signs."""
    if left.is_int() and right.is_int():
        return bool(left.primitive_bitwidth == right.primitive_bitwidth)
    return bool(left == right)


def unsigned(data: Array) -> Array:
    """The same bits read as unsigned integers (booleans and addresses are left alone)."""
    twin = UNSIGNED.get(data.dtype)
    return data if twin is None else data.view(twin)


def signed(data: Array) -> Array:
    """The same bits read as signed integers."""
    return data.view(np.dtype(f"i{data.dtype.itemsize}")) if data.dtype.kind == "u" else data


class Value:
    """The handle of a tensor or a scalar.

    ``dtype`` is a Triton scalar or pointer type; ``layout`` a Gluon layout, or None for Triton kernels and scalars.
    """

    __slots__ = ("data", "dtype", "layout")

    def __init__(self, data: Array, dtype: Any, layout: Any = None) -> None:
        self.data = data
        self.dtype = dtype
        self.layout = layout

    def __repr__(self) -> str:
        return f"Value({self.data!r}, {self.dtype})"

    def moved(self, move: Callable[[Array], Array]) -> Value:
        """The same elements elsewhere: `move` slices, turns or reshapes an array, whatever it holds."""
        return Value(move(self.data), self.dtype, self.layout)

    def get_type(self) -> Any:
        return self.dtype if self.data.ndim == 0 else BlockType(self.dtype, self.data.shape, self.layout)

    # Hints (tt.divisibility and the like) and locations change nothing that is computed here.

    def set_attr(self, name: str, attribute: object) -> None:
        pass

    def get_context(self) -> Any:
        global _ATTRIBUTE_CONTEXT
        if _ATTRIBUTE_CONTEXT is None:
            _ATTRIBUTE_CONTEXT = ir.context()
            atexit.register(_forget_context)
        return _ATTRIBUTE_CONTEXT

    def get_loc(self) -> None:
        return None

    def set_loc(self, location: object) -> None:
        pass


class Exact(Value):
    """A floating-point value that knows what it would be without rounding.

    ``exact`` has the shape of ``data``, in float64. See `exact_ops` for what "without rounding" means.
    """

    __slots__ = ("exact",)

    def __init__(self, data: Array, dtype: Any, exact: Array, layout: Any = None) -> None:
        super().__init__(data, dtype, layout)
        self.exact = exact

    def moved(self, move: Callable[[Array], Array]) -> Value:
        return Exact(move(self.data), self.dtype, move(self.exact), self.layout)


class BlockType:
    """The IR type of a tensor. ``layout`` is None in Triton kernels."""

    __slots__ = ("layout", "scalar", "shape")

    def __init__(self, scalar: Any, shape: Any, layout: Any = None) -> None:
        self.scalar = scalar
        self.shape = tuple(int(tl.core._unwrap_if_constexpr(extent)) for extent in shape)
        self.layout = layout


def shape_of(ir_type: Any) -> tuple[int, ...]:
    """The extents of an IR type; () for a scalar type."""
    return ir_type.shape if isinstance(ir_type, BlockType) else ()


def layout_of(*values: Value) -> Any:
    """The layout of the first operand that has one."""
    for value in values:
        if value.layout is not None:
            return value.layout
    return None
