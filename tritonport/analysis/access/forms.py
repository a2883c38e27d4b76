"""Affine forms of addresses: base + offset + sum(coordinate * stride), and masks as bounds of coordinates.

A polynomial over names is a `dims.Dim`; its spelling is made anew by `show`, as an address is put together from many
places.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache

import libcst as cst

from tritonport.analysis import dims
from tritonport.analysis.dims import Dim

ZERO = dims.number(0)
Layout = str | None
Paths = tuple[tuple[tuple[str, int], ...], ...]
"""Ways through `if`s, any one of them: each is the tests on the way, as source text, with the branch (0 or 1)."""
ALWAYS: Paths = ((),)


@dataclass(frozen=True)
class Axis:
    """One coordinate of a tile: 0 to `size` (source text), times `stride` in elements.

    `wrap`: the coordinate is `(start + i) % wrap` before it is multiplied; `clamp`: no larger than that. The start is
    part of the form's offset otherwise.
    `parts`: of a coordinate that is not affine, the numbers that its values are sums of multiples of; such a one has no
    stride, and is in the loose forms of a reader alone that asks for them.
    """

    size: str
    stride: Dim
    start: Dim = ZERO
    wrap: Dim | None = None
    clamp: Dim | None = None
    parts: tuple[Dim, ...] = ()

    @property
    def bent(self) -> bool:
        """Whether neighbours may lie apart because the coordinate wraps or stops at a bound."""
        return self.wrap is not None or self.clamp is not None


@dataclass(frozen=True)
class Form:
    """An affine integer or address. `axes` has one entry per dimension, None for one the value does not depend on.

    Attributes:
        head: the parameter at the left end of the sum: the base, where the form is an address.
        sizes: source text of the tile's extents, None where it is one.
        layout: source text of the Gluon layout, where the file says it.
    """

    offset: Dim
    axes: tuple[Axis | None, ...] = ()
    sizes: tuple[str | None, ...] = ()
    head: str | None = None
    layout: Layout = None

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return len(self.axes)

    @property
    def is_scalar(self) -> bool:
        """Whether the form has no dimensions."""
        return not self.axes


@dataclass(frozen=True)
class Opaque:
    """A value that no affine form describes, and why: "`offs // PAGE` divides a coordinate".

    `number`: what it is where it is an integer, of one that is read from memory; it may be a pointer.
    """

    reason: str
    node: cst.CSTNode | None = None
    number: Form | None = None


@dataclass(frozen=True)
class Condition:
    """`form < bound`, `<=`, `>=` or `>`, with a scalar bound; `when`: the ways through `if`s on which it is asked."""

    form: Form
    operator: str
    bound: Form
    when: Paths = ALWAYS


@dataclass(frozen=True)
class Mask:
    """A conjunction; `opaque` are the parts that are no bounds of coordinates, as source text, and `flags` those that
    are one for the whole tile."""

    conditions: tuple[Condition, ...] = ()
    opaque: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()


def masks_alike(one: Mask | None, other: Mask | None) -> bool:
    """Whether two masks ask the same of elements, whatever the layouts are that the file says them in."""
    return _bare(one) == _bare(other)


def _bare(mask: Mask | None) -> Mask | None:
    if mask is None:
        return None
    forms = [(one, replace(one.form, layout=None), replace(one.bound, layout=None)) for one in mask.conditions]
    return replace(mask, conditions=tuple(replace(one, form=form, bound=bound) for one, form, bound in forms))


NOTHING = Form(dims.symbol("None"))
TRUE = Form(dims.symbol("True"))
"""`None` and `True` in the place of a mask: every element is read."""


def either(test: str, one: Mask, other: Mask) -> Mask:
    """The mask behind `if test: mask = one` and `else: mask = other`."""
    if one.opaque != other.opaque or one.flags != other.flags:
        return Mask(opaque=tuple(dict.fromkeys((*one.opaque, *other.opaque, *one.flags, *other.flags))))
    found: dict[Condition, list[Paths]] = {}
    for branch, mask in enumerate((one, other)):
        for condition in mask.conditions:
            ways = found.setdefault(replace(condition, when=ALWAYS), [(), ()])
            ways[branch] = condition.when
    conditions = []
    for condition, (first, second) in found.items():
        behind = tuple(((test, 0), *way) for way in first) + tuple(((test, 1), *way) for way in second)
        conditions.append(replace(condition, when=first if first == second else behind))
    return Mask(tuple(conditions), one.opaque, one.flags)


@dataclass(frozen=True)
class Several:
    """A tuple of values."""

    items: tuple[Value, ...]


@dataclass(frozen=True)
class Each:
    """A tuple with an item for each one of another tuple, whose length the kernel does not say."""

    item: Callable[[int], Value]


Value = Form | Mask | Opaque | Several | Each


def unnumbered(value: Opaque) -> Opaque:
    """The same without a number: of a value that may be another one."""
    return replace(value, number=None) if value.number is not None else value


def scalar(name: str, head: str | None = None) -> Form:
    """A number of its own name."""
    return Form(dims.symbol(name), head=head)


def number(value: int) -> Form:
    """A constant."""
    return Form(dims.number(value))


def plus(left: Dim, right: Dim, sign: int = 1) -> Dim:
    """left + sign * right."""
    return dims.add(left, right, "", sign)


def times(left: Dim, right: Dim) -> Dim:
    """left * right."""
    return dims.multiply(left, right, "")


def show(dim: Dim) -> str:
    """A polynomial as text: `BLOCK_K * stride_ak + 4`."""
    parts: list[str] = []
    alone = len(dim.terms) == 1
    for atoms, factor in sorted(dim.terms, key=lambda term: (term[1] < 0, not term[0], term[0])):
        whole = alone and len(atoms) == 1 and factor == 1
        text = " * ".join(
            # Behind a minus that nothing stands before, what divides would divide what the minus made.
            atom if whole else _as_factor(atom, first=place == 0 and (factor == 1 or (factor == -1 and bool(parts))))
            for place, atom in enumerate(atoms)
        )
        number_ = str(abs(factor))
        part = number_ if not text else text if number_ == "1" else f"{number_} * {text}"
        parts.append(("- " if factor < 0 else "+ ") + part)
    text = " ".join(parts).removeprefix("+ ")
    return (f"-{text[2:]}" if text.startswith("- ") else text) or "0"


@lru_cache(maxsize=1024)
def _as_factor(atom: str, first: bool) -> str:
    """An atom in a product; `first`: what binds as a product does needs no parentheses there."""
    try:
        node = ast.parse(atom, mode="eval").body
    except SyntaxError:
        return atom  # `x after an if`: nothing that is written anywhere
    loose = isinstance(node, (ast.IfExp, ast.BoolOp, ast.Compare)) or (
        isinstance(node, ast.BinOp) and (not first or isinstance(node.op, (ast.Add, ast.Sub, ast.BitAnd, ast.BitOr)))
    )
    return f"({atom})" if loose and not _is_wrapped(atom) else atom


def _is_wrapped(text: str) -> bool:
    """Whether one pair of parentheses is around all of an expression."""
    try:
        ast.parse(text[1:-1], mode="eval")
    except SyntaxError:
        return False
    return text.startswith("(")


def add(left: Form, right: Form, sign: int = 1) -> Form | Opaque:
    """left + sign * right, broadcast; refuses two different coordinates along one dimension."""
    rank = max(left.rank, right.rank)
    first, second = _widened(left, rank), _widened(right, rank)
    axes: list[Axis | None] = []
    for one, other in zip(first.axes, second.axes, strict=True):
        if other is not None and sign < 0:
            other = replace(other, stride=times(other.stride, dims.number(-1)))
        if one is None or other is None:
            axes.append(one or other)
        elif replace(one, stride=ZERO) == replace(other, stride=ZERO):
            axes.append(replace(one, stride=plus(one.stride, other.stride)))
        else:
            return Opaque("adds two coordinates along one dimension")
    sizes = tuple(a or b for a, b in zip(first.sizes, second.sizes, strict=True))
    return Form(
        plus(first.offset, second.offset, sign),
        tuple(axes),
        sizes,
        left.head or right.head,
        left.layout if left.rank == rank and left.layout else right.layout if right.rank == rank else None,
    )


def multiply(left: Form, right: Form) -> Form | Opaque:
    """left * right, where one of them has no coordinates."""
    factor, form = (left, right) if not any(left.axes) else (right, left)
    if any(factor.axes):
        return Opaque("multiplies two coordinates")
    rank = max(left.rank, right.rank)
    form = _widened(form, rank)
    axes = tuple(None if axis is None else _scaled(axis, factor.offset) for axis in form.axes)
    sizes = tuple(a or b for a, b in zip(form.sizes, _widened(factor, rank).sizes, strict=True))
    return Form(times(form.offset, factor.offset), axes, sizes, None, form.layout or factor.layout)


def _scaled(axis: Axis, factor: Dim) -> Axis:
    parts = tuple(times(part, factor) for part in axis.parts)
    return replace(axis, stride=times(axis.stride, factor), parts=parts)


def bent(form: Form, *, wrap: Dim | None = None, clamp: Dim | None = None) -> Form | Opaque:
    """`form % wrap` or `minimum(form, clamp)` of a single coordinate with stride one."""
    held = [axis for axis in form.axes if axis is not None]
    if len(held) != 1 or held[0].stride.value != 1 or held[0].bent or held[0].parts:
        return Opaque("wraps or clamps what is more than one coordinate")
    axis = replace(held[0], start=form.offset, wrap=wrap, clamp=clamp)
    return replace(form, offset=ZERO, axes=tuple(None if one is None else axis for one in form.axes), head=None)


def expanded(form: Form, pattern: list[bool]) -> Form | Opaque:
    """`x[:, None]`: True marks a new axis."""
    if pattern.count(False) > form.rank:
        return Opaque("has more dimensions than its parts are known to have")
    pattern = pattern + [False] * (form.rank - pattern.count(False))
    axes, sizes = iter(form.axes), iter(form.sizes)
    layout = form.layout
    for _ in range(pattern.count(True)):
        layout = sliced_parent(layout)
    return replace(
        form,
        axes=tuple(None if new else next(axes) for new in pattern),
        sizes=tuple(None if new else next(sizes) for new in pattern),
        layout=layout,
    )


def uneven(left: Form, right: Form, sign: int = 0) -> Form:
    """What is known of left + sign * right where that is not affine, or of another operation than a sum without a sign:
    per dimension, the numbers that the values along it are sums of multiples of."""
    rank = max(left.rank, right.rank)
    first, second = _widened(left, rank), _widened(right, rank)
    axes: list[Axis | None] = []
    for one, other in zip(first.axes, second.axes, strict=True):
        held = [axis for axis in (one, other) if axis is not None]
        parts = (dims.ONE,) if sign == 0 else tuple(dict.fromkeys(part for axis in held for part in _parts(axis)))
        axes.append(Axis(held[0].size, ZERO, parts=parts) if held else None)
    sizes = tuple(a or b for a, b in zip(first.sizes, second.sizes, strict=True))
    layout = left.layout if left.rank == rank and left.layout else right.layout if right.rank == rank else None
    offset = plus(first.offset, second.offset, sign) if sign else ZERO
    return Form(offset, tuple(axes), sizes, left.head or right.head, layout)


def _parts(axis: Axis) -> tuple[Dim, ...]:
    return axis.parts or (axis.stride,)


def sliced_parent(layout: Layout) -> Layout:
    """`parent` of `gl.SliceLayout(1, parent)`; None for any other layout."""
    if layout is None:
        return None
    node = cst.parse_expression(layout)
    if isinstance(node, cst.Call) and len(node.args) == 2:
        name = node.func.attr.value if isinstance(node.func, cst.Attribute) else getattr(node.func, "value", "")
        if name == "SliceLayout":
            return cst.Module([]).code_for_node(node.args[1].value)
    return None


def _widened(form: Form, rank: int) -> Form:
    missing = rank - form.rank
    return replace(form, axes=(None,) * missing + form.axes, sizes=(None,) * missing + form.sizes)
