"""Global memory: the tensors of a launch, and the loads, stores and atomics that reach into them.

Addresses are the real ones of the host tensors. Before any access, every address whose mask is set must lie in the
storage of a tensor of the launch and be aligned to its element.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from triton._C.libtriton import interpreter as native
from triton._C.libtriton import ir

from tritonport.verify.emulate.errors import Fault
from tritonport.verify.emulate.floats import from_float, to_float
from tritonport.verify.emulate.shared import Place
from tritonport.verify.emulate.values import Array, Value, layout_of, signed, storage, unsigned


@dataclass(frozen=True)
class Region:
    """The storage of one or more tensors: ``start`` is an address, ``size`` in bytes."""

    name: str
    start: int
    size: int

    @property
    def end(self) -> int:
        return self.start + self.size


@dataclass(frozen=True)
class Change:
    """What one store or atomic found at its addresses (only those whose ``mask`` is set)."""

    addresses: Array
    mask: Array
    before: Array


class GlobalMemory:
    """The regions a launch may touch. ``writes`` counts the stores and atomics that changed at least one byte,
    while ``watching`` is on; ``journal`` (if not None) collects what would undo them."""

    def __init__(self) -> None:
        self._regions: dict[int, Region] = {}
        self._sorted: list[Region] = []
        self._starts = np.zeros(0, np.uint64)
        self._ends = np.zeros(0, np.uint64)
        self.watching = False
        self.writes = 0
        self.journal: list[Change] | None = None

    def add(self, name: str, tensor: Any) -> None:
        """Let the launch touch the whole storage of a torch tensor."""
        store = tensor.untyped_storage()
        start, size = int(store.data_ptr()), int(store.nbytes())
        if size == 0:
            return
        known = self._regions.get(start)
        if known is not None and name not in known.name.split(", "):
            name = f"{known.name}, {name}"
        self._regions[start] = Region(name, start, max(size, known.size if known else 0))
        self._sorted = sorted(self._regions.values(), key=lambda region: region.start)
        self._starts = np.array([region.start for region in self._sorted], np.uint64)
        self._ends = np.array([region.end for region in self._sorted], np.uint64)

    def remember(self, addresses: Array, mask: Array, kind: np.dtype[Any]) -> None:
        """Note what is about to be overwritten."""
        if self.journal is not None:
            before = native.load(addresses, mask, np.zeros(addresses.shape, kind), kind)
            self.journal.append(Change(addresses, mask, np.asarray(before, dtype=kind).reshape(addresses.shape)))

    def contents(self, changes: list[Change]) -> bytes:
        """What now lies at every address that was changed, in the order of the addresses."""
        touched: dict[np.dtype[Any], list[Array]] = {}
        for change in changes:
            touched.setdefault(change.before.dtype, []).append(change.addresses[change.mask].reshape(-1))
        result = b""
        for kind in sorted(touched, key=str):
            addresses = np.unique(np.concatenate(touched[kind]))
            every = np.ones(addresses.shape, np.bool_)
            data = native.load(addresses, every, np.zeros(addresses.shape, kind), kind)
            result += addresses.tobytes() + np.asarray(data).tobytes()
        return result

    def undo(self, changes: list[Change]) -> None:
        """Put back what was there before."""
        for change in reversed(changes):
            native.store(change.addresses, change.before, change.mask)

    def check(self, what: str, addresses: Array, mask: Array | None, itemsize: int) -> None:
        """Raises :class:`Fault` if an address whose mask is set lies outside every region or is misaligned."""
        active = addresses if mask is None else addresses[mask]
        if active.size == 0:
            return
        low, high = int(active.min()), int(active.max()) + itemsize
        if itemsize > 1 and bool((active & np.uint64(itemsize - 1)).any()):
            bad = active[(active & np.uint64(itemsize - 1)) != 0].reshape(-1)[0]
            raise Fault(f"misaligned {what}: address {int(bad):#x} is not a multiple of {itemsize} bytes")
        for region in self._sorted:
            if region.start <= low and high <= region.end:
                return
        if self._sorted:
            slot = np.searchsorted(self._starts, active, side="right").astype(np.int64) - 1
            inside = (slot >= 0) & (active + np.uint64(itemsize) <= self._ends[np.maximum(slot, 0)])
            if bool(inside.all()):
                return
            bad = np.asarray(active)[~inside].reshape(-1)[0]
        else:
            bad = active.reshape(-1)[0]
        raise Fault(self._describe(what, int(bad), addresses, mask, itemsize))

    def _describe(self, what: str, address: int, addresses: Array, mask: Array | None, itemsize: int) -> str:
        hits = addresses == np.uint64(address)
        if mask is not None:
            hits = hits & mask
        where = tuple(int(axis[0]) for axis in np.nonzero(np.atleast_1d(hits)))
        element = f", element {where} of the tensor of pointers" if addresses.ndim else ""
        if not self._sorted:
            return f"out-of-bounds {what} at address {address:#x}: no tensor was passed to the launch{element}"
        nearest = min(self._sorted, key=lambda r: r.start - address if address < r.start else address - r.end + 1)
        offset = address - nearest.start
        if offset < 0:
            place = f"{-offset} bytes before the start"
        else:
            place = f"at byte {offset}, {offset + itemsize - nearest.size} bytes past the end"
        return (
            f"out-of-bounds {what}: {itemsize} bytes {place} of `{nearest.name}` "
            f"(the nearest tensor; its storage has {nearest.size} bytes){element}"
        )


_ATOMICS: dict[Any, Callable[[Array, Array], Array]] = {
    ir.ATOMIC_OP.ADD: np.add,
    ir.ATOMIC_OP.FADD: np.add,
    ir.ATOMIC_OP.AND: np.bitwise_and,
    ir.ATOMIC_OP.OR: np.bitwise_or,
    ir.ATOMIC_OP.XOR: np.bitwise_xor,
    ir.ATOMIC_OP.MAX: np.maximum,
    ir.ATOMIC_OP.MIN: np.minimum,
    ir.ATOMIC_OP.UMAX: np.maximum,
    ir.ATOMIC_OP.UMIN: np.minimum,
    ir.ATOMIC_OP.XCHG: lambda old, new: new,
}
_UNSIGNED_ATOMICS = (ir.ATOMIC_OP.UMAX, ir.ATOMIC_OP.UMIN)


def poison(kind: np.dtype[Any], dtype: Any) -> Any:
    """What a masked-off lane holds under ``poison_masked``: a NaN, or a value no kernel expects."""
    if kind.kind == "f":
        return kind.type(np.nan)
    if dtype.name == "bf16":
        return kind.type(0x7FFF)
    if kind == np.bool_:
        return np.True_
    return kind.type(0x7F) if kind.itemsize == 1 else kind.type(np.iinfo(kind).max // 3)


@dataclass
class MaskUse:
    """What a masked access has met so far, over all its runs: a lane that was off, a lane that was on."""

    off: bool = False
    on: bool = False


class MemoryOps:
    """Builder methods for global memory.

    Trailing cache arguments differ between Triton versions and change no value.
    """

    memory: GlobalMemory
    poison_masked: bool
    masks: dict[Place, MaskUse] | None
    """By place in the source, what its masks were; None where nobody asks."""
    where: Callable[[], Place]

    def get_cache_policy(self, *_: object) -> None:
        return None

    def threads_access(self, what: str, ptr: Value, mask: Value | None, *, writes: bool, atomic: bool = False) -> None:
        """Threads are about to access global memory. Only in Gluon can something be under way there."""

    def create_load(self, ptr: Value, *_: object) -> Value:
        self.threads_access("load", ptr, None, writes=False)
        return self.read("load", ptr, None, None)

    def create_masked_load(self, ptr: Value, mask: Value, other: Value | None, *_: object) -> Value:
        self.threads_access("load", ptr, mask, writes=False)
        return self.read("load", ptr, mask, other)

    def create_store(self, ptr: Value, value: Value, *_: object) -> None:
        self.threads_access("store", ptr, None, writes=True)
        self.write("store", ptr, value, None)

    def create_masked_store(self, ptr: Value, value: Value, mask: Value, *_: object) -> None:
        self.threads_access("store", ptr, mask, writes=True)
        self.write("store", ptr, value, mask)

    def read(self, what: str, ptr: Value, mask: Value | None, other: Value | None) -> Value:
        """The elements at ``ptr``; masked-off lanes hold ``other``, or zero as on an NVIDIA GPU."""
        element = ptr.dtype.element_ty
        kind = storage(element)
        on = np.ones(ptr.data.shape, np.bool_) if mask is None else np.broadcast_to(mask.data, ptr.data.shape)
        self.memory.check(what, ptr.data, None if mask is None else on, kind.itemsize)
        self._note_mask(mask)
        if other is not None:
            fill = np.array(np.broadcast_to(other.data, ptr.data.shape), dtype=kind)
        elif self.poison_masked and mask is not None:
            fill = np.full(ptr.data.shape, poison(kind, element), kind)
        else:
            fill = np.zeros(ptr.data.shape, kind)
        data = native.load(np.ascontiguousarray(ptr.data), np.ascontiguousarray(on), fill, kind)
        return Value(np.asarray(data, dtype=kind).reshape(ptr.data.shape), element, ptr.layout)

    def write(self, what: str, ptr: Value, value: Value, mask: Value | None) -> None:
        kind = storage(ptr.dtype.element_ty)
        on = np.ones(ptr.data.shape, np.bool_) if mask is None else np.broadcast_to(mask.data, ptr.data.shape)
        self.memory.check(what, ptr.data, None if mask is None else on, kind.itemsize)
        self._note_mask(mask)
        data = np.ascontiguousarray(np.broadcast_to(value.data, ptr.data.shape), dtype=kind)
        addresses, on = np.ascontiguousarray(ptr.data), np.ascontiguousarray(on)
        if self.memory.watching:
            before = native.load(addresses, on, data, kind)
            self.memory.writes += int(np.asarray(before).tobytes() != data.tobytes())
        self.memory.remember(addresses, on, kind)
        native.store(addresses, data, on)

    def _note_mask(self, mask: Value | None) -> None:
        if self.masks is not None and mask is not None:
            use = self.masks.setdefault(self.where(), MaskUse())
            use.off |= not bool(mask.data.all())
            use.on |= bool(mask.data.any())

    def create_addptr(self, ptr: Value, offset: Value) -> Value:
        # An i1 occupies a byte in memory.
        size = max(1, ptr.dtype.element_ty.primitive_bitwidth // 8)
        step = offset.data.astype(np.int64) * np.int64(size)
        return Value(np.asarray(ptr.data + step.view(np.uint64)), ptr.dtype, layout_of(ptr, offset))

    # Atomics. Lanes act in the order of their index; programs run one after another.

    def create_atomic_rmw(self, operation: Any, ptr: Value, value: Value, mask: Value, *_: object) -> Value:
        self.threads_access("atomic", ptr, mask, writes=True, atomic=True)
        return self.reduce(operation, ptr, value, mask)

    def reduce(self, operation: Any, ptr: Value, value: Value, mask: Value) -> Value:
        """Combine ``value`` into the elements at ``ptr``; what was there before."""
        element = value.dtype
        combine = _ATOMICS[operation]
        as_unsigned = operation in _UNSIGNED_ATOMICS
        as_float = element.is_floating() and operation == ir.ATOMIC_OP.FADD

        def update(old: Array, new: Array) -> Array:
            if as_float:
                return from_float(combine(to_float(old, element), to_float(new, element)), element)
            if as_unsigned:
                return signed(np.asarray(combine(unsigned(old), unsigned(new))))
            return np.asarray(combine(old, new))

        return self._atomic("atomic", ptr, value, mask.data, update)

    def create_atomic_cas(self, ptr: Value, expected: Value, value: Value, *_: object) -> Value:
        self.threads_access("atomic_cas", ptr, None, writes=True, atomic=True)
        wanted = np.broadcast_to(expected.data, ptr.data.shape).reshape(-1)
        position = np.arange(wanted.size)

        def update(old: Array, new: Array, lanes: Array) -> Array:
            # The comparison is of bits, so that a NaN equals itself.
            bits = f"u{old.dtype.itemsize}"
            return np.where(old.view(bits) == wanted[lanes].view(bits), new, old)

        return self._atomic("atomic_cas", ptr, value, np.ones((), np.bool_), update, position)

    def _atomic(
        self, what: str, ptr: Value, value: Value, mask: Array, update: Callable[..., Array], lanes: Array | None = None
    ) -> Value:
        kind = storage(ptr.dtype.element_ty)
        shape = ptr.data.shape
        on = np.broadcast_to(mask, shape)
        self.memory.check(what, ptr.data, on, kind.itemsize)
        addresses = np.ascontiguousarray(ptr.data).reshape(-1)
        values = np.array(np.broadcast_to(value.data, shape), dtype=kind).reshape(-1)
        result = np.zeros(values.shape, kind)
        pending = np.nonzero(on.reshape(-1))[0]
        while pending.size:
            # One lane for each distinct address: the first that has not acted yet.
            _, first = np.unique(addresses[pending], return_index=True)
            turn = pending[np.sort(first)]
            every = np.ones(turn.shape, np.bool_)
            old = np.asarray(native.load(addresses[turn], every, np.zeros(turn.shape, kind), kind), dtype=kind)
            extra = () if lanes is None else (lanes[turn],)
            new = np.ascontiguousarray(update(old, values[turn], *extra), dtype=kind)
            if self.memory.watching:
                self.memory.writes += int(old.tobytes() != new.tobytes())
            self.memory.remember(addresses[turn], every, kind)
            native.store(addresses[turn], new, every)
            result[turn] = old
            pending = np.setdiff1d(pending, turn, assume_unique=True)
        return Value(result.reshape(shape), value.dtype, layout_of(ptr, value))

    def create_atomic_load(self, ptr: Value, mask: Value, *_: object) -> Value:
        self.threads_access("atomic load", ptr, mask, writes=False, atomic=True)
        return self.read("atomic load", ptr, mask, None)

    def create_atomic_store(self, ptr: Value, value: Value, mask: Value, *_: object) -> None:
        self.threads_access("atomic store", ptr, mask, writes=True, atomic=True)
        self.write("atomic store", ptr, value, mask)

    def create_atomic_poll(self, ptr: Value, expected: Value, timeout: Any, *_: object) -> Value:
        self.threads_access("atomic poll", ptr, None, writes=False, atomic=True)
        found = self.read("atomic poll", ptr, None, None)
        matched = np.asarray(found.data == expected.data)
        if not matched.all() and not isinstance(timeout, Value):
            raise Fault(
                "atomic_poll waits for a value that is not there and that no one can still write: "
                "programs run one after another, in the order of their ids"
            )
        return Value(matched, found.dtype, ptr.layout)
