"""Importing packages that ask for a GPU on a machine without one.

Many packages decide at import what they offer by asking torch for a device. The answers here are those of a machine
with one device of the compile target; nothing is allocated on it.
"""

from __future__ import annotations

import types
from typing import Any

from tritonport.verify.compile.target import OfflineDriver


def pretend_gpu(target: str) -> None:
    """Make torch answer, for the rest of this process, that there is one GPU of this target."""
    import torch

    driver = OfflineDriver(target)
    capability = driver.get_device_capability()
    known = driver.get_device_properties()
    name = f"sm_{capability[0]}{capability[1]}"
    properties = types.SimpleNamespace(
        name=name,
        major=capability[0],
        minor=capability[1],
        multi_processor_count=known["multiprocessor_count"],
        total_memory=80 << 30,
        warp_size=known["warpSize"],
        regs_per_multiprocessor=known["max_num_regs"],
        shared_memory_per_block_optin=known["max_shared_mem"],
        shared_memory_per_multiprocessor=known["max_shared_mem"] + 1024,
        max_threads_per_multi_processor=2048,
        L2_cache_size=50 << 20,
    )
    answers: dict[str, Any] = {
        "is_available": True,
        "is_initialized": True,
        "is_bf16_supported": True,
        "device_count": 1,
        "current_device": 0,
        "get_device_capability": capability,
        "get_device_name": name,
        "get_device_properties": properties,
        "mem_get_info": (properties.total_memory, properties.total_memory),
        "synchronize": None,
        "set_device": None,
    }
    for function, answer in answers.items():
        setattr(torch.cuda, function, lambda *args, _answer=answer, **kwargs: _answer)
