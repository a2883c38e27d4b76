"""Which arguments of a launch decide whether cp.async can copy a tile: a thread needs 4 bytes in one piece.

Triton knows that elements stand together from what it specialised: pointers and integers that are multiples of 16,
and integers equal to 1. A mask and a wrapped coordinate break runs like an unaligned row does (triton-lang/triton
#8022, #5882).
"""

from __future__ import annotations

from dataclasses import dataclass

import libcst as cst

from tritonport.analysis.access import Access, Axis, Form
from tritonport.analysis.access.loops import visible
from tritonport.analysis.dims import Dim
from tritonport.source.kernel import Kernel
from tritonport.upgrade.legality import unit_stride


@dataclass(frozen=True)
class Runs:
    """Per stride that has to be 1 (None: always is) the arguments that have to be multiples of 16 then."""

    pointer: str
    along: tuple[tuple[str | None, tuple[str, ...]], ...]

    def text(self) -> str:
        """`{"stride_ak": ["stride_am", "K"]}`, as the launch's helper takes it."""
        parts = []
        for stride, names in self.along:
            quoted = ", ".join(f'"{name}"' for name in names)
            key = f'"{stride}"' if stride is not None else "None"
            parts.append(f"{key}: [{quoted}]")
        return f"{{{', '.join(parts)}}}"


def runs_of(access: Access) -> Runs | None:
    """What a launch has to check; None where no arguments make the runs of a tile provable."""
    form = access.address
    if not isinstance(form, Form) or access.base is None:
        return None
    found = []
    for dimension, axis in enumerate(form.axes):
        possible, stride = unit_stride(axis)
        if not possible:
            continue
        needed = _needed(access, form, dimension)
        if needed is not None:
            found.append((stride, tuple(sorted(needed - {stride}))))
    unknown = unspecialised(access.kernel)
    if unknown is None or access.base in unknown:
        return None
    found = [(stride, names) for stride, names in found if not unknown & {*names, stride}]
    return Runs(access.base, tuple(found)) if found else None


def unspecialised(kernel: Kernel) -> set[str] | None:
    """The arguments of which Triton learns nothing from a launch (`do_not_specialize`); None where that is not
    spelled."""
    call = kernel.decorator.decorator if kernel.decorator is not None else None
    found: set[str] = set()
    for argument in call.args if isinstance(call, cst.Call) else ():
        if argument.keyword is None or not argument.keyword.value.startswith("do_not_specialize"):
            continue
        if not isinstance(argument.value, (cst.List, cst.Tuple)):
            return None
        for element in argument.value.elements:
            if isinstance(element.value, cst.SimpleString):
                found.add(str(element.value.evaluated_value))
            elif isinstance(element.value, cst.Integer):
                found.add(kernel.parameters[int(element.value.value)].name)
            else:
                return None
    return found


def _needed(access: Access, form: Form, dimension: int) -> set[str] | None:
    """The arguments that have to be multiples of 16 for runs along a dimension; None where it cannot be shown."""
    unit = form.axes[dimension]
    assert unit is not None
    parts: list[Dim] = []
    for place, axis in enumerate(form.axes):
        if axis is not None and place != dimension:
            parts += axis.parts or (axis.stride,)
    base = access.base
    parts.append(Dim(tuple((monomial, factor) for monomial, factor in form.offset.terms if monomial != (base,)), ""))
    parts += _ends(unit)
    mask = access.mask
    if mask is not None and mask.opaque:
        return None
    for condition in mask.conditions if mask is not None else ():
        rank = condition.form.rank
        along = dimension - (form.rank - rank)
        if 0 <= along < rank and condition.form.axes[along] is not None:
            parts += [condition.form.offset, condition.bound.offset]
            axis = condition.form.axes[along]
            assert axis is not None
            if axis.parts:
                return None
            parts += _ends(axis)
    products: list[tuple[set[str], set[str]]] = []
    for part in parts:
        found = _multiples(part, access)
        if found is None:
            return None
        products += found
    needed: list[set[str]] = []
    for names, factors in sorted(products, key=lambda one: (len(one[0]), sorted(one[0]))):
        # A product is a multiple of 16 where one of its factors is.
        if not any(known <= factors for known in needed):
            needed.append(names)
    return set().union(*needed)


def _ends(axis: Axis) -> list[Dim]:
    """The start of a coordinate that wraps or stops, and where."""
    return [part for part in (axis.start, axis.wrap, axis.clamp) if part is not None] if axis.bent else []


def _multiples(dim: Dim, access: Access) -> list[tuple[set[str], set[str]]] | None:
    """Per term of a sum the arguments that make it a multiple of 16, and all arguments among its factors; None where a
    term may not be one."""
    found: list[tuple[set[str], set[str]]] = []
    parameters = {one.name for one in access.kernel.parameters}
    for monomial, factor in dim.terms:
        if factor % 16 == 0:
            continue
        names = _arguments(monomial, access)
        if names is None:
            return None
        found.append((names, names | (parameters & set(monomial))))
    return found


def _arguments(monomial: tuple[str, ...], access: Access) -> set[str] | None:
    """The arguments among the factors of a product: of its run-time ones all, else of those known at compile time."""
    parameters = access.kernel.parameters
    for group in ([one for one in parameters if not one.constexpr], [one for one in parameters if one.constexpr]):
        names = {one.name for one in group} & set(monomial)
        if names:
            return names
    for loop in visible(access.loops):
        if loop.target in monomial:
            found: set[str] = set()
            for bound in (loop.first, loop.stride):
                products = _multiples(bound, access) if bound is not None else None
                if products is None:
                    return None
                found |= set().union(*(names for names, _ in products))
            return found
    return None


__all__ = ["Runs", "runs_of"]
