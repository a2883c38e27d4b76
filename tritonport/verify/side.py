"""Running one side of a comparison: the original or the port, on one set of inputs."""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch

from tritonport.verify.case import Case, Inputs
from tritonport.verify.isolate import report_phase
from tritonport.verify.launches import ConfigChoice, Launch, pinned_autotuners, recorded_launches
from tritonport.verify.poison import GUARD, Arena, Overrun, poisoned_allocations
from tritonport.verify.tensors import input_leaves, leaves, raw_bytes, replace_inputs, same_memory
from tritonport.verify.views import with_views


class SideFailed(Exception):
    """Something of a case raised; the exception is the cause.

    Attributes:
        step: `make_inputs`, `variants`, `launch` or `reference`.
        error: what was raised.
        launches: the kernels launched before it.
    """

    def __init__(self, step: str, error: BaseException, launches: list[Launch]) -> None:
        super().__init__(f"{step} raised {type(error).__name__}")
        self.step = step
        self.error = error
        self.launches = launches


@dataclass(frozen=True)
class Backend:
    """Where kernels run.

    Attributes:
        device: for the tensors: `cpu` or `cuda`.
        guard: bytes of guard around each tensor; none where the emulator knows each tensor's extent.
        synchronize: waits for the device.
        choice: the configuration of autotuned kernels.
        masks: of the emulator: what the masked accesses of each line of Gluon have met.
    """

    device: str
    guard: int
    synchronize: Callable[[], None]
    choice: ConfigChoice
    masks: Mapping[Any, Any] = field(default_factory=dict)


@contextmanager
def emulator(target: str, time_limit: float, exact: Any = None) -> Iterator[Backend]:
    """Kernels launched in the block run on the CPU in this process, `time_limit` seconds at most each.

    With an `ExactMemory` they compute without rounding too, and what they store is kept there.
    """
    from tritonport.verify.emulate import emulated

    choice = ConfigChoice()
    options: Any = {"pick_config": choice.pick, "follow_addresses": True, "exact": exact}
    with emulated(target=target, time_limit=time_limit, **options) as running:
        yield Backend("cpu", 0, lambda: None, choice, running.masks)


@contextmanager
def gpu() -> Iterator[Backend]:
    """Kernels launched in the block run on the current GPU, autotuned ones in one pinned configuration."""
    choice = ConfigChoice()
    with pinned_autotuners(choice):
        yield Backend("cuda", GUARD, torch.cuda.synchronize, choice)


@dataclass(frozen=True)
class Variation:
    """One way to run a case.

    Attributes:
        seed: for the inputs.
        variant: of the case; 0 is the plain case.
        config: of autotuned kernels.
        sizes: (parameter of `make_inputs`, value) of the sizes that are not those of the case.
        views: (input, one of `views.KINDS`) of the inputs that lie in memory in another way.
    """

    seed: int
    variant: int = 0
    config: int = 0
    sizes: tuple[tuple[str, int], ...] = ()
    views: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        variant = f" variant {self.variant}" if self.variant else ""
        variant += "".join(f" {name}={value}" for name, value in self.sizes)
        variant += "".join(f" {kind} {name}" for name, kind in self.views)
        return f"seed {self.seed}{variant}" + (f" configuration {self.config}" if self.config else "")


@dataclass(frozen=True)
class SideRun:
    """What one side computed.

    Attributes:
        inputs: copies of the input tensors before the launch, by name.
        results: copies of what the launch returned, by name.
        mutated: copies of the input tensors that the launch changed, by name.
        launches: the kernels launched.
        overruns: writes outside of tensors.
    """

    inputs: Mapping[str, Any]
    results: Mapping[str, Any]
    mutated: Mapping[str, Any]
    launches: tuple[Launch, ...]
    overruns: tuple[Overrun, ...]


def _copy(leaf: Any) -> Any:
    return leaf.detach().clone() if isinstance(leaf, torch.Tensor) else leaf


def _changed(before: Any, after: Any) -> bool:
    if before is None or before.shape != after.shape or before.dtype != after.dtype:
        return True
    # By bits: NaN that stays NaN did not change.
    return not torch.equal(raw_bytes(before), raw_bytes(after))


def seed_everything(seed: int) -> None:
    """Starts the random numbers of Python, torch and, where it is installed, numpy."""
    random.seed(seed)
    torch.manual_seed(seed)
    try:
        import numpy

        numpy.random.seed(seed % 2**32)
    except ImportError:
        pass


class Side:
    """The original or the port, ready to run."""

    def __init__(self, name: str, case: Case, backend: Backend, saved: Inputs | None = None) -> None:
        """Args:
        name: `original` or `port`.
        saved: inputs to use in place of the case's.
        """
        self.name = name
        self.case = case
        self.backend = backend
        self._saved = saved

    def _call(self, step: str, what: str, function: Callable[..., Any], *args: Any, **keywords: Any) -> Any:
        report_phase(f"{self.name}: {step}, {what}")
        try:
            return function(*args, **keywords)
        except (Exception, SystemExit) as error:
            raise SideFailed(step, error, []) from error

    def on(self, backend: Backend) -> "Side":
        """The same side somewhere else."""
        return Side(self.name, self.case, backend, self._saved)

    def variants(self, seed: int) -> list[Inputs]:
        """The variants of the case; the first is the plain case."""
        variants: list[Inputs] = self._call("variants", f"seed {seed}", self.case.variants, self.backend.device, seed)
        return variants

    def inputs(self, variation: Variation) -> Inputs:
        """Fresh inputs on the device."""
        if self._saved is not None:
            return replace_inputs(self._saved, lambda name, tensor: _to(tensor, self.backend.device))
        seed_everything(variation.seed)
        variant = {**self.variants(variation.seed)[variation.variant], **dict(variation.sizes)}
        seed_everything(variation.seed)
        # What `torch.empty` finds in memory is no input: each call would find something else.
        with poisoned_allocations(Arena(0)):
            made = self._call(
                "make_inputs", str(variation), self.case.inputs, self.backend.device, variation.seed, variant
            )
        made = replace_inputs(made, lambda name, tensor: _to(tensor, self.backend.device))
        viewed: Inputs = self._call("make_inputs", str(variation), with_views, made, variation.views)
        return viewed

    def run(self, variation: Variation, *, trace: bool = False, copy: Callable[[Any], Any] = _copy) -> SideRun:
        """Launches once on fresh inputs. Raises SideFailed.

        Args:
            trace: keep what each launch has changed.
            copy: makes what is kept of a result or of a changed input.
        """
        arena = Arena(self.backend.guard)
        inputs = self.inputs(variation)
        housed = arena.rehouse(input_leaves(inputs))
        inputs = replace_inputs(inputs, lambda name, tensor: housed.get(name, tensor))
        before = {name: _copy(leaf) for name, leaf in input_leaves(inputs).items()}
        seed_everything(variation.seed)
        self.backend.choice.index = variation.config
        with recorded_launches(trace=trace, synchronize=self.backend.synchronize) as launches:
            try:
                result = self._call("launch", str(variation), self._launch, arena, inputs)
            except SideFailed as failed:
                raise SideFailed(failed.step, failed.error, launches) from failed.error
        after = input_leaves(inputs)
        results = leaves(result, "result")
        tensors = [leaf for leaf in results.values() if isinstance(leaf, torch.Tensor)]
        mutated = {
            name: copy(leaf)
            for name, leaf in after.items()
            if _changed(before.get(name), leaf) and not any(same_memory(leaf, result) for result in tensors)
        }
        copies = {name: copy(leaf) for name, leaf in results.items()}
        return SideRun(before, copies, mutated, tuple(launches), tuple(arena.overruns()))

    def _launch(self, arena: Arena, inputs: Inputs) -> Any:
        with poisoned_allocations(arena):
            result = self.case.launch(**inputs)
        self.backend.synchronize()
        return result

    def reference(self, variation: Variation) -> dict[str, Any] | None:
        """The reference's results by name; None where the case has none. Raises SideFailed."""
        if self.case.reference is None:
            return None
        inputs = self.inputs(variation)
        seed_everything(variation.seed)
        result = self._call("reference", str(variation), self.case.reference, **inputs)
        return {name: _copy(leaf) for name, leaf in leaves(result, "result").items()}

    def reference_in_double(self, variation: Variation) -> dict[str, Any] | None:
        """The reference on the same inputs in float64; None where it cannot be computed so."""
        if self.case.reference is None:
            return None
        inputs = replace_inputs(
            self.inputs(variation),
            lambda name, tensor: _double(tensor) if tensor.dtype.is_floating_point else tensor,
        )
        seed_everything(variation.seed)
        try:
            result = self._call("reference", f"{variation}, float64", self.case.reference, **inputs)
        except SideFailed:
            return None
        return {name: _copy(leaf) for name, leaf in leaves(result, "result").items()}


def variations_of(side: Side, seeds: Sequence[int]) -> list[Variation]:
    """The ways to run a case: the plain case with each seed, and its variants with the first. Raises SideFailed."""
    variants = len(side.variants(seeds[0]))
    return [*(Variation(seed) for seed in seeds), *(Variation(seeds[0], number) for number in range(1, variants))]


def _double(tensor: Any) -> Any:
    wide = tensor.detach().float() if tensor.dtype.itemsize == 1 else tensor.detach()
    return wide.double().requires_grad_(tensor.requires_grad)


def _to(tensor: Any, device: str) -> Any:
    """The tensor on a device, as a leaf where it was one; unchanged where it is there."""
    if tensor.device.type == torch.device(device).type:
        return tensor
    return tensor.detach().to(device).requires_grad_(tensor.requires_grad)
