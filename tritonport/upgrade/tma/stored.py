"""What a store writes: a tile, or a number or a vector that Triton spreads over one.

`tl.store(p, 0.0)` and `tl.store(p, x[:, None])` write every element of a tile; what is copied from shared memory has to
be written there whole.
"""

from __future__ import annotations

import libcst as cst

from tritonport.analysis.access import Access
from tritonport.source.kernel import Kernel
from tritonport.source.walk import assigned_names, walk
from tritonport.upgrade.dots import called

Parts = frozenset[str] | None
"""Which dimensions the vectors have that a value is made of: empty of numbers alone, None where one may be a tile."""


def value_of(access: Access) -> cst.BaseExpression:
    """What a store writes."""
    named = [one.value for one in access.node.args if one.keyword is not None and one.keyword.value == "value"]
    return named[0] if named else [one.value for one in access.node.args if one.keyword is None][1]


def parts_of(access: Access, kernel: Kernel) -> Parts:
    """The dimensions of the vectors that a store writes: one alone is spread over the tile."""
    return _parts(value_of(access), kernel, ())


def _parts(node: cst.BaseExpression, kernel: Kernel, seen: tuple[str, ...]) -> Parts:
    if isinstance(node, (cst.Integer, cst.Float)):
        return frozenset()
    if isinstance(node, cst.UnaryOperation):
        return _parts(node.expression, kernel, seen)
    if isinstance(node, cst.BinaryOperation):
        left, right = _parts(node.left, kernel, seen), _parts(node.right, kernel, seen)
        return None if left is None or right is None else left | right
    if isinstance(node, cst.Subscript):
        slices = [one.slice for one in node.slice]
        new = [isinstance(one, cst.Index) and isinstance(one.value, cst.Name) for one in slices]
        return frozenset({" ".join(map(str, new))}) if len(slices) > 1 and any(new) else None
    if isinstance(node, cst.Call) and called(node) == "program_id":
        return frozenset()
    if isinstance(node, cst.Call) and called(node) == "to" and isinstance(node.func, cst.Attribute):
        return _parts(node.func.value, kernel, seen)
    if isinstance(node, cst.Call) and called(node) in ("cast", "convert_layout"):
        return _parts(node.args[0].value, kernel, seen)
    return _name(node.value, kernel, seen) if isinstance(node, cst.Name) else None


def _name(name: str, kernel: Kernel, seen: tuple[str, ...]) -> Parts:
    """What a name is that one line gives a value, or a number of the launch."""
    assigned = list(assigned_names(kernel.node.body)).count(name)
    if any(one.name == name for one in kernel.parameters) and not assigned:
        return frozenset()
    lines = [one for one in walk(kernel.node.body) if isinstance(one, cst.Assign)]
    own = [one for one in lines if [_target(target) for target in one.targets] == [name]]
    if len(own) != 1 or assigned != 1 or name in seen:
        return None
    return _parts(own[0].value, kernel, (*seen, name))


def _target(target: cst.AssignTarget) -> str:
    return target.target.value if isinstance(target.target, cst.Name) else ""


__all__ = ["parts_of", "value_of"]
