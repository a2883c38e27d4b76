"""Results that depend on the order in which programs come: what floating-point additions by atomics reach.

FpSan computes with integers in place of floats, which add up to the same in any order. The addition of an atomic is
done by the memory, on the bits as floats: it rounds, so that the order shows in them, now and then and in few elements.
That is read off the kernels, not off runs that happen to differ.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping

from tritonport.verify.launches import Launch

_FLOAT = r"(?:f16x2|bf16x2|f16|bf16|f32|f64)"
_IN_PTX = re.compile(rf"\b(?:(?:atom|red)\.[^;]*?\.add\.[^;]*?{_FLOAT}\b|cp\.reduce\.async\.bulk\.[^;]*?\.add\b)")
"""Of a bulk reduction the descriptor knows the type: it is taken to be one of floats."""
_ADDS = ("atomic_add", "async_atomic_add", "async_reduce")
_WRITES = (
    "store",
    "async_store",
    "store_tile",
    "scatter",
    "atomic_cas",
    "atomic_xchg",
    "atomic_max",
    "atomic_min",
    *_ADDS,
)
"""What writes into memory in a source, by the last part of its name: a function, or a method of a descriptor."""


def adds_floats(launch: Launch) -> bool:
    """Whether a launch adds floats by atomics: by its code, or, where there is none, by a call in its source."""
    codes = [one.asm["ptx"] for one in launch.compiled if "ptx" in getattr(one, "asm", {})]
    if codes:
        return any(_IN_PTX.search(code) is not None for code in codes)
    return _targets(launch, _ADDS) is not None


def unordered(launches: Iterable[Launch], results: Mapping[str, int]) -> set[str]:
    """The results that an addition by atomics has reached: in their memory, or in what they were computed from.

    Args:
        launches: of one run of a side, in order.
        results: where the storage of each result begins, by name.
    """
    reached: set[int] = set()
    arguments: set[int] = set()
    for launch in launches:
        storages = set(launch.storages.values())
        arguments |= storages
        if reached & storages:
            # It may read what moves; then so does all that it writes.
            reached |= _storages(launch, _WRITES)
        if adds_floats(launch):
            reached |= _storages(launch, _ADDS)
    if not reached:
        return set()
    # No launch was given the memory of what torch made afterwards: of what, is not known.
    return {name for name, start in results.items() if start in reached or start not in arguments}


def _storages(launch: Launch, operations: tuple[str, ...]) -> set[int]:
    """The memory that a launch may write into by some operations; all that it has where a helper does it."""
    targets = _targets(launch, operations)
    return {start for name, start in launch.storages.items() if targets is None or name in targets}


def _targets(launch: Launch, operations: tuple[str, ...]) -> set[str] | None:
    """The names that the addresses of some operations are made of; None where the kernel itself has no such call."""
    tree = ast.parse(str(launch.function.src))
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    calls = [node for node in calls if ast.unparse(node.func).rpartition(".")[2] in operations]
    if not calls:
        return None
    parts: dict[str, set[str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign | ast.AugAssign):
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                for name in _names(target):
                    parts.setdefault(name, set()).update(_names(node.value))
    found = set().union(*(_names(address) for call in calls for address in _addresses(call)))
    while more := set().union(*(parts.get(name, set()) for name in found)) - found:
        found |= more
    return found


def _addresses(call: ast.Call) -> list[ast.AST]:
    """What the address of a call is made of: its first argument, the object of a method."""
    named = [keyword.value for keyword in call.keywords if keyword.arg in ("pointer", "desc", "tensor_desc")]
    of_method = [call.func.value] if isinstance(call.func, ast.Attribute) else []
    return [*of_method, *call.args[:1], *named]


def _names(node: ast.AST) -> set[str]:
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
