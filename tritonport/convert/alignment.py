"""Layouts for rows that do not start at a multiple of 16 bytes.

Sixteen bytes per thread are right where they can be read in one piece, which Triton's compiler knows from the
arguments it specialised: the strides that are multiples of 16. Where they are not, each thread would read its elements
one at a time, with other threads' elements between them, at a third of the speed; there one element per thread is
right. Gluon does not show a kernel how its arguments were specialised, so the launch tells it: `@triton.heuristics`
fills a compile-time argument, and Triton compiles no more variants than it does anyway.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

import libcst as cst

from tritonport.analysis.shapes import PRODUCT
from tritonport.analysis.terms import Root
from tritonport.convert.names import Names


@dataclass
class Alignment:
    """The compile-time arguments of one kernel that say how its rows lie.

    Attributes:
        runtime: integer arguments of the kernel that a launch passes.
        compile_time: constexpr arguments that are no tile sizes.
        constants: all constexpr arguments.
        enabled: whether the kernel may have another argument; else every row is taken to be aligned.
        flags: per set of arguments that have to be multiples of 16, the name of the argument that says so.
    """

    runtime: frozenset[str]
    compile_time: frozenset[str]
    enabled: bool
    constants: frozenset[str] = frozenset()
    flags: dict[tuple[str, ...], str] = field(default_factory=dict)

    def depends(self, multiples: Iterable[str]) -> bool:
        """Whether an address of these arguments is aligned in some launches and not in others."""
        return self.enabled and not (self.runtime | self.compile_time).isdisjoint(multiples)

    def condition(self, root: Root, label: str, names: Names) -> str:
        """When the layout can have 16 bytes per thread, as an expression of the kernel; empty where it always can."""
        if not self.enabled:
            return ""
        wanted = [
            {name for name in access.multiples if name in self.runtime or self._is_compile_time(name)}
            for access in root.accesses
            if access.order is not None and access.order.contiguous
        ]
        # Where one access is aligned whatever the arguments are, a row of weights say, the compiler computes in the
        # layout of that one; so does the port, and its sums come out the same bit for bit.
        if not all(wanted):
            return ""
        needed = {name for names_ in wanted for name in names_}
        known = {name for name in needed if self._is_compile_time(name)}
        if not needed:
            return ""
        strides = _strides(root)
        conditions = [divided(name, name in strides) for name in sorted(known)]
        key = tuple(sorted(needed - known))
        if key and key not in self.flags:
            self.flags[key] = names.fresh("ALIGNED" if not self.flags or not label else f"{label.upper()}_ALIGNED")
        if key:
            conditions.insert(0, self.flags[key])
        return " and ".join(conditions)

    def _is_compile_time(self, name: str) -> bool:
        """Whether all arguments of a product are compile-time ones; a tile size among them has the 16 already."""
        return all(factor.partition("[")[0] in self.compile_time for factor in name.split(PRODUCT))

    def entries(self, helper: str) -> dict[str, str]:
        """What a launch fills the arguments with, as expressions of its `args`."""
        quoted = {flag: ", ".join(f'"{name}"' for name in needed) for needed, flag in self.flags.items()}
        return {flag: f"{helper}(args, {names})" for flag, names in quoted.items()}


def divided(name: str, is_stride: bool) -> str:
    """The value of a compile-time argument is known, so what counts is whether 16 bytes divide it: 8 elements do for
    16-bit types, and for wider ones. A stride may be 1 instead, along the dimension that is contiguous."""
    return f"({name} == 1 or {name} % 8 == 0)" if is_stride else f"{name} % 8 == 0"


def _strides(root: Root) -> set[str]:
    """The arguments that make a tile's rows contiguous where they are 1, as strides are and sizes hardly ever."""
    orders = [access.order for access in root.accesses if not access.order.unlikely]
    return {name for order in orders for _, names in order.choices for name in names}


def tile_names(roots: Iterable[Root]) -> set[str]:
    """The names that sizes of tiles are made of."""
    atoms = {atom for root in roots for size in root.shape if size is not None for atom in size.atoms()}
    return {name for atom in atoms for name in re.findall(r"[A-Za-z_]\w*", atom)}


def asked_of(nodes: Iterable[cst.CSTNode]) -> set[str]:
    """The names of which a file asks for more than a launch: `kernel.warmup`, `module.kernel.fn`."""
    found: set[str] = set()
    for node in nodes:
        if type(node) is cst.Attribute:
            if isinstance(node.value, cst.Name):
                found.add(node.value.value)
            elif isinstance(node.value, cst.Attribute):
                found.add(node.value.attr.value)
    return found
