"""Stands for the package's runtime: configurations from its list for large matrices on NVIDIA, its own heuristics."""

from types import SimpleNamespace

import torch
import triton

from flag_gems.runtime.backend._nvidia.heuristics_config_utils import HEURISTICS_CONFIGS

device = SimpleNamespace(name="cuda", vendor_name="nvidia")
torch_device_fn = torch.cuda


def _configs(names, *rows):
    return [
        triton.Config(dict(zip(names, sizes, strict=True)), num_warps=warps, num_stages=stages)
        for *sizes, warps, stages in rows
    ]


_BATCHED = _configs(
    ("TILE_M", "TILE_N", "TILE_K", "GROUP_M"),
    (64, 64, 32, 2, 4, 3),
    (128, 64, 32, 2, 4, 3),
    (128, 128, 32, 2, 4, 2),
    (128, 128, 32, 2, 4, 3),
)
_TUNED = {
    "addmm": _configs(
        ("BLOCK_SIZE_M", "BLOCK_SIZE_N", "BLOCK_SIZE_K"),
        (64, 128, 32, 4, 4),
        (128, 64, 32, 4, 4),
        (128, 128, 32, 4, 4),
        (128, 256, 64, 8, 3),
    ),
    "baddbmm": _BATCHED,
    "bmm": _BATCHED,
    "mm": _configs(
        ("BLOCK_M", "BLOCK_N", "BLOCK_K"),
        (64, 128, 64, 4, 4),
        (128, 128, 64, 8, 3),
        (128, 256, 64, 8, 3),
        (128, 256, 64, 8, 4),
    ),
    "mm_self_transpose": _configs(
        ("BLOCK_M", "BLOCK_K"), (64, 64, 4, 3), (128, 32, 8, 4), (128, 64, 8, 3), (128, 64, 8, 4)
    ),
}


def get_tuned_config(name):
    """The configurations of an operation."""
    return _TUNED[name]


def get_heuristic_config(name):
    """The package's own heuristics of an operation."""
    return HEURISTICS_CONFIGS[name]
