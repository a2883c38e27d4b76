"""A Python file as tritonport reads it: the syntax tree, what its names mean, and its kernels.

Names are resolved from import statements and assignments, through the files they lead to, never by importing one. A
name bound in both arms of a `try` or an `if` keeps all its meanings; they are spellings of one function in practice
(`libdevice` moved four times), or two definitions of one helper.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TypeGuard

import libcst as cst

from tritonport.report import Diagnostic, InputError
from tritonport.source.bindings import bindings_of
from tritonport.source.kernel import Kernel, Parameter
from tritonport.source.meaning import Meaning, distinct
from tritonport.source.parse import parsed
from tritonport.source.positions import Positions, Span
from tritonport.source.project import Project, module_name
from tritonport.source.syntax import arms, dotted, only_returned, statements_of, suites
from tritonport.source.walk import replaced, walk

JIT = {"triton.jit": "triton", "triton.runtime.jit.jit": "triton", "triton.experimental.gluon.jit": "gluon"}


def _syntax_error(text: str, path: str, error: cst.ParserSyntaxError) -> Diagnostic:
    """What is wrong and where, in Python's own words if it sees it too: they name the line that a person must mend."""
    try:
        ast.parse(text)
    except SyntaxError as own:
        return Diagnostic("TP001", own.msg, path, own.lineno or error.raw_line, own.offset or error.raw_column + 1)
    except ValueError:
        pass
    return Diagnostic("TP001", str(error.message), path, error.raw_line, error.raw_column + 1)


class SourceModule:
    """A parsed file. Raises `InputError` (TP001) where the text is not Python."""

    def __init__(self, text: str, path: str, project: Project | None = None, tree: cst.Module | None = None) -> None:
        self.path = path
        self.text = text
        self.written: SourceModule | None = None
        self.origins: dict[cst.CSTNode, cst.CSTNode] = {}
        self.refused: dict[cst.CSTNode, Exception] = {}
        self.project = project if project is not None else Project()
        self._lookups: dict[str, list[Meaning]] = {}
        try:
            self.tree = tree if tree is not None else parsed(text)
        except cst.ParserSyntaxError as error:
            raise InputError(_syntax_error(text, path, error)) from error
        self.bindings = bindings_of(self.tree)
        self._positions = Positions(text, self.tree)
        self.kernels: list[Kernel] = list(self._find_kernels(self.tree.body, ()))
        for kernel in self.kernels:
            if not kernel.in_class:
                self.bindings.kernels.setdefault(kernel.name, kernel)
                if not kernel.scope:
                    self.bindings.definitions.setdefault(kernel.name, []).append(kernel)
        self._assigned_kernels()

    @cached_property
    def file(self) -> Path | None:
        """Where the file lies; None for text that stands in no folder."""
        if self.path.startswith("<"):
            return None
        file = Path(self.path).absolute()
        return file if file.parent.is_dir() else None

    @cached_property
    def nodes(self) -> list[cst.CSTNode]:
        """Every node of the file, listed once."""
        return list(walk(self.tree))

    @cached_property
    def calls(self) -> Mapping[str, Sequence[tuple[Kernel, cst.Call]]]:
        """The calls in the kernels of the file, each with the kernel around it, by the dotted name of what is called.

        A call in a function inside of another one stands in both.
        """
        found: dict[str, list[tuple[Kernel, cst.Call]]] = {}
        for kernel in self.kernels:
            for node in walk(kernel.node):
                path = dotted(node.func) if type(node) is cst.Call else None
                if path is not None:
                    assert isinstance(node, cst.Call)
                    found.setdefault(path, []).append((kernel, node))
        return found

    @cached_property
    def name(self) -> str:
        """The dotted name other files import it by."""
        return module_name(self.file) if self.file is not None else ""

    def with_functions(
        self,
        functions: Mapping[cst.CSTNode, cst.CSTNode],
        origins: Mapping[cst.CSTNode, cst.CSTNode],
        refused: Mapping[cst.CSTNode, Exception],
    ) -> SourceModule:
        """The file with other functions in the place of some of its own.

        Positions stay those of the author's text: `origins` leads from a new node to what it was made from. `refused`
        says why a function could not be exchanged.
        """
        made = SourceModule(self.text, self.path, self.project, replaced(self.tree, functions))
        made.written = self
        made.origins = dict(origins)
        made.refused = dict(refused)
        for name, meanings in self.bindings.imported.items():
            made.bindings.imported.setdefault(name, meanings)
        return made

    def as_written(self, function: cst.FunctionDef) -> cst.FunctionDef:
        """A function as it stands in the author's text."""
        found = self.origins.get(function, function)
        assert isinstance(found, cst.FunctionDef)
        return found

    def position(self, node: cst.CSTNode) -> tuple[int, int]:
        """Line and column of a node of some kernel, both from 1; (1, 1) for anything else."""
        span = self.span(node)
        return span[:2] if span is not None else (1, 1)

    def span(self, node: cst.CSTNode) -> Span | None:
        """Where a node of some kernel begins and ends in the author's text; None for anything else."""
        if self.written is not None:
            return self.written.span(self.origins.get(node, node))
        return self._positions.span(node, self.kernels)

    def line_of(self, kernel: Kernel) -> int:
        """The line of a kernel's `def`."""
        positions = self.written._positions if self.written is not None else self._positions
        return positions.line_of(self.as_written(kernel.node) if self.written is not None else kernel.node)

    # -- names

    def qualified_names(self, node: cst.BaseExpression) -> list[str]:
        """Every qualified name an expression can mean at module scope: `tl.load` is `triton.language.load`."""
        path = dotted(node)
        if path is None:
            return []
        return [meaning.qualified for meaning in self.lookup(path) if meaning.kind in ("external", "module")]

    def binds(self, name: str) -> bool:
        """Whether the file gives a name a meaning of its own, at module scope."""
        return self.bindings.binds(name)

    def lookup(self, path: str) -> list[Meaning]:
        """Everything a name or a dotted path can mean at module scope; empty where the file does not say."""
        found = self._lookups.get(path)
        if found is None:
            # Names that lead back to themselves mean nothing by that way.
            self._lookups[path] = []
            found = self._lookups[path] = self._meanings(path)
        return found

    def _meanings(self, path: str) -> list[Meaning]:
        head, _, rest = path.partition(".")
        suffix = f".{rest}" if rest else ""
        bound = self.bindings
        found: list[Meaning] = []
        if not rest:
            found += [self._of_kernel(kernel) for kernel in bound.definitions.get(head, ())]
        if not found and head in bound.kernels and not rest:
            found.append(self._of_kernel(bound.kernels[head]))
        for qualified in bound.imported.get(head, ()):
            found += self.project.resolve(qualified + suffix, self)
        for expression in arms(self._chosen(value) for value in bound.assignments.get(head, ())):
            inner = dotted(expression)
            if inner is not None and inner.partition(".")[0] != head:
                found += self.lookup(inner + suffix)
        if not found and head in bound.assigned and not rest:
            several = len(bound.assignments[head]) > 1
            value = None if several else bound.assigned[head]
            found.append(Meaning("value", self._absolute(head), self, expression=value))
        if not found and head in bound.functions:
            found += self._of_definition(head, rest)
        if not found and not self.binds(head):
            for star in bound.stars:
                found += [one for one in self._from_star(star, head, suffix) if one.kind != "external"]
        return distinct(found)

    def _chosen(self, expression: cst.BaseExpression) -> cst.BaseExpression:
        """What `f()` gives where `f` is a function of this file that only returns: `a if test else b` of its names."""
        if not isinstance(expression, cst.Call) or expression.args or not isinstance(expression.func, cst.Name):
            return expression
        name = expression.func.value
        defined = [item for item in self.tree.body if isinstance(item, cst.FunctionDef) and item.name.value == name]
        if len(defined) != 1 or not isinstance(defined[0].body, cst.IndentedBlock):
            return expression
        returned = only_returned(defined[0].body)
        return expression if returned is None or dotted(returned) == name else returned

    def _of_kernel(self, kernel: Kernel) -> Meaning:
        return Meaning("kernel", self._absolute(kernel.qualified), self, kernel)

    def _of_definition(self, head: str, rest: str) -> list[Meaning]:
        """A plain function, a class, or a kernel in a class."""
        if rest:
            return [self._of_kernel(kernel) for kernel in self.kernels if kernel.qualified == f"{head}.{rest}"]
        node = next(
            item
            for item in self.tree.body
            if isinstance(item, (cst.FunctionDef, cst.ClassDef)) and item.name.value == head
        )
        return [Meaning("function", self._absolute(head), self, node=node)]

    def _from_star(self, star: str, head: str, suffix: str) -> list[Meaning]:
        for meaning in self.project.resolve(star, self):
            if meaning.kind == "module" and meaning.module is not None and meaning.module.bindings.exports(head):
                return meaning.module.lookup(head + suffix)
            if meaning.qualified.startswith("triton.language"):
                return [Meaning("external", f"{meaning.qualified}.{head}{suffix}")]
        return []

    def _absolute(self, name: str) -> str:
        return f"{self.name}.{name}" if self.name else name

    def local_binding(self, function: cst.FunctionDef, name: str) -> cst.BaseExpression | str | None:
        """What a name is inside a function: an assigned expression, "parameter", or None where it is not bound
        there."""
        for statement in statements_of(function.body):
            if isinstance(statement, cst.Assign):
                for target in statement.targets:
                    if isinstance(target.target, cst.Name) and target.target.value == name:
                        return statement.value
        if any(parameter.name == name for parameter in self._parameters(function)):
            return "parameter"
        return None

    def kernel_by_path(self, path: str, caller: Kernel) -> Kernel | None:
        """A kernel in a class, by `Class.kernel` (or `cls.kernel`, `self.kernel` from a neighbour)."""
        head, _, rest = path.rpartition(".")
        for kernel in self.kernels:
            if not kernel.in_class or kernel.name != rest:
                continue
            owner = kernel.scope[-1]
            if owner.name.value == head.split(".")[-1]:
                return kernel
            if head in ("cls", "self") and caller.in_class and caller.scope[-1] is owner:
                return kernel
        return None

    # -- kernels

    def _find_kernels(
        self,
        body: cst.BaseSuite | Sequence[cst.BaseStatement],
        scope: tuple[cst.FunctionDef | cst.ClassDef, ...],
    ) -> Iterator[Kernel]:
        statements = body.body if isinstance(body, cst.BaseSuite) else body
        for statement in statements:
            if isinstance(statement, cst.FunctionDef):
                kernel = self._as_kernel(statement, scope)
                if kernel is not None:
                    yield kernel
                else:
                    yield from self._find_kernels(statement.body, (*scope, statement))
            elif isinstance(statement, cst.ClassDef):
                yield from self._find_kernels(statement.body, (*scope, statement))
            elif isinstance(statement, (cst.If, cst.Else, cst.Try, cst.With, cst.For, cst.While, cst.TryStar)):
                for inner in suites(statement):
                    yield from self._find_kernels(inner, scope)

    def jit_language(self, expression: cst.BaseExpression) -> str | None:
        """ "triton" or "gluon" for `triton.jit`, `gluon.jit` and their calls with options."""
        while isinstance(expression, cst.Call):
            expression = expression.func
        names = self.bindings.own_names(expression)
        if not any(name in JIT for name in names) and any(name.endswith("jit") for name in names):
            # `from .compat import triton`, then `@triton.jit`.
            names = self.qualified_names(expression)
        return next((JIT[name] for name in names if name in JIT), None)

    def _as_kernel(self, node: cst.FunctionDef, scope: tuple[cst.FunctionDef | cst.ClassDef, ...]) -> Kernel | None:
        for decorator in node.decorators:
            language = self.jit_language(decorator.decorator)
            if language is not None:
                return Kernel(node.name.value, node, language, self._parameters(node), scope, decorator, self)
        return None

    def _assigned_kernels(self) -> None:
        """`triton.jit(fn)` makes a kernel of a plain function of the file, wherever it stands.

        A name that it is assigned to, under decorators or not, is one of the kernel, whatever it is assigned later:
        `k = triton.jit(k)` and then `k = triton.heuristics(...)(k)`.
        """
        functions = {
            statement.name.value: statement for statement in self.tree.body if isinstance(statement, cst.FunctionDef)
        }
        plain = functions.keys() - {kernel.name for kernel in self.kernels if not kernel.scope}
        made = [call for call in self.nodes if self._jits(call, plain)] if plain else []
        names: dict[cst.CSTNode, str] = {}
        for name, expressions in self.bindings.assignments.items() if made else ():
            names |= {node: name for one in expressions if isinstance(one, cst.Call) for node in walk(one)}
        for call in made:
            node = functions[cst.ensure_type(call.args[0].value, cst.Name).value]
            kernel = next((one for one in self.kernels if one.node is node), None)
            if kernel is None:
                language = self.jit_language(call)
                assert language is not None
                kernel = Kernel(node.name.value, node, language, self._parameters(node), (), None, self)
                self.kernels.append(kernel)
            if call in names:
                self.bindings.kernels[names[call]] = kernel
            self.bindings.kernels.setdefault(kernel.name, kernel)

    def _jits(self, node: cst.CSTNode, functions: Collection[str]) -> TypeGuard[cst.Call]:
        """Whether a node is `triton.jit(fn)` of one of these functions."""
        if type(node) is not cst.Call or not node.args:
            return False
        function = node.args[0].value
        return type(function) is cst.Name and function.value in functions and self.jit_language(node) is not None

    @cached_property
    def annotations_are_text(self) -> bool:
        """`from __future__ import annotations`: what stands after a colon is never evaluated, Triton reads its text."""
        return any(
            isinstance(small, cst.ImportFrom)
            and isinstance(small.module, cst.Name)
            and small.module.value == "__future__"
            and not isinstance(small.names, cst.ImportStar)
            and any(alias.evaluated_name == "annotations" for alias in small.names)
            for line in self.tree.body
            if isinstance(line, cst.SimpleStatementLine)
            for small in line.body
        )

    def is_constexpr(self, annotation: cst.BaseExpression | None) -> bool:
        if annotation is None:
            return False
        if isinstance(annotation, cst.SimpleString):
            return str(annotation.evaluated_value).split(".")[-1] == "constexpr"
        names = self.bindings.own_names(annotation)
        return any(name.endswith(".constexpr") for name in names) or (dotted(annotation) or "").endswith("constexpr")

    def _parameters(self, node: cst.FunctionDef) -> tuple[Parameter, ...]:
        found = []
        params = node.params
        listed = [(param, "") for param in (*params.posonly_params, *params.params)]
        if isinstance(params.star_arg, cst.Param):
            listed.append((params.star_arg, "*"))
        listed += [(param, "") for param in params.kwonly_params]
        if params.star_kwarg is not None:
            listed.append((params.star_kwarg, "**"))
        for param, star in listed:
            annotation = param.annotation.annotation if param.annotation is not None else None
            found.append(Parameter(param.name.value, self.is_constexpr(annotation), annotation, param.default, star))
        return tuple(found)
