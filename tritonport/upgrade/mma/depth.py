"""The depth of a ring of cp.async: one place more, for the tile that the dot under way still reads."""

from __future__ import annotations

import re

import libcst as cst

from tritonport.source.walk import replaced, walk
from tritonport.upgrade.async_copy.dots import called
from tritonport.upgrade.mma.spelling import code

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


__all__ = ["deeper"]
