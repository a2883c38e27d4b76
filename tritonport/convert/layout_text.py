"""Layout terms as source text, and the definitions of a kernel's layouts."""

from __future__ import annotations

from tritonport.layouts.strides_text import bits_condition, order_text
from tritonport.layouts.terms import Root, Slice, Term, normal


def term_text(term: Term, names: dict[Root, str], gl: str) -> str:
    term = normal(term)
    if isinstance(term, Slice):
        return f"{gl}.SliceLayout({term.axis}, {term_text(term.parent, names, gl)})"
    return names[term]


def pointers_of(root: Root, integers: set[str], parameters: set[str]) -> list[str]:
    """The pointer arguments (or `gl.` dtypes) whose elements the layout moves, in the order of the accesses.

    Only contiguous accesses count: a gather moves one element at a time whatever the layout.
    """
    found: dict[str, None] = {}
    for access in root.accesses:
        if access.order is not None and not access.order.contiguous:
            continue
        usable = [name for name in access.pointers if name.startswith("gl.") or name in parameters]
        typed = [name for name in usable if name.startswith("gl.")]
        likely = typed or [name for name in usable if name not in integers] or usable
        for name in likely[:1]:
            found.setdefault(name)
    return list(found)


def definition(root: Root, integers: set[str], parameters: set[str], gl: str, used: set[str]) -> str:
    """The right-hand side of `x_layout: gl.constexpr = ...`. Adds the emitted helpers it calls to `used`."""
    shape = ", ".join(size.text if size is not None else "1" for size in root.shape)
    pointers = pointers_of(root, integers, parameters)
    used.add("coalesced")
    order = order_text(root, used)
    if not pointers:
        return f"coalesced([{shape}], 128, {order}, {gl}.num_warps())"
    widths = [f"{name}.primitive_bitwidth" for name in pointers if name.startswith("gl.")]
    if len(pointers) == 1 and widths:
        bits = widths[0]
    else:
        used.add("element_bits")
        bits = f"element_bits({', '.join(pointers)})"
    condition = bits_condition(root, used)
    if condition:
        # A strided access has no runs of 16 bytes: one element per thread keeps neighbours in one transaction.
        bits = f"{bits} if {condition} else 128"
    return f"coalesced([{shape}], {bits}, {order}, {gl}.num_warps())"
