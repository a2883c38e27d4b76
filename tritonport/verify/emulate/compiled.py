"""What ``kernel.warmup(...)`` gives in the emulator: a kernel that can be asked about and launched."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

N_REGS = 32
"""Registers of a thread. Nothing is compiled: launchers divide by it to learn how many programs are resident."""


class WarmedUp:
    """A kernel that is compiled for launches to come, in the place of Triton's ``CompiledKernel``.

    Its figures are those of a small kernel: ``n_regs`` is 32, ``n_spills`` and ``metadata.shared`` are 0. What a
    launcher makes of them, the original and the port make alike. There is no ``asm``: nothing is compiled.
    """

    n_regs = N_REGS
    n_spills = 0
    n_max_threads = 1024

    def __init__(
        self, kernel: Any, given: Mapping[str, Any], options: Mapping[str, Any], launch_options: Any, target: Any
    ) -> None:
        """Args:
        given: the arguments of the warm-up, by parameter.
        options: the compiler's options that it was called with; launches have them too.
        launch_options: all options, as the backend completes them.
        target: the GPU that is played.
        """
        self._kernel = kernel
        self._constants = {param.name: given[param.name] for param in kernel.params if param.is_constexpr}
        self._options = dict(options)
        self.name = kernel.__name__
        self.metadata = SimpleNamespace(
            **{**launch_options.__dict__, "name": self.name, "shared": 0, "tmem_size": 0, "target": target}
        )

    def _init_handles(self) -> None:
        """On a GPU this loads the binary, after which the figures are there; here they always are."""

    def __getitem__(self, grid: Any) -> Callable[..., Any]:
        """A function that launches the kernel over a grid, given its arguments in order."""

        def launch(*arguments: Any, stream: int | None = None) -> Any:
            del stream
            names = self._kernel.arg_names
            if len(arguments) != len(names):
                every = f"the {len(names)} arguments of the function, compile-time ones too"
                raise TypeError(f"a compiled {self.name} takes {every}, not {len(arguments)}")
            # What is compiled in stays so, whatever the launch says of it.
            named = {**dict(zip(names, arguments, strict=True)), **self._constants}
            return self._kernel.run(grid=grid, warmup=False, **named, **self._options)

        return launch
