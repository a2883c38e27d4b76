"""Kernel launches that are repeated without the host code around them, on memory that is as it was."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch

from tritonport.bench.clock import Clock
from tritonport.bench.tuning import tuned_by
from tritonport.verify.case import Case, Inputs
from tritonport.verify.compare import bitwise_equal
from tritonport.verify.launches import (
    Configurations,
    OfKernel,
    recorded_launches,
    tensor_arguments,
    tuned_configurations,
)
from tritonport.verify.poison import Arena, is_poison, poison_byte, poisoned_allocations
from tritonport.verify.side import seed_everything
from tritonport.verify.tensors import input_leaves, leaves

INPUT = "input "
"""Before the name of an input that a launch changed."""


class SharedArena(Arena):
    """Uninitialised memory that every launch gets again, in the order of its allocations.

    Original and port then write to the same addresses, so that neither has the luckier memory.
    """

    def __init__(self) -> None:
        super().__init__(guard=0)
        self._kept: dict[tuple[int, str], list[Any]] = {}
        self._taken: Counter[tuple[int, str]] = Counter()

    def begin(self) -> None:
        """A new launch: what was allocated may be allocated again."""
        self._taken.clear()

    def _bytes(self, size: int, byte: int, device: Any) -> Any:
        key = (size, str(device))
        kept = self._kept.setdefault(key, [])
        if self._taken[key] == len(kept):
            kept.append(super()._bytes(size, byte, device))
        raw = kept[self._taken[key]]
        self._taken[key] += 1
        return raw.fill_(byte)


@dataclass(frozen=True)
class Repeatable(OfKernel):
    """One kernel launch that can be repeated: the jitted function and the arguments of its `run`."""

    args: tuple[Any, ...]
    keywords: dict[str, Any]

    @property
    def tensors(self) -> dict[str, Any]:
        """Its tensors, by parameter."""
        return tensor_arguments(self.function, self.args, self.keywords)

    def repeat(self) -> Any:
        """Launches it again; returns what Triton returns: the compiled kernel."""
        return self.function.run(*self.args, **self.keywords)

    def resources(self) -> dict[str, Any]:
        """What the driver reports of it, after one more launch; None for what it does not."""
        compiled = self.repeat()
        metadata = getattr(compiled, "metadata", None)
        return {
            "registers": getattr(compiled, "n_regs", None),
            "spills": getattr(compiled, "n_spills", None),
            "shared": getattr(metadata, "shared", None),
            "num_warps": getattr(metadata, "num_warps", None),
        }


@dataclass
class Recorded:
    """What one call of `launch` did.

    Attributes:
        launches: in order.
        results: what it returned, the tensors themselves, by name.
        computed: copies of the results, of the gradients that it left, and of the inputs that it changed, by name.
        configurations: what autotuners launched.
        fresh: tensors of its own that held something before a kernel wrote to them, each with a copy from then.
    """

    launches: list[Repeatable] = field(default_factory=list)
    results: dict[str, Any] = field(default_factory=dict)
    computed: dict[str, Any] = field(default_factory=dict)
    fresh: list[tuple[Any, Any]] = field(default_factory=list)
    configurations: Configurations = field(default_factory=dict)


def copied(tensors: Mapping[str, Any]) -> dict[str, Any]:
    """Copies of the tensors; what is none stays."""
    return {name: one.detach().clone() if isinstance(one, torch.Tensor) else one for name, one in tensors.items()}


def changed(inputs: Inputs, before: Mapping[str, Any]) -> list[str]:
    """The inputs that are no longer what they were."""
    return [name for name, leaf in input_leaves(inputs).items() if name in before and not _same(leaf, before[name])]


def _same(leaf: Any, before: Any) -> bool:
    return bool(leaf.shape == before.shape) and bitwise_equal(leaf, before)


def restore(inputs: Inputs, before: Mapping[str, Any], names: Iterable[str]) -> None:
    """Copies inputs back to what they were."""
    found = input_leaves(inputs)
    with torch.no_grad():
        for name in names:
            found[name].copy_(before[name])


def record(
    case: Case, inputs: Inputs, before: Mapping[str, Any], arena: SharedArena, clock: Clock | None = None
) -> Recorded:
    """Calls `launch` twice, the second time recorded; the inputs are as before when it returns.

    In the first call kernels compile and autotuners choose, by `clock` where one is given; its launches are not to be
    repeated, nor memory kept.
    """
    seed_everything(0)
    with tuned_by(clock):
        case.launch(**inputs)
    _taken_gradients(inputs, before)
    restore(inputs, before, changed(inputs, before))
    found = Recorded()
    with _recording(found, inputs), tuned_configurations() as found.configurations:
        result = _call(case, inputs, arena)
    found.results = leaves(result, "result")
    gradients = _taken_gradients(inputs, before)
    written = changed(inputs, before)
    now = input_leaves(inputs)
    changes = {f"{INPUT}{name}": now[name] for name in written}
    found.computed = {**copied(found.results), **copied(gradients), **copied(changes)}
    found.fresh = [pair for pair in found.fresh if not _same(*pair)]
    restore(inputs, before, written)
    return found


def _taken_gradients(inputs: Inputs, before: Mapping[str, Any]) -> dict[str, Any]:
    """The gradients that a backward pass left, taken off the inputs: the next one would add to them."""
    found = {}
    for name, leaf in input_leaves(inputs).items():
        if leaf.is_leaf and leaf.grad is not None and f"{name}.grad" not in before:
            found[f"gradient of {name}"] = leaf.grad
            leaf.grad = None
    return found


def _call(case: Case, inputs: Inputs, arena: SharedArena) -> Any:
    arena.begin()
    seed_everything(0)
    with poisoned_allocations(arena):
        return case.launch(**inputs)


@contextmanager
def _recording(found: Recorded, inputs: Inputs) -> Iterator[None]:
    # Inputs are restored by name, and what nothing has written yet need not be.
    seen = {leaf.untyped_storage().data_ptr() for leaf in input_leaves(inputs).values()}

    def before(function: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        one = Repeatable(function, args, keywords)
        found.launches.append(one)
        for tensor in one.tensors.values():
            place = tensor.untyped_storage().data_ptr()
            if place not in seen and tensor.numel() and not bool(is_poison(tensor).all()):
                found.fresh.append((tensor, tensor.detach().clone()))
            seen.add(place)

    with recorded_launches(before=before):
        yield


def run_all(launches: Sequence[Repeatable]) -> Callable[[], None]:
    """A step that repeats launches."""

    def run() -> None:
        for one in launches:
            one.repeat()

    return run


def rewritten(found: Recorded) -> list[str]:
    """The results that the launches themselves write: not what the host makes of them afterwards."""
    given = {one.data_ptr() for launch in found.launches for one in launch.tensors.values()}
    return [name for name, one in found.results.items() if isinstance(one, torch.Tensor) and one.data_ptr() in given]


def poison(tensor: Any) -> None:
    """Overwrites a tensor with what uninitialised memory holds."""
    pattern = torch.full((tensor.dtype.itemsize,), poison_byte(tensor.dtype), dtype=torch.uint8, device=tensor.device)
    with torch.no_grad():
        tensor.copy_(pattern.view(tensor.dtype).expand(tensor.shape))


def least_bytes(launches: Sequence[Repeatable], written: Iterable[Any]) -> int:
    """The least that launches must move: every tensor once, one that is read and overwritten twice."""
    twice = {one.data_ptr() for one in written}
    total = 0
    for launch in launches:
        tensors = {one.data_ptr(): one for one in launch.tensors.values()}
        total += sum(one.nbytes * (2 if pointer in twice else 1) for pointer, one in tensors.items())
    return total
