"""Tables of pointers: int64 tensors that hold addresses of other tensors (`tensor.data_ptr()`), as launches of many
problems at once take them."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator
from typing import Any

import torch

MAX_TABLE = 1 << 16
"""Entries; a longer int64 tensor is taken to hold data."""
_ADDRESSES = range(1 << 16, 1 << 57)
"""What may be an address of a process: Linux maps nothing below `vm.mmap_min_addr`, 64 KiB, and no processor gives a
process more than 57 bits. Indices lie below, and the poison of memory that nothing has written above."""


def addressed(arguments: Iterable[Any]) -> Iterator[torch.Tensor]:
    """The live CPU tensors whose first element an entry of some int64 argument points to."""
    tables = [argument for argument in arguments if _is_table(argument)]
    entries = {entry for table in tables for entry in table.flatten().tolist() if entry in _ADDRESSES}
    if not entries:
        # A launch costs less than a look at every object of a process that has torch and Triton loaded.
        return
    for found in gc.get_objects():
        # Not isinstance: that asks some objects for their class, which runs code of theirs.
        if not issubclass(type(found), torch.Tensor) or found.device.type != "cpu" or found.layout is not torch.strided:
            continue
        if found.numel() and found.data_ptr() in entries:
            yield found


def _is_table(argument: Any) -> bool:
    return (
        issubclass(type(argument), torch.Tensor)
        and argument.dtype in (torch.int64, torch.uint64)
        and argument.device.type == "cpu"
        and 0 < argument.numel() <= MAX_TABLE
    )
