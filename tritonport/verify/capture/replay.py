"""What a recorded case is written in: tensors by their shape and memory, and launches by name.

A launch is a dict: `kernel` (the name in its module), `grid`, `memory` (a list of `memory(...)`), `arguments` (by
parameter; tensors as `tensor(...)`), `options` (num_warps and the like).
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

DTYPES = {
    "bool": "bool",
    "u8": "uint8",
    "i8": "int8",
    "i16": "int16",
    "u16": "uint16",
    "i32": "int32",
    "u32": "uint32",
    "i64": "int64",
    "u64": "uint64",
    "fp16": "float16",
    "bf16": "bfloat16",
    "fp32": "float32",
    "fp64": "float64",
    "fp8e4nv": "float8_e4m3fn",
    "fp8e4b8": "float8_e4m3fnuz",
    "fp8e5": "float8_e5m2",
    "fp8e5b16": "float8_e5m2fnuz",
}
"""Triton's name of an element type, and torch's."""

_ALIGNED = 16


@dataclass(frozen=True)
class Memory:
    """Bytes that one or several tensors lie in.

    Attributes:
        size: in bytes.
        address: of the first, modulo 16: what Triton specialises on.
        contents: the name under which the file of contents holds them; None: drawn at random.
    """

    size: int
    address: int = 0
    contents: str | None = None


@dataclass(frozen=True)
class Tensor:
    """A tensor argument.

    Attributes:
        dtype: a name of `DTYPES`.
        shape, strides: in elements.
        memory: index in the launch's memory.
        at: bytes from its start.
        like: (mean, standard deviation, smallest, largest) of what it held; None where it was empty or not finite.
    """

    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    memory: int = 0
    at: int = 0
    like: tuple[float, float, float, float] | None = None


@dataclass(frozen=True)
class Descriptor:
    """A tensor descriptor of the host."""

    base: Tensor
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    block_shape: tuple[int, ...]
    padding: str = "zero"


memory = Memory
tensor = Tensor
descriptor = Descriptor


def recorded_inputs(launch: Mapping[str, Any], case_file: str, contents: str | None, device: str, seed: int) -> Any:
    """The arguments of the case's `launch` for one recorded launch.

    Args:
        case_file: `__file__` of the case.
        contents: the file beside it that holds the contents of small tensors; None where there is none.
        seed: for what was too large to be kept; 0 is the first of many.
    """
    import torch

    stored = {}
    if contents is not None:
        stored = torch.load(Path(case_file).with_name(contents), map_location="cpu", weights_only=True)
    generator = torch.Generator().manual_seed(seed)
    buffers = [_buffer(one, stored, device) for one in launch["memory"]]
    filled = [one.contents is not None for one in launch["memory"]]

    def made(value: Any) -> Any:
        if isinstance(value, Tensor):
            view = _view(value, buffers[value.memory], launch["memory"][value.memory])
            if not filled[value.memory]:
                _draw(view, value, generator)
            return view
        if isinstance(value, Descriptor):
            return _descriptor(value, made(value.base))
        if isinstance(value, tuple):
            return tuple(made(item) for item in value)
        return value

    arguments = {name: made(value) for name, value in launch["arguments"].items()}
    return dict(kernel=launch["kernel"], grid=launch["grid"], arguments=arguments, options=dict(launch["options"]))


def _buffer(wanted: Memory, stored: Mapping[str, Any], device: str) -> Any:
    """Bytes that can hold the recorded ones at their address, modulo 16."""
    import torch

    raw = torch.zeros(wanted.size + _ALIGNED, dtype=torch.uint8)
    if wanted.contents is not None:
        offset = wanted.address
        raw[offset : offset + wanted.size] = stored[wanted.contents]
    return raw.to(device)


def _view(wanted: Tensor, buffer: Any, where: Memory) -> Any:
    import torch

    dtype = getattr(torch, DTYPES[wanted.dtype])
    # Allocations of torch start at multiples of 64 bytes at least, and specialisation asks for 16.
    start = where.address + wanted.at
    view = torch.empty(0, dtype=dtype, device=buffer.device)
    return view.set_(buffer.untyped_storage(), start // dtype.itemsize, wanted.shape, wanted.strides)


def _draw(view: Any, wanted: Tensor, generator: Any) -> None:
    """Random elements like those recorded: normal within the range for floats, uniform for the others."""
    import torch

    if wanted.like is None or not view.numel():
        return
    mean, deviation, low, high = wanted.like
    if view.dtype.is_floating_point:
        drawn = torch.randn(tuple(view.shape), generator=generator) * deviation + mean
        view.copy_(drawn.clamp(low, high).to(view.dtype))
    else:
        drawn = torch.randint(int(low), int(high) + 1, tuple(view.shape), generator=generator)
        view.copy_(drawn.to(view.dtype))


def _descriptor(wanted: Descriptor, base: Any) -> Any:
    from triton.tools.tensor_descriptor import TensorDescriptor

    more = {} if wanted.padding == "zero" else {"padding": wanted.padding}
    return TensorDescriptor(base, list(wanted.shape), list(wanted.strides), list(wanted.block_shape), **more)


def launch_recorded(
    module: ModuleType, kernel: str, grid: Sequence[int], arguments: Mapping[str, Any], options: Mapping[str, Any]
) -> None:
    """Launches a kernel of a module in the recorded configuration: autotuners around it are passed by."""
    function = _configured(operator.attrgetter(kernel)(module))
    function[tuple(grid)](**arguments, **options)


def _configured(function: Any) -> Any:
    """A kernel without its autotuners, wherever they stand among its heuristics, which a port may have more of."""
    from triton.runtime.autotuner import Autotuner, Heuristics

    if isinstance(function, Autotuner):
        return _configured(function.fn)
    if isinstance(function, Heuristics):
        return type(function)(_configured(function.fn), function.arg_names, function.values)
    return function


def compile_spec(module: ModuleType, launch: Mapping[str, Any]) -> dict[str, Any]:
    """The entry of COMPILE_SPECS that a launch compiles: what Triton specialises its arguments to."""
    kernel = operator.attrgetter(launch["kernel"])(module)
    function = kernel
    while not hasattr(function, "params"):
        function = function.fn
    signature, constexprs, attrs = {}, {}, {}
    for index, parameter in enumerate(function.params):
        if parameter.name not in launch["arguments"]:
            continue
        value = launch["arguments"][parameter.name]
        kind, divisible = _specialised(value, parameter, launch["memory"])
        signature[parameter.name] = kind
        if kind == "constexpr":
            constexprs[parameter.name] = value
        elif divisible:
            attrs[(index,)] = [["tt.divisibility", 16]]
    options = {name: value for name, value in launch["options"].items() if name not in ("num_warps", "num_stages")}
    spec = dict(fn=kernel, signature=signature, constexprs=constexprs, attrs=attrs, options=options)
    return spec | {name: launch["options"][name] for name in ("num_warps",) if name in launch["options"]}


def _specialised(value: Any, parameter: Any, memory: Sequence[Memory]) -> tuple[str, bool]:
    """The type in a signature, and whether the argument is known to be divisible by 16."""
    if parameter.is_constexpr or value is None:
        return "constexpr", False
    if isinstance(value, Tensor):
        address = memory[value.memory].address + value.at
        return f"*{'i1' if value.dtype == 'bool' else value.dtype}", address % 16 == 0
    if isinstance(value, bool):
        return "i1", False
    if isinstance(value, int):
        if value == 1 and not parameter.do_not_specialize:
            return "constexpr", False
        kind = "i32" if -(2**31) <= value < 2**31 else "i64" if value < 2**63 else "u64"
        return kind, value % 16 == 0 and not parameter.do_not_specialize
    if isinstance(value, float):
        return "fp32", False
    raise TypeError(f"{parameter.name}: no signature for a {type(value).__name__}")


def compiles(launch: Mapping[str, Any]) -> bool:
    """Whether `compile_spec` has a signature for every argument: descriptors and tuples have none here."""
    return not any(isinstance(value, Descriptor | tuple) for value in launch["arguments"].values())
