"""Watching the kernels that a launch function launches."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from inspect import Parameter
from typing import Any, Protocol

_MAX_TRACE_BYTES = 2 << 30
"""What a trace may hold; what comes after is not kept."""


@dataclass(frozen=True)
class OfKernel:
    """Something about one jitted function.

    Attributes:
        function: the jitted function.
    """

    function: Any

    @property
    def kernel(self) -> str:
        """The name of the kernel function."""
        return str(self.function.fn.__name__)

    @property
    def gluon(self) -> bool:
        """Whether it is a Gluon kernel."""
        return bool(self.function.is_gluon())


@dataclass(frozen=True)
class Launch(OfKernel):
    """One kernel launch.

    Attributes:
        written: for a traced launch: copies of its tensor arguments afterwards, by parameter.
        numbers: the integers that it was launched with, by parameter: sizes, and constexprs such as blocks.
        flags: the booleans, by parameter.
        words: the strings, by parameter.
        absent: the parameters that were None.
        storages: where the memory of each tensor begins, by parameter.
        compiled: what was launched, once it was: a kernel with its `asm`; in the emulator, nothing.
    """

    written: dict[str, Any] = field(default_factory=dict, repr=False)
    numbers: dict[str, int] = field(default_factory=dict, repr=False)
    flags: dict[str, bool] = field(default_factory=dict, repr=False)
    words: dict[str, str] = field(default_factory=dict, repr=False)
    absent: frozenset[str] = field(default=frozenset(), repr=False)
    storages: dict[str, int] = field(default_factory=dict, repr=False)
    compiled: list[Any] = field(default_factory=list, repr=False)

    @property
    def defaults(self) -> dict[str, Any]:
        """What the parameters are that a launch does not give."""
        given = {one.name: one.default for one in getattr(self.function, "params", ())}
        return {name: value for name, value in given.items() if value is not Parameter.empty}


def definition(fn: Any) -> tuple[str, int]:
    """The file of a jitted function and the line of its `def`."""
    offset = next((i for i, text in enumerate(fn.raw_src) if text.lstrip().startswith("def ")), 0)
    return fn.fn.__code__.co_filename, fn.starting_line_number + offset


def tensor_arguments(fn: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> dict[str, Any]:
    """The tensors that a launch is given, by parameter; of a descriptor the tensor that it describes."""
    import torch

    from tritonport.verify.tensors import is_descriptor

    named = {**dict(zip(fn.arg_names, args, strict=False)), **keywords}
    found = {}
    for name, value in named.items():
        value = getattr(value, "base", value) if is_descriptor(value) else value
        if isinstance(value, torch.Tensor):
            found[name] = value
    return found


def _launch(fn: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> Launch:
    named = {**dict(zip(fn.arg_names, args, strict=False)), **keywords}
    numbers = {name: value for name, value in named.items() if type(value) is int}
    flags = {name: value for name, value in named.items() if type(value) is bool}
    words = {name: value for name, value in named.items() if type(value) is str}
    absent = frozenset(name for name, value in named.items() if value is None)
    tensors = tensor_arguments(fn, args, keywords)
    storages = {name: int(tensor.untyped_storage().data_ptr()) for name, tensor in tensors.items()}
    return Launch(fn, numbers=numbers, flags=flags, words=words, absent=absent, storages=storages)


@contextmanager
def recorded_launches(
    *,
    trace: bool = False,
    synchronize: Callable[[], None] = lambda: None,
    before: Callable[[Any, tuple[Any, ...], dict[str, Any]], None] | None = None,
) -> Iterator[list[Launch]]:
    """Gives the list to which every launch in the block is appended.

    Args:
        trace: keep copies of the tensor arguments after each launch.
        synchronize: waits for the device, before copies are made.
        before: called before each launch with the jitted function and the arguments of its `run`.
    """
    from triton.runtime.jit import JITFunction

    launches: list[Launch] = []
    kept = 0
    run = JITFunction.run

    def recorded(self: Any, *args: Any, **keywords: Any) -> Any:
        nonlocal kept
        if keywords.get("warmup"):
            return run(self, *args, **keywords)
        # Before the call: a launch that raises is one to tell about.
        launch = _launch(self, args, keywords)
        launches.append(launch)
        if before is not None:
            before(self, args, keywords)
        result = run(self, *args, **keywords)
        if result is not None:
            launch.compiled.append(result)
        if trace:
            synchronize()
            for name, tensor in tensor_arguments(self, args, keywords).items():
                kept += tensor.numel() * tensor.dtype.itemsize
                if kept <= _MAX_TRACE_BYTES:
                    launch.written[name] = tensor.detach().clone()
        return result

    JITFunction.run = recorded
    try:
        yield launches
    finally:
        JITFunction.run = run


@dataclass
class ConfigChoice:
    """Which configuration autotuned kernels are launched in.

    Attributes:
        index: among those that pruning leaves; the last one where there are fewer.
        most: the largest number of configurations that a kernel had so far.
    """

    index: int = 0
    most: int = 1

    def pick(self, kernel: str, configs: Sequence[Any]) -> Any:
        """The configuration for one launch."""
        self.most = max(self.most, len(configs))
        return configs[min(self.index, len(configs) - 1)]


class Choice(Protocol):
    """Which configuration autotuned kernels are launched in."""

    def pick(self, kernel: str, configs: Sequence[Any]) -> Any:
        """The configuration for one launch."""
        ...


Configurations = dict[str, list[dict[str, Any]]]
"""What autotuners launched kernels with, by the name of the kernel, in order."""


class SameChoice:
    """The configurations of another run, launch by launch; what that run had none of stays as it is tuned."""

    def __init__(self, configurations: Configurations) -> None:
        self._left = {kernel: itertools.cycle(found) for kernel, found in configurations.items()}

    def pick(self, kernel: str, configs: Sequence[Any]) -> Any:
        """As `Choice` says; None for the tuner's own."""
        wanted = next(self._left[kernel]) if kernel in self._left else None
        return next((one for one in configs if one.all_kwargs() == wanted), None)


@contextmanager
def tuned_configurations() -> Iterator[Configurations]:
    """Collects what autotuners launch in the block."""
    from triton.runtime.autotuner import Autotuner

    run = Autotuner.run
    found: Configurations = {}

    def collected(self: Any, *args: Any, **keywords: Any) -> Any:
        result = run(self, *args, **keywords)
        found.setdefault(self.base_fn.__name__, []).append(self.best_config.all_kwargs())
        return result

    Autotuner.run = collected
    try:
        yield found
    finally:
        Autotuner.run = run


@contextmanager
def pinned_autotuners(choice: Choice) -> Iterator[None]:
    """Inside the block an autotuner launches the chosen configuration, and times nothing.

    Two tuners that each chose the fastest might choose differently, and then other sums are compared than meant.
    """
    from triton.runtime.autotuner import Autotuner

    run = Autotuner.run

    def pinned(self: Any, *args: Any, **keywords: Any) -> Any:
        configs = self.configs
        if len(configs) > 1:
            self.nargs = dict(zip(self.arg_names, args, strict=False))
            picked = choice.pick(self.base_fn.__name__, list(self.prune_configs(keywords)) or configs)
            self.configs = configs if picked is None else [picked]
        try:
            return run(self, *args, **keywords)
        finally:
            self.configs = configs

    Autotuner.run = pinned
    try:
        yield
    finally:
        Autotuner.run = run
