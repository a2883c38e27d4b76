"""What a call of a jit function may be besides a number that its arguments decide."""

from __future__ import annotations

from functools import lru_cache

import libcst as cst

from tritonport.source.kernel import Kernel
from tritonport.source.module import SourceModule
from tritonport.source.syntax import dotted
from tritonport.source.walk import walk

MAKES_TILES = frozenset({"arange", "zeros", "full", "zeros_like", "load"})
READS_MORE = ("load", "store", "atomic_", "inline_asm", "globaltimer", "smid", "clock")
"""How the names begin of what reads, or changes, more than its arguments."""
_DEEPEST = 8


def makes_tiles(module: SourceModule, path: str) -> bool:
    """Whether a function makes tensors of its own, itself or in what it calls."""
    return any(_calls(callee, tuple(MAKES_TILES), True) for callee in _functions(module, path))


def reads_more(module: SourceModule, path: str) -> bool:
    """Whether what a function returns is decided by more than its arguments: by memory, of which each call may find
    something else, or by the machine."""
    return any(_calls(callee, READS_MORE, False) for callee in _functions(module, path))


def acting(module: SourceModule, node: cst.CSTNode) -> str | None:
    """A jit function that a node calls and that, itself or in what it calls, does more than compute: it reads or writes
    memory, or prints."""
    for call in walk(node):
        path = dotted(call.func) if isinstance(call, cst.Call) else None
        if path is not None and any(
            _calls(callee, (*READS_MORE, "device_"), False) for callee in _functions(module, path)
        ):
            return path
    return None


def _functions(module: SourceModule, path: str) -> list[Kernel]:
    return [meaning.kernel for meaning in module.lookup(path) if meaning.kernel is not None]


@lru_cache(maxsize=256)
def _calls(function: Kernel, names: tuple[str, ...], whole: bool, depth: int = _DEEPEST) -> bool:
    """Whether a function calls something of such a name; `whole`: not one that only begins so."""
    for call in walk(function.node.body):
        if not isinstance(call, cst.Call):
            continue
        own = call.func.attr.value if isinstance(call.func, cst.Attribute) else getattr(call.func, "value", "")
        if own in names if whole else isinstance(own, str) and own.startswith(names):
            return True
        path = dotted(call.func)
        callees = _functions(function.module, path) if path is not None and depth else []
        if any(_calls(callee, names, whole, depth - 1) for callee in callees):
            return True
    return False


__all__ = ["READS_MORE", "acting", "makes_tiles", "reads_more"]
