"""What the iterations of a loop write to memory: a tile that is copied ahead must not be what they write."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

import libcst as cst

from tritonport.analysis.effects import only_computes
from tritonport.source.kernel import Kernel
from tritonport.source.module import SourceModule
from tritonport.source.syntax import dotted
from tritonport.source.walk import assigned_names, calls_in, walk
from tritonport.upgrade.edit import code
from tritonport.upgrade.multibuffer.callers import described, same_tensor
from tritonport.upgrade.multibuffer.operations import arguments, bound, gluon_name, operation
from tritonport.upgrade.slices import names_of

_BULK = (
    "tma.async_store",
    "tma.async_copy_shared_to_global",
    "tma.async_scatter",
    "tma.async_atomic",
    "tma.async_reduce",
)

_ARITHMETIC = (cst.Multiply, cst.FloorDivide, cst.Modulo, cst.Divide)
_ORDER = (cst.LessThan, cst.LessThanEqual, cst.GreaterThan, cst.GreaterThanEqual)


def writes_anything(module: SourceModule, loop: cst.CSTNode) -> bool:
    """Whether a loop, or a function that it calls, writes to global memory."""
    return any(kind for _, _, kind in _calls_in(module, loop)) or _writing_function(module, loop) is not None


def conflict(module: SourceModule, kernel: Kernel, loop: cst.CSTNode, descriptors: Iterable[str]) -> str | None:
    """Why a loop may write to what these descriptors describe; None where it does not."""
    wanted = set(descriptors)
    for node, path, kind in _calls_in(module, loop):
        if kind == "atomic" or (path and "atomic" in _kinds(module, path, set())):
            return f"its loop holds `{path}`, an atomic operation that other programs may wait for"
        if kind == "bulk":
            problem = _bulk_problem(module, kernel, node, wanted)
            if problem is not None:
                return problem
    reached = _written_from(module, kernel, loop, ())
    if reached is not None and not reached:
        return _bulk_conflict(module, kernel, loop, wanted)
    for name in sorted(wanted):
        tensor = described(module, kernel, name)
        if tensor is None:
            return f"its loop writes through a pointer, and nothing says what {name} describes"
        if reached is None or tensor & reached:
            return f"its loop writes to {min(tensor & (reached or set()), default='memory that may be the same')}"
    return _bulk_conflict(module, kernel, loop, wanted)


def written_to(module: SourceModule, kernel: Kernel, loop: cst.CSTNode, pointer: cst.BaseExpression) -> str | None:
    """Why a loop may write to where a pointer points; None where it does not."""
    own = _arguments_of(kernel, pointer)
    if own is None:
        return "it reads through a number from memory"
    for node, path, kind in _calls_in(module, loop):
        kinds = {kind} if kind else _kinds(module, path, set()) if path else set()
        if kinds - {"store", "bulk"}:
            return f"its loop holds `{path}`, an atomic operation that other programs may wait for"
        if "bulk" in kinds:
            names = [one.value.value for one in node.args if isinstance(one.value, cst.Name)]
            tensors = [one for name in names if (one := described(module, kernel, name)) is not None]
            if not tensors or any(one & own for one in tensors):
                return f"its loop writes through a descriptor with `{path}`"
    reached = _written_from(module, kernel, loop, ())
    if reached is None or (reached & own) - _numbers(kernel):
        return "its loop writes through a pointer that may be the same"
    return None


def _numbers(kernel: Kernel) -> set[str]:
    """The arguments that are no pointers: compile-time ones, and those that are multiplied, divided or ordered."""
    found = {parameter.name for parameter in kernel.parameters if parameter.constexpr}
    for node in walk(kernel.node.body):
        parts: list[cst.BaseExpression] = []
        if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, _ARITHMETIC):
            parts = [node.left, node.right]
        elif isinstance(node, cst.Comparison) and all(isinstance(one.operator, _ORDER) for one in node.comparisons):
            parts = [node.left, *(one.comparator for one in node.comparisons)]
        elif isinstance(node, cst.Call) and (dotted(node.func) or "").rpartition(".")[2] in ("range", "cdiv"):
            parts = [one.value for one in node.args]
        found |= {one.value for one in parts if isinstance(one, cst.Name)}
    return found


def _bulk_conflict(module: SourceModule, kernel: Kernel, loop: cst.CSTNode, wanted: set[str]) -> str | None:
    """A function of the file that writes through one of its descriptors, called with what describes the same."""
    for node, path, _ in _calls_in(module, loop):
        if not path or "bulk" not in _kinds(module, path, set()):
            continue
        problem = _bulk_problem(module, kernel, node, wanted)
        if problem is not None:
            return problem
    return None


def _bulk_problem(module: SourceModule, kernel: Kernel, call: cst.Call, wanted: set[str]) -> str | None:
    """What a call that stores through a descriptor writes to, if its loop reads that."""
    names = sorted({code(argument.value) for argument in call.args})
    pairs = ((name, read) for name in names for read in sorted(wanted))
    same = next((name for name, read in pairs if same_tensor(module, kernel, name, read)), None)
    return f"its loop writes to {same}" if same is not None else None


def _written_from(
    module: SourceModule, kernel: Kernel, body: cst.CSTNode, calls: tuple[Kernel, ...]
) -> set[str] | None:
    """The arguments from which a part of a function, with those that it calls, computes the pointers that it writes
    to; None where that cannot be followed."""
    functions = _functions(module)
    found: set[str] = set()
    for node, path, kind in _calls_in(module, body):
        targets: list[cst.BaseExpression] = []
        if kind == "store":
            targets = [argument.value for argument in node.args[:1]]
        elif path in functions:
            inner = functions[path]
            if inner in calls:
                return None
            deeper = _written_from(module, inner, inner.node.body, (*calls, inner))
            given = bound(node, tuple(parameter.name for parameter in inner.parameters))
            if deeper is None or (deeper and given is None):
                return None
            targets = [given[name].value for name in deeper if given and name in given]
        elif _kinds(module, path, set()):
            return None
        for target in targets:
            reached = _arguments_of(kernel, target)
            if reached is None:
                return None
            found |= reached
    return found


@lru_cache(maxsize=4)
def _functions(module: SourceModule) -> Mapping[str, Kernel]:
    return {kernel.name: kernel for kernel in module.kernels if not kernel.scope}


@lru_cache(maxsize=256)
def _calls_in(module: SourceModule, body: cst.CSTNode) -> tuple[tuple[cst.Call, str, str], ...]:
    """The calls in a part of a function, each with what it calls and how it writes (`_writer`). What a loop writes is
    asked of every function that it calls, and of those that they call, for every tile."""
    return tuple((call, dotted(call.func) or "", _writer(module, call)) for call in calls_in(body))


def _writer(module: SourceModule, node: cst.CSTNode) -> str:
    """ "store", "atomic" or "bulk" for a call that writes to global memory; empty for any other node."""
    name = gluon_name(module, node)
    if not name:
        return ""
    if any(part in name for part in _BULK):
        return "bulk"
    last = name.split(".")[-1]
    if last.startswith("atomic_"):
        return "atomic"
    return "store" if last in ("store", "buffer_store") else ""


def _kinds(module: SourceModule, path: str, seen: set[str]) -> set[str]:
    """How a function of the file, with those that it calls, writes to memory; one of another file only computes, or
    nothing is known of it."""
    functions = _functions(module)
    if path not in functions:
        foreign = [one.kernel for one in module.lookup(path) if one.kind == "kernel" and one.module is not module]
        return set() if all(one is not None and only_computes(one) for one in foreign) else {"unknown"}
    if path in seen:
        return set()
    seen.add(path)
    found: set[str] = set()
    for _, inner, kind in _calls_in(module, functions[path].node.body):
        if kind:
            found.add(kind)
        if inner:
            found |= _kinds(module, inner, seen)
    return found


def _writing_function(module: SourceModule, loop: cst.CSTNode) -> str | None:
    return next((path for _, path, _ in _calls_in(module, loop) if path and _kinds(module, path, set())), None)


def _arguments_of(kernel: Kernel, pointer: cst.BaseExpression) -> set[str] | None:
    """The arguments that a pointer is computed from; None where a number from memory becomes a pointer."""
    if _makes_pointer(pointer):
        return None
    assigned = _assignments(kernel.node.body)
    wanted, found = sorted(names_of(pointer)), set()
    while wanted:
        name = wanted.pop()
        if name in found:
            continue
        found.add(name)
        for small in assigned.get(name, ()):
            value = getattr(small, "value", None)
            if not isinstance(value, cst.BaseExpression) or _makes_pointer(value):
                return None
            wanted += names_of(value)
    return found & {parameter.name for parameter in kernel.parameters}


@lru_cache(maxsize=64)
def _assignments(body: cst.BaseSuite) -> Mapping[str, Sequence[cst.BaseSmallStatement]]:
    """The statements of a function that bind each of its names."""
    assigned: dict[str, list[cst.BaseSmallStatement]] = {}
    for node in walk(body):
        if isinstance(node, cst.BaseSmallStatement):
            for name in assigned_names(cst.SimpleStatementLine([node])):
                assigned.setdefault(name, []).append(node)
    return assigned


def _makes_pointer(node: cst.CSTNode) -> bool:
    return any(isinstance(one, cst.Attribute) and one.attr.value == "pointer_type" for one in walk(node))


def may_run_ahead(module: SourceModule, node: cst.CSTNode) -> bool:
    """Whether a call is a plain load from memory whose mask can be narrowed."""
    if operation(module, node) != "global_load":
        return False
    assert isinstance(node, cst.Call)
    given = arguments(node, "global_load")
    return given is not None and "pointer" in given and "volatile" not in given


__all__ = ["conflict", "may_run_ahead", "writes_anything", "written_to"]
