"""`device="cuda"` without a GPU: tests that name the device run on the CPU, and the emulator carries their kernels."""

from __future__ import annotations

import functools
from typing import Any

import torch
from torch.overrides import TorchFunctionMode


def _on_cpu(value: Any) -> Any:
    """A device, or the name of one, as the CPU where it means a GPU; anything else as it is."""
    if isinstance(value, torch.device) and value.type == "cuda":
        return torch.device("cpu")
    if isinstance(value, str) and value.partition(":")[0] == "cuda":
        return "cpu"
    return value


class _CudaOnCpu(TorchFunctionMode):  # type: ignore[misc]
    """Every tensor says that it is on the GPU, and none is."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func == torch.Tensor.is_cuda.__get__:
            return True
        if func == torch.Tensor.device.__get__:
            return torch.device("cuda", 0)
        if func is torch.Tensor.get_device:
            return 0
        if func in (torch.Tensor.cuda, torch.Tensor.cpu):
            # A copy, as between devices: what is changed there does not change here.
            return args[0].clone()
        given = dict(kwargs or {})
        if func is torch.Tensor.to and self._names_device(args, given):
            given.setdefault("copy", True)
        if "device" in given:
            # An index alone is a GPU's.
            number = type(given["device"]) is int
            given["device"] = "cpu" if number else _on_cpu(given["device"])
        return func(*(_on_cpu(value) for value in args), **given)

    @staticmethod
    def _names_device(args: Any, given: dict[str, Any]) -> bool:
        return "device" in given or any(isinstance(value, str | torch.device) for value in args[1:2])


class _CpuGenerator(torch.Generator):  # type: ignore[misc]
    """A generator for the CPU, whatever device is asked for."""

    def __new__(cls, device: Any = "cpu") -> Any:
        return super().__new__(cls, _on_cpu(device))


def unpretended(function: Any) -> Any:
    """A function that sees tensors where they are: the emulator, which takes them on the CPU alone."""

    @functools.wraps(function)
    def call(*args: Any, **keywords: Any) -> Any:
        with torch._C.DisableTorchFunction():
            return function(*args, **keywords)

    return call


def pretend_cuda() -> None:
    """From now on this process has a GPU to put tensors on: the CPU. What is asked about it, the emulator answers."""

    answers: dict[str, Any] = {
        "is_available": lambda: True,
        "is_initialized": lambda: True,
        "init": lambda: None,
        "reset_peak_memory_stats": lambda device=None: None,
        "max_memory_allocated": lambda device=None: 0,
        "memory_allocated": lambda device=None: 0,
        "manual_seed": lambda seed: torch.default_generator.manual_seed(seed),
        "manual_seed_all": lambda seed: torch.default_generator.manual_seed(seed),
    }
    for name, answer in answers.items():
        setattr(torch.cuda, name, answer)
    torch.Generator = _CpuGenerator
    # For the life of the process: there is nothing to go back to.
    _CudaOnCpu().__enter__()
