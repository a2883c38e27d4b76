"""Compile-time arguments that every launch of a kernel fills in by itself, through `@triton.heuristics`.

The launches stay as they are: a heuristic sees the arguments of the launch, its options (`num_stages`) and those of the
configuration that an autotuner chose.
"""

from __future__ import annotations

from collections.abc import Mapping

import libcst as cst

from tritonport.convert.functions import _fitted, _has_default, _with_commas
from tritonport.source.module import Kernel, dotted


def with_flags(
    node: cst.FunctionDef, kernel: Kernel, entries: Mapping[str, str], gl: str, triton: str, module: cst.Module
) -> cst.FunctionDef:
    """The kernel with one more compile-time parameter per entry, and the decorator that fills them.

    `entries` maps a parameter to what its lambda returns. A decorator of heuristics that is there already, next to the
    one that makes the kernel, takes the entries in.
    """
    if not entries:
        return node
    original = node.params.params
    params = list(original)
    for name in entries:
        default = cst.Name("True") if _has_default(params) else None
        params.append(
            cst.Param(cst.Name(name), cst.Annotation(cst.parse_expression(f"{gl}.constexpr")), default=default)
        )
    decorators = list(node.decorators)
    place = next(index for index, found in enumerate(decorators) if found is kernel.decorator)
    made = [f'"{name}": lambda args: {text}' for name, text in entries.items()]
    before = decorators[place - 1] if place else None
    present = _entries(before, module) if before is not None else None
    text = _decorator(triton, [*(present or []), *made], str(module.config_for_parsing.default_indent))
    if present is not None and before is not None:
        decorators[place - 1] = before.with_changes(decorator=cst.parse_expression(text))
    else:
        decorators.insert(place, cst.Decorator(cst.parse_expression(text)))
    extended = node.with_changes(
        params=node.params.with_changes(params=_with_commas(params, original)), decorators=decorators
    )
    return _fitted(extended, str(module.config_for_parsing.default_indent))


def _entries(decorator: cst.Decorator, module: cst.Module) -> list[str] | None:
    """The entries of `@triton.heuristics({...})` with a spelled dictionary, as text; None for another decorator."""
    call = decorator.decorator
    if not isinstance(call, cst.Call) or (dotted(call.func) or "").rpartition(".")[2] != "heuristics":
        return None
    values = call.args[0].value if len(call.args) == 1 else None
    if not isinstance(values, cst.Dict):
        return None
    return [module.code_for_node(element.with_changes(comma=cst.MaybeSentinel.DEFAULT)) for element in values.elements]


def _decorator(triton: str, entries: list[str], indent: str) -> str:
    lines = f",\n{2 * indent}".join(entries)
    return f"{triton}.heuristics(\n{indent}{{\n{2 * indent}{lines},\n{indent}}}\n)"


__all__ = ["with_flags"]
