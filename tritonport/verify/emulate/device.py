"""What host code learns of the GPU that is played: through Triton's driver, and torch.cuda where there is none."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import torch

_MULTIPROCESSORS = 132
_SHARED_MEMORY = 232448
"""Bytes of shared memory that a block can have on an H200 (227 KiB)."""


class Driver:
    """Answers host code and compile-time functions that ask which GPU is there: an H200's figures."""

    def __init__(self, target: Any) -> None:
        self._target = target
        self.utils = self

    def get_current_target(self) -> Any:
        return self._target

    def get_current_device(self) -> int:
        return 0

    def get_current_stream(self, device: int = 0) -> int:
        return 0

    def set_current_device(self, device: int) -> None:
        pass

    def get_active_torch_device(self) -> torch.device:
        return torch.device("cpu")

    def get_device_interface(self) -> Any:
        return torch.cpu

    def get_device_properties(self, device: int = 0) -> dict[str, int]:
        return {
            "max_shared_mem": _SHARED_MEMORY,
            "max_num_regs": 65536,
            "multiprocessor_count": _MULTIPROCESSORS,
            "warpSize": 32,
            "sm_clock_rate": 1980000,
            "mem_clock_rate": 3201000,
            "mem_bus_width": 6144,
        }


def _nothing() -> Any:
    """A function that does nothing. torch's compiler keeps rules by the object, so every name needs one of its own."""
    return lambda *args, **keywords: None


def _answers(target: Any) -> dict[str, Any]:
    """The functions of torch.cuda that ask about the device, with what they say of the one that is played."""
    major, minor = divmod(int(target.arch), 10)
    properties = SimpleNamespace(
        name=f"NVIDIA H200 (emulated sm_{target.arch})",
        major=major,
        minor=minor,
        multi_processor_count=_MULTIPROCESSORS,
        shared_memory_per_block_optin=_SHARED_MEMORY,
        shared_memory_per_multiprocessor=233472,
        total_memory=141 << 30,
        warp_size=32,
    )
    return {
        "device_count": lambda: 1,
        "current_device": lambda: 0,
        "get_device_name": lambda device=None: properties.name,
        "get_device_capability": lambda device=None: (major, minor),
        "get_device_properties": lambda device=None: properties,
        "is_bf16_supported": lambda including_emulation=True: True,
        "device": lambda device=None: contextlib.nullcontext(),
        "current_stream": lambda device=None: SimpleNamespace(cuda_stream=0, synchronize=_nothing()),
        "synchronize": _nothing(),
        "set_device": _nothing(),
        "empty_cache": _nothing(),
    }


@contextlib.contextmanager
def torch_answers(target: Any) -> Iterator[None]:
    """Inside the block torch.cuda describes the GPU that is played, unless there is a real one.

    `torch.cuda.is_available()` stays false: no tensor can be put there.
    """
    if torch.cuda.is_available():
        yield
        return
    answers = _answers(target)
    before = {name: getattr(torch.cuda, name) for name in answers}
    for name, answer in answers.items():
        setattr(torch.cuda, name, answer)
    try:
        yield
    finally:
        for name, function in before.items():
            setattr(torch.cuda, name, function)
