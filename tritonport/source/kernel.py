"""A jit function of a file, and its parameters."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import libcst as cst

if TYPE_CHECKING:
    from tritonport.source.module import SourceModule


@dataclass(frozen=True, eq=False)
class Parameter:
    name: str
    constexpr: bool
    annotation: cst.BaseExpression | None
    default: cst.BaseExpression | None
    star: str = ""


@dataclass(frozen=True, eq=False)
class Kernel:
    """One jit function. `language` is "triton" or "gluon"; `scope` names the functions and classes it stands in."""

    name: str
    node: cst.FunctionDef
    language: str
    parameters: tuple[Parameter, ...]
    scope: tuple[cst.FunctionDef | cst.ClassDef, ...]
    decorator: cst.Decorator | None
    module: SourceModule = field(repr=False)

    @property
    def in_class(self) -> bool:
        return bool(self.scope) and isinstance(self.scope[-1], cst.ClassDef)

    @property
    def qualified(self) -> str:
        return ".".join([*(outer.name.value for outer in self.scope), self.name])

    @property
    def enclosing_functions(self) -> tuple[cst.FunctionDef, ...]:
        return tuple(outer for outer in self.scope if isinstance(outer, cst.FunctionDef))
