"""One kernel with everything its compile depends on: an entry of a case's ``COMPILE_SPECS``, made complete."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

_KEYS = frozenset(
    {"fn", "signature", "constexprs", "attrs", "num_warps", "num_stages", "options", "expect_error", "ptx_forbid"}
)
_SIDE = 4096
DIVISIBLE_BY_16 = [["tt.divisibility", 16]]


class SpecError(ValueError):
    """A compile specification that does not fit its kernel; the message names the kernel and the parameter."""


@dataclass(frozen=True)
class CompileSpec:
    """fn: the jitted function itself, no autotuner around it.

    signature: parameter -> Triton type (``*bf16``, ``i32``, ``constexpr``). attrs: (parameter index,) -> attributes as
    Triton's ``ASTSource`` takes them. options: backend options beside num_warps and num_stages.
    as_launched: keep the software pipelining the source asks for (see :func:`complete`).
    numbered: locations in the IR hold numbers of expressions for columns (see ``layouts.recover.numbering``).
    """

    fn: Any
    kernel: str
    signature: dict[str, str]
    constexprs: dict[str, Any]
    attrs: dict[tuple[int, ...], Any]
    num_warps: int = 4
    num_stages: int = 1
    options: dict[str, Any] = field(default_factory=dict)
    expect_error: str | None = None
    ptx_forbid: tuple[str, ...] = ()
    as_launched: bool = False
    numbered: bool = False

    @property
    def label(self) -> str:
        """The specialisation in a few words: ``bf16, BLOCK=1024, num_warps=8``.

        First the types pointed to. ``unaligned``: some pointer or integer is not known to be divisible by 16.
        """
        words = list(dict.fromkeys(kind.lstrip("*k") for kind in self.signature.values() if kind.startswith("*")))
        words += [f"{name}={_short(value)}" for name, value in self.constexprs.items()]
        if any(_may_divide(kind) and (i,) not in self.attrs for i, kind in enumerate(self.signature.values())):
            words.append("unaligned")
        words += [f"{name}={_short(value)}" for name, value in self.options.items()]
        if self.num_warps != 4:
            words.append(f"num_warps={self.num_warps}")
        return ", ".join(words)


def _may_divide(kind: str) -> bool:
    """Whether Triton's JIT asks of an argument of this type if it is divisible by 16."""
    return re.match(r"\*|[iu]\d", kind) is not None and kind != "i1"


def _short(value: Any) -> str:
    name = getattr(value, "__name__", None)
    text = name if isinstance(name, str) else str(value)
    return text if len(text) <= 24 else text[:21] + "..."


def unwrap(fn: Any) -> tuple[Any, list[Any]]:
    """The jitted function under its decorators, and the decorators (autotuner, heuristics), outermost first.

    Packages have decorators of their own: of them all, the jitted function alone has `arg_names` and `params`.
    """
    layers = []
    while not (hasattr(fn, "arg_names") and hasattr(fn, "params")) or hasattr(fn, "configs"):
        layers.append(fn)
        if not hasattr(fn, "fn"):
            raise SpecError(f"{getattr(fn, '__name__', fn)!r} is not a jitted kernel")
        fn = fn.fn
    return fn, layers


def _numbers(names: list[str], signature: Mapping[str, str], attrs: Mapping[Any, Any] | None) -> dict[str, int]:
    """An integer for each run-time integer parameter that has the divisibility the entry gives it: 16, or 17."""
    return {
        name: 16 if attrs is None or (index,) in attrs or index in attrs else 17
        for index, name in enumerate(names)
        if signature.get(name, "").lstrip("u") in ("i8", "i16", "i32", "i64")
    }


@dataclass(frozen=True)
class _Pointer:
    """Stands for a tensor where a heuristic asks whether there is one, how its address is aligned, of what it is.

    `kind`: the type of an element as signatures name it (``bf16``).
    """

    address: int
    kind: str

    def data_ptr(self) -> int:
        """The address in bytes."""
        return self.address

    def element_size(self) -> int:
        """Bytes of an element."""
        return 1 if "8e" in self.kind else max(int(re.sub(r"\D", "", self.kind)), 8) // 8

    @property
    def dtype(self) -> str:
        """The type as Triton's descriptors know it."""
        return self.kind


def _descriptor_type(value: Any) -> str | None:
    """The type of a tensor descriptor that a heuristic made, as signatures name it; None for other values."""
    if not all(hasattr(value, name) for name in ("base", "block_shape", "layout")):
        return None
    return f"tensordesc<{value.base.dtype}{list(value.block_shape)},{value.layout!r}>"


def _pointers(names: list[str], signature: Mapping[str, str], attrs: Mapping[Any, Any] | None) -> dict[str, _Pointer]:
    """A stand-in for each pointer parameter that has the alignment the entry gives it: 16 bytes, or 1."""
    return {
        name: _Pointer(16 if attrs is None or (index,) in attrs or index in attrs else 17, signature[name].lstrip("*"))
        for index, name in enumerate(names)
        if signature.get(name, "").startswith("*")
    }


def _ask(rule: Any, pointers: Mapping[str, Any], others: Mapping[str, Any]) -> Any:
    """What a heuristic says; one that asks an argument for its shape is given square tensors without memory."""
    try:
        return rule({**pointers, **others})
    except AttributeError:
        import torch

        tensor = torch.empty((_SIDE, _SIDE), dtype=torch.bfloat16, device="meta")
        return rule({**dict.fromkeys(pointers, tensor), **others})


def complete(
    entry: Mapping[str, Any], *, as_launched: bool = False, assumed: Mapping[str, Any] | None = None
) -> CompileSpec:
    """Make one entry of ``COMPILE_SPECS`` complete.

    - A constexpr the entry leaves out comes from the first autotune configuration, then from ``@triton.heuristics``
      (called with the constexprs, num_stages where the entry has it, for every pointer an object with a `data_ptr` and
      for every integer one, of the divisibility of their attrs), then from the default.
      num_warps comes from the entry, then from the configuration, then from a heuristic for it; it is 4 otherwise.
    - attrs left out: every pointer and every integer is divisible by 16, what Triton's JIT finds for fresh tensors
      whose sizes are multiples of 16, unless the kernel excludes the parameter from specialisation. That is the launch
      where vector width counts; an access under a mask like ``offs < n`` is one element wide as soon as ``n`` may be
      odd. ``attrs={}`` means no attribute at all.
    - num_stages is 1, and pipelining hints of ``tl.range`` (num_stages, warp_specialize) are not followed: this is the
      form a literal port is compared with. With `as_launched` the entry's num_stages (3 if absent) and the hints count.

    assumed: values of run-time parameters for heuristics that need them. SpecError where something does not fit.
    """
    unknown = set(entry) - _KEYS
    if unknown:
        raise SpecError(f"COMPILE_SPECS: unknown key {sorted(unknown)[0]!r}; known are {', '.join(sorted(_KEYS))}")
    if "fn" not in entry:
        raise SpecError("COMPILE_SPECS: an entry without 'fn'")
    fn, layers = unwrap(entry["fn"])
    kernel = str(fn.__name__)
    signature = {str(name): str(kind) for name, kind in dict(entry.get("signature", {})).items()}
    constexprs = dict(entry.get("constexprs", {}))
    for name in [*signature, *constexprs]:
        if name not in fn.arg_names:
            raise SpecError(f"{kernel} has no parameter {name!r}")
    num_warps = entry.get("num_warps")

    for layer in layers:
        configs = getattr(layer, "configs", None)
        if configs:
            for name, value in configs[0].kwargs.items():
                if name in fn.arg_names and signature.get(name, "constexpr") == "constexpr":
                    constexprs.setdefault(name, value)
            num_warps = configs[0].num_warps if num_warps is None else num_warps
    pointers = _pointers(fn.arg_names, signature, entry.get("attrs"))
    stages = {"num_stages": int(entry["num_stages"])} if "num_stages" in entry else {}
    made: dict[str, Any] = {}
    for layer in layers:
        if any(one.__name__ == "Heuristics" for one in type(layer).__mro__):
            for name, rule in layer.values.items():
                if name in constexprs or signature.get(name, "constexpr") != "constexpr":
                    continue
                if name not in fn.arg_names and (name != "num_warps" or num_warps is not None):
                    continue
                try:
                    numbers = _numbers(fn.arg_names, signature, entry.get("attrs"))
                    found = _ask(rule, pointers, {**stages, **numbers, **(assumed or {}), **constexprs, **made})
                except Exception as error:
                    message = f"{kernel}: the heuristic for {name!r} needs a run-time value ({error!r})"
                    raise SpecError(message) from error
                described = _descriptor_type(found)
                if described is not None:
                    signature[name] = described
                    made[name] = found  # a later heuristic may ask how large its tiles are
                elif name in fn.arg_names:
                    constexprs[name] = found
                else:
                    num_warps = found
    for parameter in fn.params:
        if parameter.name not in constexprs and parameter.has_default and parameter.name not in signature:
            constexprs[parameter.name] = parameter.default
    for name in fn.arg_names:
        if name in constexprs:
            if signature.setdefault(name, "constexpr") != "constexpr":
                raise SpecError(f"{kernel}: {name!r} has the type {signature[name]!r} and a constexpr value")
        elif name not in signature:
            raise SpecError(f"{kernel}: no type for parameter {name!r}")
        elif signature[name] == "constexpr":
            raise SpecError(f"{kernel}: no value for constexpr {name!r}")

    attrs = entry.get("attrs")
    if attrs is None:
        attrs = {
            (parameter.num,): DIVISIBLE_BY_16
            for parameter in fn.params
            if _may_divide(signature[parameter.name])
            and not parameter.do_not_specialize
            and not parameter.do_not_specialize_on_alignment
        }
    return CompileSpec(
        fn=fn,
        kernel=kernel,
        signature={name: signature[name] for name in fn.arg_names},
        constexprs=constexprs,
        attrs=dict(attrs),
        num_warps=int(num_warps) if num_warps is not None else 4,
        num_stages=int(entry.get("num_stages", 3)) if as_launched else 1,
        options=dict(entry.get("options", {})),
        expect_error=entry.get("expect_error"),
        ptx_forbid=tuple(entry.get("ptx_forbid", ())),
        as_launched=as_launched,
    )
