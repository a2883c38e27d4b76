"""Who calls and who launches the kernels of a file."""

from __future__ import annotations

from functools import cached_property

import libcst as cst

from tritonport.convert.alignment import asked_of
from tritonport.source.kernel import Kernel
from tritonport.source.module import SourceModule
from tritonport.source.syntax import dotted
from tritonport.source.walk import calls_in


class Callers:
    """What one file does with its kernels."""

    def __init__(self, module: SourceModule) -> None:
        self.module = module

    @cached_property
    def called(self) -> set[Kernel]:
        """Those that other kernels of the file call."""
        found: set[Kernel] = set()
        for kernel in self.module.kernels:
            for call in calls_in(kernel.node):
                path = dotted(call.func)
                if path is None:
                    continue
                other = self.module.bindings.kernels.get(path) or self.module.kernel_by_path(path, kernel)
                if other is not None and other is not kernel:
                    found.add(other)
        return found

    @cached_property
    def launched(self) -> set[Kernel]:
        """Kernels that host code launches: `name[grid](...)`."""
        names = set()
        for call in self.module.nodes:
            if type(call) is cst.Call and isinstance(call.func, cst.Subscript):
                path = dotted(call.func.value)
                if path is not None:
                    names.add(path.split(".")[-1])
        return {kernel for kernel in self.module.kernels if kernel.name in names}

    def may_specialise(self, kernel: Kernel) -> bool:
        """Whether a kernel may get one more argument, which `@triton.heuristics` fills: it is only launched."""
        return kernel.decorator is not None and kernel not in self.called and kernel.name not in self._asked

    @cached_property
    def _asked(self) -> set[str]:
        return asked_of(self.module.nodes)
