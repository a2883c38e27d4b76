"""Names for what the output adds: layouts after the memory they serve, copies of index variables after their layout."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tritonport.analysis.terms import (
    Join,
    Permute,
    Root,
    Slice,
    Term,
    Turned,
    base_of,
    is_narrow,
    kept_dimensions,
    normal,
    rank,
    root_of,
)

_POINTER = re.compile(r"(_ptrs?|_pointer|_base|ptrs?_?|_p)$|^(p_|ptr_)", re.IGNORECASE)


def stem(pointer: str) -> str:
    """`x` for `x_ptr`, `X_ptr`, `X`: the tensor's own name."""
    name = re.sub(r"\W+", "_", pointer.split(".")[-1]).strip("_")
    short = _POINTER.sub("", name).strip("_")
    return (short or name).lower()


class Names:
    """Fresh names for one function: never one that the function or the module already uses."""

    def __init__(self, taken: Iterable[str]) -> None:
        self.taken = set(taken)

    def fresh(self, wanted: str) -> str:
        name, number = wanted, 2
        while name in self.taken:
            name = f"{wanted}_{number}"
            number += 1
        self.taken.add(name)
        return name


def name_layouts(
    roots: list[Root], names: Names, labels: dict[Term, str], constants: frozenset[str] = frozenset()
) -> dict[Term, str]:
    """`layout` where there is one; else `x_layout` after the first tensor that is read or written through it, or the
    variable that holds it where the tensor has given its name already, or where the pointer is a number with a type (of
    `gl`, or one of the `constants`). A second tile of one tensor says its dimensions too: `x_mk_layout`.

    The layout of a dot's result is named after the first variable in `labels` that holds it, unless memory has that
    name.
    """
    split = [root for root in roots if root.wide is not None]
    if split:
        found = name_layouts([root for root in roots if root.wide is None], names, labels, constants)
        return found | {root: names.fresh("store_layout") for root in split}
    if len(roots) == 1:
        return {roots[0]: names.fresh("layout")}
    found = {}
    for root in roots:
        if root.dot is not None:
            label = labels.get(root, "dot").lower()
            taken_by_memory = f"{label}_layout" in names.taken and label != "dot"
            found[root] = names.fresh(f"{label}_dot_layout" if taken_by_memory else f"{label}_layout")
            continue
        pointers = [pointer for access in root.accesses for pointer in access.pointers]
        pointers = [pointer for pointer in pointers if not pointer.startswith("gl.") and pointer not in constants]
        taken = set(found.values())
        candidates = [f"{stem(pointer.removesuffix('.dtype'))}_layout" for pointer in pointers]
        if root.accesses and root in labels:
            candidates.append(f"{labels[root]}_layout".lower())
        chosen = next((name for name in candidates if name not in taken and name not in names.taken), None)
        if chosen is None and (sizes := _dimensions(root)):
            chosen = f"{candidates[0].removesuffix('_layout')}_{sizes}_layout" if candidates else f"{sizes}_layout"
        found[root] = names.fresh(chosen or (candidates[0] if candidates else "layout"))
    return found


def _dimensions(root: Root) -> str:
    """What tells two tiles of one tensor apart: `mk` for [BLOCK_M, BLOCK_K], else the name of the last dimension."""
    names = [size.text.removeprefix("BLOCK_").lower() if size is not None else "" for size in root.shape]
    if len(names) > 1 and all(len(name) == 1 and name.isalpha() for name in names):
        return "".join(names)
    return names[-1] if names and names[-1].isidentifier() else ""


def name_made(term: Term, known: dict[Term, str], names: Names, labels: dict[Term, str]) -> str:
    """A layout that is made of another one is named after the first variable that has it, else after what makes it."""
    if term in labels and (own := f"{labels[term]}_layout".lower()) not in names.taken:
        return names.fresh(own)
    prefix = known[root_of(term)].removesuffix("layout")
    if isinstance(term, Permute):
        kind = "transposed" if term.order == (1, 0) else "permuted"
    elif isinstance(term, Join):
        kind = "pair"
    elif isinstance(term, Turned):
        kind = "turned"
    else:
        kind = "flat" if rank(term) == 1 else "tile"
    return names.fresh(f"{prefix}{kind}_layout")


def suffix(term: Term, layout_names: dict[Term, str], others: list[Term]) -> str:
    """What tells one copy of an index variable from the others: its tile, its dimension, or both."""
    term = normal(term)
    base = _named(term, layout_names)
    bases = {_named(other, layout_names) for other in others}
    label = re.sub(r"_?layout", "", layout_names.get(base, "")) or ""
    place = _place(term)
    nameless = "store" if is_narrow(term) else "tile"
    if len(bases) == 1:
        return place or label or nameless
    if sum(_named(other, layout_names) == base for other in others) > 1:
        return f"{label}_{place}" if label and place else (label or place or nameless)
    return label or place or nameless


def _named(term: Term, layout_names: dict[Term, str]) -> Term:
    """The layout in a term whose name the output uses: that of which it is a slice, if it has one."""
    sliced = normal(term)
    while isinstance(sliced, Slice):
        sliced = normal(sliced.parent)
    return sliced if sliced in layout_names else base_of(term)


def _place(term: Term) -> str:
    """`rows` for the index of a tile's first dimension, `cols` for the second; by number in more dimensions."""
    left = kept_dimensions(term)
    if not isinstance(term, Slice):
        return ""
    if rank(base_of(term)) == 2 and len(left) == 1:
        return "rows" if left[0] == 0 else "cols"
    return "dim" + "".join(map(str, left))
