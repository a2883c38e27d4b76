"""What a device function runs through :class:`~tritonport.verify.emulate.kept.Kept`: statements, operators, calls."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Any

import triton.experimental.gluon.language as gl
import triton.language as tl
from triton.compiler.code_generator import CodeGenerator
from triton.runtime.jit import ConstexprFunction, JITFunction

from tritonport.verify.emulate.code import Block, body_of
from tritonport.verify.emulate.errors import Frame
from tritonport.verify.emulate.kept import is_kept
from tritonport.verify.emulate.replay import LAYOUTS

_REPEATED = (tl.reduce, tl.associative_scan, gl.reduce, gl.associative_scan, gl.num_warps, gl.num_ctas, tl.constexpr)
_PYTHON = frozenset(CodeGenerator.builtin_namespace.values())


@dataclass(frozen=True)
class Standing:
    """A call of a device function that stood there when what it asked of the builder was recorded."""

    file_name: str
    line: int
    cur_node: ast.AST | None
    unrolled: tuple[int, ...]
    frame: Frame

    def place(self) -> Frame:
        return self.frame

    def standing(self) -> Standing:
        return self


class KeptOps:
    """Methods of the generator."""

    def standing(self: Any) -> Standing:
        """This call as it stands now."""
        return Standing(self.file_name, self.line, self.cur_node, tuple(self.unrolled), self.place())

    def visit_compound_statement(self: Any, stmts: Any) -> None:
        statements = stmts if isinstance(stmts, list) else [stmts]
        for block in body_of(statements) if statements else ():
            if block.is_plain:
                self.visit(block.statements[0])
                continue
            assigned = self.run.kept.run(self, block, lambda block=block: self._visit_block(block))
            for name, value in assigned["variables"].items():
                self.set_value(name, value)
            self.lscope.update(assigned["constants"])

    def _visit_block(self: Any, block: Block) -> dict[str, dict[str, Any]]:
        """What a block assigns: variables, and constants that were declared as such."""
        before, outer_defs = dict(self.lscope), self.local_defs
        self.local_defs = {}
        for position, statement in enumerate(block.statements):
            block.position = position
            self.visit(statement)
        defined, self.local_defs = self.local_defs, {**outer_defs, **self.local_defs}
        constants = [name for name in block.assigned if name in self.lscope and name not in defined]
        return {
            "variables": {name: self.lscope[name] for name in defined},
            "constants": {name: self.lscope[name] for name in constants if self.lscope[name] is not before.get(name)},
        }

    def _apply_binary_method(self: Any, node: ast.AST, method: Any, lhs: Any, rhs: Any) -> Any:
        emit = CodeGenerator._apply_binary_method
        key = (method, self.builder.num_warps)
        return self.run.kept.call(self.semantic, key, [lhs, rhs], lambda: emit(self, node, method, lhs, rhs))

    def call_Function(self: Any, node: ast.AST, fn: Any, args: Any, kws: Any) -> Any:
        emit = CodeGenerator.call_Function
        function = getattr(fn, "__func__", fn)
        if isinstance(function, JITFunction | ConstexprFunction):
            # Not asked for in a table: the hash of one takes a look at all that it calls.
            return emit(self, node, fn, args, kws)
        unused = getattr(node, "_is_unused", False) and getattr(fn, "_must_use_result", False)
        if unused or not is_kept(function):
            if not _repeats(fn):
                self.depends_on_data()
            return emit(self, node, fn, args, kws)
        operands = [getattr(fn, "__self__", None), *args, *kws.values()]
        key = (function, self.builder.num_warps, len(args), *kws)
        return self.run.kept.call(self.semantic, key, operands, lambda: emit(self, node, fn, args, kws))

    def depends_on_data(self: Any) -> None:
        """What comes now may be something else the next time: it cannot be kept."""
        self.semantic.builder.depends_on_data()
        self.semantic.builder = self.builder


def _repeats(fn: Any) -> bool:
    """Whether a function that is not kept itself does the same again with operands of the same types.

    What of it does not, a branch for instance, says so.
    """
    owner = getattr(fn, "__self__", None)
    return isinstance(owner, tl.constexpr | tl.dtype | LAYOUTS) or fn in _REPEATED or fn in _PYTHON
