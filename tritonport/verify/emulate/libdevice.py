"""The functions of NVIDIA's libdevice, by symbol.

A kernel reaches a function by many import paths (``tl.extra.cuda.libdevice``, ``triton.language.extra.libdevice``,
``tl.math`` ...); all of them end in one symbol such as ``__nv_tanhf``. Results are within a unit in the last
place of the exact value, closer than libdevice itself promises (CUDA Math API, "Mathematical functions accuracy").
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tritonport.verify.emulate import rounding
from tritonport.verify.emulate.elementary import through_f64
from tritonport.verify.emulate.errors import Unsupported
from tritonport.verify.emulate.values import Array, Value, signed, storage, unsigned

Function = Callable[..., Any]


def _special(name: str) -> Function:
    return lambda *x: through_f64(name, *x)


def _wide(function: Function) -> Function:
    """``function`` computed in fp64, whatever its operands are."""
    return lambda *x: function(*(np.asarray(each, dtype=np.float64) for each in x))


def _by_element(function: Callable[..., float]) -> Function:
    def guarded(*x: float) -> float:
        try:
            return function(*x)
        except (ValueError, OverflowError):
            return math.nan

    vectorised = np.vectorize(guarded, otypes=[np.float64])
    return lambda *x: vectorised(*(np.asarray(each, dtype=np.float64) for each in x))


def _round_half_away(x: Array) -> Array:
    return np.asarray(np.copysign(np.floor(np.abs(x) + 0.5), x)) if x.dtype == np.float64 else _round_f32(x)


def _round_f32(x: Array) -> Array:
    return np.asarray(np.copysign(np.floor(np.abs(x.astype(np.float64)) + 0.5), x))


def _tgamma(x: float) -> float:
    return math.inf if math.isinf(x) and x > 0 else math.gamma(x) if x != 0 else math.copysign(math.inf, x)


def _bessel(kind: str) -> Callable[[float, float], float]:
    """J_n or Y_n by upward recurrence from orders 0 and 1 (downward, by its series, for J of a high order)."""
    import torch

    def bessel(order: float, x: float) -> float:
        n = int(order)
        low = float(getattr(torch.special, f"bessel_{kind}0")(torch.tensor(x, dtype=torch.float64)))
        high = float(getattr(torch.special, f"bessel_{kind}1")(torch.tensor(x, dtype=torch.float64)))
        if n == 0 or n == 1 or x == 0:
            return (low, high)[n] if n < 2 else (0.0 if kind == "j" else -math.inf)
        if kind == "j" and n > abs(x):
            half = x / 2
            terms = ((-1) ** k * half ** (2 * k + n) / (math.factorial(k) * math.factorial(k + n)) for k in range(60))
            return math.fsum(terms)
        for k in range(1, n):
            low, high = high, 2 * k / x * high - low
        return high

    return bessel


def _normcdf(x: Array) -> Array:
    return 0.5 * through_f64("erfc", np.asarray(-x / math.sqrt(2.0), dtype=np.float64))


_FLOATING: dict[str, Function] = {
    **{name: getattr(np, name) for name in (
        "sin", "cos", "tan", "sinh", "cosh", "tanh", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt",
        "floor", "ceil", "trunc", "rint", "cbrt", "hypot", "copysign", "nextafter", "fmod",
    )},
    "fabs": np.abs, "nearbyint": np.rint, "fmax": np.fmax, "fmin": np.fmin,
    "acos": np.arccos, "asin": np.arcsin, "atan": np.arctan, "acosh": np.arccosh, "asinh": np.arcsinh,
    "atanh": np.arctanh, "atan2": np.arctan2,
    "exp10": lambda x: np.power(10.0, x), "pow": np.power, "powi": lambda x, n: np.power(x, n.astype(np.float64)),
    "rsqrt": lambda x: 1.0 / np.sqrt(x), "rcbrt": lambda x: 1.0 / np.cbrt(x),
    "sinpi": lambda x: np.sin(np.pi * np.fmod(x, 2.0)), "cospi": lambda x: np.cos(np.pi * np.fmod(x, 2.0)),
    "erf": _special("erf"), "erfc": _special("erfc"), "erfcx": _special("erfcx"), "erfinv": _special("erfinv"),
    "erfcinv": lambda x: -through_f64("ndtri", np.asarray(x / 2)) / math.sqrt(2.0),
    "normcdf": _normcdf, "normcdfinv": _special("ndtri"),
    "lgamma": _special("gammaln"), "tgamma": _by_element(_tgamma),
    "cyl_bessel_i0": _special("i0"), "cyl_bessel_i1": _special("i1"),
    "j0": _special("bessel_j0"), "j1": _special("bessel_j1"), "y0": _special("bessel_y0"), "y1": _special("bessel_y1"),
    "jn": _by_element(_bessel("j")), "yn": _by_element(_bessel("y")),
    "fdim": lambda x, y: np.where(np.isnan(x) | np.isnan(y), np.nan, np.maximum(x - y, 0.0)),
    "remainder": _by_element(lambda x, y: math.remainder(x, y)),
    "round": _round_half_away,
    "rhypot": lambda x, y: 1.0 / np.hypot(x, y),
    "norm3d": lambda x, y, z: np.sqrt(x * x + y * y + z * z),
    "norm4d": lambda x, y, z, w: np.sqrt(x * x + y * y + z * z + w * w),
    "rnorm3d": lambda x, y, z: 1.0 / np.sqrt(x * x + y * y + z * z),
    "rnorm4d": lambda x, y, z, w: 1.0 / np.sqrt(x * x + y * y + z * z + w * w),
    "ldexp": lambda x, n: np.ldexp(x, n), "scalbn": lambda x, n: np.ldexp(x, n),
    "logb": lambda x: np.where(x == 0, -np.inf, np.where(np.isinf(x), np.inf, np.frexp(x)[1] - 1.0)),
    "ilogb": lambda x: np.where(x == 0, -(2.0**31), np.frexp(x)[1] - 1.0),
    "llrint": np.rint, "llround": _round_half_away,
    "saturatef": lambda x: np.clip(np.nan_to_num(x, nan=0.0), 0.0, 1.0),
    "isnan": np.isnan, "isinf": np.isinf, "isfinite": np.isfinite, "signbit": np.signbit,
}  # fmt: skip

_FAST = {name: _FLOATING[name] for name in ("sin", "cos", "tan", "exp", "exp10", "log", "log2", "log10", "pow")}
_FAST["fdivide"] = np.divide
_PREDICATES = {"isnand": "isnan", "isnanf": "isnan", "isinfd": "isinf", "isinff": "isinf", "isfinited": "isfinite",
               "finitef": "isfinite", "signbitd": "signbit", "signbitf": "signbit"}  # fmt: skip
_DIRECTED: dict[str, Function] = {
    "add": rounding.add, "sub": rounding.subtract, "mul": rounding.multiply, "div": rounding.divide,
    "sqrt": rounding.square_root, "rcp": rounding.reciprocal,
}  # fmt: skip
_INTEGER_KINDS: dict[str, Any] = {"int": np.int32, "uint": np.uint32, "ll": np.int64, "ull": np.uint64}


def _popcount(x: Array) -> Array:
    bits = unsigned(np.ascontiguousarray(np.atleast_1d(x)))
    octets = bits.view(np.uint8).reshape(*bits.shape, -1)
    return np.asarray(np.unpackbits(octets, axis=-1).sum(axis=-1)).reshape(np.shape(x))


def _leading_zeros(x: Array) -> Array:
    width = x.dtype.itemsize * 8
    return np.asarray(np.vectorize(lambda v: width - int(v).bit_length(), otypes=[np.int32])(unsigned(x)))


def _first_set(x: Array) -> Array:
    return np.asarray(np.vectorize(lambda v: (int(v) & -int(v)).bit_length(), otypes=[np.int32])(unsigned(x)))


def _reverse_bits(x: Array) -> Array:
    width = x.dtype.itemsize * 8
    kind = unsigned(x).dtype
    return signed(np.vectorize(lambda v: int(f"{int(v):0{width}b}"[::-1], 2), otypes=[kind])(unsigned(x)))


def _byte_permute(x: Array, y: Array, selector: Array) -> Array:
    pair = (unsigned(y).astype(np.uint64) << np.uint64(32)) | unsigned(x).astype(np.uint64)
    picks = unsigned(selector).astype(np.uint64)
    result = np.zeros(np.shape(pair), np.uint64)
    for position in range(4):
        choice = (picks >> np.uint64(4 * position)) & np.uint64(0xF)
        byte = (pair >> ((choice & np.uint64(7)) * np.uint64(8))) & np.uint64(0xFF)
        spread = np.where((byte & np.uint64(0x80)) != 0, np.uint64(0xFF), np.uint64(0))
        byte = np.where((choice & np.uint64(8)) != 0, spread, byte)
        result = result | (byte << np.uint64(8 * position))
    return result.astype(np.uint32).view(np.int32)


def _low_24(x: Array) -> Array:
    return (x.astype(np.int64) << 40) >> 40


def _join_halves(high: Array, low: Array) -> Array:
    return np.asarray((high.astype(np.int64) << 32) | (low.astype(np.int64) & 0xFFFFFFFF))


def _high(x: Array, y: Array, as_unsigned: bool) -> Array:
    if as_unsigned:
        x, y = unsigned(x), unsigned(y)
    shift = x.dtype.itemsize * 8
    product = np.asarray(x.astype(object) * y.astype(object))
    take = np.vectorize(lambda v: signed_value(int(v) >> shift, shift), otypes=[signed(x).dtype])
    return np.asarray(take(product))


def signed_value(value: int, bits: int) -> int:
    """``value`` modulo 2**bits, read as a signed integer."""
    return (value + (1 << (bits - 1))) % (1 << bits) - (1 << (bits - 1))


_INTEGER: dict[str, Function] = {
    "clz": _leading_zeros, "clzll": _leading_zeros, "popc": _popcount, "popcll": _popcount, "ffs": _first_set,
    "ffsll": _first_set, "brev": _reverse_bits, "brevll": _reverse_bits, "byte_perm": _byte_permute,
    "abs": np.abs, "llabs": np.abs,
    "mulhi": lambda x, y: _high(x, y, False), "mul64hi": lambda x, y: _high(x, y, False),
    "umulhi": lambda x, y: _high(x, y, True), "umul64hi": lambda x, y: _high(x, y, True),
    "mul24": lambda x, y: _low_24(x) * _low_24(y),
    "umul24": lambda x, y: (x.astype(np.int64) & 0xFFFFFF) * (y.astype(np.int64) & 0xFFFFFF),
    "sad": lambda x, y, z: np.abs(x.astype(np.int64) - y) + z,
    "usad": lambda x, y, z: np.abs(unsigned(x).astype(np.int64) - unsigned(y)) + z,
    "hadd": lambda x, y: (x.astype(np.int64) + y) >> 1, "rhadd": lambda x, y: (x.astype(np.int64) + y + 1) >> 1,
    "uhadd": lambda x, y: (unsigned(x).astype(np.int64) + unsigned(y)) >> 1,
    "urhadd": lambda x, y: (unsigned(x).astype(np.int64) + unsigned(y) + 1) >> 1,
    "float_as_int": lambda x: x.view(np.int32), "float_as_uint": lambda x: x.view(np.int32),
    "int_as_float": lambda x: x.view(np.float32), "uint_as_float": lambda x: x.view(np.float32),
    "double_as_longlong": lambda x: x.view(np.int64), "longlong_as_double": lambda x: x.view(np.float64),
    "double2hiint": lambda x: x.view(np.int64) >> 32, "double2loint": lambda x: x.view(np.int64),
    "hiloint2double": lambda high, low: _join_halves(high, low).view(np.float64),
    "rcp64h": lambda x: ((1.0 / x).view(np.int64) & ~np.int64(0xFFFFFFFF)).view(np.float64),
}  # fmt: skip


def _conversion(name: str, mode: str) -> Function | None:
    source, _, target = name.partition("2")
    if source in ("float", "double") and target in _INTEGER_KINDS:
        return lambda x: signed(rounding.float_to_integer(x, _INTEGER_KINDS[target], mode))
    if source in _INTEGER_KINDS and target in ("float", "double"):
        kind = np.float32 if target == "float" else np.float64
        return lambda x: rounding.integer_to_float(unsigned(x) if source[0] == "u" else x, kind, mode)
    if name == "double2float":
        return lambda x: rounding.double_to_float(x, mode)
    return None


def _find(name: str) -> Function | None:
    if name in _INTEGER:
        return _INTEGER[name]
    if name in _PREDICATES:
        return _FLOATING[_PREDICATES[name]]
    if name.startswith("fast_"):
        return _wide(_FAST[name.removeprefix("fast_").removesuffix("f")])
    stem, _, mode = name.rpartition("_")
    if mode in ("rn", "rd", "ru", "rz"):
        if stem in ("fma", "fmaf"):
            return lambda x, y, z: rounding.fma(x, y, z, mode)
        if stem == "frsqrt":
            return _wide(_FLOATING["rsqrt"])
        if stem[1:] in _DIRECTED and stem[0] in "fd":
            operation = _DIRECTED[stem[1:]]
            return lambda *x: operation(*x, mode)
        return _conversion(stem, mode)
    if name in ("fma", "fmaf"):
        return lambda x, y, z: rounding.fma(x, y, z, "rn")
    base = name if name in _FLOATING else name.removesuffix("f")
    return _wide(_FLOATING[base]) if base in _FLOATING else None


def call_libdevice(symbol: str, arguments: Sequence[Value], result_type: Any) -> Array:
    """The elementwise result of an external function, as stored data of ``result_type``.

    Raises :class:`Unsupported` for a symbol that is not in libdevice.
    """
    function = _find(symbol.removeprefix("__nv_")) if symbol.startswith("__nv_") else None
    if function is None:
        raise Unsupported(f"the external function {symbol} is not emulated")
    operands = [np.ascontiguousarray(each.data).reshape(each.data.shape) for each in arguments]
    if symbol in ("__nv_powi", "__nv_powif", "__nv_ldexp", "__nv_ldexpf", "__nv_scalbn", "__nv_scalbnf"):
        base = _FLOATING[symbol.removeprefix("__nv_").removesuffix("f")]
        result = np.asarray(base(operands[0].astype(np.float64), operands[1]))
    else:
        result = np.asarray(function(*operands))
    kind = storage(result_type)
    if kind.kind == "i" and result.dtype.kind == "f":
        return signed(rounding.float_to_integer(result, kind.type, "rz"))
    return result.astype(kind)
