"""What kernels stored, without rounding: the other side of global memory in an exact run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from tritonport.verify.emulate.memory import GlobalMemory, Region
from tritonport.verify.emulate.values import Array

_BITS = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


def _bits(data: Array) -> Array:
    """Elements of any type as unsigned integers, in one dimension."""
    flat = np.ascontiguousarray(data).reshape(-1)
    return flat.view(_BITS[flat.dtype.itemsize])


@dataclass
class _Kept:
    """The other side of one storage.

    Attributes:
        itemsize: bytes of an element; a storage that is written in another size begins anew.
        known: which elements a kernel has stored.
        bits: what stood in memory afterwards. Where that has changed since, something else has written.
        exact: the elements without rounding.
    """

    itemsize: int
    known: Array
    bits: Array
    exact: Array


def _none_kept(extent: int, itemsize: int) -> _Kept:
    return _Kept(itemsize, np.zeros(extent, np.bool_), np.zeros(extent, _BITS[itemsize]), np.zeros(extent))


class StorageMemory(GlobalMemory):
    """Global memory that says in which storage an address lies, and keeps the storages it has seen."""

    def __init__(self) -> None:
        super().__init__()
        self._seen: list[Any] = []

    def add(self, name: str, tensor: Any) -> None:
        super().add(name, tensor)
        # No other storage is to get its address before the run ends.
        self._seen.append(tensor.untyped_storage())

    def by_storage(self, addresses: Array) -> Iterator[tuple[Region, Array]]:
        """The storages that some addresses lie in, each with the indices of those; all have passed `check`."""
        slots = np.searchsorted(self._starts, addresses, side="right") - 1
        for slot in np.unique(slots):
            yield self._sorted[slot], np.nonzero(slots == slot)[0]


@dataclass
class ExactMemory:
    """What the launches of a run stored, by storage.

    Attributes:
        rounded: operations without an exact model that were given numbers that had been rounded.
        memory: the global memory of all launches of the run.
    """

    rounded: set[str] = field(default_factory=set)
    memory: StorageMemory = field(default_factory=StorageMemory)
    _kept: dict[int, _Kept] = field(default_factory=dict)

    def read(self, addresses: Array, data: Array, otherwise: Array) -> Array:
        """The elements at some addresses in float64; `otherwise` where no kernel stored what is there now."""
        result = np.array(otherwise)
        bits = _bits(data)
        for region, here in self.memory.by_storage(addresses):
            kept = self._kept.get(region.start)
            if kept is None or kept.itemsize != data.dtype.itemsize:
                continue
            places = (addresses[here] - np.uint64(region.start)).astype(np.int64) // kept.itemsize
            same = kept.known[places] & (kept.bits[places] == bits[here])
            result[here] = np.where(same, kept.exact[places], result[here])
        return result

    def write(self, addresses: Array, data: Array, exact: Array) -> None:
        """Notes what was stored. Of lanes with one address the last one counts, as in memory."""
        bits, itemsize = _bits(data), data.dtype.itemsize
        for region, here in self.memory.by_storage(addresses):
            kept = self._kept.get(region.start)
            if kept is None or kept.itemsize != itemsize or kept.known.size < region.size // itemsize:
                kept = self._kept[region.start] = _none_kept(region.size // itemsize, itemsize)
            places = (addresses[here] - np.uint64(region.start)).astype(np.int64) // itemsize
            kept.known[places], kept.bits[places], kept.exact[places] = True, bits[here], exact[here]

    def knows(self, tensor: torch.Tensor) -> bool:
        """Whether some element of a storage was stored by a kernel, or comes of one that was."""
        return tensor.untyped_storage().data_ptr() in self._kept

    def store(self, tensor: torch.Tensor, exact: torch.Tensor) -> None:
        """Notes what something else than a kernel has written into a tensor: its elements in float64."""
        self.memory.add("a tensor of the launch function", tensor)
        itemsize = tensor.dtype.itemsize
        start = tensor.untyped_storage().data_ptr()
        addresses = np.uint64(start) + _places(tensor).reshape(-1).astype(np.uint64) * np.uint64(itemsize)
        self.write(addresses, _elements(tensor), exact.detach().double().numpy().reshape(-1))

    def of_tensor(self, tensor: torch.Tensor) -> torch.Tensor | None:
        """A tensor on the CPU in float64 without the rounding of kernels; None where none stored into it.

        Elements that no kernel stored, or that something else has changed since, are as they are.
        """
        kept = self._kept.get(tensor.untyped_storage().data_ptr())
        itemsize = tensor.dtype.itemsize
        if kept is None or kept.itemsize != itemsize or not tensor.dtype.is_floating_point:
            return None
        places = _places(tensor)
        same = kept.known[places] & (kept.bits[places] == _elements(tensor).reshape(places.shape))
        if places.size and not same.any():
            return None
        plain = (tensor.detach().float() if itemsize == 1 else tensor.detach()).double().numpy()
        return torch.from_numpy(np.where(same, kept.exact[places], plain))


def _places(tensor: torch.Tensor) -> Array:
    """Where in its storage each element of a tensor lies, in elements; of the tensor's shape."""
    extent = tensor.untyped_storage().nbytes() // tensor.dtype.itemsize
    found: Array = torch.arange(extent).as_strided(tensor.shape, tensor.stride(), tensor.storage_offset()).numpy()
    return found


def _elements(tensor: torch.Tensor) -> Array:
    """The bits of the elements of a tensor, in one dimension."""
    raw = tensor.detach().contiguous().reshape(-1)
    found: Array = raw.as_strided((raw.numel(),), (1,)).view(torch.uint8).numpy()
    return found.view(_BITS[tensor.dtype.itemsize])
