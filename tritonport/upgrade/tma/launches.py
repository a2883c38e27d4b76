"""Launches that do not come to the heuristic which makes descriptors, or not each of them.

It stands next to the function itself. `kernel.fn` of an autotuned kernel is what the autotuner stands on, and a launch
of that goes through the heuristics inside of it. A decorator that is not Triton's may launch what it compiled for an
earlier launch, with what heuristics said then: right for compile-time values, which are part of what was compiled, and
not for descriptors of that launch's tensors.
"""

from __future__ import annotations

import re

import libcst as cst

from tritonport.analysis.access.reader import is_called
from tritonport.convert.alignment import asked_of
from tritonport.source.kernel import Kernel
from tritonport.source.module import SourceModule
from tritonport.source.syntax import dotted

_OUTER = ("triton.autotune", "triton.heuristics")


def launched_inside(module: SourceModule, kernel: Kernel) -> bool:
    """Whether all that a file asks of a kernel, besides launches, is `kernel.fn`, which it launches or gives a name
    that is launched alone, and the heuristic next to the function is not the decorator that this leaves out."""
    decorators = kernel.node.decorators
    above = next((place for place, one in enumerate(decorators) if one is kernel.decorator), 0)
    first = decorators[0].decorator if above else None
    if is_called(module, kernel) or not isinstance(first, cst.Call):
        return False
    name = (dotted(first.func) or "").rpartition(".")[2]
    known = any(one in _OUTER for one in module.qualified_names(first.func))
    if not known or (above == 1 and name == "heuristics"):
        return False
    asked = asked_of(module.nodes)
    found: set[int] = set()
    launched: set[int] = set()
    for node in module.nodes:
        if isinstance(node, cst.Attribute) and kernel.name in _asked_of(node):
            found.add(id(node))
        elif isinstance(node, cst.Subscript) and _is_inner(node.value, kernel):
            launched.add(id(node.value))
        elif isinstance(node, cst.Assign):
            names = [one.target.value for one in node.targets if isinstance(one.target, cst.Name)]
            if len(names) == len(node.targets) and asked.isdisjoint(names):
                launched |= {id(one) for one in _chosen(node.value) if _is_inner(one, kernel)}
    return found <= launched


def keeping_decorator(module: SourceModule, kernel: Kernel) -> str | None:
    """The name of a decorator above the kernel's that may keep what heuristics computed for one launch; None without.

    Triton's own, and what is given `configs` as an autotuner is, ask the heuristics below them at each launch. Source:
    LibEntry of flag_gems 5.0.2, which hands on the heuristics' values of the first launch with the same types.
    """
    for one in kernel.node.decorators:
        if one is kernel.decorator:
            return None
        if not _asks_each_time(module, one.decorator):
            made = one.decorator.func if isinstance(one.decorator, cst.Call) else one.decorator
            return dotted(made) or "a decorator"
    return None


def _asks_each_time(module: SourceModule, node: cst.BaseExpression) -> bool:
    made = module.bindings.assignments.get(node.value, ()) if isinstance(node, cst.Name) else (node,)
    return bool(made) and all(isinstance(one, cst.Call) and _is_tuner(module, one) for one in made)


def _is_tuner(module: SourceModule, call: cst.Call) -> bool:
    if any(argument.keyword is not None and argument.keyword.value == "configs" for argument in call.args):
        return True
    own = re.fullmatch(r"launch_heuristics(_\d+)?", dotted(call.func) or "")
    return own is not None or any(one in _OUTER for one in module.qualified_names(call.func))


def _asked_of(node: cst.Attribute) -> set[str]:
    """The name that an attribute is asked of."""
    if isinstance(node.value, cst.Name):
        return {node.value.value}
    return {node.value.attr.value} if isinstance(node.value, cst.Attribute) else set()


def _is_inner(node: cst.CSTNode, kernel: Kernel) -> bool:
    return isinstance(node, cst.Attribute) and node.attr.value == "fn" and kernel.name in _asked_of(node)


def _chosen(node: cst.BaseExpression) -> list[cst.BaseExpression]:
    """The values that an expression may be."""
    return [*_chosen(node.body), *_chosen(node.orelse)] if isinstance(node, cst.IfExp) else [node]


__all__ = ["keeping_decorator", "launched_inside"]
