"""Compile-time choices of a kernel, written out so that they can stand at its head: the locals in them are replaced by
what they stand for.
"""

from __future__ import annotations

import libcst as cst

from tritonport.analysis import dims
from tritonport.analysis.dims import Dim
from tritonport.analysis.frame import Definition, Frame
from tritonport.analysis.values import MISSING, Kind, Value
from tritonport.source.walk import walk


def chosen_size(frame: Frame, test: cst.BaseExpression, body: Dim | None, orelse: Dim | None) -> Dim | None:
    """The size that a compile-time test picks, spelled so that it can stand at the head of the kernel."""
    text = written_out(test, frame)
    if text is None or body is None or orelse is None:
        return None
    return dims.chosen(text, body, orelse)


def chosen_shape(frame: Frame, test: cst.BaseExpression, merged: Value, body: Value, orelse: Value) -> tuple[Dim, ...]:
    """The shape of a tile that a compile-time test picks: sizes that differ are picked by the test too."""
    if not merged.rank == body.rank == orelse.rank:
        return merged.shape
    return tuple(
        size if one == other or one.is_one or other.is_one else chosen_size(frame, test, one, other) or size
        for size, one, other in zip(merged.shape, body.shape, orelse.shape, strict=True)
    )


def chosen_element(frame: Frame, test: cst.BaseExpression, body: Value, orelse: Value) -> tuple[str, ...]:
    """The element type that a compile-time test picks, spelled so that it can stand at the head of the kernel."""
    types = [_dtype_text(frame, value.element) for value in (body, orelse)]
    if None in types:
        return ()
    text = written_out(test, frame)
    return () if text is None else (f"({types[0]} if {text} else {types[1]})",)


def _dtype_text(frame: Frame, element: tuple[str, ...]) -> str | None:
    """One element type as source text; None where it is not known, or could be that of several pointers."""
    if len(element) != 1:
        return None
    launched = frame.chain[-1].kernel.parameters
    is_pointer = any(one.name == element[0] and not one.constexpr for one in launched)
    return f"{element[0]}.dtype.element_ty" if is_pointer else element[0]


def written_out(node: cst.BaseExpression, frame: Frame) -> str | None:
    """The text of an expression with the locals in it replaced by what they stand for; None where that is not
    known."""
    texts: dict[cst.CSTNode, str] = {}
    inside: set[cst.CSTNode] = set()
    for name in walk(node):
        if name in inside:
            continue
        value = frame.values.get(name)
        if isinstance(name, cst.Attribute) and value is not None and value.kind is Kind.DTYPE:
            # The type of a tensor, whatever it was computed from.
            dtype_text = _dtype_text(frame, value.element)
            if dtype_text is None:
                return None
            texts[name] = dtype_text
            inside.update(walk(name))
            continue
        definition = frame.reads.get(name)
        if definition is None:
            continue
        text = _definition_text(definition)
        if text is None:
            return None
        texts[name] = text
    written = node.visit(_Replacer(texts))
    assert isinstance(written, cst.BaseExpression)
    return frame.kernel.module.tree.code_for_node(written)


def _definition_text(definition: Definition) -> str | None:
    value = definition.value
    if value.is_tensor:
        return None
    if definition.how == "parameter" and definition.frame.caller is None:
        return definition.name
    if value.kind is Kind.CONSTEXPR and value.dim is not None:
        return dims.grouped(value.dim.text)
    if value.kind is Kind.NONE or (value.kind is Kind.CONSTEXPR and value.known is not MISSING):
        return repr(value.known)
    if definition.how == "assign" and definition.expression is not None:
        text = written_out(definition.expression, definition.frame)
        return None if text is None else dims.grouped(text)
    return None


class _Replacer(cst.CSTTransformer):
    """Puts texts in the place of nodes."""

    def __init__(self, texts: dict[cst.CSTNode, str]) -> None:
        super().__init__()
        self.texts = texts

    def leave_Name(self, original_node: cst.Name, updated_node: cst.Name) -> cst.BaseExpression:
        text = self.texts.get(original_node)
        return updated_node if text is None else cst.parse_expression(text)

    def leave_Attribute(self, original_node: cst.Attribute, updated_node: cst.Attribute) -> cst.BaseExpression:
        text = self.texts.get(original_node)
        return updated_node if text is None else cst.parse_expression(text)
