"""Compile targets by name, and what makes Triton believe it runs on one."""

from __future__ import annotations

import re
from typing import Any

# Most shared memory one CTA can opt into, bytes: CUDA C++ Programming Guide, "Technical Specifications per Compute
# Capability" (maximum per SM less 1 KiB of system use).
SHARED_LIMIT = {
    "sm_80": 163 * 1024,
    "sm_86": 99 * 1024,
    "sm_89": 99 * 1024,
    "sm_90": 227 * 1024,
    "sm_100": 227 * 1024,
    "sm_103": 227 * 1024,
    "sm_120": 99 * 1024,
}
_PROCESSORS = {"sm_80": 108, "sm_86": 84, "sm_89": 128, "sm_90": 132, "sm_100": 148, "sm_103": 148, "sm_120": 170}
TARGETS = tuple(SHARED_LIMIT)


class UnknownTarget(ValueError):
    """The name is none of :data:`TARGETS`."""


def normalise(name: str) -> str:
    """``sm_90``, ``sm90``, ``sm_90a``, ``cuda:90`` and ``90`` all give ``sm_90``; UnknownTarget for anything else."""
    match = re.fullmatch(r"(?:sm_?|cuda:)?(\d+)[af]?", name.strip().lower())
    known = f"sm_{match[1]}" if match else ""
    if known not in SHARED_LIMIT:
        raise UnknownTarget(f"unknown target {name!r}; known are {', '.join(TARGETS)}")
    return known


def gpu_target(name: str) -> Any:
    """Triton's ``GPUTarget`` for a name like ``sm_90``."""
    from triton.backends.compiler import GPUTarget

    return GPUTarget("cuda", int(normalise(name).removeprefix("sm_")), 32)


class OfflineDriver:
    """Stands in for the GPU driver, so that code asking for the current device is told the compile target.

    Answers what kernels and modules ask at compile or import time; launching needs a real driver.
    """

    def __init__(self, name: str) -> None:
        self._name = normalise(name)
        self.utils = self

    def get_current_target(self) -> Any:
        """The compile target."""
        return gpu_target(self._name)

    def get_current_device(self) -> int:
        """Device 0."""
        return 0

    def get_active_torch_device(self) -> Any:
        """The CPU: nothing is allocated on the compile target."""
        import torch

        return torch.device("cpu")

    def get_device_capability(self, device: int = 0) -> tuple[int, int]:
        """(major, minor) of the compile target."""
        arch = int(self._name.removeprefix("sm_"))
        return arch // 10, arch % 10

    def get_device_properties(self, device: int = 0) -> dict[str, int]:
        """The properties Triton code reads. The SM count is that of the full data centre part of the architecture."""
        return {
            "max_shared_mem": SHARED_LIMIT[self._name],
            "multiprocessor_count": _PROCESSORS[self._name],
            "max_num_regs": 65536,
            "warpSize": 32,
        }

    @classmethod
    def is_active(cls) -> bool:
        """Always: it has been chosen."""
        return True


def activate(name: str) -> None:
    """Make Triton's active driver answer `name` for the rest of this process."""
    from triton.runtime import driver

    driver.set_active(OfflineDriver(name))
