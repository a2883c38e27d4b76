"""The sign of a loop's step: whether later iterations have larger indices."""

from __future__ import annotations

import libcst as cst

from tritonport.source.kernel import Kernel
from tritonport.source.module import SourceModule
from tritonport.source.syntax import dotted
from tritonport.source.walk import walk
from tritonport.upgrade.edit import code
from tritonport.upgrade.multibuffer.callers import argument_names, heuristic_of
from tritonport.upgrade.multibuffer.operations import gluon_name

_SHAPES = ("zeros", "full", "allocate_shared_memory", "reshape", "broadcast_to", "coalesced")


def step_sign(step: cst.BaseExpression | None, module: SourceModule, kernel: Kernel) -> int:
    """1 or -1; 0 where nothing shows which."""
    if step is None:
        return 1
    if isinstance(step, cst.UnaryOperation) and isinstance(step.operator, cst.Minus):
        return -step_sign(step.expression, module, kernel)
    if isinstance(step, cst.Integer):
        return 1 if int(step.value, 0) > 0 else 0
    if isinstance(step, cst.BinaryOperation) and isinstance(step.operator, cst.Multiply):
        return step_sign(step.left, module, kernel) * step_sign(step.right, module, kernel)
    if gluon_name(module, step) == "num_programs":
        return 1
    if isinstance(step, cst.Subscript):
        path = dotted(step.value) or ""
        return 1 if path.endswith((".block_shape", ".shape")) else 0
    if isinstance(step, cst.Name):
        if _is_extent(step.value, module, kernel) or is_asserted(step, module, kernel):
            return 1
        return _assigned_sign(step.value, module, kernel)
    return 0


def is_asserted(step: cst.BaseExpression | None, module: SourceModule, kernel: Kernel) -> bool:
    """Whether a step is a compile-time argument of which nothing else shows the sign: the kernel asserts it."""
    if not isinstance(step, cst.Name) or _is_extent(step.value, module, kernel):
        return False
    return any(one.constexpr and one.name == step.value for one in kernel.parameters)


def _is_extent(name: str, module: SourceModule, kernel: Kernel) -> bool:
    """Whether a name is how many elements a tile has along a dimension."""
    for node in walk(kernel.node.body):
        if not isinstance(node, cst.Call):
            continue
        last = (dotted(node.func) or "").split(".")[-1]
        if last == "arange" and len(node.args) > 1 and code(node.args[1].value) == name:
            return True
        shape = node.args[0].value if node.args else None
        if last == "allocate_shared_memory":
            shape = node.args[1].value if len(node.args) > 1 else None
        if (last in _SHAPES or last.endswith("_layout")) and _lists(shape, name):
            return True
    return any(
        _lists(argument.value, f'args["{given}"]', f'args.get("{given}", ')
        for launched, given in argument_names(module, kernel, name)
        for parameter in launched.parameters
        for call in walk(heuristic_of(launched, parameter.name) or cst.Name("args"))
        if isinstance(call, cst.Call) and _makes_descriptor(call)
        for argument in call.args[3:4]
    )


def _makes_descriptor(call: cst.Call) -> bool:
    """Whether a call makes a descriptor for a launch: its fourth argument is the block's shape."""
    return (dotted(call.func) or "").startswith("tile_descriptor")


def _lists(node: cst.CSTNode | None, text: str, defaulted: str | None = None) -> bool:
    """Whether an expression is a list with this element, or with one that begins as `defaulted` does."""
    elements = [one.value for one in node.elements] if isinstance(node, (cst.List, cst.Tuple)) else []
    calls = [code(one) for one in elements if isinstance(one, cst.Call)]
    return text in map(code, elements) or (defaulted is not None and any(one.startswith(defaulted) for one in calls))


def _assigned_sign(name: str, module: SourceModule, kernel: Kernel) -> int:
    """The sign of a name that a kernel assigns once; a constant of the file says it too."""
    found = [
        small.value
        for small in walk(kernel.node.body)
        if (isinstance(small, cst.AnnAssign) and code(small.target) == name)
        or (isinstance(small, cst.Assign) and name in [code(one.target) for one in small.targets])
    ]
    if len(found) == 1 and found[0] is not None and name not in _names(found[0]):
        return step_sign(found[0], module, kernel)
    return 0


def _names(node: cst.CSTNode) -> set[str]:
    return {item.value for item in walk(node) if isinstance(item, cst.Name)}


__all__ = ["is_asserted", "step_sign"]
