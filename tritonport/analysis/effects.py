"""What calls do besides computing a number of their arguments: to memory, to what stands on the chip, to the machine.

An operation of a language is known by its qualified name, a method by its own, a jit function by what it calls, in
whatever file it stands. What cannot be read may do anything.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache

import libcst as cst

from tritonport.source.kernel import Kernel
from tritonport.source.meaning import Meaning
from tritonport.source.module import SourceModule
from tritonport.source.syntax import dotted
from tritonport.source.walk import walk

Effects = frozenset[str]

LOADS, STORES, ATOMICS = "loads", "stores", "atomics"
ASKS = "asks"
"""What it returns is the machine's to say: a clock, the multiprocessor, instructions that are spelled out."""
SPELLED = "spelled"
"""It is spelled in instructions of the machine, and nothing says that these only compute."""
PRINTS = "prints"
ON_CHIP = "on chip"
"""It allocates, copies or waits, in shared or tensor memory."""
UNKNOWN = "unknown"

WRITES: Effects = frozenset({STORES, ATOMICS, SPELLED, UNKNOWN})
"""What may write to memory."""
_READS_MORE: Effects = frozenset({LOADS, STORES, ATOMICS, ASKS})

_OPERATIONS: Mapping[str, tuple[str, ...]] = {
    LOADS: ("load",),
    STORES: ("store", "scatter", "async_copy_shared_to_global", "tma.async_reduce"),
    ATOMICS: ("atomic",),
    ASKS: ("globaltimer", "smid", "clock"),
    SPELLED: ("inline_asm",),
    PRINTS: ("device_",),
    ON_CHIP: ("tma.", "mbarrier.", "async_copy.", "allocate", "barrier"),
}
"""What stands in the qualified names of a language's operations."""
_NAMES: Mapping[str, tuple[str, ...]] = {
    LOADS: ("load",),
    STORES: ("store", "scatter"),
    ATOMICS: ("atomic_",),
    ASKS: _OPERATIONS[ASKS],
    SPELLED: _OPERATIONS[SPELLED],
    PRINTS: _OPERATIONS[PRINTS],
}
"""How names begin of which nothing else is known: of methods, and of functions that are arguments."""
_PURE = 4
"""The place of `is_pure` among the parameters of `inline_asm_elementwise`, in Triton 3.6 to 3.9."""
_MAKES_TILES = frozenset({"arange", "zeros", "full", "zeros_like", "load"})
_PYTHON = frozenset({"min", "max", "abs", "range", "float", "int", "bool", "len", "isinstance", "tuple"})


def effects_of(module: SourceModule, call: cst.Call) -> Effects:
    """What a call does by its name; of a jit function, not what its body does."""
    names = [name for name in module.qualified_names(call.func) if name.startswith("triton.")]
    found = {kind for name in names for kind, parts in _OPERATIONS.items() if any(part in name for part in parts)}
    if not names:
        found |= {kind for kind, parts in _NAMES.items() if _own_name(call).startswith(parts)}
    if SPELLED in found:
        found.add(ASKS)
        found -= {SPELLED} if _is_pure(call) else set()
    # `tile.store(value)` is on the chip: every other store says where, besides what.
    if STORES in found and isinstance(call.func, cst.Attribute) and _own_name(call) == "store" and len(call.args) == 1:
        found = found - {STORES} | {ON_CHIP}
    return frozenset(found)


def _is_pure(call: cst.Call) -> bool:
    """Whether `inline_asm_elementwise(..., is_pure=True, pack=1)` says of its instructions that they only compute:
    the compiler leaves such out, and moves them."""
    given = [one.value for place, one in enumerate(call.args) if one.keyword is None and place == _PURE]
    given += [one.value for one in call.args if one.keyword is not None and one.keyword.value == "is_pure"]
    return any(isinstance(one, cst.Name) and one.value == "True" for one in given)


@lru_cache(maxsize=512)
def effects_in(module: SourceModule, node: cst.CSTNode) -> Effects:
    """What the calls in a node do, with all that the jit functions do which they call."""
    found: set[str] = set()
    for where, call, meanings in _reached(module, node):
        found |= effects_of(where, call)
        if _is_unknown(call, meanings):
            found.add(UNKNOWN)
    return frozenset(found)


@lru_cache(maxsize=512)
def makes_tiles(module: SourceModule, path: str) -> bool:
    """Whether a function makes tensors of its own, itself or in what it calls."""
    bodies = [_reached(callee.module, callee.node.body) for callee in _functions(module, path)]
    return any(_own_name(call) in _MAKES_TILES for body in bodies for _, call, _ in body)


def spans(function: Kernel) -> bool:
    """Whether a function makes indices, and so the extent of a tile, itself or in what it calls."""
    return any(_own_name(call) == "arange" for _, call, _ in _reached(function.module, function.node.body))


def asks_for_more(module: SourceModule, call: cst.Call) -> bool:
    """Whether what a call returns is decided by more than its arguments, by what is called or by all that it calls."""
    callees = _functions(module, dotted(call.func) or "")
    return any(
        one & _READS_MORE
        for one in (effects_of(module, call), *(effects_in(callee.module, callee.node.body) for callee in callees))
    )


def acting(module: SourceModule, node: cst.CSTNode) -> str | None:
    """A jit function that a node calls and that, itself or in what it calls, does more than compute, or may."""
    for call in (one for one in walk(node) if isinstance(one, cst.Call)):
        path = dotted(call.func)
        if path is not None and any(not only_computes(callee) for callee in _functions(module, path)):
            return path
    return None


def only_computes(function: Kernel) -> bool:
    """Whether a jit function does nothing but compute, in all that it calls as well."""
    return not effects_in(function.module, function.node.body)


def _reached(module: SourceModule, node: cst.CSTNode) -> Iterator[tuple[SourceModule, cst.Call, list[Meaning]]]:
    """The calls in a node, and those in the jit functions that it comes to: with its file and what is called."""
    seen: set[int] = set()
    work: list[tuple[SourceModule, cst.CSTNode]] = [(module, node)]
    while work:
        where, part = work.pop()
        for call in (one for one in walk(part) if isinstance(one, cst.Call)):
            path = dotted(call.func)
            meanings = where.lookup(path) if path is not None else []
            yield where, call, meanings
            for kernel in (one.kernel for one in meanings if one.kernel is not None):
                if id(kernel.node) not in seen:
                    seen.add(id(kernel.node))
                    work.append((kernel.module, kernel.node.body))


def _functions(module: SourceModule, path: str) -> list[Kernel]:
    return [meaning.kernel for meaning in module.lookup(path) if meaning.kernel is not None]


def _own_name(call: cst.Call) -> str:
    """The last name of what is called."""
    name = call.func.attr.value if isinstance(call.func, cst.Attribute) else getattr(call.func, "value", "")
    return name if isinstance(name, str) else ""


def _is_unknown(call: cst.Call, meanings: list[Meaning]) -> bool:
    """Whether nothing says what is called: a name that the file does not bind, or binds to what cannot be read."""
    if not meanings:
        return not isinstance(call.func, cst.Attribute) and _own_name(call) not in _PYTHON
    return not all(
        one.qualified.startswith("triton.") if one.kind == "external" else one.kernel is not None or _is_constant(one)
        for one in meanings
    )


def _is_constant(meaning: Meaning) -> bool:
    """Whether a function is one of the compiler's own time, which sees no memory."""
    decorators = meaning.node.decorators if isinstance(meaning.node, cst.FunctionDef) else ()
    return any((dotted(one.decorator) or "").endswith("constexpr_function") for one in decorators)


__all__ = [
    "ASKS",
    "ATOMICS",
    "LOADS",
    "ON_CHIP",
    "PRINTS",
    "SPELLED",
    "STORES",
    "UNKNOWN",
    "WRITES",
    "Effects",
    "acting",
    "asks_for_more",
    "effects_in",
    "effects_of",
    "makes_tiles",
    "only_computes",
    "spans",
]
