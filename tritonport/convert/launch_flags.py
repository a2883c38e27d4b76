"""Compile-time arguments that every launch of a kernel fills in by itself, through `@triton.heuristics`.

The launches stay as they are: a heuristic sees the arguments of the launch, its options (`num_stages`) and those of the
configuration that an autotuner chose.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import libcst as cst

from tritonport.convert.parameters import has_default, with_commas
from tritonport.source.module import Kernel, dotted


def with_flags(
    node: cst.FunctionDef,
    kernel: Kernel,
    entries: Mapping[str, str],
    gl: str,
    triton: str,
    module: cst.Module,
    merge: bool = False,
    constexpr: bool = True,
) -> cst.FunctionDef:
    """The kernel with one more parameter per entry (a compile-time one if `constexpr`) and the decorator that fills it.

    `entries` maps a parameter to what its lambda returns. merge: a decorator of heuristics that is there already, next
    to the one that makes the kernel, takes the entries in.
    """
    if not entries:
        return node
    original = node.params.params
    params = list(original)
    annotation = cst.Annotation(cst.parse_expression(f"{gl}.constexpr")) if constexpr else None
    for name in entries:
        default = cst.Name("True" if constexpr else "None") if has_default(params) else None
        params.append(cst.Param(cst.Name(name), annotation, default=default))
    decorators = list(node.decorators)
    place = next(index for index, found in enumerate(decorators) if found is kernel.decorator)
    made = [f'"{name}": lambda args: {text}' for name, text in entries.items()]
    before = decorators[place - 1] if merge and place else None
    present = _entries(before, module) if before is not None else None
    decorator = cst.parse_expression(f"{triton}.heuristics({{{', '.join([*(present or []), *made])}}})")
    if present is not None and before is not None:
        decorators[place - 1] = before.with_changes(decorator=decorator)
    else:
        decorators.insert(place, cst.Decorator(decorator))
    return node.with_changes(
        params=node.params.with_changes(params=with_commas(params, original)), decorators=decorators
    )


def _entries(decorator: cst.Decorator, module: cst.Module) -> list[str] | None:
    """The entries of `@triton.heuristics({...})` with a spelled dictionary, as text; None for another decorator."""
    call = decorator.decorator
    if not isinstance(call, cst.Call) or (dotted(call.func) or "").rpartition(".")[2] != "heuristics":
        return None
    values = call.args[0].value if len(call.args) == 1 else None
    if not isinstance(values, cst.Dict):
        return None
    bare = (element.with_changes(comma=cst.MaybeSentinel.DEFAULT) for element in values.elements)
    return [_on_one_line(module.code_for_node(element)) for element in bare]


def _on_one_line(text: str) -> str:
    """An entry without its line breaks: the whole decorator is laid out anew."""
    text = re.sub(r"([(\[{])\s*\n\s*", r"\1", text)
    text = re.sub(r",?\s*\n\s*([)\]}])", r"\1", text)
    return re.sub(r"\s*\n\s*", " ", text)


__all__ = ["with_flags"]
