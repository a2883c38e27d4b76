"""What a name stands for, once imports, aliases and re-exports are followed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import libcst as cst

if TYPE_CHECKING:
    from tritonport.source.kernel import Kernel
    from tritonport.source.module import SourceModule


@dataclass(frozen=True, eq=False)
class Meaning:
    """One thing a name can be.

    Attributes:
        kind: "external" (known by its qualified name alone), "module" (a file that was read), "kernel", "value" (a
            variable of a file) or "function" (a plain function or class of a file).
        qualified: the dotted name, absolute where the file is in a package: `triton.language.exp`, `pkg.mod.helper`.
        module: the file that defines it; None for what is external.
        kernel: of kind "kernel".
        expression: of kind "value": what is assigned; None where several assignments are.
        node: of kind "function": the definition.
    """

    kind: str
    qualified: str
    module: SourceModule | None = None
    kernel: Kernel | None = None
    expression: cst.BaseExpression | None = None
    node: cst.CSTNode | None = None

    @property
    def key(self) -> tuple[object, ...]:
        """Two meanings with one key are the same thing."""
        return self.kind, self.qualified, id(self.kernel) if self.kernel is not None else None


def distinct(meanings: list[Meaning]) -> list[Meaning]:
    """Each meaning once, in order."""
    return list({meaning.key: meaning for meaning in meanings}.values())
