"""What the first launch of a kernel in its own file passes, read from the text."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from tritonport.verify.compile.kernels import KernelSource, dotted

_TUPLE_METHODS = frozenset({"stride", "size"})
_SIDE_OF_TUPLES = 64
_USUAL_RANK = 4


def launch_values(kernel: KernelSource, module: ast.AST) -> tuple[dict[str, Any], int | None]:
    """The values that are literals, by parameter, and `num_warps`."""
    if not kernel.launches:
        return {}, None
    call, scope = kernel.launches[0]
    names = [parameter.arg for parameter in kernel.parameters]
    given = list(zip(names, call.args, strict=False))
    stars = next((i for i, argument in enumerate(call.args) if isinstance(argument, ast.Starred)), len(call.args))
    pairs = [*given[:stars], *((keyword.arg, keyword.value) for keyword in call.keywords if keyword.arg)]
    values: dict[str, Any] = {}
    for name, node in pairs:
        known, value = _literal(node, scope, module)
        if known:
            values[name] = value
    warps = values.pop("num_warps", None)
    return {name: value for name, value in values.items() if name in names}, warps if isinstance(warps, int) else None


def tuple_of(kernel: KernelSource, name: str, functions: Mapping[str, ast.FunctionDef]) -> tuple[int, ...] | None:
    """The strides of a tensor that has as many dimensions as the kernel takes for a tuple parameter; None: no tuple.

    A tuple is what the launch gives one for, what the kernel takes the length of, and what it hands to a function
    beside a tuple: their lengths are one, as those of indices and strides are.
    """
    node = _given(kernel, name)
    lengths = [len(node.elts)] if isinstance(node, ast.Tuple) else []
    found, used = _lengths_in(kernel.node, name, functions)
    if not (found or _gives_a_tuple(node)):
        return None
    return tuple(_SIDE_OF_TUPLES**power for power in reversed(range(max([*lengths, *used], default=_USUAL_RANK))))


def _literal(node: ast.expr, scope: ast.AST, module: ast.AST) -> tuple[bool, Any]:
    """(known, value) of a launch argument: a literal, or a name bound once to a literal."""
    try:
        return True, ast.literal_eval(node)
    except (ValueError, TypeError):
        pass
    if isinstance(node, ast.Name):
        for place in (scope, module):
            values = [
                statement.value
                for statement in ast.walk(place)
                if isinstance(statement, ast.Assign)
                and any(isinstance(target, ast.Name) and target.id == node.id for target in statement.targets)
            ]
            literal = len(values) == 1 and isinstance(values[0], ast.Constant | ast.UnaryOp)
            # `x = None` is what a branch left unset, not what the launch passes.
            if literal and not (isinstance(values[0], ast.Constant) and values[0].value is None):
                return _literal(values[0], scope, module)
    is_last_stride = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "stride"
    if is_last_stride and isinstance(node, ast.Call) and [ast.unparse(arg) for arg in node.args] == ["-1"]:
        return True, 1
    return False, None


def _given(kernel: KernelSource, name: str) -> ast.expr | None:
    """What the file's first launch passes for a parameter, through a name that is bound once; None: nothing."""
    if not kernel.launches:
        return None
    call, scope = kernel.launches[0]
    names = [parameter.arg for parameter in kernel.parameters]
    pairs = [*zip(names, call.args, strict=False), *((keyword.arg, keyword.value) for keyword in call.keywords)]
    value = next((value for known, value in pairs if known == name), None)
    if isinstance(value, ast.Name):
        values = [
            statement.value
            for statement in ast.walk(scope)
            if isinstance(statement, ast.Assign) and any(is_name(target, value.id) for target in statement.targets)
        ]
        return values[0] if len(values) == 1 else None
    return value


def _gives_a_tuple(node: ast.expr | None) -> bool:
    """`x.stride()`, `x.size()`, `x.shape` or a tuple that is spelled out."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and not (node.args or node.keywords):
        return node.func.attr in _TUPLE_METHODS
    return isinstance(node, ast.Tuple) or (isinstance(node, ast.Attribute) and node.attr == "shape")


def _lengths_in(
    function: ast.FunctionDef, name: str, functions: Mapping[str, ast.FunctionDef]
) -> tuple[bool, list[int]]:
    """(whether a function uses a parameter as a tuple, the lengths that its uses need), in what it calls too."""
    found, lengths = False, []
    for node in ast.walk(function):
        if isinstance(node, ast.Subscript) and is_name(node.value, name) and isinstance(node.slice, ast.Constant):
            lengths += [node.slice.value + 1] if isinstance(node.slice.value, int) else []
        if not isinstance(node, ast.Call) or not any(is_name(argument, name) for argument in node.args):
            continue
        beside = [len(argument.elts) for argument in node.args if isinstance(argument, ast.Tuple)]
        lengths += beside
        found = found or bool(beside) or dotted(node.func) == "len"
        helper = functions.get(dotted(node.func))
        if helper is not None and helper is not function:
            others = {other: one for other, one in functions.items() if one is not helper}
            inner = [one.arg for one in (*helper.args.posonlyargs, *helper.args.args)]
            for parameter, argument in zip(inner, node.args, strict=False):
                if is_name(argument, name):
                    nested, more = _lengths_in(helper, parameter, others)
                    found, lengths = found or nested, lengths + more
    return found, lengths


def is_name(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name
