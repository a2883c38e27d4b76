"""The tensors in what a launch takes and returns."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import torch


def _children(value: Any) -> list[tuple[str, Any]] | None:
    """The parts of a container with the way each is written; None for a value that is none."""
    if isinstance(value, Mapping):
        return [(f"[{key!r}]", item) for key, item in value.items()]
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return [(f".{name}", getattr(value, name)) for name in value._fields]
    if isinstance(value, list | tuple):
        return [(f"[{index}]", item) for index, item in enumerate(value)]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return [(f".{item.name}", getattr(value, item.name)) for item in dataclasses.fields(value)]
    if is_descriptor(value) and hasattr(value, "base"):
        return [(".base", value.base)]
    return None


def is_descriptor(value: Any) -> bool:
    """Whether a value is a tensor descriptor of a launch: Triton's, Gluon's, or of a class that a port makes of it."""
    return any(one.__name__ == "TensorDescriptor" for one in type(value).__mro__)


def leaves(value: Any, name: str) -> dict[str, Any]:
    """What a nested value consists of: tensors and plain numbers by the way to write them (`result[1]['dx']`).

    Containers are tuples, lists, mappings, dataclasses and tensor descriptors. Other objects, and None, are left out.
    """
    if isinstance(value, torch.Tensor | int | float | complex) or value is None:
        return {} if value is None else {name: value}
    if type(value).__module__ == "numpy" and hasattr(value, "__array__"):
        return {name: torch.as_tensor(value)}
    found: dict[str, Any] = {}
    for suffix, item in _children(value) or ():
        found.update(leaves(item, name + suffix))
    return found


def input_leaves(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """The tensors among the inputs, by `x` or `x[0]`, and the gradients that they carry (`x.grad`)."""
    found = {}
    for key, value in inputs.items():
        for name, leaf in leaves(value, key).items():
            if isinstance(leaf, torch.Tensor):
                found[name] = leaf
                if leaf.is_leaf and leaf.grad is not None:
                    found[f"{name}.grad"] = leaf.grad
    return found


def replace_tensors(value: Any, name: str, replacement: Callable[[str, Any], Any]) -> Any:
    """The same nested value with `replacement(name, tensor)` for each tensor; containers are rebuilt.

    Dataclasses and descriptors are returned as they are: they may hold more than their fields say.
    """
    if isinstance(value, torch.Tensor):
        return replacement(name, value)
    if isinstance(value, dict):
        return {key: replace_tensors(item, f"{name}[{key!r}]", replacement) for key, item in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(replace_tensors(getattr(value, f), f"{name}.{f}", replacement) for f in value._fields))
    if type(value) in (list, tuple):
        return type(value)(replace_tensors(item, f"{name}[{index}]", replacement) for index, item in enumerate(value))
    return value


def replace_inputs(inputs: Mapping[str, Any], replacement: Callable[[str, Any], Any]) -> dict[str, Any]:
    """`replace_tensors` over the arguments of a launch."""
    return {key: replace_tensors(value, key, replacement) for key, value in inputs.items()}


def raw_bytes(tensor: Any) -> Any:
    """The bytes of a tensor's elements in order, in one dimension."""
    flat = tensor.detach().contiguous().reshape(-1)
    # A tensor of one element is contiguous whatever its stride, and keeps it.
    return flat.as_strided((flat.numel(),), (1,)).view(torch.uint8)


def same_memory(a: Any, b: Any) -> bool:
    """Whether two tensors are the same elements of the same memory."""
    return bool(a.data_ptr() == b.data_ptr() and a.shape == b.shape and a.stride() == b.stride() and a.dtype == b.dtype)
