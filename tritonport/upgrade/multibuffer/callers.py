"""Who calls a function of a file, and with what: which launches reach it, and what its descriptors describe."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import libcst as cst

from tritonport.convert.alignment import asked_of
from tritonport.convert.launch_flags import is_heuristics
from tritonport.source.kernel import Kernel
from tritonport.source.module import SourceModule
from tritonport.source.walk import assigned_names, walk
from tritonport.upgrade.dots import called
from tritonport.upgrade.multibuffer.operations import bound
from tritonport.upgrade.tma.assume import reached


@dataclass(frozen=True, eq=False)
class CallSite:
    """A call of a function in another one; `given`: arguments by parameter, None where they are not spelled."""

    caller: Kernel
    call: cst.Call
    given: dict[str, cst.Arg] | None


def call_sites(module: SourceModule, kernel: Kernel) -> list[CallSite]:
    """The calls of a function in the kernels of its file."""
    parameters = tuple(parameter.name for parameter in kernel.parameters)
    return [
        CallSite(caller, call, bound(call, parameters))
        for caller, call in module.calls.get(kernel.name, ())
        if caller is not kernel
    ]


def launched_through(module: SourceModule, kernel: Kernel) -> list[Kernel] | str:
    """The functions on the way from the launches to a function, itself first; or why they cannot take an argument."""
    found: list[Kernel] = []
    wanted = [kernel]
    asked = asked_of(module.nodes)
    while wanted:
        one = wanted.pop()
        if one in found:
            continue
        found.append(one)
        sites = call_sites(module, one)
        if one.decorator is None or one.scope or one.name in asked:
            return f"{one.name} is inspected by other code, or made in a way in which no launch can say the depth"
        if _is_passed(module, one):
            return f"{one.name} is passed to other code"
        if any(site.given is None for site in sites):
            return f"{one.name} is called with arguments that are not spelled one by one"
        if sites and _is_launched(module, one):
            return f"{one.name} is launched, and called by {sites[0].caller.name} too"
        wanted += [site.caller for site in sites]
    if not any(not call_sites(module, one) for one in found):
        return "nothing launches it"
    return found


def argument_names(module: SourceModule, kernel: Kernel, name: str) -> list[tuple[Kernel, str]]:
    """What the launches that reach a function call the argument that it calls `name`; empty where one is no name."""
    sites = call_sites(module, kernel)
    if not sites:
        return [(kernel, name)] if any(parameter.name == name for parameter in kernel.parameters) else []
    found: list[tuple[Kernel, str]] = []
    for site in sites:
        given = (site.given or {}).get(name)
        if given is None or not isinstance(given.value, cst.Name):
            return []
        above = argument_names(module, site.caller, given.value.value)
        if not above:
            return []
        found += above
    return found


def heuristic_of(kernel: Kernel, name: str) -> cst.BaseExpression | None:
    """What a launch fills an argument with by `@triton.heuristics`; None where it does not."""
    for decorator in kernel.node.decorators:
        call = decorator.decorator
        if not is_heuristics(call):
            continue
        for element in _elements(call):
            key = element.key
            if isinstance(key, cst.SimpleString) and key.evaluated_value == name:
                return element.value.body if isinstance(element.value, cst.Lambda) else element.value
    return None


def described(module: SourceModule, kernel: Kernel, descriptor: str) -> set[str] | None:
    """The arguments of a function that are the tensor of one of its descriptors; None where the file does not say."""
    found: set[str] = set()
    made = _made_of(kernel, descriptor)
    if made is not None:
        return made or None
    launches = argument_names(module, kernel, descriptor)
    for launched, name in launches:
        sources = _tensors(heuristic_of(launched, name))
        if not sources:
            return None
        for parameter in kernel.parameters:
            if any(
                above is launched and one in sources for above, one in argument_names(module, kernel, parameter.name)
            ):
                found.add(parameter.name)
    return found if launches else None


def _tensors(made: cst.BaseExpression | None) -> set[str]:
    """The arguments of a launch in the first argument of the call that makes a descriptor of them, where it does."""
    if isinstance(made, cst.IfExp):
        return _tensors(made.body) | _tensors(made.orelse)
    first = made.args[0].value if isinstance(made, cst.Call) and made.args else None
    return {
        str(node.slice[0].slice.value.evaluated_value)
        for node in (walk(first) if first is not None else ())
        if isinstance(node, cst.Subscript)
        and isinstance(node.slice[0].slice, cst.Index)
        and isinstance(node.slice[0].slice.value, cst.SimpleString)
    }


def same_tensor(module: SourceModule, kernel: Kernel, one: str, other: str) -> bool:
    """Whether two descriptors of a function are one, or are made of one argument of a launch."""
    if one == other:
        return True
    made = [_tensors_of(module, kernel, name) for name in (one, other)]
    return None in made or bool(set(made[0] or ()) & set(made[1] or ()))


def _tensors_of(module: SourceModule, kernel: Kernel, name: str) -> set[tuple[Kernel, str]] | None:
    """The arguments of launches that a descriptor of a function is made of, on the host or in a function; None where it
    is made of a pointer that is none of them."""
    pointers = _made_of(kernel, name)
    if pointers is not None:
        found = {one for pointer in pointers for one in argument_names(module, kernel, pointer) or [(kernel, pointer)]}
        return found or None
    sites = call_sites(module, kernel)
    if not sites:
        return {(kernel, tensor) for tensor in _tensors(heuristic_of(kernel, name))}
    tensors: set[tuple[Kernel, str]] = set()
    for site in sites:
        given = (site.given or {}).get(name)
        if given is not None and isinstance(given.value, cst.Name):
            above = _tensors_of(module, site.caller, given.value.value)
            if above is None:
                return None
            tensors |= above
    return tensors


def _made_of(kernel: Kernel, descriptor: str) -> set[str] | None:
    """The pointer arguments of which a function makes a descriptor; None where it makes none of that name."""
    calls = [
        node.value
        for node in walk(kernel.node.body)
        if isinstance(node, cst.Assign)
        and called(node.value) == "make_tensor_descriptor"
        and descriptor in assigned_names(cst.SimpleStatementLine([node]))
    ]
    pointers = [call.args[0].value for call in calls if isinstance(call, cst.Call) and call.args]
    numbers = {one.name for one in kernel.parameters if one.constexpr}
    own = {one.name for one in kernel.parameters}
    found = (reached(_head(pointer), kernel.node) & own - numbers for pointer in pointers)
    return set().union(*found) if calls else None


def _head(pointer: cst.BaseExpression) -> cst.BaseExpression:
    """The pointer in front of what is added to it."""
    while isinstance(pointer, cst.BinaryOperation):
        pointer = pointer.left
    return pointer


def _elements(call: cst.Call) -> Iterator[cst.DictElement]:
    values = call.args[0].value if len(call.args) == 1 else None
    for element in values.elements if isinstance(values, cst.Dict) else ():
        if isinstance(element, cst.DictElement):
            yield element


def _is_passed(module: SourceModule, kernel: Kernel) -> bool:
    """Whether a kernel of the file names a function without calling it: a partition, or what combines elements."""
    return kernel.name in _passed(module)


@lru_cache(maxsize=4)
def _passed(module: SourceModule) -> frozenset[str]:
    """The names in the kernels of a file that are more than what is called there."""
    found: set[str] = set()
    for kernel in module.kernels:
        nodes = list(walk(kernel.node.body))
        called = {id(node.func) for node in nodes if isinstance(node, cst.Call)}
        found |= {node.value for node in nodes if type(node) is cst.Name and id(node) not in called}
    return frozenset(found)


def _is_launched(module: SourceModule, kernel: Kernel) -> bool:
    """Whether the file launches a kernel by `kernel[grid]`."""
    return any(
        isinstance(node, cst.Subscript) and isinstance(node.value, cst.Name) and node.value.value == kernel.name
        for node in module.nodes
    )


__all__ = ["CallSite", "argument_names", "call_sites", "described", "heuristic_of", "launched_through", "same_tensor"]
