"""The names of Triton and Gluon in each version, and the uses of them in a file.

`data/api_of_versions.json` has the public names of `triton.language` (`tl`), `triton.experimental.gluon` (`gluon`) and
its language (`gl`), each with rows of first version, last version, kind, and for what can be called the names of its
parameters as Python writes them; read from the releases 3.6.0, 3.7.1, 3.8.0 and 3.9.0.
"""

import ast
import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tritonport.rules_data import version_key

ROOTS = {
    "triton.experimental.gluon.language": "gl",
    "triton.experimental.gluon": "gluon",
    "triton.language": "tl",
}


@dataclass(frozen=True)
class Name:
    """One name in one version. parameters: with `*` and `**` marks; empty for what cannot be called."""

    kind: str
    parameters: tuple[str, ...] = ()

    def accepts(self, keyword: str) -> bool:
        return keyword in self.parameters or any(one.startswith("**") for one in self.parameters)

    def takes(self, count: int) -> bool:
        """Whether that many arguments can be given by position."""
        plain = 0
        for one in self.parameters:
            if one.startswith("*"):
                return (one not in ("*",) and not one.startswith("**")) or count <= plain
            plain += 1
        return count <= plain


@cache
def names_of(version: str) -> dict[str, Name]:
    """Every name that a version has."""
    rows = json.loads((Path(__file__).parent / "data" / "api_of_versions.json").read_text())
    found = {}
    for name, steps in rows.items():
        for since, until, kind, *parameters in steps:
            if version_key(since) <= version_key(version) <= version_key(until):
                found[name] = Name(kind, tuple(parameters[0].split()) if parameters else ())
    return found


def problems(text: str, version: str) -> Iterator[str]:
    """What a file names, or passes, that a version does not have."""
    tree = ast.parse(text)
    bound = dict(_bindings(tree))
    calls = {id(node.func): node for node in ast.walk(tree) if isinstance(node, ast.Call)}
    known = names_of(version)
    yield from (f"{name} is not in Triton {version}" for name in bound.values() if not _exists(name, known))
    inner = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Attribute | ast.Name) or id(node) in inner:
            continue
        path = _path(node)
        head, _, rest = path.partition(".")
        if head not in bound:
            continue
        name = f"{bound[head]}.{rest}" if rest else bound[head]
        if not _exists(name, known):
            yield f"line {node.lineno}: {name} is not in Triton {version}"
        call, entry = calls.get(id(node)), known.get(name)
        if call is not None and entry is not None and entry.kind in ("function", "class"):
            yield from _call_problems(name, entry, call, version)


def _call_problems(name: str, entry: Name, call: ast.Call, version: str) -> Iterator[str]:
    for keyword in call.keywords:
        if keyword.arg is not None and not entry.accepts(keyword.arg):
            yield f"line {call.lineno}: {name} has no {keyword.arg}= in Triton {version}"
    if not any(isinstance(one, ast.Starred) for one in call.args) and not entry.takes(len(call.args)):
        yield f"line {call.lineno}: {name} takes fewer than {len(call.args)} arguments in Triton {version}"


def _exists(name: str, known: dict[str, Name]) -> bool:
    """Whether a dotted name can be followed to its end; what is behind a value or a function is not looked at."""
    if name in known or name in ("gl", "gluon", "tl"):
        return True
    owner = name.rpartition(".")[0]
    if owner in known:
        return known[owner].kind in ("value", "property", "function")
    return name.startswith("tl.extra") or (owner not in ("gl", "gluon", "tl") and _exists(owner, known))


def _bindings(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Names that imports bind to parts of Triton's languages: ("wgmma", "gl.nvidia.hopper.warpgroup_mma")."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                short = _short(alias.name)
                if alias.asname and short:
                    yield alias.asname, short
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                short = _short(f"{node.module}.{alias.name}")
                if short:
                    yield alias.asname or alias.name, short


def _short(qualified: str) -> str:
    for root, short in ROOTS.items():
        if qualified == root or qualified.startswith(f"{root}."):
            return short + qualified.removeprefix(root)
    return ""


def _path(node: ast.expr) -> str:
    if isinstance(node, ast.Name):
        return node.id
    base = _path(node.value) if isinstance(node, ast.Attribute) else ""
    return f"{base}.{node.attr}" if base and isinstance(node, ast.Attribute) else ""


__all__ = ["Name", "names_of", "problems"]
