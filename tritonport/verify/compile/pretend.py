"""Importing packages that ask for a GPU on a machine without one.

Many packages decide at import what they offer by asking torch for a device. The answers here are those of a machine
with one device of the compile target; what they allocate at import lies in the memory of the CPU. A package whose
`__init__` fails, for want of something it depends on, is still a package: the files in it may need none of that.
"""

from __future__ import annotations

import contextlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
import types
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tritonport.verify.compile.target import OfflineDriver
from tritonport.verify.modules import module_name


def pretend_gpu(target: str) -> None:
    """Make torch answer, for the rest of this process, that there is one GPU of this target; not where there is one."""
    import torch

    if torch.cuda.is_available():
        return
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
    torch._C._cuda_getCurrentRawStream = lambda device: 0


def allocate_on_cpu() -> None:
    """Make tensors that are asked for on a GPU in the memory of the CPU, for the rest of this process."""
    from torch.overrides import TorchFunctionMode

    class OnCpu(TorchFunctionMode):  # type: ignore[misc]
        def __torch_function__(
            self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
        ) -> Any:
            kwargs = dict(kwargs or {})
            if str(kwargs.get("device", "")).startswith("cuda"):
                kwargs["device"] = "cpu"
            return func(*args, **kwargs)

    OnCpu().__enter__()


class _ForgivingLoader(importlib.abc.Loader):
    """Runs the `__init__` of a package as far as it goes."""

    def __init__(self, loader: importlib.abc.Loader) -> None:
        self._loader = loader

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: types.ModuleType) -> None:
        with contextlib.suppress(Exception, SystemExit):
            self._loader.exec_module(module)


class ForgivingFinder(importlib.abc.MetaPathFinder):
    """Finds the packages of these top-level names, so that a failing `__init__` does not hide the files in them."""

    def __init__(self, names: Collection[str]) -> None:
        self._names = frozenset(names)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname.partition(".")[0] not in self._names:
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is None or spec.loader is None or spec.submodule_search_locations is None:
            return None
        spec.loader = _ForgivingLoader(spec.loader)
        return spec


def pretend_for(files: Iterable[Path], target: str) -> None:
    """Give what these files import the GPU of a compile target, and the files of a package its `__init__`, failing or
    not, for the rest of this process.

    Torch is not loaded for a file that stands alone and does not speak of it.
    """
    packages = {name.partition(".")[0] for name in (module_name(file)[0] for file in files) if "." in name}
    if "torch" in sys.modules or (packages and importlib.util.find_spec("torch") is not None):
        pretend_gpu(target)
        allocate_on_cpu()
    forgive(packages)


def forgive(names: Collection[str]) -> None:
    """Put the finder in place, for the rest of this process."""
    sys.meta_path.insert(0, ForgivingFinder(names))
