"""Inputs that lie in memory in another way: the same values, where a fast way of a kernel may not be taken.

A case says by `VIEWS` which of its inputs are placed how: `VIEWS = dict(a=("misaligned", "padded"))`. What lies between
the elements is filled like memory that nothing initialised: a kernel that reads it computes NaN.

Importing this module does not import torch: cases are read where there is none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

MISALIGNED, PADDED, SPREAD, TRANSPOSED = "misaligned", "padded", "spread", "transposed"
KINDS = {
    MISALIGNED: "contiguous, and one element past an address that 16 bytes divide",
    PADDED: "rows one element further apart than they are long",
    SPREAD: "two elements from each to the next in a row",
    TRANSPOSED: "contiguous along the last dimension but one",
}


def read_views(given: Any) -> dict[str, tuple[str, ...]]:
    """`VIEWS` of a case: input to the ways that it is placed. Raises ValueError where it is something else."""
    if not isinstance(given, Mapping):
        raise ValueError("VIEWS is a dict of inputs")
    views = {name: (kinds,) if isinstance(kinds, str) else tuple(kinds) for name, kinds in given.items()}
    for name, kinds in views.items():
        wrong = [kind for kind in kinds if kind not in KINDS]
        if wrong:
            raise ValueError(f"VIEWS[{name!r}] has {wrong[0]!r}, which is none of {', '.join(KINDS)}")
    return views


def with_views(inputs: dict[str, Any], views: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """The inputs, some placed in another way. Raises ValueError where one is no tensor, or cannot be placed so."""
    import torch

    inputs = dict(inputs)
    for name, kind in views:
        if not isinstance(inputs.get(name), torch.Tensor):
            raise ValueError(f"VIEWS of the case: {name} is no tensor")
        inputs[name] = placed(inputs[name], kind)
    return inputs


def placed(tensor: Any, kind: str) -> Any:
    """The values of a tensor in memory of their own, placed as `kind` says; a leaf that wants a gradient still does.

    Raises ValueError for a scalar, and for a vector that is to be transposed.
    """
    import torch

    from tritonport.verify.poison import poison_byte

    if tensor.dim() < (2 if kind in (PADDED, TRANSPOSED) else 1):
        raise ValueError(f"a tensor of {tensor.dim()} dimensions cannot be {kind}")
    shape = list(tensor.shape)
    if kind == TRANSPOSED:
        shape[-2:] = shape[:-3:-1]
    elif kind == PADDED:
        shape[-1] += 1
    elif kind == SPREAD:
        shape[-1] *= 2
    numel = torch.Size(shape).numel()
    raw = torch.full(
        ((numel + 1) * tensor.dtype.itemsize,), poison_byte(tensor.dtype), dtype=torch.uint8, device=tensor.device
    )
    memory = raw.view(tensor.dtype)
    memory = memory[1:] if kind == MISALIGNED else memory[:-1]
    block = memory.view(shape)
    if kind == TRANSPOSED:
        block = block.transpose(-1, -2)
    elif kind == PADDED:
        block = block[..., :-1]
    elif kind == SPREAD:
        block = block[..., ::2]
    return block.copy_(tensor.detach()).requires_grad_(tensor.requires_grad)
