"""Small Gluon kernels with one fault each. Every kernel takes ``BAD``: with False it is its own corrected twin.

The line where the fault must be reported ends in the comment ``# reported``.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.ampere import async_copy
from triton.experimental.gluon.language.nvidia.hopper import tma
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor

S = 64
TILE = gl.constexpr(gl.BlockedLayout([1, 4], [4, 8], [4, 1], [1, 0]))
ACC = gl.constexpr(gl.NVMMADistributedLayout([3, 0], [4, 1], [16, 64, 16]))
SMEM = gl.constexpr(gl.NVMMASharedLayout.get_default_for([64, 64], gl.float16))
# The names changed in Triton 3.8; the old ones are there in 3.9, and only raise.
LOAD = tma.async_load if hasattr(tma, "async_load") else tma.async_copy_global_to_shared
STORE = tma.async_store if hasattr(tma, "async_store") else tma.async_copy_shared_to_global
COPY = async_copy.async_load if hasattr(async_copy, "async_load") else async_copy.async_copy_global_to_shared


@dataclass(frozen=True)
class PlantedFault:
    """``launch(bad)`` runs the kernel and returns what it computed and what it should have.

    ``message`` is a regular expression. ``since``: the first Triton in which the twin can be written.
    """

    kernel: Any
    launch: Callable[[bool], tuple[torch.Tensor, torch.Tensor]]
    message: str
    target: str = "sm_90"
    since: str = "3.6"

    @property
    def name(self) -> str:
        return str(self.kernel.__name__)

    @property
    def file(self) -> str:
        return str(inspect.getsourcefile(self.kernel.fn))

    @property
    def line(self) -> int:
        lines = Path(self.file).read_text().splitlines()
        marks = [i + 1 for i, line in enumerate(lines) if line.rstrip().endswith(f"# reported: {self.name}")]
        if marks:
            return marks[0]
        own, first = inspect.getsourcelines(self.kernel.fn)
        (mark,) = [first + i for i, line in enumerate(own) if line.rstrip().endswith("# reported")]
        return mark


@gluon.jit
def at(row):
    """The offsets of a tile of 64 rows from ``row``, in a matrix of 64 columns."""
    r = row + gl.arange(0, 64, layout=gl.SliceLayout(1, TILE))
    return r[:, None] * 64 + gl.arange(0, 64, layout=gl.SliceLayout(0, TILE))[None, :]


def matrix(rows: int = S, seed: int = 0) -> torch.Tensor:
    """Small integers, so that products are exact."""
    return torch.randint(-3, 4, (rows, S), generator=torch.Generator().manual_seed(seed)).half()


def descriptor(tensor: torch.Tensor, columns: int = S) -> TensorDescriptor:
    return TensorDescriptor.from_tensor(
        tensor, [S, columns], gl.NVMMASharedLayout.get_default_for([S, columns], gl.float16)
    )


def sum_of_tiles(kernel: Any, tiles: int = 4, **more: Any) -> Callable[[bool], tuple[torch.Tensor, torch.Tensor]]:
    """Launches a kernel (descriptor or pointer to the tiles, pointer to the fp32 result, number of tiles, BAD)."""

    def launch(bad: bool) -> tuple[torch.Tensor, torch.Tensor]:
        x, out = matrix(S * tiles), torch.zeros(S, S)
        takes_pointer = more.get("pointer", False)
        kernel[(1,)](x if takes_pointer else descriptor(x), out, tiles, BAD=bad)
        return out, x.float().view(tiles, S, S).sum(0)

    return launch


def copy_of_tile(kernel: Any, rows: int = S) -> Callable[[bool], tuple[torch.Tensor, torch.Tensor]]:
    """Launches a kernel (pointer to fp16 tiles, descriptor of the fp16 result, BAD) that doubles its input."""

    def launch(bad: bool) -> tuple[torch.Tensor, torch.Tensor]:
        x, out = matrix(rows), torch.zeros(rows, S, dtype=torch.float16)
        kernel[(1,)](x, descriptor(out), BAD=bad)
        return out, x * 2

    return launch


def sum_of_squares(kernel: Any, tiles: int = 4) -> Callable[[bool], tuple[torch.Tensor, torch.Tensor]]:
    """Launches a kernel (descriptor of the tiles, pointer to the fp32 result, number of tiles, BAD): sum of T @ T."""

    def launch(bad: bool) -> tuple[torch.Tensor, torch.Tensor]:
        x, out = matrix(S * tiles), torch.zeros(S, S)
        kernel[(1,)](descriptor(x), out, tiles, BAD=bad)
        each = x.float().view(tiles, S, S)
        return out, (each @ each).sum(0)

    return launch
