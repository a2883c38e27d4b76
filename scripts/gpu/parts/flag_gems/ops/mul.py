"""Stands for the elementwise product, which the gradients use."""

from torch import mul

__all__ = ["mul"]
