"""The jitted functions of a source text: names, parameters and launches, read from the syntax tree alone."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from tritonport.source.embedded import embedded_modules


@dataclass(frozen=True)
class KernelSource:
    """A jitted function.

    qualname: how to reach it from the module (``Norm.kernel``); with ``<locals>`` when a function makes it.
    language: ``triton`` or ``gluon``. used: another jitted function of the file calls it or hands it on. launches: the
    host calls ``kernel[grid](...)`` that name it, with the host function each stands in.
    """

    node: ast.FunctionDef
    qualname: str
    language: str
    used: bool = False
    launches: tuple[tuple[ast.Call, ast.AST], ...] = field(default=(), repr=False)

    @property
    def name(self) -> str:
        """The name after ``def``."""
        return self.node.name

    @property
    def parameters(self) -> list[ast.arg]:
        """The parameters in order."""
        arguments = self.node.args
        return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]

    @property
    def gives_back(self) -> bool:
        """Whether it returns a value: a function that kernels of other files call, no kernel."""
        inner = {id(node) for function in _nested(self.node) for node in ast.walk(function)}
        returns = (node for node in ast.walk(self.node) if isinstance(node, ast.Return) and id(node) not in inner)
        return any(
            node.value is not None and not (isinstance(node.value, ast.Constant) and node.value.value is None)
            for node in returns
        )

    @property
    def is_entry(self) -> bool:
        """Whether it is launched, or at least not a helper of another kernel."""
        return bool(self.launches) or not (self.used or self.gives_back)


def _nested(node: ast.FunctionDef) -> list[ast.AST]:
    return [
        inner
        for statement in node.body
        for inner in ast.walk(statement)
        if isinstance(inner, ast.FunctionDef | ast.Lambda)
    ]


def dotted(node: ast.expr) -> str:
    """``a.b.c`` for a name or an attribute chain, an empty string for anything else."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        base = dotted(node.value)
        return f"{base}.{node.attr}" if base else ""
    return ""


def _aliases(tree: ast.Module) -> dict[str, str]:
    """Local name -> what it was imported as, from every import of the file."""
    names: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.asname or alias.name: alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            names |= {alias.asname or alias.name: f"{module}.{alias.name}" for alias in node.names}
    return names


def _language(node: ast.FunctionDef, aliases: dict[str, str]) -> str | None:
    for decorator in node.decorator_list:
        name = dotted(decorator.func if isinstance(decorator, ast.Call) else decorator)
        first, _, rest = name.partition(".")
        parts = f"{aliases.get(first, first)}{'.' + rest if rest else ''}".split(".")
        if parts[-1] == "jit" and "gluon" in parts:
            return "gluon"
        if parts[-1] == "jit" and "triton" in parts:
            return "triton"
    return None


def _functions(node: ast.AST, prefix: str = "") -> Iterator[tuple[ast.FunctionDef, str]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef):
            yield child, prefix + child.name
            yield from _functions(child, f"{prefix}{child.name}.<locals>.")
        elif isinstance(child, ast.ClassDef):
            yield from _functions(child, f"{prefix}{child.name}.")
        else:
            yield from _functions(child, prefix)


def find_kernels(text: str, strings: bool = True) -> list[KernelSource]:
    """Every function under ``triton.jit`` or ``gluon.jit``, however imported; SyntaxError as `ast.parse` has it.

    strings: those in modules that the file holds in strings too, with their lines in the file.
    """
    found = _kernels_of(ast.parse(text))
    for string in embedded_modules(text) if strings else ():
        inner = _kernels_of(ast.parse(string.text))
        for kernel in inner:
            ast.increment_lineno(kernel.node, string.line - 1)
        found += inner
    return found


def _kernels_of(tree: ast.Module) -> list[KernelSource]:
    aliases = _aliases(tree)
    functions = list(_functions(tree))
    jitted = [(node, name, language) for node, name in functions if (language := _language(node, aliases))]
    # Called, or handed on as a combine function.
    used = {
        name.rpartition(".")[2]
        for node, _, _ in jitted
        for statement in node.body
        for expression in ast.walk(statement)
        if isinstance(expression, ast.Name | ast.Attribute) and (name := dotted(expression))
    }
    launches: dict[str, list[tuple[ast.Call, ast.AST]]] = {}
    for scope in [*(node for node, _ in functions), tree]:
        for call in ast.walk(scope):
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Subscript):
                name = dotted(call.func.value).rpartition(".")[2]
                if not any(call is known for known, _ in launches.get(name, [])):
                    launches.setdefault(name, []).append((call, scope))
    return [
        KernelSource(node, name, language, node.name in used, tuple(launches.get(node.name, ())))
        for node, name, language in jitted
    ]
