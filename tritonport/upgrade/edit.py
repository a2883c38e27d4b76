"""Editing the statements of a function: their text, several in the place of one, names exchanged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

import libcst as cst

from tritonport.source.walk import replaced, walk

Node = TypeVar("Node", bound=cst.CSTNode)


def code(node: cst.CSTNode | None) -> str:
    """The source text of a node, without whitespace around it; empty for none."""
    return cst.Module([]).code_for_node(node).strip() if node is not None else ""


def with_arguments(call: cst.Call, arguments: Sequence[cst.Arg]) -> cst.Call:
    """The call with other arguments, on one line, which is broken anew where it is too long."""
    given = ", ".join(code(one.with_changes(comma=cst.MaybeSentinel.DEFAULT)) for one in arguments)
    found = cst.parse_expression(f"{code(call.func)}({given})")
    assert isinstance(found, cst.Call)
    return found


def parsed(text: str, module: cst.Module) -> cst.SimpleStatementLine | cst.BaseCompoundStatement:
    """One statement from source text, with the indentation and the line ends of a module."""
    return cst.parse_statement(text + "\n", module.config_for_parsing)


def spliced(node: Node, swaps: Mapping[cst.CSTNode, Sequence[cst.BaseStatement]]) -> Node:
    """The node with several statements, or none, in the place of each that `swaps` holds; an `if` of which nothing is
    left goes with them."""
    found = node.visit(_Splice(swaps))
    assert isinstance(found, type(node))
    return found


class _Splice(cst.CSTTransformer):
    def __init__(self, swaps: Mapping[cst.CSTNode, Sequence[cst.BaseStatement]]) -> None:
        super().__init__()
        self.swaps = swaps

    def visit_SimpleStatementLine(self, node: cst.SimpleStatementLine) -> bool:
        return False  # it may be swapped itself; no statement is in one

    def on_leave(self, original_node, updated_node):  # type: ignore[no-untyped-def]
        """The statements of a node that is swapped, else the node."""
        lines = self.swaps.get(original_node)
        return super().on_leave(original_node, updated_node) if lines is None else cst.FlattenSentinel(lines)

    def leave_If(self, original_node: cst.If, updated_node: cst.If) -> cst.If | cst.RemovalSentinel:
        node = updated_node
        if isinstance(node.orelse, cst.Else) and not node.orelse.body.body:
            node = node.with_changes(orelse=None)
        if node.body.body:
            return node
        if node.orelse is None:
            return cst.RemoveFromParent()
        return node.with_changes(body=cst.IndentedBlock([cst.parse_statement("pass\n")]))


def renamed(node: Node, names: Mapping[str, str]) -> Node:
    """The node with names exchanged; attributes and keywords are no names."""
    skipped = {id(item.attr) for item in walk(node) if isinstance(item, cst.Attribute)}
    skipped |= {id(item.keyword) for item in walk(node) if isinstance(item, cst.Arg) and item.keyword is not None}
    swaps: dict[cst.CSTNode, cst.CSTNode] = {
        item: cst.parse_expression(names[item.value])
        for item in walk(node)
        if isinstance(item, cst.Name) and item.value in names and id(item) not in skipped
    }
    found: Node = replaced(node, swaps)
    return found


__all__ = ["code", "parsed", "renamed", "spliced", "with_arguments"]
