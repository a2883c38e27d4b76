"""The branches of a kernel: the one that is taken runs, and what crosses its edges is checked as in a compile."""

from __future__ import annotations

import ast
from typing import Any

import triton.language as tl
from triton.compiler import code_generator as front_end
from triton.language.core import _unwrap_if_constexpr

from tritonport.verify.emulate.errors import Divergence
from tritonport.verify.emulate.loops import mark_named


class BranchOps:
    """The ``if`` statements and expressions of the generator."""

    def _truth(self: Any, node: ast.AST, condition: Any) -> bool:
        """The value of a condition; ``condition`` is a tensor with one element, or a compile-time value."""
        if not isinstance(condition, tl.tensor):
            value = _unwrap_if_constexpr(condition)
            if type(value) not in front_end._condition_types:
                names = ", ".join(kind.__name__ for kind in front_end._condition_types)
                raise self._unsupported(
                    node,
                    f"`if` conditionals can only accept values of type {{{names}}}, not objects of type "
                    f"{type(value).__name__}",
                )
            return bool(value)
        if front_end._is_non_scalar_tensor(condition):
            raise self._unsupported(node, "Boolean value of Tensor with more than one value is ambiguous")
        self.depends_on_data()
        value = condition.to(tl.int1, _semantic=self.semantic).handle.data
        if value.size != 1:
            raise Divergence
        return bool(value.reshape(()))

    def visit_If(self: Any, node: ast.If) -> None:
        condition = self.visit(node.test)
        taken = self._truth(node, condition)
        active, idle = (node.body, node.orelse) if taken else (node.orelse, node.body)
        if not isinstance(condition, tl.tensor):
            self.visit_compound_statement(active)
            return
        if _contains_return(node):
            if self.scf_stack:
                raise self._unsupported(
                    node, "Cannot have `return` statements inside `while` or `for` statements in triton."
                )
            self.returns_depend_on_data = True
        before, outer_defs = dict(self.lscope), self.local_defs
        self.local_defs = {}
        self.visit_compound_statement(active)
        defined, after = self.local_defs, self.lscope
        self.lscope, self.local_defs = before, outer_defs
        mark_named(idle, before)
        in_both = _assigned_names(idle)
        for name in defined:
            old: Any = before.get(name)
            if front_end._is_triton_value(old):
                same = type(after[name]) is type(old) and after[name].type == old.type
                assert same, (
                    f"initial value for `{name}` is of type {old}, but the "
                    f"{'then' if taken else 'else'} block redefines it as {after[name]}"
                )
                self.set_value(name, after[name])
            elif name in in_both:
                # What only one branch defines does not exist after it.
                self.set_value(name, after[name])

    def visit_IfExp(self: Any, node: ast.IfExp) -> Any:
        condition = self.visit(node.test)
        chosen = node.body if self._truth(node, condition) else node.orelse
        if not isinstance(condition, tl.tensor):
            return self.visit(chosen)
        return self.semantic.to_tensor(self.visit(chosen))


def _contains_return(node: ast.AST) -> bool:
    known = getattr(node, "_contains_return", None)
    if known is None:
        known = any(isinstance(child, ast.Return) for child in ast.walk(node))
        node._contains_return = known  # type: ignore[attr-defined]
    return bool(known)


def _assigned_names(statements: list[ast.stmt]) -> set[str]:
    if not statements:
        return set()
    # Kept by the first of them: a list cannot.
    known: set[str] | None = getattr(statements[0], "_assigned_names", None)
    if known is None:
        known = {
            child.id
            for statement in statements
            for child in ast.walk(statement)
            if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store)
        }
        statements[0]._assigned_names = known  # type: ignore[attr-defined]
    return known
