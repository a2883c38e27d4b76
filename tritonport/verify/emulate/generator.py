"""The front end as an interpreter: Triton's code generator, with control flow that runs.

``CodeGenerator`` walks a kernel's AST, keeps its scopes, applies the rules for constexprs and globals and calls the
semantics. All of that is used as it is. What would emit control flow (if, for, while, return, calls) executes it
instead, with the checks the compiler makes on the values that cross its edges.
"""

from __future__ import annotations

import ast
import contextlib
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import triton
import triton.experimental.gluon.language as gl
import triton.language as tl
from triton.compiler import code_generator as front_end
from triton.compiler.code_generator import CodeGenerator
from triton.language.core import _unwrap_if_constexpr
from triton.runtime.jit import JITFunction

from tritonport.verify.emulate.code import expression_at
from tritonport.verify.emulate.elementwise import map_elementwise
from tritonport.verify.emulate.errors import Divergence, Fault, Frame, ReturnSignal
from tritonport.verify.emulate.kept import Kept
from tritonport.verify.emulate.kept_ops import KeptOps
from tritonport.verify.emulate.loops import LoopOps, mark_named, names_in
from tritonport.verify.emulate.shared import Place

# In Triton 3.6 (not in 3.9) a constexpr becomes a tensor when it is returned, and a call without a result gives None.
_KEEPS_CONSTEXPR_RESULTS = hasattr(front_end, "normalize_value")

_TRITON = os.path.dirname(triton.__file__)


@dataclass
class Run:
    """What the programs of one launch share.

    ``deadline`` is a ``time.monotonic()`` value in seconds; ``loop_limit`` bounds the iterations of one loop. ``kept``
    is what has run before.
    """

    builder: Any
    semantic: Any
    is_gluon: bool
    deadline: float
    loop_limit: int
    kept: Kept
    frames: list[Generator] = field(default_factory=list)
    failure: list[Frame] = field(default_factory=list)
    first_program: bool = True
    _scopes: dict[int, tuple[Any, dict[str, Any]]] = field(default_factory=dict)
    _globals: dict[int, dict[str, Any]] = field(default_factory=dict)
    _global_keys: dict[int, int] = field(default_factory=dict)

    def scope(self, function: Any) -> dict[str, Any]:
        """The globals and captured variables of a device function, with the target's modules in place."""
        known = self._scopes.get(id(function))
        if known is None:
            modules = self.builder.module_map
            scope: dict[str, Any] = {}
            for name, value in function.get_capture_scope().items():
                if isinstance(value, ModuleType):
                    scope[name] = modules.get(value.__name__, value)
                elif (home := getattr(value, "__module__", "")) in modules:
                    scope[name] = getattr(modules[home], value.__name__)
                else:
                    scope[name] = value
            known = self._scopes[id(function)] = (function, scope)
        return known[1]

    def checked_globals(self, function: Any) -> dict[str, Any]:
        """The globals a device function has used so far."""
        return self._globals.setdefault(id(function), {})

    def globals_key(self, function: Any) -> int:
        """A number for what a device function, and what it calls, find outside of themselves."""
        known = self._global_keys.get(id(function))
        if known is None:
            # For a function that calls itself.
            self._global_keys[id(function)] = 0
            scope = self.scope(function)
            found = {name: scope[name] for name in sorted(names_in([_tree(function)])) if name in scope}
            called = [value for value in found.values() if isinstance(value, JITFunction)]
            inner = tuple(self.globals_key(each) for each in called if not _position(each)[0].startswith(_TRITON))
            known = self._global_keys[id(function)] = self.kept.globals_key(found, inner)
        return known

    def note_failure(self) -> None:
        """Keep the call stack of the first error that is on its way out."""
        if not self.failure:
            self.failure = [frame.place() for frame in self.frames]

    def where(self) -> Place:
        """The line of the user's own source that runs."""
        own = [frame for frame in self.frames if not frame.file_name.startswith(_TRITON)]
        frame = (own or self.frames)[-1]
        return Place(frame.file_name, frame.line)

    def switch(self, partition: Any) -> None:
        """Another partition runs: its call stack is the current one."""
        self.frames = partition.frames

    def site(self) -> tuple[Any, ...]:
        """Identifies the call that runs, as the compiler sees it: inlined and with static loops unrolled."""
        return tuple((id(frame.cur_node), *frame.unrolled) for frame in self.frames)

    def check_time(self) -> None:
        if time.monotonic() > self.deadline:
            raise Fault("the launch runs longer than the time limit")


class Generator(LoopOps, KeptOps, CodeGenerator):  # type: ignore[misc]  # Triton has no types
    """Runs one call of one device function."""

    def __init__(self, run: Run, function: Any, caller_context: Any = None) -> None:
        # CodeGenerator.__init__ creates an MLIR builder and module; only its Python state is wanted.
        self.run = run
        self.context = None
        self.is_gluon = run.is_gluon
        self.builder = run.builder
        self.semantic = run.semantic
        self.name_loc_as_prefix = None
        self.file_name, self.begin_line = _position(function)
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
            self.visit_compound_statement(_tree(self.jit_fn).body)
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
        if (
            isinstance(value, gl.shared_memory_descriptor | gl.nvidia.blackwell.tensor_memory_descriptor)
            and not value.handle.buffer.name
        ):
            value.handle.buffer.name = name

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

    # Branches.

    def _truth(self, node: ast.AST, condition: Any) -> bool:
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

    def visit_If(self, node: ast.If) -> None:
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

    def visit_IfExp(self, node: ast.IfExp) -> Any:
        condition = self.visit(node.test)
        chosen = node.body if self._truth(node, condition) else node.orelse
        if not isinstance(condition, tl.tensor):
            return self.visit(chosen)
        return self.semantic.to_tensor(self.visit(chosen))

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


def _tree(function: Any) -> ast.FunctionDef:
    """The parsed definition of a device function, the same one in every launch."""
    # Kept by the function itself: hashing one means hashing all that it calls.
    known: tuple[str, ast.FunctionDef] | None = getattr(function, "_emulated_tree", None)
    if known is None or known[0] != function.src:
        known = function._emulated_tree = (function.src, function.parse().body[0])
    return known[1]


def as_argument(value: Any) -> Any:
    """A value as the callee of a device function sees it: compile-time values become constexprs."""
    if isinstance(value, tuple | tl.tuple):
        return front_end._apply_to_tuple_values(value, as_argument)
    if value is None or not front_end._is_triton_value(value):
        return tl.constexpr(value)
    return value


def _position(function: Any) -> tuple[str, int]:
    """The file of a device function, and the line before its ``def`` (the AST counts from the ``def``)."""
    if hasattr(function, "def_file_line_number"):
        return function.file_name, function.def_file_line_number - 1
    from triton.runtime.jit import get_jit_fn_file_line

    path, line = get_jit_fn_file_line(function)
    return path, line - 1


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
