"""Compile targets by name, and what makes Triton believe it runs on one."""

from __future__ import annotations

import re
from typing import Any

from tritonport.rules_data import TargetFacts, load_targets

TARGETS = tuple(load_targets())


class UnknownTarget(ValueError):
    """The name is none of :data:`TARGETS`."""


def normalise(name: str) -> str:
    """``sm_90``, ``sm90``, ``sm_90a``, ``cuda:90`` and ``90`` all give ``sm_90``; UnknownTarget for anything else."""
    match = re.fullmatch(r"(?:sm_?|cuda:)?(\d+)[af]?", name.strip().lower())
    known = f"sm_{match[1]}" if match else ""
    if known not in TARGETS:
        raise UnknownTarget(f"unknown target {name!r}; known are {', '.join(TARGETS)}")
    return known


def facts(name: str) -> TargetFacts:
    """What is known of a target; UnknownTarget for a name that is none."""
    return load_targets()[normalise(name)]


def gpu_target(name: str) -> Any:
    """Triton's ``GPUTarget`` for a name like ``sm_90``."""
    from triton.backends.compiler import GPUTarget

    return GPUTarget("cuda", facts(name).capability, facts(name).warp_size)


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
        return divmod(facts(self._name).capability, 10)

    def get_device_properties(self, device: int = 0) -> dict[str, int]:
        """The properties Triton code reads, of the part that stands for the architecture in the target facts."""
        return {
            "max_shared_mem": facts(self._name).shared_memory,
            "multiprocessor_count": facts(self._name).processors,
            "max_num_regs": 65536,
            "warpSize": facts(self._name).warp_size,
        }

    @classmethod
    def is_active(cls) -> bool:
        """Always: it has been chosen."""
        return True


def activate(name: str) -> None:
    """Make Triton's active driver answer `name` for the rest of this process."""
    from triton.runtime import driver

    driver.set_active(OfflineDriver(name))
