"""`rearrange` and `reduce` for packages that ask for einops, where it is not installed: on torch's own, and no more."""

import re

from functorch.einops import rearrange


def reduce(tensor, pattern, reduction, **sizes):
    """`reduce(x, "b (h g) -> b h", "sum", g=2)`: a reduction over the axes that the right side leaves out."""
    left, right = pattern.split("->")
    kept = re.findall(r"\w+", right)
    dropped = [name for name in re.findall(r"\w+", left) if name not in kept]
    moved = rearrange(tensor, f"{left} -> {' '.join([*kept, *dropped])}", **sizes)
    return getattr(moved, reduction)(dim=tuple(range(len(kept), moved.ndim)))


def __getattr__(name):
    if name in ("repeat", "einsum"):

        def missing(*args, **keywords):
            raise NotImplementedError(f"einops.{name} needs einops: pip install einops")

        return missing
    raise AttributeError(name)


__all__ = ["rearrange", "reduce"]
