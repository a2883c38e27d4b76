"""Copied tiles that a kernel only ever converts to one other layout.

Shared memory is read in any layout. Read in the one that the tile is wanted in, it need not go through shared memory
again for the conversion.
"""

from __future__ import annotations

from collections import Counter

import libcst as cst

from tritonport.analysis.access import Access
from tritonport.source.syntax import dotted
from tritonport.source.walk import assigned_names, walk
from tritonport.upgrade.dots import called

_KINDS = frozenset({"dtype", "shape"})


def conversions_of(access: Access, function: cst.FunctionDef) -> tuple[str, list[cst.Call]] | None:
    """The layout that what an access loads is wanted in, by name, and all conversions to it: all that is done with the
    variable, which is assigned once, at most cast; None where there is more to it."""
    name = access.target
    values = [one.value for one in walk(function.body) if isinstance(one, cst.Assign)]
    if not name or Counter(assigned_names(function.body))[name] != 1:
        return None
    if not any(_uncast(value) is access.node for value in values):
        return None
    calls = [call for call in walk(function.body) if isinstance(call, cst.Call) and _converts(call, name)]
    layouts = {one.value for call in calls if isinstance(one := call.args[1].value, cst.Name)}
    kinds = sum(
        isinstance(one, cst.Attribute) and one.attr.value in _KINDS and dotted(one.value) == name
        for one in walk(function.body)
    )
    # Its assignment names it once.
    named = sum(isinstance(one, cst.Name) and one.value == name for one in walk(function.body)) - 1
    layout = next(iter(layouts), "")
    if len(layouts) != 1 or named != len(calls) + kinds or layout not in _layouts_of(function):
        return None
    return layout, calls


def _uncast(value: cst.BaseExpression) -> cst.BaseExpression:
    while isinstance(value, cst.Call) and isinstance(value.func, cst.Attribute) and value.func.attr.value == "to":
        value = value.func.value
    return value


def _converts(call: cst.Call, name: str) -> bool:
    plain = len(call.args) == 2 and all(one.keyword is None for one in call.args)
    return called(call) == "convert_layout" and plain and dotted(call.args[0].value) == name


def _layouts_of(function: cst.FunctionDef) -> set[str]:
    """The compile-time values at the head of a function."""
    lines = function.body.body if isinstance(function.body, cst.IndentedBlock) else ()
    small = [one for line in lines if isinstance(line, cst.SimpleStatementLine) for one in line.body]
    return {one.target.value for one in small if isinstance(one, cst.AnnAssign) and isinstance(one.target, cst.Name)}


__all__ = ["conversions_of"]
