"""What a kernel does with its parameters, read from its text: which are pointers and which reach addresses."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tritonport.verify.compile.kernels import dotted

_MEMORY = frozenset(
    {"load", "store", "atomic_add", "atomic_max", "atomic_min", "atomic_and", "atomic_or", "atomic_xor"}
)
_LOCK = frozenset({"atomic_cas", "atomic_xchg", "atomic_and", "atomic_or", "atomic_xor"})
_INTEGER_CALLS = frozenset({"range", "static_range", "arange", "cdiv", "multiple_of", "max_contiguous"})


@dataclass
class Uses:
    """What a kernel does with its parameters."""

    pointers: dict[str, str | None]  # parameter -> element type its use demands
    indices: set[str]  # names, of parameters and locals, that reach addresses, masks or trip counts
    operands: set[str]  # names that stand in arithmetic or are handed to a function


def uses_of(kernel: ast.FunctionDef, parameters: frozenset[str], functions: Mapping[str, ast.FunctionDef]) -> Uses:
    """What a kernel does with some parameters.

    functions: the jitted functions of the file by name, to follow pointers into the helpers they are handed to.
    """
    assigned = _assignments(kernel)
    pointers: dict[str, str | None] = {}
    indices: set[str] = set()
    for call in (node for node in ast.walk(kernel) if isinstance(node, ast.Call)):
        helper = functions.get(dotted(call.func))
        if helper is None or helper is kernel:
            continue
        others = {name: one for name, one in functions.items() if one is not helper}
        names = [one.arg for one in (*helper.args.posonlyargs, *helper.args.args, *helper.args.kwonlyargs)]
        inner = uses_of(helper, frozenset(names), others)
        given = [*zip(names, call.args, strict=False), *((one.arg, one.value) for one in call.keywords)]
        for name, value in given:
            base = _base(value, assigned, parameters) if name in inner.pointers else None
            if base and pointers.get(base) is None:
                pointers[base] = inner.pointers[name or ""]
            if name in inner.pointers or name in inner.indices:
                indices.update(_names(value))
    loads: dict[int, str] = {}
    for call in (node for node in ast.walk(kernel) if isinstance(node, ast.Call)):
        method = _method(call)
        if method in _MEMORY or method in _LOCK:
            arguments = {keyword.arg: keyword.value for keyword in call.keywords}
            pointer = call.args[0] if call.args else arguments.get("pointer")
            if pointer is None:
                continue
            for other in _bases(pointer, assigned, parameters):
                pointers.setdefault(other, None)
            if base := _base(pointer, assigned, parameters):
                loads[id(call)] = base
                if method in _LOCK:
                    pointers[base] = "*i32"
                elif method in ("atomic_add", "atomic_max", "atomic_min") and pointers[base] is None:
                    pointers[base] = "*fp32"
            mask = arguments.get("mask") or (call.args[1] if method == "load" and len(call.args) > 1 else None)
            indices.update(_names(pointer), _names(mask) if mask is not None else ())
        elif method in _INTEGER_CALLS:
            for argument in [*call.args, *(keyword.value for keyword in call.keywords)]:
                indices.update(_names(argument))
    pending = list(indices)
    while pending:
        for value in assigned.get(pending.pop(), ()):
            new = set(_names(value)) - indices
            indices |= new
            pending.extend(new)
            for part in ast.walk(value):
                if id(part) in loads and pointers[loads[id(part)]] is None:
                    pointers[loads[id(part)]] = "*i64"
    operands = {
        child.id
        for node in ast.walk(kernel)
        if isinstance(node, ast.BinOp | ast.UnaryOp | ast.Call | ast.Compare | ast.Attribute)
        for child in ast.iter_child_nodes(node)
        if isinstance(child, ast.Name)
    }
    # A pointer is used in addresses, and is no index for that.
    return Uses(pointers, indices - set(pointers), operands)


def _names(node: ast.AST) -> Iterator[str]:
    """Names an expression uses, those inside a load of it left out: they index another tensor."""
    if isinstance(node, ast.Call) and _method(node) in _MEMORY:
        return
    if isinstance(node, ast.Name):
        yield node.id
    for child in ast.iter_child_nodes(node):
        yield from _names(child)


def _method(call: ast.Call) -> str:
    return dotted(call.func).rpartition(".")[2] if not isinstance(call.func, ast.Attribute) else call.func.attr


def _base(node: ast.expr, assigned: Mapping[str, list[ast.expr]], parameters: frozenset[str]) -> str | None:
    """The parameter at the root of a pointer expression: leftmost in sums, followed through assignments."""
    return next(_bases(node, assigned, parameters), None)


def _bases(
    node: ast.expr,
    assigned: Mapping[str, list[ast.expr]],
    parameters: frozenset[str],
    seen: frozenset[str] = frozenset(),
) -> Iterator[str]:
    """The parameters that can be at the root of a pointer expression: of a name, under each of its assignments."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
        left = list(_bases(node.left, assigned, parameters, seen))
        yield from left or _bases(node.right, assigned, parameters, seen)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "to":
        yield from _bases(node.func.value, assigned, parameters, seen)
    elif isinstance(node, ast.Call) and _method(node) in ("multiple_of", "max_contiguous", "broadcast_to", "cast"):
        if node.args:
            yield from _bases(node.args[0], assigned, parameters, seen)
    elif isinstance(node, ast.IfExp):
        yield from _bases(node.body, assigned, parameters, seen)
        yield from _bases(node.orelse, assigned, parameters, seen)
    elif isinstance(node, ast.Name) and node.id not in seen:
        found = [
            base
            for value in assigned.get(node.id, ())
            for base in _bases(value, assigned, parameters, seen | {node.id})
        ]
        yield from dict.fromkeys(found)
        if not found and node.id in parameters:
            yield node.id


def _assignments(kernel: ast.FunctionDef) -> dict[str, list[ast.expr]]:
    found: dict[str, list[ast.expr]] = {}
    for node in ast.walk(kernel):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    found.setdefault(target.id, []).append(node.value)
                elif isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                    for name, value in zip(target.elts, node.value.elts, strict=False):
                        if isinstance(name, ast.Name):
                            found.setdefault(name.id, []).append(value)
        elif isinstance(node, ast.AnnAssign | ast.AugAssign) and isinstance(node.target, ast.Name) and node.value:
            found.setdefault(node.target.id, []).append(node.value)
    return found
