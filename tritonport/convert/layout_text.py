"""Layout terms as source text, and the definitions of a kernel's layouts."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from tritonport.analysis.dims import Dim
from tritonport.analysis.terms import Dot, Join, Permute, Reshape, Root, Slice, Term, Turned, normal, shape_of
from tritonport.convert.alignment import Alignment, divided
from tritonport.convert.names import Names
from tritonport.layouts.strides_text import bits_condition, order_text


def named_parts(term: Term) -> list[Term]:
    """The layouts in a term that have a name at the head of a kernel, innermost first; slices are written out."""
    parts: list[Term] = []
    term = normal(term)
    while not isinstance(term, Root):
        if not isinstance(term, Slice):
            parts.append(term)
        term = normal(term.parent)
    return [term, *reversed(parts)]


def term_text(term: Term, names: dict[Term, str], gl: str) -> str:
    term = normal(term)
    if isinstance(term, Slice):
        return f"{gl}.SliceLayout({term.axis}, {term_text(term.parent, names, gl)})"
    return names[term]


def made_text(term: Term, names: dict[Term, str], gl: str, used: set[str]) -> str:
    """The expression for a layout that is made of another one; adds the emitted function it calls to `used`."""
    assert isinstance(term, (Permute, Reshape, Join, Turned))
    if isinstance(term, Turned):
        sides = [made_text(Permute(term.order, term.parent), names, gl, used), term_text(term.parent, names, gl)]
        return f"{sides[not term.holds]} if {term.test} else {sides[term.holds]}"
    parent = term_text(term.parent, names, gl)
    if not isinstance(term.parent, (Reshape, Join)) and not (isinstance(term, Permute) and keeps_form(term)):
        shape = shape_of(term.parent)
        if isinstance(term, (Reshape, Join)):
            shape = term.source if isinstance(term, Reshape) else term.shape
        parent = f"{gl}.to_linear_layout({parent}, [{_sizes(shape)}])"
    if isinstance(term, Permute):
        used.add("permuted")
        return f"permuted({parent}, [{', '.join(map(str, term.order))}])"
    if isinstance(term, Reshape):
        used.add("reshaped")
        return f"reshaped({parent}, [{_sizes(term.shape)}])"
    used.add("joined")
    return f"joined({parent})"


def keeps_form(term: Permute) -> bool:
    """Whether `permute` of a tensor gives it this very layout, and not an equal one that is spelled in another way."""
    return isinstance(term.parent, Root) and term.parent.dot is None


def _sizes(shape: Sequence[Dim | None]) -> str:
    return ", ".join(size.text if size is not None else "1" for size in shape)


def is_dtype(text: str) -> bool:
    """Whether the source of an element type is one itself (`gl.float16`, `desc.dtype`) and not a pointer argument."""
    return text.startswith("gl.") or text.endswith(".dtype")


def pointers_of(
    root: Root, integers: set[str], parameters: set[str], constants: frozenset[str] = frozenset()
) -> list[str]:
    """The pointer arguments (or dtypes: of `gl`, or a compile-time argument) whose elements the layout moves, in the
    order of the accesses.

    Only contiguous accesses count: a gather moves one element at a time whatever the layout.
    """
    found: dict[str, None] = {}
    for access in root.accesses:
        if access.order is not None and not access.order.contiguous:
            continue
        usable = [name for name in access.pointers if is_dtype(name) or name in parameters or name in constants]
        typed = [name for name in usable if is_dtype(name) or name in constants]
        likely = typed or [name for name in usable if name not in integers] or usable
        for name in likely[:1]:
            found.setdefault(name)
    return list(found)


def _joined(root: Root, pointer: str) -> int:
    """How many elements behind a pointer stand where the layout has one."""
    return min(access.joined for access in root.accesses if pointer in access.pointers)


def _dot_layout(
    root: Root,
    dot: Dot,
    shape: str,
    integers: set[str],
    parameters: set[str],
    gl: str,
    used: set[str],
    rows: bool,
    optional: Collection[str],
) -> str:
    used.add("mma_layout")
    typed = [text for text in dot.element if text not in parameters]
    if typed:
        chosen = typed[0][1:-1] if typed[0].startswith("(") else typed[0]
        element = re.sub(r"\bgl\.", f"{gl}.", chosen)
    else:
        likely = [text for text in dot.element if text not in integers] or list(dot.element)
        element = f"{likely[0]}.dtype.element_ty"
        if likely[0] in optional:
            # Nothing is read through None, so any type will do.
            element = f"({element} if {likely[0]} is not None else {gl}.float32)"
    if dot.precision == "F32_PRECISION":
        used.add("F32_PRECISION")
    chain = ", chained=True" if root.chained else ""
    chain += f", follows=[{_sizes(root.follows)}]" if root.follows else ""
    if rows and root.rowwise:
        chain += ", rowwise=True"
    return f"mma_layout([{shape}], {dot.k.text}, {element}, {gl}.num_warps(), {dot.precision}{chain})"


def _beside_text(
    root: Root, other: Root, pointers: Sequence[str], known: dict[Term, str], aligned: str, triton: str
) -> str:
    """`w_ptr if BLOCK_M == BLOCK_N else None`: the other tile of a dot, where it is of the same shape; empty where that
    is not said by the sizes alone.

    pointers: what the other one is read through. aligned: when its rows are aligned, where this one's may be and they
    are not.
    """
    order = order_text(root, set(), triton)
    if len(pointers) != 1 or is_dtype(pointers[0]) or _joined(other, pointers[0]) != 1 or other not in known:
        return ""
    if " if " in order or order_text(other, set(), triton) != order or None in (*root.shape, *other.shape):
        return ""
    sizes = zip(root.shape, other.shape, strict=True)
    left, right = zip(*((a, b) for a, b in sizes if a is not None and b is not None and a.text != b.text), strict=True)
    shapes = [_sizes(each) if len(each) == 1 else f"[{_sizes(each)}]" for each in (left, right)]
    return f"{pointers[0]} if {' and '.join([' == '.join(shapes), *([aligned] if aligned else [])])} else None"


def definitions(
    root: Root,
    name: str,
    integers: set[str],
    parameters: set[str],
    gl: str,
    used: set[str],
    names: Names,
    width: int,
    alignment: Alignment,
    known: dict[Term, str],
    triton: str,
    lines_above: dict[str, str],
    rows: bool = False,
    optional: Collection[str] = (),
) -> list[tuple[str, str]]:
    """The `gl.constexpr` lines of one layout as (name, expression). Adds the emitted helpers they call to `used`.

    What depends on run-time strides, or makes the line longer than `width`, has a line of its own, which later layouts
    read too: `lines_above` has the names of those lines by their expressions. `rows`: the layout of a dot depends on
    whether its rows are reduced. `optional`: arguments that may be None.
    """
    shape = _sizes(root.shape)
    if root.pinned is not None:
        return [(name, re.sub(r"\bgl\.", f"{gl}.", root.pinned.text))]
    if root.dot is not None:
        return [(name, _dot_layout(root, root.dot, shape, integers, parameters, gl, used, rows, optional))]
    used.add("coalesced")
    order = order_text(root, used, triton)
    if root.wide is not None:
        aligned = alignment.condition(root, name.removesuffix("layout").rstrip("_"), names)
        narrow = f"coalesced([{shape}], 128, {order}, {gl}.num_warps())"
        return [(name, f"{known[root.wide]} if {aligned} else {narrow}")]
    pointers = pointers_of(root, integers, parameters, alignment.constants)
    bits = "128"
    condition = ""
    called: set[str] = set()
    if pointers:
        dtypes = [
            re.sub(r"^gl\.", f"{gl}.", pointer) if is_dtype(pointer) or pointer in alignment.constants else ""
            for pointer in pointers
        ]
        if len(pointers) == 1 and dtypes[0]:
            groups = {_joined(root, pointers[0]): f"{dtypes[0]}.primitive_bitwidth"}
        else:
            called.add("element_bits")
            # A pointer that was cast has no name at the head of the kernel: its type stands for it.
            typed = [f"{gl}.pointer_type({dtype})" if dtype else p for p, dtype in zip(pointers, dtypes, strict=True)]
            factors = [_joined(root, pointer) for pointer in pointers]
            groups = {
                factor: f"element_bits({', '.join(t for t, own in zip(typed, factors, strict=True) if own == factor)})"
                for factor in dict.fromkeys(factors)
            }
        aligned = alignment.condition(root, name.removesuffix("layout").rstrip("_"), names)
        other = root.beside
        if other in known and list(groups) == [1] and called:
            needed = alignment.condition(other, known[other].removesuffix("layout").rstrip("_"), names)
            behind = pointers_of(other, integers, parameters, alignment.constants)
            narrow = _beside_text(root, other, behind, known, needed if needed != aligned else "", triton)
            groups = {1: f"{groups[1][:-1]}, {narrow})"} if narrow else groups
        texts = [text if factor == 1 else f"{factor} * {text}" for factor, text in groups.items()]
        bits = texts[0] if len(texts) == 1 else f"min({', '.join(texts)})"
        unit = bits_condition(root, called)
        parts = [part for part in aligned.split(" and ") if part]
        stride = re.fullmatch(r"unit\(([^()]+)\)", unit)
        if stride is not None and divided(stride[1], True) in parts:
            parts.remove(divided(stride[1], True))
        condition = " and ".join([f"({unit})" if " or " in unit and parts else unit, *parts] if unit else parts)
        if stride is not None and divided(stride[1], False) in parts:
            # Contiguous for a size of one, aligned for a size of eight: there are no runs in either.
            bits, condition, called = "128", "", set()
    used |= called
    lines: list[tuple[str, str]] = []
    label = name.removesuffix("layout").rstrip("_")
    prefix = f"{label}_" if label else ""
    if condition:
        # Without runs of 16 bytes one element per thread keeps the accesses of neighbours in one transaction.
        bits = f"{bits} if {condition} else 128"

    def named(text: str, what: str) -> str:
        if text not in lines_above:
            lines_above[text] = names.fresh(f"{prefix}{what}")
            lines.append((lines_above[text], text))
        return lines_above[text]

    if " if " in order:
        order = named(order, "order")

    def chosen(bits: str) -> str:
        if root.within is None:
            return f"coalesced([{shape}], {bits}, {order}, {gl}.num_warps())"
        used.add("vector_layout")
        return f"vector_layout({shape}, {bits}, {gl}.num_warps(), {term_text(root.within, known, gl)})"

    text = chosen(bits)
    if condition or (len(name) + len(text) > width and not bits.isdigit()):
        text = chosen(named(bits, "bits"))
    return [*lines, (name, text)]
