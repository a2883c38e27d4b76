"""Writing down launches, in the process that makes them."""

from __future__ import annotations

import hashlib
import json
import os
import sysconfig
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch

from tritonport.verify.capture.replay import DTYPES
from tritonport.verify.hook.settings import Capture, Settings
from tritonport.verify.tensors import is_descriptor

_NAMES = {torch_name: name for name, torch_name in DTYPES.items()}
_NO_OPTIONS = frozenset({"debug", "instrumentation_mode", "fpsan_homomorphic_casts"})
"""What launches carry for the run, not for the kernel."""


class NotRecorded(Exception):
    """A launch with an argument that a case cannot hold; the message says which."""


class _Recorder:
    """The launches of one process: each once."""

    def __init__(self, settings: Settings, capture: Capture) -> None:
        self._settings = settings
        self._capture = capture
        self._seen: set[str] = set()
        self._skipped: set[tuple[str, str]] = set()
        self._number = 0
        self._before_tuning: dict[int, Any] = {}

    def wanted(self, function: Any) -> bool:
        """Whether a kernel lies in one of the files, or in none of the installed packages where no file is named."""
        file = os.path.realpath(function.fn.__code__.co_filename)
        if self._capture.files:
            return file in self._capture.files
        return not any(file.startswith(folder + os.sep) for folder in _installed())

    def tuned(self, arguments: Iterable[Any]) -> None:
        """Before an autotuner tries its configurations: what these write is not what the launch finds."""
        for tensor in (one for one in arguments if isinstance(one, torch.Tensor)):
            storage = tensor.untyped_storage()
            if storage.nbytes() <= self._capture.small and storage.data_ptr() not in self._before_tuning:
                self._before_tuning[storage.data_ptr()] = _raw(storage, tensor.device).cpu().clone()

    def launched(self) -> None:
        """Once a launch is written down: what was kept before its configurations were tried is of no more use."""
        self._before_tuning.clear()

    def record(self, function: Any, args: Any, keywords: Mapping[str, Any]) -> None:
        """Before a launch: the arguments as they are then, or were before an autotuner chose its configuration."""

        file = os.path.realpath(function.fn.__code__.co_filename)
        kernel = function.fn.__qualname__
        try:
            record, buffers = self._described(function, args, keywords)
        except NotRecorded as reason:
            if (kernel, str(reason)) not in self._skipped:
                self._skipped.add((kernel, str(reason)))
                self._settings.record("capture", {"file": file, "kernel": kernel, "skipped": str(reason)})
            return
        key = _key(record)
        if key in self._seen:
            return
        self._seen.add(key)
        self._number += 1
        kept = self._contents(record, buffers)
        if kept:
            record["contents"] = f"contents-{os.getpid()}-{self._number}.pt"
            torch.save(kept, os.path.join(self._settings.folder, record["contents"]))
        self._settings.record("capture", {"file": file, "key": key, **record})

    def _described(self, function: Any, args: Any, keywords: Mapping[str, Any]) -> tuple[dict[str, Any], list[_Buffer]]:
        kernel = function.fn.__qualname__
        if "<locals>" in kernel:
            raise NotRecorded("the kernel is made inside a function: no module has it by name")
        grid = keywords["grid"]
        parameters = function.signature.parameters
        named = {name: value for name, value in keywords.items() if name in parameters}
        bound = function.signature.bind(*args, **named)
        bound.apply_defaults()
        if callable(grid):
            grid = grid(bound.arguments)
        grid = [int(extent) for extent in (grid if isinstance(grid, tuple | list) else (grid,))]
        buffers: list[_Buffer] = []
        arguments = {name: _value(name, value, buffers) for name, value in bound.arguments.items()}
        for buffer in buffers:
            buffer.settle()
        outside = parameters.keys() | _NO_OPTIONS | {"grid", "warmup"}
        options = {name: value for name, value in keywords.items() if name not in outside and value is not None}
        for name, value in options.items():
            if not isinstance(value, int | float | str | bool | tuple):
                raise NotRecorded(f"option {name} is a {type(value).__name__}")
        memory = [{"size": buffer.size, "address": buffer.start % 16} for buffer in buffers]
        return {"kernel": kernel, "grid": grid, "memory": memory, "arguments": arguments, "options": options}, buffers

    def _contents(self, record: dict[str, Any], buffers: list[_Buffer]) -> dict[str, Any]:
        """The bytes of small buffers, by index; what the tensors of the others are like goes into the record."""
        kept = {}
        for index, buffer in enumerate(buffers):
            if buffer.size <= self._capture.small:
                kept[str(index)] = buffer.bytes(self._before_tuning)
            else:
                for described, tensor in buffer.tensors:
                    described["like"] = _like(tensor)
        return kept


class _Buffer:
    """The memory of tensors that share a storage, from the first byte to the last that they reach."""

    def __init__(self, storage: Any) -> None:
        self.storage = storage
        self.start = 0
        self.size = 0
        self.tensors: list[tuple[dict[str, Any], Any]] = []

    def settle(self) -> None:
        """Called once all tensors are known."""
        self.start = min(tensor.data_ptr() for _, tensor in self.tensors)
        end = max(tensor.data_ptr() + _extent(tensor) for _, tensor in self.tensors)
        self.size = end - self.start
        for described, tensor in self.tensors:
            described["at"] = tensor.data_ptr() - self.start

    def bytes(self, kept: Mapping[int, Any]) -> Any:
        """A copy, on the CPU; of the storage as it was where that was kept, by its address."""
        address = self.storage.data_ptr()
        first = self.start - address
        raw = kept[address] if address in kept else _raw(self.storage, self.tensors[0][1].device)
        return raw[first : first + self.size].cpu().clone()


def _raw(storage: Any, device: torch.device) -> Any:
    """All bytes of a storage, where it is."""
    return torch.empty(0, dtype=torch.uint8, device=device).set_(storage)


def _extent(tensor: Any) -> int:
    """Bytes from the first element of a tensor to behind its last."""
    if tensor.numel() == 0:
        return 0
    last = sum((extent - 1) * stride for extent, stride in zip(tensor.shape, tensor.stride(), strict=True))
    return int((last + 1) * tensor.dtype.itemsize)


def _value(name: str, value: Any, buffers: list[_Buffer]) -> Any:
    """One argument as JSON: a plain value, or a dict that says what it is."""
    value = getattr(value, "value", value) if type(value).__name__ == "constexpr" else value
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return {"is": "float", "value": repr(value)}
    if isinstance(value, torch.Tensor):
        return _tensor(name, value, buffers)
    if is_descriptor(value):
        plain = {key: list(getattr(value, key)) for key in ("shape", "strides", "block_shape")}
        base = _tensor(f"{name}.base", value.base, buffers)
        return {"is": "descriptor", "base": base, **plain, "padding": getattr(value, "padding", "zero")}
    if isinstance(value, tuple | list):
        return {"is": "tuple", "items": [_value(f"{name}[{n}]", item, buffers) for n, item in enumerate(value)]}
    if type(value).__name__ == "dtype" and type(value).__module__.startswith("triton"):
        return {"is": "dtype", "name": value.name}
    if isinstance(value, torch.dtype):
        return {"is": "torch", "name": str(value).removeprefix("torch.")}
    inner = getattr(value, "fn", None)
    if inner is not None and hasattr(value, "arg_names") and "<locals>" not in inner.__qualname__:
        return {"is": "function", "module": inner.__module__, "name": inner.__qualname__}
    raise NotRecorded(f"argument {name} is a {type(value).__name__}")


def _tensor(name: str, tensor: Any, buffers: list[_Buffer]) -> dict[str, Any]:
    kind = _NAMES.get(str(tensor.dtype).removeprefix("torch."))
    if kind is None:
        raise NotRecorded(f"argument {name} has the type {tensor.dtype}")
    storage = tensor.untyped_storage()
    same = (n for n, one in enumerate(buffers) if one.storage.data_ptr() == storage.data_ptr())
    index = next(same, None)
    if index is None:
        index = len(buffers)
        buffers.append(_Buffer(storage))
    described: dict[str, Any] = {
        "is": "tensor",
        "dtype": kind,
        "shape": list(tensor.shape),
        "strides": list(tensor.stride()),
    }
    described["memory"] = index
    buffers[index].tensors.append((described, tensor.detach()))
    return described


def _like(tensor: Any) -> list[float] | None:
    """Mean, standard deviation, smallest and largest of the finite elements."""
    values = tensor.to(torch.float64)
    values = values[values.isfinite()]
    if values.numel() == 0:
        return None
    deviation = values.std(correction=0)
    return [float(one) for one in (values.mean(), deviation, values.min(), values.max())]


def _key(record: Mapping[str, Any]) -> str:
    """What tells launches apart: all that a kernel is specialised on, shapes and strides, the grid, other numbers."""
    return hashlib.sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()[:16]


def _installed() -> list[str]:
    paths = sysconfig.get_paths()
    return sorted({os.path.realpath(paths[name]) for name in ("stdlib", "platstdlib", "purelib", "platlib")})


@contextmanager
def recording(settings: Settings) -> Iterator[None]:
    """Every launch in the block is written down, but for those by which an autotuner chooses."""
    from triton.runtime.autotuner import Autotuner
    from triton.runtime.jit import JITFunction

    assert settings.capture is not None
    recorder = _Recorder(settings, settings.capture)
    run, bench = JITFunction.run, Autotuner._bench
    timing = 0

    def recorded(self: Any, *args: Any, **keywords: Any) -> Any:
        if timing or keywords.get("warmup"):
            return run(self, *args, **keywords)
        if recorder.wanted(self):
            with torch._C.DisableTorchFunction():
                recorder.record(self, args, keywords)
        recorder.launched()
        return run(self, *args, **keywords)

    def timed(self: Any, *args: Any, **keywords: Any) -> Any:
        nonlocal timing
        if not timing:
            with torch._C.DisableTorchFunction():
                recorder.tuned((*args, *keywords.values()))
        timing += 1
        try:
            return bench(self, *args, **keywords)
        finally:
            timing -= 1

    JITFunction.run, Autotuner._bench = recorded, timed
    try:
        yield
    finally:
        JITFunction.run, Autotuner._bench = run, bench
