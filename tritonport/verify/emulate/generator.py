"""The front end as an interpreter: Triton's code generator, with control flow that runs.

``CodeGenerator`` walks a kernel's AST, keeps its scopes, applies the rules for constexprs and globals and calls the
semantics. All of that is used as it is. What would emit control flow (if, for, while, return, calls) executes it
instead, with the checks the compiler makes on the values that cross its edges.
"""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Callable
from typing import Any

import triton.experimental.gluon.language as gl
import triton.language as tl
from triton.compiler import code_generator as front_end
from triton.compiler.code_generator import CodeGenerator
from triton.language.core import _unwrap_if_constexpr

from tritonport.verify.emulate.branches import BranchOps
from tritonport.verify.emulate.code import expression_at
from tritonport.verify.emulate.elementwise import map_elementwise
from tritonport.verify.emulate.errors import Fault, Frame, ReturnSignal
from tritonport.verify.emulate.functions import position_of, tree_of
from tritonport.verify.emulate.kept_ops import KeptOps
from tritonport.verify.emulate.loops import LoopOps
from tritonport.verify.emulate.programs import Run

# In Triton 3.6 (not in 3.9) a constexpr becomes a tensor when it is returned, and a call without a result gives None.
_KEEPS_CONSTEXPR_RESULTS = hasattr(front_end, "normalize_value")


class Generator(BranchOps, LoopOps, KeptOps, CodeGenerator):  # type: ignore[misc]  # Triton has no types
    """Runs one call of one device function."""

    def __init__(self, run: Run, function: Any, caller_context: Any = None) -> None:
        # CodeGenerator.__init__ creates an MLIR builder and module; only its Python state is wanted.
        self.run = run
        self.context = None
        self.is_gluon = run.is_gluon
        self.builder = run.builder
        self.semantic = run.semantic
        self.name_loc_as_prefix = None
        self.file_name, self.begin_line = position_of(function)
        self.begin_col = 0
        self.gscope = run.scope(function)
        self.lscope: dict[str, Any] = {}
        self.local_defs: dict[str, Any] = {}
        self.pending_annotations: dict[str, Any] = {}
        self.jit_fn = function
        self.cur_node: ast.AST | None = None
        self.caller_context = caller_context
        self.scf_stack: list[ast.AST] = []
        self.visiting_arg_default_value = False
        self.dereference_name: Any = self._define_name_lookup()
        self.returns_depend_on_data = False
        self.unrolled: list[int] = []
        self.is_worker = False
        self.node_line = 1
        self.globals_key = run.globals_key(function)

    def _define_name_lookup(self) -> Callable[[str], Any]:
        # The rules for globals are checked at the first use of a name.
        checked = self.run.checked_globals(self.jit_fn)
        check = super()._define_name_lookup()

        def lookup(name: str) -> Any:
            if name in self.lscope:
                return self.lscope[name]
            if name not in checked:
                checked[name] = check(name)
            return checked[name]

        return lookup

    @property
    def line(self) -> int:
        """The line in the file that runs, 1-based."""
        return self.begin_line + self.node_line

    def place(self) -> Frame:
        """Where this call stands."""
        node = self.cur_node
        source = ast.unparse(node).partition("\n")[0] if isinstance(node, ast.stmt | ast.expr) else ""
        return Frame(self.jit_fn.__name__, self.file_name, self.line, source)

    def call(self, arguments: dict[str, Any]) -> Any:
        """Run the function; its result, or None (in newer Triton a constexpr None) if it returns nothing."""
        for name, value in arguments.items():
            self.set_value(name, value)
        frames = self.run.frames
        frames.append(self)
        try:
            self.visit_compound_statement(tree_of(self.jit_fn).body)
            result = tl.constexpr(None) if _KEEPS_CONSTEXPR_RESULTS else None
        except ReturnSignal as signal:
            result = signal.value
        except Exception:
            self.run.note_failure()
            raise
        finally:
            frames.pop()
        return result

    # Every node.

    def visit(self, node: ast.AST | None) -> Any:
        if node is None:
            return None
        outer, self.cur_node = self.cur_node, node
        line = getattr(node, "lineno", None)
        if line is not None:
            outer_line, self.node_line = self.node_line, line
        visitor = _visitor(type(node))
        expression = expression_at(node)
        if expression is None:
            result = visitor(self, node)
        else:
            result = self.run.kept.run(self, expression, lambda: visitor(self, node))
        # Not in a `finally`: after an error the innermost node is the one to report.
        if line is not None:
            self.node_line = outer_line
        self.cur_node = outer
        return result

    def visit_Constant(self, node: ast.Constant) -> Any:
        known = getattr(node, "_constexpr", None)
        if known is None:
            known = node._constexpr = super().visit_Constant(node)  # type: ignore[attr-defined]
        return known

    def _maybe_set_loc_to_name(self, val: object, name: str) -> None:
        pass

    def set_value(self, name: str, value: Any) -> None:
        super().set_value(name, value)
        if isinstance(value, gl.shared_memory_descriptor | gl.nvidia.blackwell.tensor_memory_descriptor):
            # An operation, so that code that is kept says it too.
            self.semantic.builder.create_memory_name(value.handle, name)

    def _name_loc_prefix(self, prefix: str) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext()

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        assign = getattr(node, "_as_assignment", None)
        if assign is None:
            source = ast.parse(ast.unparse(node.target), mode="eval").body
            for child in ast.walk(source):
                ast.copy_location(child, node.target)
            value = ast.copy_location(ast.BinOp(source, node.op, node.value), node)
            assign = ast.copy_location(ast.Assign(targets=[node.target], value=value), node)
            node._as_assignment = assign  # type: ignore[attr-defined]
        self.visit(assign)

    # Calls.

    def call_JitFunction(self, fn: Any, args: Any, kwargs: Any, caller_context: Any = None) -> Any:
        bound = fn.signature.bind(*args, **kwargs)
        bound.apply_defaults()
        arguments = {name: as_argument(bound.arguments[name]) for name in fn.arg_names}
        return Generator(self.run, fn, caller_context or self.caller_context).call(arguments)

    def run_worker(self, function: Any, arguments: Any, caller_context: Any) -> None:
        """Run the function of a worker partition."""
        bound = function.signature.bind(*arguments)
        bound.apply_defaults()
        worker = Generator(self.run, function, caller_context)
        worker.is_worker = True
        worker.call({name: as_argument(bound.arguments[name]) for name in function.arg_names})

    def visit_Return(self, node: ast.Return) -> None:
        value = self.visit(node.value)
        if self.is_worker and _unwrap_if_constexpr(value) is not None:
            raise Fault("a worker of warp_specialize returns a value, and it is lost")
        if value is None:
            value = tl.constexpr(None) if _KEEPS_CONSTEXPR_RESULTS else None
        elif not _KEEPS_CONSTEXPR_RESULTS or self.returns_depend_on_data:
            value = self._decayed(value)
        raise ReturnSignal(value)

    def _decayed(self, value: Any) -> Any:
        """A compile-time number as a tensor, as where several returns meet."""
        if isinstance(value, tl.tuple):
            return front_end._apply_to_tuple_values(value, self._decayed)
        if isinstance(value, tl.constexpr | int | float) and _unwrap_if_constexpr(value) is not None:
            return self.semantic.to_tensor(value)
        return value

    # Compile-time functions.

    def _static_print(self, node: ast.Call) -> Any:
        self.depends_on_data()
        arguments = [_unwrap_if_constexpr(self.visit(argument)) for argument in node.args]
        named = {name: _unwrap_if_constexpr(value) for name, value in map(self.visit, node.keywords)}
        # A compiler prints once, not once a program.
        if self.run.first_program:
            print(*arguments, **named)
        return tl.constexpr(None)

    def _map_elementwise(self, node: ast.Call) -> Any:
        self.depends_on_data()
        function, *arguments = [self.visit(argument) for argument in node.args]
        named = {name: _unwrap_if_constexpr(value) for name, value in map(self.visit, node.keywords)}
        return map_elementwise(self, _unwrap_if_constexpr(function), arguments, **named)

    statically_implemented_functions = {  # noqa: RUF012
        **CodeGenerator.statically_implemented_functions,
        tl.static_print: _static_print,
        gl.static_print: _static_print,
        tl.map_elementwise: _map_elementwise,
        gl.map_elementwise: _map_elementwise,
    }


_VISITORS: dict[type[ast.AST], Any] = {}


def _visitor(kind: type[ast.AST]) -> Any:
    known = _VISITORS.get(kind)
    if known is None:
        known = _VISITORS[kind] = getattr(Generator, "visit_" + kind.__name__, Generator.generic_visit)
    return known


def as_argument(value: Any) -> Any:
    """A value as the callee of a device function sees it: compile-time values become constexprs."""
    if isinstance(value, tuple | tl.tuple):
        return front_end._apply_to_tuple_values(value, as_argument)
    if value is None or not front_end._is_triton_value(value):
        return tl.constexpr(value)
    return value
