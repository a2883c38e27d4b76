"""What the statements of a file bind its names to, as they are written: nothing is followed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import libcst as cst

from tritonport.source.kernel import Kernel
from tritonport.source.syntax import dotted, statements_of


@dataclass
class Bindings:
    """What the names of one scope mean: imported objects by qualified name, kernels, and assigned expressions.

    Attributes:
        definitions: every jit function a name can be, where an `if` or a `try` chooses.
        assignments: every expression a name is assigned; `assigned` holds the last.
        stars: modules of `from module import *`.
    """

    imported: dict[str, list[str]] = field(default_factory=dict)
    kernels: dict[str, Kernel] = field(default_factory=dict)
    assigned: dict[str, cst.BaseExpression] = field(default_factory=dict)
    functions: set[str] = field(default_factory=set)
    definitions: dict[str, list[Kernel]] = field(default_factory=dict)
    assignments: dict[str, list[cst.BaseExpression]] = field(default_factory=dict)
    stars: list[str] = field(default_factory=list)

    def binds(self, name: str) -> bool:
        return any(name in names for names in (self.imported, self.kernels, self.assigned, self.functions))

    def own_names(self, node: cst.BaseExpression, depth: int = 0) -> list[str]:
        """Qualified names as this file alone spells them, without reading another."""
        path = dotted(node)
        if path is None or depth > 8:
            return []
        head, _, rest = path.partition(".")
        suffix = f".{rest}" if rest else ""
        if head in self.imported:
            return [meaning + suffix for meaning in self.imported[head]]
        if head in self.assigned:
            return [name + suffix for name in self.own_names(self.assigned[head], depth + 1)]
        return []

    def exports(self, name: str) -> bool:
        """Whether `from module import *` brings a name."""
        listed = self.assigned.get("__all__")
        if isinstance(listed, (cst.List, cst.Tuple)):
            values = [element.value for element in listed.elements]
            return any(isinstance(value, cst.SimpleString) and value.evaluated_value == name for value in values)
        return not name.startswith("_")


def bindings_of(tree: cst.Module) -> Bindings:
    """The bindings of a file's imports, assignments and functions; not yet its kernels."""
    found = Bindings()
    for statement in statements_of(tree):
        if isinstance(statement, (cst.Import, cst.ImportFrom)):
            if isinstance(statement, cst.ImportFrom) and isinstance(statement.names, cst.ImportStar):
                found.stars.append(_source(statement))
                continue
            for name, qualified in _imported(statement):
                meanings = found.imported.setdefault(name, [])
                if qualified not in meanings:
                    meanings.append(qualified)
        elif isinstance(statement, (cst.Assign, cst.AnnAssign)) and statement.value is not None:
            if isinstance(statement, cst.Assign):
                targets = [target.target for target in statement.targets]
            else:
                targets = [statement.target]
            for target in targets:
                if isinstance(target, cst.Name):
                    found.assigned[target.value] = statement.value
                    found.assignments.setdefault(target.value, []).append(statement.value)
    found.functions = {
        statement.name.value for statement in tree.body if isinstance(statement, (cst.FunctionDef, cst.ClassDef))
    }
    return found


def _source(statement: cst.ImportFrom) -> str:
    """`..pkg` of `from ..pkg import name`."""
    return "." * len(statement.relative) + (dotted(statement.module) or "" if statement.module else "")


def _imported(statement: cst.Import | cst.ImportFrom) -> Iterator[tuple[str, str]]:
    """Each name that an import binds, with the qualified name of what that is."""
    assert not isinstance(statement.names, cst.ImportStar)
    base = _source(statement) if isinstance(statement, cst.ImportFrom) else ""
    joint = "" if not base or base.endswith(".") else "."
    for alias in statement.names:
        name = dotted(alias.name) or ""
        if alias.asname is not None and isinstance(alias.asname.name, cst.Name):
            yield alias.asname.name.value, f"{base}{joint}{name}"
        elif isinstance(statement, cst.Import):
            yield name.partition(".")[0], name.partition(".")[0]
        else:
            yield name, f"{base}{joint}{name}"
