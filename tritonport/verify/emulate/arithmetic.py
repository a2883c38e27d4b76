"""Elementwise operations of the IR over numpy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import triton.language as tl
from triton._C.libtriton import ir

from tritonport.verify.emulate import elementary
from tritonport.verify.emulate.floats import from_float, fused_multiply_add, to_float
from tritonport.verify.emulate.values import Array, Value, layout_of, signed, storage, unsigned

Binary = Callable[[Array, Array], Array]


def _float_binary(operation: Binary) -> Callable[[Any, Value, Value], Value]:
    def method(self: Any, lhs: Value, rhs: Value) -> Value:
        result = operation(to_float(lhs.data, lhs.dtype), to_float(rhs.data, rhs.dtype))
        return Value(from_float(result, lhs.dtype), lhs.dtype, layout_of(lhs, rhs))

    return method


def _float_unary(operation: Callable[[Array], Array]) -> Callable[[Any, Value], Value]:
    def method(self: Any, operand: Value) -> Value:
        result = operation(to_float(operand.data, operand.dtype))
        return Value(from_float(result, operand.dtype), operand.dtype, operand.layout)

    return method


def _float_compare(operation: Binary) -> Callable[[Any, Value, Value], Value]:
    def method(self: Any, lhs: Value, rhs: Value) -> Value:
        result = operation(to_float(lhs.data, lhs.dtype), to_float(rhs.data, rhs.dtype))
        return Value(np.asarray(result), tl.int1, layout_of(lhs, rhs))

    return method


def _signed_compare(operation: Binary) -> Callable[[Any, Value, Value], Value]:
    def method(self: Any, lhs: Value, rhs: Value) -> Value:
        return Value(np.asarray(operation(lhs.data, rhs.data)), tl.int1, layout_of(lhs, rhs))

    return method


def _unsigned_compare(operation: Binary) -> Callable[[Any, Value, Value], Value]:
    def method(self: Any, lhs: Value, rhs: Value) -> Value:
        return Value(np.asarray(operation(unsigned(lhs.data), unsigned(rhs.data))), tl.int1, layout_of(lhs, rhs))

    return method


def _integer(operation: Binary) -> Callable[[Any, Value, Value], Value]:
    def method(self: Any, lhs: Value, rhs: Value) -> Value:
        if lhs.data.dtype == np.bool_:
            # i1 is an integer of one bit that wraps around; numpy's booleans saturate.
            result = (np.asarray(operation(lhs.data.astype(np.int8), rhs.data.astype(np.int8))) & 1).astype(np.bool_)
        else:
            result = np.asarray(operation(lhs.data, rhs.data))
        return Value(result, lhs.dtype, layout_of(lhs, rhs))

    return method


def _unsigned_integer(operation: Binary) -> Callable[[Any, Value, Value], Value]:
    def method(self: Any, lhs: Value, rhs: Value) -> Value:
        left, right = unsigned(lhs.data), unsigned(rhs.data)
        if left.dtype == np.bool_:
            left, right = left.astype(np.uint8), right.astype(np.uint8)
        result = np.asarray(operation(left, right))
        data = (result & 1).astype(np.bool_) if lhs.data.dtype == np.bool_ else signed(result)
        return Value(data, lhs.dtype, layout_of(lhs, rhs))

    return method


def _truncated_division(lhs: Array, rhs: Array) -> Array:
    return np.asarray((lhs - np.fmod(lhs, rhs)) // rhs)


def _shift(operation: Binary, fill_sign: bool, by_bits: bool) -> Binary:
    def shift(lhs: Array, rhs: Array) -> Array:
        width = lhs.dtype.itemsize * 8
        count = unsigned(rhs)
        # PTX clamps the count; C leaves it undefined.
        inside = np.minimum(count, count.dtype.type(width - 1)).astype(lhs.dtype)
        source = unsigned(lhs) if by_bits else lhs
        shifted = np.asarray(operation(source, inside.astype(source.dtype)))
        if fill_sign:
            return shifted
        cleared = np.asarray(np.where(count >= width, shifted.dtype.type(0), shifted))
        return signed(cleared) if by_bits else cleared

    return shift


def _high_product(lhs: Array, rhs: Array) -> Array:
    if lhs.dtype.itemsize < 8:
        product = lhs.astype(np.uint64) * rhs.astype(np.uint64)
        return np.asarray(product >> np.uint64(lhs.dtype.itemsize * 8)).astype(lhs.dtype)
    mask, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    a_high, a_low, b_high, b_low = lhs >> half, lhs & mask, rhs >> half, rhs & mask
    middle = a_high * b_low + ((a_low * b_low) >> half)
    other = a_low * b_high + (middle & mask)
    return np.asarray(a_high * b_high + (middle >> half) + (other >> half))


class ArithmeticOps:
    """Builder methods for arithmetic, comparison, casts and math."""

    create_fadd = _float_binary(np.add)
    create_fsub = _float_binary(np.subtract)
    create_fmul = _float_binary(np.multiply)
    create_fdiv = _float_binary(np.divide)
    create_precise_divf = _float_binary(np.divide)
    create_approx_divf = _float_binary(np.divide)
    create_frem = _float_binary(np.fmod)
    create_minimumf = _float_binary(np.minimum)
    create_maximumf = _float_binary(np.maximum)
    create_minnumf = _float_binary(np.fmin)
    create_maxnumf = _float_binary(np.fmax)

    create_fcmpOLT = _float_compare(np.less)
    create_fcmpOLE = _float_compare(np.less_equal)
    create_fcmpOGT = _float_compare(np.greater)
    create_fcmpOGE = _float_compare(np.greater_equal)
    create_fcmpOEQ = _float_compare(np.equal)
    create_fcmpUNE = _float_compare(np.not_equal)

    create_icmpSLT = _signed_compare(np.less)
    create_icmpSLE = _signed_compare(np.less_equal)
    create_icmpSGT = _signed_compare(np.greater)
    create_icmpSGE = _signed_compare(np.greater_equal)
    create_icmpULT = _unsigned_compare(np.less)
    create_icmpULE = _unsigned_compare(np.less_equal)
    create_icmpUGT = _unsigned_compare(np.greater)
    create_icmpUGE = _unsigned_compare(np.greater_equal)
    create_icmpEQ = _signed_compare(np.equal)
    create_icmpNE = _signed_compare(np.not_equal)

    create_add = _integer(np.add)
    create_sub = _integer(np.subtract)
    create_mul = _integer(np.multiply)
    create_and = _integer(np.bitwise_and)
    create_or = _integer(np.bitwise_or)
    create_xor = _integer(np.bitwise_xor)
    create_sdiv = _integer(_truncated_division)
    create_srem = _integer(np.fmod)
    create_udiv = _unsigned_integer(np.floor_divide)
    create_urem = _unsigned_integer(np.remainder)
    create_minsi = _integer(np.minimum)
    create_maxsi = _integer(np.maximum)
    create_minui = _unsigned_integer(np.minimum)
    create_maxui = _unsigned_integer(np.maximum)
    create_shl = _integer(_shift(np.left_shift, fill_sign=False, by_bits=False))
    create_lshr = _integer(_shift(np.right_shift, fill_sign=False, by_bits=True))
    create_ashr = _integer(_shift(np.right_shift, fill_sign=True, by_bits=False))
    create_umulhi = _unsigned_integer(_high_product)

    create_fneg = _float_unary(np.negative)
    create_fabs = _float_unary(np.abs)
    create_floor = _float_unary(np.floor)
    create_ceil = _float_unary(np.ceil)
    create_sqrt = _float_unary(np.sqrt)
    create_precise_sqrt = _float_unary(np.sqrt)
    create_rsqrt = _float_unary(elementary.rsqrt)
    create_exp = _float_unary(np.exp)
    create_exp2 = _float_unary(np.exp2)
    create_log = _float_unary(np.log)
    create_log2 = _float_unary(np.log2)
    create_sin = _float_unary(np.sin)
    create_cos = _float_unary(np.cos)
    create_erf = _float_unary(elementary.erf)

    def create_iabs(self, operand: Value) -> Value:
        return Value(np.asarray(np.abs(operand.data)), operand.dtype, operand.layout)

    def create_clampf(self, operand: Value, low: Value, high: Value, propagate_nan: Any) -> Value:
        value, bottom, top = (to_float(each.data, each.dtype) for each in (operand, low, high))
        if propagate_nan == ir.PROPAGATE_NAN.NONE:
            result = np.fmin(np.fmax(value, bottom), top)
        else:
            result = np.minimum(np.maximum(value, bottom), top)
        return Value(from_float(result, operand.dtype), operand.dtype, layout_of(operand, low, high))

    def create_fma(self, x: Value, y: Value, z: Value) -> Value:
        if z.dtype.name == "bf16":
            exact = to_float(x.data, x.dtype).astype(np.float64) * to_float(y.data, y.dtype)
            result = from_float(exact + to_float(z.data, z.dtype), z.dtype)
        else:
            result = fused_multiply_add(x.data, y.data, z.data)
        return Value(result, z.dtype, layout_of(x, y, z))

    def create_select(self, condition: Value, yes: Value, no: Value) -> Value:
        return Value(np.asarray(np.where(condition.data, yes.data, no.data)), yes.dtype, layout_of(condition, yes, no))

    # Casts. Every destination type is an IR type: a scalar type, or a block with one.

    def create_int_cast(self, operand: Value, to: Any, is_signed: bool) -> Value:
        source = operand.data if is_signed else unsigned(operand.data)
        kind = storage(to.scalar)
        if kind == np.bool_:
            data = (source & 1).astype(np.bool_)
        elif source.dtype == np.bool_ and is_signed:
            data = -source.astype(kind)
        else:
            data = source.astype(kind)
        return Value(np.asarray(data), to.scalar, operand.layout)

    def create_si_to_fp(self, operand: Value, to: Any) -> Value:
        return self._int_to_float(operand, operand.data, to)

    def create_ui_to_fp(self, operand: Value, to: Any) -> Value:
        return self._int_to_float(operand, unsigned(operand.data), to)

    def _int_to_float(self, operand: Value, data: Array, to: Any) -> Value:
        kind: np.dtype[Any] = storage(to.scalar)
        if to.scalar.name == "bf16":
            kind = np.dtype(np.float64 if data.dtype.itemsize < 8 else np.float32)
        numbers = data.astype(kind)
        return Value(from_float(numbers, to.scalar), to.scalar, operand.layout)

    def create_fp_to_si(self, operand: Value, to: Any) -> Value:
        return self._float_to_int(operand, to, storage(to.scalar))

    def create_fp_to_ui(self, operand: Value, to: Any) -> Value:
        return self._float_to_int(operand, to, unsigned(np.empty(0, storage(to.scalar))).dtype)

    def _float_to_int(self, operand: Value, to: Any, kind: np.dtype[Any]) -> Value:
        # PTX cvt truncates, saturates, and turns a NaN into 0; narrow types are cut out of a 32-bit result.
        wide = kind if kind.itemsize >= 4 else np.dtype(f"{kind.kind}4")
        limits = np.iinfo(wide)
        number = np.trunc(
            np.nan_to_num(
                to_float(operand.data, operand.dtype).astype(np.float64), nan=0.0, posinf=np.inf, neginf=-np.inf
            )
        )
        inside = np.clip(number, float(limits.min), float(np.nextafter(float(limits.max) + 1.0, 0.0)))
        whole = inside.astype(wide)
        whole = np.where(number >= float(limits.max), wide.type(limits.max), whole)
        return Value(signed(np.asarray(whole.astype(kind))), to.scalar, operand.layout)

    def create_fp_ext(self, operand: Value, to: Any) -> Value:
        return Value(from_float(to_float(operand.data, operand.dtype), to.scalar), to.scalar, operand.layout)

    def create_fp_trunc(self, operand: Value, to: Any) -> Value:
        return Value(from_float(to_float(operand.data, operand.dtype), to.scalar), to.scalar, operand.layout)

    def create_fp_to_fp(self, operand: Value, to: Any, rounding: Any) -> Value:
        numbers = to_float(operand.data, operand.dtype)
        return Value(from_float(numbers, to.scalar, rounding == ir.ROUNDING_MODE.RTZ), to.scalar, operand.layout)

    def create_bitcast(self, operand: Value, to: Any) -> Value:
        kind = storage(to.scalar)
        if operand.data.dtype == np.bool_ or kind == np.bool_:
            data = operand.data.astype(kind)
        else:
            data = np.ascontiguousarray(operand.data).view(kind).reshape(operand.data.shape)
        return Value(data, to.scalar, operand.layout)

    create_int_to_ptr = create_bitcast
    create_ptr_to_int = create_bitcast
