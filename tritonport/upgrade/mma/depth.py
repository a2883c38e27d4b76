"""The depth of rings: for cp.async one place more, for what the dot under way still reads; for a chain one less."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TypeGuard

import libcst as cst

from tritonport.source.walk import replaced, walk
from tritonport.upgrade.dots import called
from tritonport.upgrade.edit import code, with_arguments

_LAUNCHED = re.compile(r'max\((?P<stages>args\.get\("num_stages", \d+\)) - 1, 1\)')
"""What the stage async-copy lets a launch fill in."""


def deeper(function: cst.FunctionDef) -> cst.FunctionDef:
    """The kernel with its rings one place deeper: as many as Triton's pipeliner has for warpgroup instructions."""
    swaps: dict[cst.CSTNode, cst.CSTNode] = {}
    for node in walk(function):
        if isinstance(node, cst.Lambda) and (found := _LAUNCHED.fullmatch(code(node.body))) is not None:
            swaps[node.body] = cst.parse_expression(f"max({found['stages']}, 2)")
        if isinstance(node, cst.AnnAssign) and node.value is not None and called(node.value) == "ring_depth":
            swaps[node.value] = cst.parse_expression(f"{code(node.value)} + 1")
    made: cst.FunctionDef = replaced(function, swaps)
    return made


def with_chain(function: cst.FunctionDef) -> cst.FunctionDef:
    """The kernel of the launches with its ring one place less deep: a chain of dots frees its tiles early."""
    function = _with_two_iterations(function)
    swaps: dict[cst.CSTNode, cst.CSTNode] = {}
    for node in (node for decorator in function.decorators for node in walk(decorator)):
        if _is_depth(node) and not any(_keyword(argument) == "chained" for argument in node.args):
            chained = cst.parse_expression("f(chained=True)")
            assert isinstance(chained, cst.Call)
            swaps[node] = with_arguments(node, [*node.args, *chained.args])
    made: cst.FunctionDef = replaced(function, swaps)
    return made


def with_two_places(function: cst.FunctionDef, depths: Mapping[str, str]) -> cst.FunctionDef:
    """The kernel of the launches, which takes the form with pointers where the ring holds one tile only.

    The entry of the stage tma tests its descriptors: `if a_desc is None: K_pointers(...) else: K_tiles(...)`.

    `depths`: the kernels with a ring of two places at least, and what they call its depth.
    """
    function = _with_two_iterations(function)
    parameters = {one.name.value for one in function.params.params}
    swaps: dict[cst.CSTNode, cst.CSTNode] = {}
    for node in walk(function.body):
        if not isinstance(node, cst.If) or not isinstance(node.orelse, cst.Else):
            continue
        chooses = all(isinstance(one.operator, cst.Is) for one in _targets(node.test)) and _targets(node.test)
        wanted = {depths[called(one)] for one in walk(node.orelse) if called(one) in depths} & parameters
        if chooses and wanted:
            tests = [code(node.test), *(f"{depth} < 2" for depth in sorted(wanted))]
            swaps[node.test] = cst.parse_expression(" or ".join(tests))
    made: cst.FunctionDef = replaced(function, swaps)
    return made


def _with_two_iterations(function: cst.FunctionDef) -> cst.FunctionDef:
    """The kernel of the launches with two places in its ring for a loop of one iteration too."""
    swaps: dict[cst.CSTNode, cst.CSTNode] = {}
    for node in (node for decorator in function.decorators for node in walk(decorator)):
        for argument in node.args if _is_depth(node) else ():
            if _keyword(argument) == "iterations" and called(argument.value) != "max":
                swaps[argument.value] = cst.parse_expression(f"max({code(argument.value)}, 2)")
            elif _keyword(argument) == "iterations" and isinstance(argument.value, cst.Call):
                given = argument.value.args
                if code(given[-1].value) != "2":
                    swaps[argument.value] = with_arguments(argument.value, [*given, cst.Arg(cst.Integer("2"))])
    made: cst.FunctionDef = replaced(function, swaps)
    return made


def _targets(node: cst.BaseExpression) -> list[cst.ComparisonTarget]:
    """The comparisons of a test that is made of them by `or`; none for another one."""
    if isinstance(node, cst.BooleanOperation) and isinstance(node.operator, cst.Or):
        parts = [_targets(node.left), _targets(node.right)]
        return [one for part in parts for one in part] if all(parts) else []
    return list(node.comparisons) if isinstance(node, cst.Comparison) else []


def launched_by(function: cst.FunctionDef, kernels: set[str]) -> bool:
    """Whether a function is a kernel of launches that fill in a depth, and calls one of these kernels."""
    filled = any(_is_depth(node) for decorator in function.decorators for node in walk(decorator))
    return filled and any(called(node) in kernels for node in walk(function.body))


def _is_depth(node: cst.CSTNode) -> TypeGuard[cst.Call]:
    return isinstance(node, cst.Call) and re.fullmatch(r"ring_depth_for(_\d+)?", called(node)) is not None


def _keyword(argument: cst.Arg) -> str:
    return argument.keyword.value if argument.keyword is not None else ""


__all__ = ["deeper", "launched_by", "with_chain", "with_two_places"]
