"""Kernel source that a file holds in strings: `async_compile.triton('name', '''...''')`, as torch.compile writes it.

The string is a Python module of its own. Strings that are passed to `exec` or built piece by piece are not looked at.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import libcst as cst

from tritonport.source.kernel import Kernel


@dataclass(frozen=True)
class Embedded:
    """One string with kernels.

    Attributes:
        name: of the kernel, as the call says.
        text: the module in the string.
        start, end: where the literal stands in the file's text, quotes included.
        line: of the opening quotes, from 1; the module's first line is on it.
    """

    name: str
    text: str
    start: int
    end: int
    line: int


def embedded_modules(text: str) -> list[Embedded]:
    """The strings of a file that hold kernels, in source order."""
    if ".triton(" not in text or "jit" not in text:
        return []
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return []
    starts = _line_starts(text)
    found = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr != "triton":
            continue
        if len(node.args) < 2:
            continue
        name, source = node.args[0], node.args[1]
        if not isinstance(name, ast.Constant) or not isinstance(source, ast.Constant):
            continue
        if not isinstance(name.value, str) or not isinstance(source.value, str) or "jit" not in source.value:
            continue
        assert source.end_lineno is not None and source.end_col_offset is not None
        start = _offset(text, starts, source.lineno, source.col_offset)
        end = _offset(text, starts, source.end_lineno, source.end_col_offset)
        found.append(Embedded(name.value, source.value, start, end, source.lineno))
    return sorted(found, key=lambda one: one.start)


def _line_starts(text: str) -> list[int]:
    starts = [0]
    for line in text.splitlines(keepends=True) if "\f" not in text else text.split("\n"):
        starts.append(starts[-1] + len(line) + (0 if "\f" not in text else 1))
    return starts


def _offset(text: str, starts: list[int], line: int, column: int) -> int:
    """A position of `ast`, whose columns count UTF-8 bytes, as an index into the text."""
    start = starts[line - 1]
    row = text[start : starts[line]]
    return start + len(row.encode()[:column].decode())


def with_text(literal: str, text: str) -> str:
    """The literal with another text in it: its prefix and quotes stay."""
    prefix = literal[: len(literal) - len(literal.lstrip("rRbBuU"))]
    quotes = literal[len(prefix) :][:3]
    quotes = quotes if quotes in ('"""', "'''") else quotes[0]
    if "r" in prefix.lower() and quotes not in text and not text.endswith((quotes[0], "\\")):
        return f"{prefix}{quotes}{text}{quotes}"
    escaped = text.replace("\\", "\\\\").replace(quotes, "".join(f"\\{mark}" for mark in quotes))
    if len(quotes) == 1:
        escaped = escaped.replace("\n", "\\n")
    elif escaped.endswith(quotes[0]) and not escaped.endswith(f"\\{quotes[0]}"):
        escaped = f"{escaped[:-1]}\\{quotes[0]}"
    return f"{prefix.replace('r', '').replace('R', '')}{quotes}{escaped}{quotes}"


@dataclass(frozen=True)
class LaunchFacts:
    """What `triton_meta` says of a kernel's arguments.

    Attributes:
        types: parameter -> Triton type, `*bf16`, `i32` or `constexpr`.
        constants: the values of arguments that are compile-time constants.
    """

    types: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    constants: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def integers(self) -> set[str]:
        """Parameters that are numbers, not addresses."""
        return {name for name, kind in self.types.items() if not kind.startswith("*") and kind != "constexpr"}


def launch_facts(kernel: Kernel) -> LaunchFacts:
    """The argument types in a kernel's `triton_meta=` decorator argument; empty where it has none."""
    for decorator in kernel.node.decorators:
        call = decorator.decorator
        if not isinstance(call, cst.Call):
            continue
        for argument in call.args:
            if argument.keyword is not None and argument.keyword.value == "triton_meta":
                meta = argument.value
                return LaunchFacts(
                    {name: str(kind) for name, kind in _literal(_entry(meta, "signature")).items()},
                    _literal(_entry(meta, "constants")),
                )
    return LaunchFacts()


def _entry(node: cst.BaseExpression, name: str) -> cst.BaseExpression | None:
    for element in node.elements if isinstance(node, cst.Dict) else ():
        key = element.key if isinstance(element, cst.DictElement) else None
        if isinstance(key, cst.SimpleString) and key.evaluated_value == name:
            return element.value
    return None


def _literal(node: cst.BaseExpression | None) -> dict[str, Any]:
    if node is None:
        return {}
    try:
        value = ast.literal_eval(cst.Module([]).code_for_node(node))
    except (ValueError, SyntaxError):
        return {}
    return {key: item for key, item in value.items() if isinstance(key, str)} if isinstance(value, dict) else {}


__all__ = ["Embedded", "LaunchFacts", "embedded_modules", "launch_facts", "with_text"]
