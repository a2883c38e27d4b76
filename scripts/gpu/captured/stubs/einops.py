"""`rearrange` for packages that ask for einops, where einops is not installed: torch's own, and without the rest."""

from functorch.einops import rearrange


def __getattr__(name):
    if name in ("repeat", "reduce", "einsum"):

        def missing(*args, **keywords):
            raise NotImplementedError(f"einops.{name} needs einops: pip install einops")

        return missing
    raise AttributeError(name)


__all__ = ["rearrange"]
