"""Memory that shows what a kernel did not write, and what it wrote or read outside of its tensors.

Uninitialised allocations are filled with a pattern, and every tensor stands between two guards of the same pattern: a
float that is never written, or read past its tensor, is NaN; a guard that changed was written past a tensor.
"""

import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from tritonport.verify.lazy_bytes import LEAST, lazy_bytes
from tritonport.verify.tensors import raw_bytes

GUARD = 65536
"""Bytes before and after each tensor; a multiple of every alignment that a kernel may be specialised for."""

_FLOAT_BYTE, _INTEGER_BYTE, _BOOL_BYTE = 0xFF, 0x5B, 0x01
"""All ones is NaN in every float format with infinities, and in e4m3fn and e8m0fnu."""

_UNINITIALISED = frozenset(
    {
        "aten::empty",
        "aten::empty_like",
        "aten::empty_permuted",
        "aten::empty_strided",
        "aten::new_empty",
        "aten::new_empty_strided",
    }
)


def poison_byte(dtype: Any) -> int:
    """The byte that uninitialised memory of a type consists of."""
    if dtype.is_floating_point or dtype.is_complex:
        return _FLOAT_BYTE
    return _BOOL_BYTE if dtype == torch.bool else _INTEGER_BYTE


def is_poison(tensor: Any) -> Any:
    """A mask of the elements that hold the pattern; same shape, on the tensor's device."""
    raw = raw_bytes(tensor).reshape(*tensor.shape, tensor.dtype.itemsize)
    return (raw == poison_byte(tensor.dtype)).all(dim=-1)


def _plain(tensor: Any, *kinds: type) -> bool:
    """Whether a tensor is nothing but strides over memory, and has elements."""
    strided = type(tensor) in kinds and tensor.layout == torch.strided and not tensor.is_quantized
    return strided and tensor.numel() > 0 and tensor.device.type != "meta"


@dataclass(frozen=True)
class _Guarded:
    """One guarded allocation: its bytes, where its tensors lie in them, and what it is for the reader."""

    raw: Any
    size: int
    byte: int
    label: str
    tensor: Any
    """A weak reference to the tensor that was made for it; `None` once it is gone."""

    def moved(self, guard: int) -> bool:
        """Whether the tensor was resized since: its new extent may reach into the guard."""
        tensor = self.tensor()
        if tensor is None or tensor.untyped_storage().data_ptr() != self.raw.data_ptr():
            return False
        return bool((tensor.storage_offset() + tensor.numel()) * tensor.dtype.itemsize > guard + self.size)


@dataclass(frozen=True)
class Overrun:
    """A write outside of a tensor.

    Attributes:
        label: the tensor.
        distance: bytes from the tensor's nearest end to the first byte that changed; negative before its start.
        count: how many bytes changed.
    """

    label: str
    distance: int
    count: int

    def __str__(self) -> str:
        side = "after the end" if self.distance >= 0 else "before the start"
        return f"{self.count} bytes written outside of {self.label}, the first {abs(self.distance)} bytes {side}"


class Arena:
    """The allocations of one launch."""

    def __init__(self, guard: int = GUARD) -> None:
        """Args:
        guard: bytes before and after each tensor; 0 where out-of-bounds accesses are caught by other means.
        """
        self._guard = guard
        self._allocations: list[_Guarded] = []

    def _bytes(self, size: int, byte: int, device: Any) -> Any:
        size += 2 * self._guard
        lazy = lazy_bytes(size, byte) if torch.device(device).type == "cpu" and size >= LEAST else None
        return torch.full((size,), byte, dtype=torch.uint8, device=device) if lazy is None else lazy

    def allocate(self, like: Any, label: str) -> Any:
        """An uninitialised tensor of the shape, strides, type and device of `like`, which must be dense."""
        span = sum((n - 1) * stride for n, stride in zip(like.shape, like.stride(), strict=True)) + 1
        size, byte = span * like.dtype.itemsize, poison_byte(like.dtype)
        raw = self._bytes(size, byte, like.device)
        tensor = torch.empty(0, dtype=like.dtype, device=like.device)
        tensor.set_(raw.untyped_storage(), self._guard // like.dtype.itemsize, like.shape, like.stride())
        self._allocations.append(_Guarded(raw, size, byte, label, weakref.ref(tensor)))
        return tensor

    def rehouse(self, tensors: Mapping[str, Any]) -> dict[str, Any]:
        """Copies of tensors between guards. Tensors that share memory share the copy's; a leaf stays a leaf.

        A tensor without plain memory of its own (sparse, quantised, of a subclass, empty) is returned as it is; without
        guards all are.
        """
        if not self._guard:
            return dict(tensors)
        homes: dict[int, Any] = {}
        copies: dict[int, Any] = {}
        moved = {}
        for path, tensor in tensors.items():
            if id(tensor) in copies:
                moved[path] = copies[id(tensor)]
                continue
            if not _plain(tensor, torch.Tensor, torch.nn.Parameter) or not tensor.is_leaf:
                moved[path] = tensor
                continue
            storage = tensor.untyped_storage()
            size = storage.nbytes()
            if storage.data_ptr() not in homes:
                byte = poison_byte(tensor.dtype)
                raw = self._bytes(size, byte, tensor.device)
                raw[self._guard : self._guard + size] = torch.empty(0, dtype=torch.uint8, device=tensor.device).set_(
                    storage
                )
                homes[storage.data_ptr()] = raw
                # An input that the launch resizes gets memory of its own: nothing to watch there.
                self._allocations.append(_Guarded(raw, size, byte, path, lambda: None))
            raw = homes[storage.data_ptr()]
            copy = torch.empty(0, dtype=tensor.dtype, device=tensor.device)
            offset = self._guard // tensor.dtype.itemsize + tensor.storage_offset()
            copy.set_(raw.untyped_storage(), offset, tensor.shape, tensor.stride())
            if isinstance(tensor, torch.nn.Parameter):
                copy = torch.nn.Parameter(copy, requires_grad=tensor.requires_grad)
            moved[path] = copies[id(tensor)] = copy.requires_grad_(tensor.requires_grad)
        return moved

    def overruns(self) -> list[Overrun]:
        """What was written outside of the allocations so far."""
        found = []
        for allocation in self._allocations:
            if allocation.moved(self._guard):
                continue
            end = self._guard + allocation.size
            before = (allocation.raw[: self._guard] != allocation.byte).nonzero().flatten()
            after = (allocation.raw[end:] != allocation.byte).nonzero().flatten()
            count = before.numel() + after.numel()
            if after.numel():
                found.append(Overrun(allocation.label, int(after[0]), count))
            elif before.numel():
                found.append(Overrun(allocation.label, int(before[-1]) - self._guard, count))
        return found


class _Poisoned(TorchDispatchMode):  # type: ignore[misc]
    """Below every spelling: `torch.empty`, `Tensor.new_empty`, names imported from torch, and what autograd calls."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        # Else torch imports its whole compiler for the first allocation, which takes seconds.
        return False

    def __init__(self, arena: Arena) -> None:
        super().__init__()
        self._arena = arena
        self._count = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if func._schema.name not in _UNINITIALISED or not _plain(result, torch.Tensor):
            return result
        shape = "x".join(str(extent) for extent in result.shape) or "scalar"
        label = f"{func._schema.name.removeprefix('aten::')}[{self._count}] ({str(result.dtype)[6:]}, {shape})"
        self._count += 1
        return self._arena.allocate(result, label)


@contextmanager
def poisoned_allocations(arena: Arena) -> Iterator[None]:
    """Inside the block every uninitialised allocation by torch holds the pattern and stands between guards."""
    with _Poisoned(arena):
        yield
