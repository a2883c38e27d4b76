"""Claims evaluated for one specialisation: sizes, element types and layouts as the compiler would see them."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from tritonport.layouts.recover.claims import Claim, KernelClaims
from tritonport.layouts.recover.witness import Compiler

_MLIR = {
    "float16": "f16",
    "bfloat16": "bf16",
    "float32": "f32",
    "float64": "f64",
    "float8e4nv": "f8E4M3FN",
    "float8e5": "f8E5M2",
    "float8e4b8": "f8E4M3FNUZ",
    "float8e5b16": "f8E5M2FNUZ",
    "int1": "i1",
}


def mlir_name(dtype: Any) -> str:
    """What the IR calls an element type of Triton: `f16`, `i8` for int8 and uint8; empty for one it has no word for."""
    name = str(getattr(dtype, "fp8_name", "") or _language_name(dtype))
    if name in _MLIR:
        return _MLIR[name]
    match = re.fullmatch(r"u?int(\d+)", name)
    return f"i{match[1]}" if match else ""


def _language_name(dtype: Any) -> str:
    from triton.language.core import dtype as kind

    if not isinstance(dtype, kind):
        return ""
    short = {"fp16": "float16", "bf16": "bfloat16", "fp32": "float32", "fp64": "float64"}
    short |= {"fp8e4nv": "float8e4nv", "fp8e5": "float8e5", "fp8e4b8": "float8e4b8", "fp8e5b16": "float8e5b16"}
    return short.get(str(dtype.name), str(dtype.name))


class _Gluon:
    """`gl` outside of a kernel: what asks the compiler about its own kernel is answered here."""

    def __init__(self, compiler: Compiler, num_warps: int) -> None:
        from triton.experimental.gluon import language

        self._language = language
        self._compiler = compiler
        self._num_warps = num_warps

    def num_warps(self) -> int:
        return self._num_warps

    def to_linear_layout(self, layout: Any, shape: Any) -> Any:
        return self._compiler.linear_layout(layout, tuple(shape))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._language, name)


class Scope:
    """The names of a kernel in one specialisation.

    signature: parameter -> Triton type, `*bf16`. constexprs: the values of compile-time arguments. aligned: run-time
    arguments that are known to be multiples of 16. names: what the functions of the kernel see beside their own names.
    """

    def __init__(
        self,
        claims: KernelClaims,
        compiler: Compiler,
        *,
        signature: Mapping[str, str],
        constexprs: Mapping[str, Any],
        aligned: Iterable[str],
        num_warps: int,
        names: Mapping[str, Any],
    ) -> None:
        self._compiler = compiler
        self._signature = signature
        self._names: dict[str, Any] = dict(names)
        gl = _Gluon(compiler, num_warps)
        from triton.experimental import gluon

        self._names |= {"gl": gl, "gluon": gluon}
        self._names |= _executed(claims.prelude, {"gl": gl, "gluon": gluon})
        self._names |= {name: _argument(kind) for name, kind in signature.items() if name not in constexprs}
        self._names |= {name: _plain(value) for name, value in constexprs.items()}
        divisible = set(aligned)
        for flag, needed in claims.flags:
            self._names[flag] = all(name in divisible or _is_aligned(name, constexprs) for name in needed)
        for name, text in (*claims.locals, *claims.layouts):
            value = self.value(text)
            if value is not None:
                self._names[name] = value

    def value(self, text: str) -> Any | None:
        """An expression's value; None where it needs something that is known at run time alone."""
        try:
            return _plain(eval(text, dict(self._names)))
        except Exception:  # the expression is the user's own, or builds on one that could not be evaluated
            return None

    def shape(self, claim: Claim) -> tuple[int, ...] | None:
        """The sizes of a tensor; None where one cannot be told."""
        sizes = [self.value(text) for text in claim.shape or ()]
        if not all(isinstance(size, int) for size in sizes):
            return None
        return tuple(int(size) for size in sizes if size is not None)

    def element(self, claim: Claim) -> str:
        """The element type in MLIR's words; empty where the analysis leaves it open."""
        found = {self._element(text) for text in claim.element} - {""}
        return found.pop() if len(found) == 1 else ""

    def _element(self, text: str) -> str:
        kind = self._signature.get(text, "")
        if kind.startswith("*"):
            kind = kind.lstrip("*k")
        elif not kind.startswith("tensordesc<"):
            return mlir_name(self.value(text))
        return mlir_name(_dtype(kind))

    def layout(self, claim: Claim) -> Any | None:
        """The layout of a tensor as a Gluon object; None where it cannot be told."""
        return self.value(claim.layout) if claim.layout else None


def _executed(text: str, names: dict[str, Any]) -> dict[str, Any]:
    """What a module's text defines. Triton reads the source of a function from its file, so there is one meanwhile."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "prelude.py"
        file.write_text(text)
        exec(compile(text, str(file), "exec", dont_inherit=True), names)
    return {name: value for name, value in names.items() if not name.startswith("__")}


def _dtype(kind: str) -> Any:
    """The element type in a type of a signature: `bf16`, `tensordesc<fp16[64,64]>`."""
    import triton.language as tl

    name = re.sub(r"tensordesc<(\w+).*", r"\1", kind)
    try:
        return tl.str_to_ty(name, None)
    except (KeyError, AttributeError, AssertionError, ValueError):
        return None


def _argument(kind: str) -> Any:
    """What stands for a run-time argument: its type."""
    import triton.language as tl

    if kind.startswith("*"):
        return SimpleNamespace(dtype=tl.pointer_type(_dtype(kind.lstrip("*k"))))
    if kind.startswith("tensordesc<"):
        block = [int(size) for size in re.findall(r"\d+", kind.partition("[")[2].partition("]")[0])]
        return SimpleNamespace(dtype=_dtype(kind), block_shape=block, block_type=SimpleNamespace(shape=block))
    return SimpleNamespace(dtype=_dtype(kind))


def _plain(value: Any) -> Any:
    from triton.language.core import constexpr

    while isinstance(value, constexpr):
        value = value.value
    return value


def _is_aligned(name: str, constexprs: Mapping[str, Any]) -> bool:
    """What `multiples_of_16` of a port says of a compile-time argument."""
    if name not in constexprs:
        return False
    value = _plain(constexprs[name])
    return value in (None, 1) or (isinstance(value, int) and value % 16 == 0)


__all__ = ["Scope", "mlir_name"]
