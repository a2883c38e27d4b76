"""The dimension order of a layout as source text."""

from __future__ import annotations

from tritonport.analysis.strides import FLAG, Order, leading, row_major
from tritonport.analysis.terms import Root
from tritonport.rules_data import version_key

FIRST_FIRST = "3.6"
"""The last Triton that orders dimensions whose memory is equally far from contiguous from the first to the last."""


def order_text(root: Root, used: set[str], triton: str) -> str:
    """`[1, 0]`, or a choice on the strides that are arguments: `[0, 1] if unit(stride_m) else [1, 0]`.

    Of the dimensions behind the fastest one Triton's coalescing pass takes the last first; Triton 3.6 the first.
    """
    rank = root.rank
    order = root.order
    if rank == 1 or order is None:
        return _list(row_major(rank))

    def spelled(found: tuple[int, ...]) -> str:
        first_first = version_key(triton) <= version_key(FIRST_FIRST) and found == leading(found[0], rank)
        return _list((found[0], *sorted(found[1:])) if first_first else found)

    if order.fixed is not None:
        return spelled(order.fixed)
    text = ""
    choices = [choice for choice in order.choices if choice[0] != rank - 1]
    for dim, names in choices:
        if _names_stride(names):
            used.add("unit")
        text += f"{spelled(leading(dim, rank))} if {_unit(names)} else "
    return text + spelled(row_major(rank))


def bits_condition(root: Root, used: set[str]) -> str:
    """When a layout of run-time strides can have runs: `unit(stride_m) or unit(stride_n)`; empty where it always
    can."""
    contiguous = [access.order for access in root.accesses if access.order is not None and access.order.contiguous]
    if not contiguous or any(order.fixed is not None for order in contiguous):
        return ""
    found = list(dict.fromkeys(names for order in contiguous for _, names in order.choices))
    conditions = dict.fromkeys(map(_unit, found))
    if any(f"not {condition}" in conditions for condition in conditions):
        return ""
    if any(map(_names_stride, found)):
        used.add("unit")
    return " or ".join(conditions)


def _names_stride(names: tuple[str, ...]) -> bool:
    return not all(name.startswith(FLAG) for name in names)


def _unit(names: tuple[str, ...]) -> str:
    return " and ".join(name.removeprefix(FLAG) if name.startswith(FLAG) else f"unit({name})" for name in names)


def _list(order: tuple[int, ...]) -> str:
    return f"[{', '.join(map(str, order))}]"


__all__ = ["Order", "bits_condition", "order_text"]
