"""Stands for the package's utilities: its cache of launches is left out, its tuner is Triton's."""

import torch
import triton


def libentry():
    """A decorator that gives the kernel back."""
    return lambda kernel: kernel


def libtuner(configs, key, strategy=None, warmup=None, rep=None, **options):
    """`triton.autotune` over the same configurations."""
    return triton.autotune(configs, key, **options)


def broadcastable_to(given, wanted):
    """Whether a shape broadcasts to another."""
    return torch.broadcast_shapes(given, wanted) == torch.Size(wanted)
