"""Device functions: where they stand, and what they are parsed to."""

from __future__ import annotations

import ast
import os
from typing import Any

import triton

TRITON = os.path.dirname(triton.__file__)
"""The folder of Triton's own files."""


def tree_of(function: Any) -> ast.FunctionDef:
    """The parsed definition of a device function, the same one in every launch."""
    # Kept by the function itself: hashing one means hashing all that it calls.
    known: tuple[str, ast.FunctionDef] | None = getattr(function, "_emulated_tree", None)
    if known is None or known[0] != function.src:
        known = function._emulated_tree = (function.src, function.parse().body[0])
    return known[1]


def position_of(function: Any) -> tuple[str, int]:
    """The file of a device function, and the line before its ``def`` (the AST counts from the ``def``)."""
    if hasattr(function, "def_file_line_number"):
        return function.file_name, function.def_file_line_number - 1
    from triton.runtime.jit import get_jit_fn_file_line

    path, line = get_jit_fn_file_line(function)
    return path, line - 1
