"""Arguments of the calls that make, move and use block pointers, as far as the file spells them out."""

from __future__ import annotations

import re
from collections.abc import Container, Sequence

import libcst as cst

from tritonport.analysis.values import Refusal
from tritonport.source.module import SourceModule
from tritonport.source.syntax import dotted

LOAD = ("pointer", "mask", "other", "boundary_check", "padding_option", "cache_modifier", "eviction_policy", "volatile")
STORE = ("pointer", "value", "mask", "boundary_check", "cache_modifier", "eviction_policy")


class Arguments:
    """Reads arguments in one function; `assigned` are the names that it binds itself."""

    def __init__(self, module: SourceModule, assigned: Container[str]) -> None:
        self.module = module
        self.assigned = assigned

    def items(self, node: cst.BaseExpression, name: str) -> list[str]:
        if isinstance(node, (cst.Tuple, cst.List)):
            if any(isinstance(element, cst.StarredElement) for element in node.elements):
                raise Refusal("TP105", f"{name}={self.code(node)} of a block pointer", node)
            return [self.text(element.value) for element in node.elements]
        if isinstance(node, cst.Name):
            raise Refusal("TP110", f"{name}={node.value} of a block pointer is not spelled out as a tuple", node)
        return [self.text(node)]

    def padding(self, node: cst.BaseExpression | None, call: cst.Call) -> str:
        text = self._constant(node) if node is not None else ""
        if not isinstance(text, str) or text not in ("", "zero", "nan"):
            raise Refusal("TP201", f"padding_option= of {self.code(call.func)} is not a constant of this file", call)
        return text

    def checked(self, node: cst.BaseExpression | None, rank: int, call: cst.Call) -> tuple[int, ...]:
        if node is None:
            return ()
        items: Sequence[cst.BaseExpression]
        source = self.module.bindings.assigned.get(node.value, node) if isinstance(node, cst.Name) else node
        items = (
            [element.value for element in source.elements] if isinstance(source, (cst.Tuple, cst.List)) else [source]
        )
        dims = [self._constant(item) for item in items]
        if not items or (items[0] is source and dims in ([None], [0], [False])):
            # Triton reads a bare 0 as "nothing is checked".
            return ()
        numbers = [int(dim) for dim in dims if isinstance(dim, (int, bool))]
        if len(numbers) != len(dims) or not all(0 <= number < rank for number in numbers):
            raise Refusal(
                "TP201", f"boundary_check={self.code(node)} does not name dimensions of this block pointer", call
            )
        return tuple(sorted(set(numbers)))

    def _constant(self, node: cst.BaseExpression) -> object:
        """A literal, also behind a name of the module; the node itself where it is neither."""
        if isinstance(node, cst.Name):
            literals = {"True": True, "False": False, "None": None}
            if node.value in literals:
                return literals[node.value]
            source = self.module.bindings.assigned.get(node.value)
            if source is None or node.value in self.assigned or isinstance(source, cst.Name):
                return node
            return self._constant(source)
        if isinstance(node, cst.Call) and len(node.args) == 1 and (dotted(node.func) or "").endswith("constexpr"):
            return self._constant(node.args[0].value)
        if isinstance(node, (cst.Integer, cst.SimpleString)):
            return node.evaluated_value
        return node

    def code(self, node: cst.CSTNode) -> str:
        return self.module.tree.code_for_node(node)

    def text(self, node: cst.BaseExpression) -> str:
        """An expression on one line, without parentheses around the whole of it."""
        code = re.sub(r"#[^\n]*", "", self.code(node)) if "\n" in self.code(node) else self.code(node)
        code = re.sub(r"\s*\n\s*", " ", code).strip()
        if getattr(node, "lpar", None) and not isinstance(node, cst.Tuple):
            code = re.sub(r"\s*\n\s*", " ", self.code(node.with_changes(lpar=[], rpar=[]))).strip()
        return code


def by_name(node: cst.Call, names: Sequence[str]) -> dict[str, cst.BaseExpression]:
    """Arguments by name in the order that Triton 3.6 has, the last with block pointers."""
    found = {}
    for position, argument in enumerate(node.args):
        name = argument.keyword.value if argument.keyword is not None else None
        if name is None and position < len(names) and not argument.star:
            name = names[position]
        if name is not None:
            found["value" if name == "val" else name] = argument.value
    return found
