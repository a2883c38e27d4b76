"""Inline PTX of one arithmetic instruction, ``OPCODE $0, $1, ...;``, and fences between the proxies before it.

Approximate instructions (``tanh.approx`` ...) give the exactly rounded result, which is within the error PTX allows
them (PTX ISA, "Floating Point Instructions"). Anything else, packed operands among them, has no model.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tritonport.verify.emulate.errors import Unsupported
from tritonport.verify.emulate.floats import from_float, fused_multiply_add, nearest_tf32, to_float
from tritonport.verify.emulate.values import Array, Value, layout_of, signed, storage, unsigned

_INSTRUCTION = re.compile(r"\s*\{?\s*([a-z][a-z0-9_.:]*)\s+\$0\s*((?:,\s*\$\d+\s*)+);?\s*\}?\s*")
_FENCE = re.compile(r"(\{?)\s*fence\.proxy\.async((?:\.global|\.shared::cta|\.shared::cluster)?)\s*;")
_ROUNDING = {"approx", "ftz", "full", "rn", "rni", "sat"}
_TYPES = {"f16": "fp16", "bf16": "bf16", "f32": "fp32", "f64": "fp64"}

_FLOATING: dict[str, Callable[..., Any]] = {
    "mov": lambda x: x, "abs": np.abs, "neg": np.negative, "tanh": np.tanh, "ex2": np.exp2, "lg2": np.log2,
    "rcp": lambda x: 1.0 / x, "sqrt": np.sqrt, "rsqrt": lambda x: 1.0 / np.sqrt(x), "sin": np.sin, "cos": np.cos,
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "min": np.fmin, "max": np.fmax,
}  # fmt: skip
_INTEGER: dict[str, Callable[..., Any]] = {
    "mov": lambda x: x, "not": np.invert, "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
    "add": np.add, "sub": np.subtract, "min": np.minimum, "max": np.maximum, "abs": np.abs, "neg": np.negative,
    "mul.lo": np.multiply, "mad.lo": lambda x, y, z: x * y + z,
}  # fmt: skip


def split_fences(asm: str) -> tuple[list[str], str | None]:
    """The state spaces of the proxy fences that inline PTX begins with ("" for all spaces), and what follows.

    That is the whole text where it begins with none, and None where nothing follows.
    """
    spaces = []
    rest = re.sub(r"//[^\n]*", "", asm).strip()
    while match := _FENCE.match(rest):
        spaces.append(match[2])
        rest = (match[1] + rest[match.end() :]).strip()
    if not spaces:
        return [], asm
    return spaces, rest if rest.strip("{} \n") else None


class AsmResult:
    """The results of a statement, as the front end asks for them."""

    def __init__(self, results: Sequence[Value]) -> None:
        self._results = results

    def get_result(self, index: int) -> Value:
        return self._results[index]


def _floating(name: str, modifiers: set[str], dtype: Any, operands: list[Array]) -> Array:
    if name in ("fma", "mad") and dtype.name != "bf16":
        result: Array = fused_multiply_add(*operands)
    elif name in ("add", "sub", "mul", "div", "sqrt", "min", "max", "abs", "neg", "mov"):
        result = np.asarray(_FLOATING[name](*(to_float(each, dtype) for each in operands)))
    else:
        result = np.asarray(_FLOATING[name](*(to_float(each, dtype).astype(np.float64) for each in operands)))
    if "sat" in modifiers:
        result = np.asarray(np.clip(np.nan_to_num(result, nan=0.0), 0.0, 1.0))
    return from_float(result, dtype)


def run_inline_asm(asm: str, arguments: Sequence[Value], ir_types: Sequence[Any], pack: int) -> AsmResult:
    """The result of the statement on every element. Raises :class:`Unsupported` for what has no model."""
    refused = Unsupported(f"inline_asm_elementwise is not emulated: {' '.join(asm.split())[:80]}")
    match = _INSTRUCTION.fullmatch(asm)
    if match is None or pack != 1 or len(ir_types) != 1:
        raise refused
    opcode, *modifiers = match[1].split(".")
    order = [int(number) - 1 for number in re.findall(r"\$(\d+)", match[2])]
    if not all(0 <= index < len(arguments) for index in order):
        raise refused
    kind, out = modifiers[-1] if modifiers else "", ir_types[0].scalar
    operands = [np.ascontiguousarray(arguments[index].data).reshape(arguments[index].data.shape) for index in order]
    dtypes = {arguments[index].dtype for index in order} | {out}
    widths = {storage(dtype).itemsize for dtype in dtypes}
    try:
        if match[1] == "cvt.rna.tf32.f32" and {dtype.name for dtype in dtypes} == {"fp32"}:
            data = nearest_tf32(*operands)
        elif kind in _TYPES and {dtype.name for dtype in dtypes} == {_TYPES[kind]} and set(modifiers[:-1]) <= _ROUNDING:
            data = _floating(opcode, set(modifiers), out, operands)
        elif kind in ("b32", "b64", "s32", "u32", "s64", "u64") and widths == {int(kind[1:]) // 8}:
            if not all(dtype.is_int() for dtype in dtypes):
                raise refused
            read = unsigned if kind[0] == "u" else signed
            name = ".".join([opcode, *modifiers[:-1]])
            data = signed(np.asarray(_INTEGER[name](*(read(operand) for operand in operands))))
        else:
            raise refused
    except (KeyError, TypeError) as error:
        raise refused from error
    return AsmResult([Value(np.asarray(data), out, layout_of(*arguments))])
