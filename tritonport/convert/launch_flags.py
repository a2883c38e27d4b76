"""Compile-time arguments that every launch of a kernel fills in by itself, through `@triton.heuristics`.

The launches stay as they are: a heuristic sees the arguments of the launch, its options (`num_stages`) and those of the
configuration that an autotuner chose.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TypeGuard

import libcst as cst

from tritonport.convert.parameters import has_default, with_commas
from tritonport.source.kernel import Kernel
from tritonport.source.syntax import dotted

_HEURISTICS = re.compile(r"(\w+\.)*heuristics|launch_heuristics(_\d+)?")


def with_flags(
    node: cst.FunctionDef,
    kernel: Kernel,
    entries: Mapping[str, str],
    gl: str,
    triton: str,
    merge: bool = False,
    constexpr: bool = True,
    default: str | None = None,
    shared: str | None = None,
) -> cst.FunctionDef:
    """The kernel with one more parameter per entry (a compile-time one if `constexpr`) and the decorator that fills it.

    `entries` maps a parameter to what its lambda returns. merge: a decorator of heuristics that is there already, next
    to the one that makes the kernel, takes the entries in. default: of the parameters, where those before have one.
    shared: what the file calls `launch_heuristics`, which takes the decorator's place where it has several entries.
    """
    if not entries:
        return node
    original = node.params.params
    params = list(original)
    annotation = cst.Annotation(cst.parse_expression(f"{gl}.constexpr")) if constexpr else None
    for name in entries:
        value = cst.Name(default or ("True" if constexpr else "None")) if has_default(params) else None
        params.append(cst.Param(cst.Name(name), annotation, default=value))
    decorators = list(node.decorators)
    place = next(index for index, found in enumerate(decorators) if found is kernel.decorator)
    made = [f'"{name}": lambda args: {text}' for name, text in entries.items()]
    before = decorators[place - 1].decorator if merge and place else None
    present = _entries(before) if before is not None else None
    if present is not None and before is not None and present.elements:
        more = cst.parse_expression(f"{{{', '.join(made)}}}")
        assert isinstance(more, cst.Dict)
        merged = before.deep_replace(present, _merged(present, more))
        assert isinstance(merged, cst.Call)
        func = merged.func if shared is None else cst.parse_expression(shared)
        decorators[place - 1] = decorators[place - 1].with_changes(decorator=merged.with_changes(func=func))
    else:
        name = f"{triton}.heuristics" if shared is None or len(made) == 1 else shared
        decorator = cst.parse_expression(f"{name}({{{', '.join(made)}}})")
        decorators.insert(place, cst.Decorator(decorator))
    return node.with_changes(
        params=node.params.with_changes(params=with_commas(params, original)), decorators=decorators
    )


def is_heuristics(call: cst.BaseExpression) -> TypeGuard[cst.Call]:
    """Whether a decorator is `triton.heuristics(...)`, or what the stages write in its place."""
    return isinstance(call, cst.Call) and _HEURISTICS.fullmatch(dotted(call.func) or "") is not None


def _entries(call: cst.BaseExpression) -> cst.Dict | None:
    """The spelled dictionary of `triton.heuristics({...})`; None for another decorator."""
    if not is_heuristics(call):
        return None
    values = call.args[0].value if len(call.args) == 1 else None
    return values if isinstance(values, cst.Dict) else None


def _merged(present: cst.Dict, more: cst.Dict) -> cst.Dict:
    """A dictionary with the elements of another one behind its own: one to a line where its own stand so."""
    *others, last = present.elements
    between = cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))
    if isinstance(present.lbrace.whitespace_after, cst.ParenthesizedWhitespace):
        between = cst.Comma(whitespace_after=present.lbrace.whitespace_after)
    if others and isinstance(others[-1].comma, cst.Comma):
        between = others[-1].comma
    added = [one.with_changes(comma=between) for one in more.elements]
    added[-1] = added[-1].with_changes(comma=last.comma)
    return present.with_changes(elements=[*others, last.with_changes(comma=between), *added])


__all__ = ["is_heuristics", "with_flags"]
