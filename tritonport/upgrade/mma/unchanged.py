"""Tiles that stand still: operands from before a loop, which nothing in it writes."""

from __future__ import annotations

import libcst as cst

from tritonport.source.walk import calls_in, walk
from tritonport.upgrade.mma.spelling import FileReader, one_line, simple_assignment
from tritonport.upgrade.mma.staging import COPIED, STAGED
from tritonport.upgrade.slices import names_of

_VIEWS = frozenset({"index", "permute", "reshape", "slice", "trans", "_reinterpret"})
_READS = frozenset({*_VIEWS, "load", "to"})
_ORDERED = ("in_order", "dot_added", "dot_awaited", *COPIED, *STAGED)
_LANGUAGE = "triton.experimental.gluon.language."


def writer_of(name: str, node: cst.For, function: cst.FunctionDef, reader: FileReader) -> str | None:
    """The call of a loop that may write to the memory of a variable from before it; None where there is none.

    A copy of the next tile is such a call: a dot that is still under way would read that one.
    """
    same = _same_memory(name, function, reader)
    for call in calls_in(node.body):
        if _only_reads(call, reader):
            continue
        receiver = [call.func.value] if isinstance(call.func, cst.Attribute) else []
        if any(names_of(part) & same for part in (*receiver, *(given.value for given in call.args))):
            return one_line(call)
    return None


def _same_memory(name: str, function: cst.FunctionDef, reader: FileReader) -> set[str]:
    """The variables of a function that may be the same memory: what one is a view of, and other views of that."""
    edges: list[tuple[str, set[str]]] = []
    for statement in walk(function.body):
        made = simple_assignment(statement) if isinstance(statement, cst.SimpleStatementLine) else None
        if made is not None:
            edges.append((made[0], _viewed(made[1], reader)))
    found = {name}
    while True:
        more = {one for target, sources in edges if target in found or sources & found for one in (target, *sources)}
        if more <= found:
            return found
        found |= more


def _viewed(value: cst.BaseExpression, reader: FileReader) -> set[str]:
    """The variables whose memory a value may be: a call gives that of its receiver or of its first argument."""
    if not isinstance(value, cst.Call):
        return names_of(value) if isinstance(value, (cst.Name, cst.IfExp, cst.Subscript, cst.Attribute)) else set()
    if reader.is_gl(value, "allocate_shared_memory") or reader.is_dot(value) or _is_language(value, reader):
        return set()
    if isinstance(value.func, cst.Attribute) and value.func.attr.value in _VIEWS:
        return _viewed(value.func.value, reader)
    if isinstance(value.func, cst.Attribute) and value.func.attr.value in _READS:
        return set()
    return set().union(*(_viewed(given.value, reader) for given in value.args[:1]))


def _only_reads(call: cst.Call, reader: FileReader) -> bool:
    if reader.is_dot(call) or reader.is_started(call) or reader.emitted(call) in _ORDERED:
        return True
    if isinstance(call.func, cst.Attribute) and call.func.attr.value in _READS:
        return True
    return reader.is_hopper(call, "mbarrier.wait") or _is_language(call, reader)


def _is_language(call: cst.Call, reader: FileReader) -> bool:
    """Whether a call is of an operation of the Gluon language itself, on values in registers."""
    names = reader.module.qualified_names(call.func)
    return any(one.startswith(_LANGUAGE) and "." not in one.removeprefix(_LANGUAGE) for one in names)


__all__ = ["writer_of"]
