"""``emulated()``: launches in a block run on the CPU."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from triton import knobs
from triton.runtime import driver
from triton.runtime.autotuner import Autotuner
from triton.runtime.jit import JITFunction

from tritonport.verify.emulate.addresses import addressed
from tritonport.verify.emulate.compiled import WarmedUp
from tritonport.verify.emulate.device import Driver, torch_answers
from tritonport.verify.emulate.errors import EmulationError, NotEmulated
from tritonport.verify.emulate.exact_memory import ExactMemory
from tritonport.verify.emulate.launch import Launch, LaunchRecord, Settings, backend_options, split_options
from tritonport.verify.emulate.memory import MaskUse
from tritonport.verify.emulate.shared import Place

PickConfig = Callable[[str, Sequence[Any]], Any]
"""Chooses among the configurations of an autotuned kernel: (kernel name, those that pruning leaves) -> one of them."""


class Emulator:
    """What :func:`emulated` yields.

    ``launches`` are those that have finished, in order; ``exact`` is what an exact run keeps; ``masks`` says of each
    line of Gluon with a masked access to global memory whether a lane of it was ever off, and ever on.
    """

    def __init__(
        self,
        settings: Settings,
        pick_config: PickConfig | None = None,
        follow_addresses: bool = False,
        exact: ExactMemory | None = None,
    ) -> None:
        self.settings = settings
        self.exact = exact
        self._follow_addresses = follow_addresses
        self.launches: list[LaunchRecord] = []
        self.masks: dict[Place, MaskUse] = {}
        self._pick_config = pick_config
        self._reachable: list[torch.Tensor] = []
        self._tuned: set[tuple[Any, ...]] = set()

    def make_reachable(self, tensor: torch.Tensor) -> None:
        """Let kernels touch ``tensor`` though no launch is given it: its address lies in a table of pointers."""
        self._reachable.append(tensor)

    def run(self, kernel: Any, arguments: Sequence[Any], grid: Any, warmup: bool, keywords: dict[str, Any]) -> Any:
        """A launch of a ``JITFunction``."""
        if not warmup:
            for hook in kernel.pre_run_hooks:
                hook(*arguments, **keywords)
        named, options = split_options(kernel, self.settings.gpu, keywords)
        bound = kernel.signature.bind(*arguments, **named)
        bound.apply_defaults()
        if kernel.debug is not None:
            options.setdefault("debug", kernel.debug)
        if warmup:
            completed = backend_options(self.settings, options)
            return WarmedUp(kernel, bound.arguments, options, completed, self.settings.gpu)
        reachable = list(self._reachable)
        if self._follow_addresses:
            reachable += addressed(bound.arguments.values())
        launch = Launch(kernel, self.settings, options, reachable, self.masks, self.exact)
        record = launch.run(dict(bound.arguments), grid)
        self.launches.append(record)
        return record

    def run_tuned(self, tuner: Any, arguments: Sequence[Any], keywords: dict[str, Any]) -> Any:
        """A launch of an autotuned kernel, with the hooks that surround the launch after tuning.

        The configuration is the first that pruning leaves, or what ``pick_config`` chooses.
        """
        tuner.nargs = dict(zip(tuner.arg_names, arguments, strict=False))
        every = {**tuner.nargs, **keywords}
        configs = tuner.prune_configs(keywords) if len(tuner.configs) > 1 else tuner.configs
        name = tuner.base_fn.__name__
        config = configs[0] if self._pick_config is None else self._pick_config(name, list(configs))
        tuner.best_config = config
        if len(configs) > 1:
            key = (id(tuner), *(repr(every[name]) for name in tuner.keys if name in every))
            if key not in self._tuned:
                self._tuned.add(key)
                tuner.pre_hook({**every, **config.all_kwargs()}, reset_only=True)
        if config.pre_hook is not None:
            config.pre_hook({**every, **config.all_kwargs()})
        conflicts = keywords.keys() & config.kwargs.keys()
        if conflicts:
            raise ValueError(f"Conflicting meta-parameters: {', '.join(sorted(conflicts))}.")
        try:
            return tuner.fn.run(*arguments, **keywords, **config.all_kwargs())
        finally:
            tuner.nargs = None


@contextmanager
def emulated(
    *,
    target: str = "sm_90",
    poison_masked: bool = False,
    check_asserts: bool = True,
    time_limit: float = 300.0,
    loop_limit: int = 10_000_000,
    schedules: int = 3,
    pick_config: PickConfig | None = None,
    follow_addresses: bool = False,
    exact: ExactMemory | None = None,
) -> Iterator[Emulator]:
    """Every launch of a ``@triton.jit`` or ``@gluon.jit`` kernel inside the block runs on the CPU, in this process.

    Launches (``kernel[grid](...)`` and ``.run``) of plain, autotuned and heuristic kernels return once all their
    programs have run, one after another; the tensors are CPU tensors. ``kernel.warmup`` gives a kernel to launch, with
    the figures of a small one (:class:`~tritonport.verify.emulate.compiled.WarmedUp`). See :class:`Settings` for the
    options. With ``follow_addresses`` a launch may also touch the tensors whose addresses are in an int64 tensor it is
    given. With ``exact`` the kernels, Triton ones alone, compute each floating-point value without rounding too
    (:mod:`~tritonport.verify.emulate.exact_ops`), and what they store is kept there. On exit, also after an error,
    Triton is as it was.

    Raises (from the launch): :class:`EmulationError` where the kernel goes wrong, :class:`NotEmulated` where this
    emulator has no model of an operation.
    """
    if knobs.runtime.interpret:
        # Then @triton.jit makes other objects, whose launches do not come here.
        raise EmulationError("TRITON_INTERPRET is set: kernels are decorated for Triton's own interpreter")
    settings = Settings(target, poison_masked, check_asserts, time_limit, loop_limit, schedules)
    emulator = Emulator(settings, pick_config, follow_addresses, exact)
    gpu = settings.gpu
    old_run, old_tuned_run, old_driver = JITFunction.run, Autotuner.run, driver._active

    def run(self: Any, *arguments: Any, grid: Any, warmup: bool, **keywords: Any) -> Any:
        return emulator.run(self, arguments, grid, warmup, keywords)

    def run_tuned(self: Any, *arguments: Any, **keywords: Any) -> Any:
        return emulator.run_tuned(self, arguments, keywords)

    JITFunction.run, Autotuner.run = run, run_tuned
    driver.set_active(Driver(gpu))
    try:
        with torch_answers(gpu):
            yield emulator
    finally:
        JITFunction.run, Autotuner.run = old_run, old_tuned_run
        driver._active = old_driver


__all__ = ["EmulationError", "Emulator", "NotEmulated", "PickConfig", "emulated"]
