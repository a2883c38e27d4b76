"""Loads that run ahead of their iteration: none reads beyond the last one."""

from __future__ import annotations

import libcst as cst

from tritonport.source.module import SourceModule
from tritonport.source.walk import replaced, walk
from tritonport.upgrade.edit import Node, code
from tritonport.upgrade.multibuffer.operations import arguments
from tritonport.upgrade.multibuffer.writes import may_run_ahead


def with_narrowed_loads(module: SourceModule, node: Node, more: str) -> Node:
    """A statement or an expression whose loads from memory are masked by a condition too."""
    swaps: dict[cst.CSTNode, cst.CSTNode] = {
        one: narrowed(one, more) for one in walk(node) if isinstance(one, cst.Call) and may_run_ahead(module, one)
    }
    found: Node = replaced(node, swaps)
    return found


def narrowed(call: cst.Call, more: str) -> cst.BaseExpression:
    """A load that reads nothing where the number `more` is false."""
    given = arguments(call, "global_load") or {}
    text = {name: code(argument.value) for name, argument in given.items()}
    mask = f"{_factor(text['mask'])} & {_factor(more)}" if "mask" in text else more
    rest = [f"{name}={value}" for name, value in text.items() if name not in ("pointer", "mask", "other")]
    parts = [text["pointer"], f"mask={mask}", f"other={text.get('other', '0')}", *rest]
    return cst.parse_expression(f"{code(call.func)}({', '.join(parts)})")


def _factor(text: str) -> str:
    return text if text.isidentifier() else f"({text})"


__all__ = ["narrowed", "with_narrowed_loads"]
