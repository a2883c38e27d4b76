"""The small functions a port brings along, each written into the output once: `coalesced`, `unit`, and those of
recipes.

They stand in `rules/emitted/`, one to a file; a folder named after an architecture holds what is different there, and
`tma` what those with a copy engine share.
"""

from __future__ import annotations

import builtins
import re
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path

from tritonport.rules_data import load_api, rules_dir, version_key

_ASYNC_LOAD_SINCE = "3.8"
"""The first Triton that calls the cp.async copy `async_load`; 3.9 has no other name for it."""
_FULL_WAIT_SINCE = "3.8"
"""The first Triton whose `store_wait` can wait until a tile is in memory, and not only until it has been read."""
_COPY_ENGINE = ("sm_90", "sm_100")
"""The families that copy tiles through tensor descriptors."""


def family(target: str) -> str:
    """The folder of an architecture: Hopper and the Blackwell of data centers have tensor core instructions of their
    own, the others here share mma.sync."""
    if target.startswith("sm_10"):
        return "sm_100"
    return "sm_90" if target.startswith("sm_90") else "sm_80"


@cache
def _files(target: str) -> dict[str, Path]:
    root = rules_dir() / "emitted"
    folders = [root, *([root / "tma"] if family(target) in _COPY_ENGINE else []), root / family(target)]
    return {path.stem: path for folder in folders for path in folder.glob("*.py")}


@cache
def snippet(name: str, target: str) -> tuple[tuple[str, ...], str]:
    """The import lines and the source of one emitted function for an architecture."""
    text = _files(target)[name].read_text(encoding="utf-8").strip() + "\n"
    imports = tuple(line for line in text.splitlines() if line.startswith(("import ", "from ")))
    body = "\n".join(line for line in text.splitlines() if line not in imports).strip() + "\n"
    return imports, body


def available(target: str) -> frozenset[str]:
    return frozenset(_files(target))


@cache
def emitted_names() -> frozenset[str]:
    """The names of the emitted functions of all targets."""
    return frozenset(path.stem for path in (rules_dir() / "emitted").rglob("*.py"))


@cache
def of_one_target() -> frozenset[str]:
    """The emitted functions that are not the same for every architecture."""
    return frozenset(path.stem for path in (rules_dir() / "emitted").glob("*/*.py"))


@cache
def _calls(name: str, target: str) -> tuple[str, ...]:
    """The other emitted functions that one refers to."""
    code = re.sub(r'''"""[\s\S]*?"""|#.*''', "", snippet(name, target)[1])
    referred = set(re.findall(r"(?<!def )(?<![.\w])\w+(?=[(,)])", code))
    return tuple(sorted(referred & available(target) - {name}))


def with_dependencies(names: set[str], target: str) -> list[str]:
    """The functions and those they call, callees first."""
    ordered: list[str] = []

    def visit(name: str) -> None:
        if name in ordered:
            return
        for other in _calls(name, target):
            visit(other)
        ordered.append(name)

    order = ["unit", "element_bits", "coalesced"]
    for name in sorted(names, key=lambda item: (order.index(item) if item in order else len(order), item)):
        visit(name)
    return ordered


def render(name: str, gluon: str, gl: str, renamed: dict[str, str], target: str, triton: str) -> str:
    """The source under the file's own names for Gluon, and a fresh name where the file already uses one.

    The files are written with the names of the newest Triton; `triton` is the version to name things for.
    """
    text = snippet(name, target)[1]
    if version_key(triton) < version_key(_FULL_WAIT_SINCE):
        text = re.sub(r"    # As Triton does: .*\n(?=.*store_wait)", "", text)
        text = text.replace("store_wait(0, read_only=False)", "store_wait(0)")
    for newest, older in _older_names(triton):
        text = re.sub(rf"\b{re.escape(newest)}\b(?=\()", older, text)
    text = re.sub(r"^@gluon\.", f"@{gluon}.", text, flags=re.MULTILINE)
    text = re.sub(r"\bgl\.", f"{gl}.", text)
    return rename(text, renamed)


def with_builtins(text: str, bound: Callable[[str], bool]) -> str:
    """The source of an emitted function for a file that gives names of built-in functions a meaning of its own.

    bound: whether the file binds a name. A function that runs at compile time imports Python's own into its body:
    Triton looks for `max` and `min` by these names. Of what Triton compiles nothing changes.
    """
    if re.search(r"^@\w+\.jit\b", text, flags=re.MULTILINE):
        return text
    called = sorted(set(re.findall(r"(?<![.\w])[a-z]+(?=\()", text)))
    names = [name for name in called if hasattr(builtins, name) and bound(name)]
    head = re.search(r'^def .*:\n(    """[\s\S]*?"""\n)?', text, flags=re.MULTILINE)
    if not names or head is None:
        return text
    return f"{text[: head.end()]}    from builtins import {', '.join(names)}\n\n{text[head.end() :]}"


@cache
def _older_names(triton: str) -> tuple[tuple[str, str], ...]:
    """`tma.async_load` and what an older Triton calls it, from the table of API names."""
    pairs = []
    if version_key(triton) < version_key(_ASYNC_LOAD_SINCE):
        pairs.append(("async_copy.async_load", "async_copy.async_copy_global_to_shared"))
    for entry in load_api().values():
        newest, older = entry.target(), entry.target(triton)
        if newest is not None and older is not None and newest != older and ".tma." in newest:
            pairs.append((".".join(newest.split(".")[-2:]), ".".join(older.split(".")[-2:])))
    return tuple(pairs)


def merged_imports(lines: Iterable[str]) -> list[str]:
    """One line for each module, in the order they are first needed."""
    names: dict[str, set[str]] = {}
    for line in lines:
        module, found, imported = line.partition(" import ")
        names.setdefault(module if found and " as " not in line else line, set()).update(
            name.strip() for name in imported.split(",") if found and " as " not in line
        )
    return [f"{module} import {', '.join(sorted(parts))}" if parts else module for module, parts in names.items()]


def rename(text: str, renamed: dict[str, str]) -> str:
    """Calls of, and references to, emitted functions under the names they have in one file."""
    for old, new in renamed.items():
        text = re.sub(rf"(?<![.\w]){old}\b(?=[(,)]| =)", new, text)
    return text
