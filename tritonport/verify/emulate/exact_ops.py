"""Computing beside each floating-point value what it would be without rounding: the exact run of a kernel.

An `Exact` value has two sides. ``data`` is what the kernel computes, rounded as ever; all that decides something
(comparisons, conversions to integers, addresses) goes by it, so the exact run takes the branches of the real one.
``exact`` is the same expression in float64, over inputs as they are in memory. What a kernel rounds on the way is not
rounded there: not the result of a sum or a dot, and not by a cast either. A cast is no part of what is to be computed:
whether a number near the middle between two neighbours goes up or down depends on the order of sums before it, so a
reference that rounded as well would be a step away from one of two results that are both right. A reference by torch
on float64 tensors has no casts either, for the same reason.

An operation without a model here (bits of a float, assembly) goes on from the rounded number; `rounded` names it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import triton.language as tl
from triton._C.libtriton import ir

from tritonport.verify.emulate.builder import Builder
from tritonport.verify.emulate.errors import Unsupported
from tritonport.verify.emulate.exact_memory import ExactMemory
from tritonport.verify.emulate.floats import to_float
from tritonport.verify.emulate.ptx import AsmResult
from tritonport.verify.emulate.scaled_dots import exact_scale, spread, unpacked
from tritonport.verify.emulate.values import Array, Exact, Value, storage

_SAME_EXPRESSION = (
    "create_fadd", "create_fsub", "create_fmul", "create_fdiv", "create_precise_divf", "create_approx_divf",
    "create_minimumf", "create_maximumf", "create_minnumf", "create_maxnumf",
    "create_fneg", "create_fabs", "create_sqrt", "create_precise_sqrt", "create_rsqrt", "create_exp", "create_exp2",
    "create_log", "create_log2", "create_sin", "create_cos", "create_erf", "create_clampf", "create_fma",
    "create_select", "create_splat", "create_unsplat", "create_broadcast", "create_expand_dims", "create_reshape",
    "create_trans", "create_join", "create_split", "create_cat", "create_gather",
)  # fmt: skip
"""Operations that are run a second time, on the exact sides of their operands."""
_CASTS = ("create_fp_ext", "create_fp_trunc", "create_fp_to_fp")
_INTEGERS = ("create_si_to_fp", "create_ui_to_fp")
_STEPS = ("create_floor", "create_ceil", "create_frem")
"""Operations that jump: where they do is decided by the rounded number."""


def exact_of(value: Value) -> Array:
    """A floating-point value in float64, without the rounding of what computed it where that is known."""
    if isinstance(value, Exact):
        return value.exact
    return np.asarray(to_float(value.data, value.dtype), np.float64)


def _in_double(argument: Any) -> Any:
    """An operand of an operation, exact."""
    if isinstance(argument, Value) and argument.dtype.is_floating():
        return Value(exact_of(argument), tl.float64)
    return argument


def _beside(rounded: Value, exact: Value) -> Value:
    return Exact(rounded.data, rounded.dtype, exact.data, rounded.layout)


def _same_expression(name: str) -> Callable[..., Any]:
    plain = getattr(Builder, name)

    def method(self: Any, *arguments: Any) -> Any:
        result = plain(self, *arguments)
        if not any(isinstance(one, Value) and one.dtype.is_floating() for one in arguments):
            return result
        exact = plain(self, *map(_in_double, arguments))
        if isinstance(result, tuple):
            return tuple(map(_beside, result, exact))
        return _beside(result, exact)

    return method


def _cast(name: str) -> Callable[..., Any]:
    plain = getattr(Builder, name)

    def method(self: Any, operand: Value, *arguments: Any) -> Value:
        result: Value = plain(self, operand, *arguments)
        return Exact(result.data, result.dtype, exact_of(operand), result.layout)

    return method


def _from_integer(name: str) -> Callable[..., Any]:
    plain = getattr(Builder, name)

    def method(self: Any, operand: Value, to: Any) -> Value:
        result: Value = plain(self, operand, to)
        exact: Value = plain(self, operand, _WideType(to))
        return _beside(result, exact)

    return method


def _step(name: str) -> Callable[..., Any]:
    plain = getattr(Builder, name)

    def method(self: Any, *arguments: Any) -> Any:
        self.note_rounded(name.removeprefix("create_"), arguments)
        return plain(self, *arguments)

    return method


class ExactBuilder(Builder):
    """Computes each floating-point value twice. For Triton kernels: Gluon's memories have one side only."""

    def __init__(
        self, options: Any, codegen_fns: dict[str, Any], module_map: dict[str, Any], kept: ExactMemory
    ) -> None:
        """Args:
        kept: what the launches so far stored.
        """
        super().__init__(options, codegen_fns, module_map)
        self.kept = kept
        self.memory = kept.memory

    def note_rounded(self, operation: str, arguments: Sequence[Any]) -> None:
        """Remembers an operation that goes on from a rounded number where the exact one is another."""
        exact = [one for one in arguments if isinstance(one, Exact)]
        if any(bool(np.any(one.exact != np.asarray(to_float(one.data, one.dtype)))) for one in exact):
            self.kept.rounded.add(operation)

    def merged(self, merge: Callable[[Sequence[Array]], Array], values: Sequence[Value]) -> Value:
        result = super().merged(merge, values)
        if not any(isinstance(one, Exact) for one in values):
            return result
        return Exact(result.data, result.dtype, merge([exact_of(value) for value in values]))

    def create_bitcast(self, operand: Value, to: Any) -> Value:
        if operand.dtype == to.scalar:
            return operand
        # Elements that are only compared or hidden in an integer come back by their bits.
        if not to.scalar.is_ptr():
            self.note_rounded("bitcast", [operand])
        return super().create_bitcast(operand, to)

    def create_extern_elementwise(
        self, library: str, path: str, symbol: str, arguments: list[Value], ir_type: Any, pure: bool
    ) -> Value:
        result: Value = super().create_extern_elementwise(library, path, symbol, arguments, ir_type, pure)
        if not result.dtype.is_floating():
            return result
        in_double = [_in_double(one) for one in arguments]
        try:
            exact = super().create_extern_elementwise(
                library, path, _double_symbol(symbol), in_double, _WideType(ir_type), pure
            )
        except Unsupported:
            self.note_rounded(symbol, arguments)
            return result
        return _beside(result, exact)

    def create_inline_asm(
        self, asm: str, constraints: str, arguments: list[Value], ir_types: list[Any], pure: bool, pack: int
    ) -> AsmResult:
        self.note_rounded("inline assembly", arguments)
        return super().create_inline_asm(asm, constraints, arguments, ir_types, pure, pack)

    def create_dot(self, a: Value, b: Value, acc: Value, precision: Any, imprecise: object) -> Value:
        result: Value = super().create_dot(a, b, acc, precision, imprecise)
        return result if result.dtype.is_int() else self._product(result, exact_of(a), exact_of(b), acc)

    def create_dot_scaled(
        self, a: Value, a_scale: Value | None, a_type: Any, b: Value, b_scale: Value | None, b_type: Any,
        fast_math: bool, a_k_pack: bool, b_k_pack: bool, acc: Value,
    ) -> Value:  # fmt: skip
        result = super().create_dot_scaled(a, a_scale, a_type, b, b_scale, b_type, fast_math, a_k_pack, b_k_pack, acc)
        left = _scaled(a, a_type, a_scale, 1 if a_k_pack else 0)
        right = _scaled(_turned(b), b_type, b_scale, 1 if b_k_pack else 0).T
        return self._product(result, left, right, acc)

    def _product(self, result: Value, left: Array, right: Array, acc: Value) -> Value:
        exact = np.matmul(left.astype(np.float64, order="C"), right.astype(np.float64, order="C")) + exact_of(acc)
        return Exact(result.data, result.dtype, exact, result.layout)

    # Memory.

    def read(self, what: str, ptr: Value, mask: Value | None, other: Value | None) -> Value:
        result: Value = super().read(what, ptr, mask, other)
        if not result.dtype.is_floating():
            return result
        exact = np.array(exact_of(result))
        on = np.ones(ptr.data.shape, np.bool_) if mask is None else np.broadcast_to(mask.data, ptr.data.shape)
        if isinstance(other, Exact):
            exact = np.where(on, exact, np.broadcast_to(other.exact, exact.shape))
        exact[on] = self.kept.read(ptr.data[on], result.data[on], exact[on])
        return Exact(result.data, result.dtype, exact, result.layout)

    def write(self, what: str, ptr: Value, value: Value, mask: Value | None) -> None:
        super().write(what, ptr, value, mask)
        if not value.dtype.is_floating():
            return
        shape = ptr.data.shape
        on = np.ones(shape, np.bool_) if mask is None else np.broadcast_to(mask.data, shape)
        data = np.ascontiguousarray(np.broadcast_to(value.data, shape), dtype=storage(ptr.dtype.element_ty))
        self.kept.write(ptr.data[on], data[on], np.broadcast_to(exact_of(value), shape)[on])

    def create_atomic_rmw(self, operation: Any, ptr: Value, value: Value, mask: Value, *rest: object) -> Value:
        combine = _FLOAT_ATOMICS.get(operation)
        result: Value
        if not value.dtype.is_floating() or combine is None:
            result = super().create_atomic_rmw(operation, ptr, value, mask, *rest)
            return result
        shape = ptr.data.shape
        on = np.broadcast_to(mask.data, shape)
        addresses, which = np.unique(ptr.data[on], return_inverse=True)
        pointers = Value(addresses, ptr.dtype)
        before = exact_of(self.read("atomic", pointers, None, None)).copy()
        result = super().create_atomic_rmw(operation, ptr, value, mask, *rest)
        combine.at(before, which.reshape(-1), np.broadcast_to(exact_of(value), shape)[on])
        after = super().read("atomic", pointers, None, None).data
        self.kept.write(addresses, after, before)
        return result


for _name in _SAME_EXPRESSION:
    setattr(ExactBuilder, _name, _same_expression(_name))
for _name in _CASTS:
    setattr(ExactBuilder, _name, _cast(_name))
for _name in _INTEGERS:
    setattr(ExactBuilder, _name, _from_integer(_name))
for _name in _STEPS:
    setattr(ExactBuilder, _name, _step(_name))

_FLOAT_ATOMICS: dict[Any, np.ufunc] = {ir.ATOMIC_OP.FADD: np.add}


class _WideType:
    """An IR type with float64 in place of its scalar."""

    def __init__(self, ir_type: Any) -> None:
        self.scalar = tl.float64
        self.shape = getattr(ir_type, "shape", ())
        self.layout = None


def _double_symbol(symbol: str) -> str:
    """libdevice names the function of float32 as that of float64 with an f behind it."""
    return symbol.replace("__nv_fast_", "__nv_").removesuffix("f")


def _turned(operand: Value) -> Value:
    return operand.moved(lambda data: data.T)


def _scaled(operand: Value, kind: Any, scale: Value | None, packed_axis: int) -> Array:
    """An operand of a scaled product with its scales: rows by what is summed over, in float64."""
    if kind == ir.ScaleDotElemTypeTY.E2M1:
        numbers = unpacked(operand.data, packed_axis)
    else:
        numbers = exact_of(operand)
    numbers = numbers.astype(np.float64)
    return numbers if scale is None else numbers * spread(exact_scale(scale), numbers.shape[1])
