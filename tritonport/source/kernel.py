"""A jit function of a file, and its parameters."""

from __future__ import annotations

from collections.abc import Mapping
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
class Origin:
    """What a call in a form of a kernel was: one of the kernel, or one in a function, and the call of this that was
    opened."""

    node: cst.Call
    function: Kernel | None = None
    opened: cst.Call | None = None


@dataclass(frozen=True, eq=False)
class Kernel:
    """One jit function.

    Attributes:
        language: "triton" or "gluon".
        scope: the functions and classes that it stands in.
        origins: what calls were that are not those of the file; of a form that is made of a kernel.
    """

    name: str
    node: cst.FunctionDef
    language: str
    parameters: tuple[Parameter, ...]
    scope: tuple[cst.FunctionDef | cst.ClassDef, ...]
    decorator: cst.Decorator | None
    module: SourceModule = field(repr=False)
    origins: Mapping[cst.Call, Origin] = field(default_factory=dict, repr=False)

    @property
    def in_class(self) -> bool:
        return bool(self.scope) and isinstance(self.scope[-1], cst.ClassDef)

    @property
    def qualified(self) -> str:
        return ".".join([*(outer.name.value for outer in self.scope), self.name])

    @property
    def enclosing_functions(self) -> tuple[cst.FunctionDef, ...]:
        return tuple(outer for outer in self.scope if isinstance(outer, cst.FunctionDef))
