"""The exact run between launches: what torch computes from exact tensors is exact too.

A launch function adds partial sums up by torch, casts a result, zeroes a buffer. Below autograd every such operation
comes by here and is run a second time, in float64, where a tensor that it is given is known without rounding.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map

from tritonport.verify.emulate.exact_memory import ExactMemory


def _is_float(leaf: Any) -> bool:
    plain = isinstance(leaf, torch.Tensor) and leaf.layout == torch.strided and leaf.device.type == "cpu"
    return plain and leaf.dtype.is_floating_point


class ExactTorch(TorchDispatchMode):  # type: ignore[misc]
    """Inside the block operations of torch keep the other side of their tensors."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        # As for poisoned memory: nothing here is to be compiled.
        return False

    def __init__(self, memory: ExactMemory) -> None:
        super().__init__()
        self._memory = memory

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        known = any(_is_float(leaf) and self._memory.knows(leaf) for leaf in tree_flatten((args, kwargs))[0])
        if not known or func.is_view:
            return func(*args, **kwargs)
        wide_args, wide_kwargs = tree_map(self._wide, (args, kwargs))
        result = func(*args, **kwargs)
        try:
            wide = func(*wide_args, **wide_kwargs)
        except (RuntimeError, TypeError, NotImplementedError):
            # No kernel of torch for this type: the numbers as they were rounded go on.
            self._memory.rounded.add(func._schema.name)
            return result
        self._keep(result, wide)
        for number, argument in enumerate(func._schema.arguments):
            if argument.alias_info is not None and argument.alias_info.is_write:
                here = args[number] if number < len(args) else kwargs.get(argument.name)
                there = wide_args[number] if number < len(args) else wide_kwargs.get(argument.name)
                self._keep(here, there)
        return result

    def _wide(self, leaf: Any) -> Any:
        if isinstance(leaf, torch.dtype):
            return torch.float64 if leaf.is_floating_point else leaf
        if not _is_float(leaf):
            return leaf.clone() if isinstance(leaf, torch.Tensor) else leaf
        exact = self._memory.of_tensor(leaf)
        if exact is not None:
            return exact
        return (leaf.detach().float() if leaf.dtype.itemsize == 1 else leaf.detach()).double()

    def _keep(self, result: Any, wide: Any) -> None:
        pairs = zip(tree_flatten(result)[0], tree_flatten(wide)[0], strict=True)
        for here, there in pairs:
            if _is_float(here) and isinstance(there, torch.Tensor) and there.shape == here.shape and here.numel():
                self._memory.store(here, there)
