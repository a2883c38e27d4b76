"""The small functions a port brings along, each written into the output once: `coalesced`, `unit`, and those of recipes."""

from __future__ import annotations

import re
from functools import cache

from tritonport.rules_data import rules_dir


@cache
def snippet(name: str) -> str:
    """The source of one emitted function, as it stands in `rules/emitted/`."""
    return (rules_dir() / "emitted" / f"{name}.py").read_text(encoding="utf-8").strip() + "\n"


@cache
def available() -> frozenset[str]:
    return frozenset(path.stem for path in (rules_dir() / "emitted").glob("*.py"))


def _code(name: str) -> str:
    """The source without its docstring."""
    return re.sub(r'''"""[\s\S]*?"""''', "", snippet(name))


def with_dependencies(names: set[str]) -> list[str]:
    """The functions and those they call, callees first."""
    ordered: list[str] = []

    def visit(name: str) -> None:
        if name in ordered:
            return
        for other in sorted(available() - {name}):
            if re.search(rf"(?<!def )\b{other}\b(?=[(,])", _code(name)):
                visit(other)
        ordered.append(name)

    order = ["unit", "element_bits", "coalesced"]
    for name in sorted(names, key=lambda item: (order.index(item) if item in order else len(order), item)):
        visit(name)
    return ordered


def render(name: str, gluon: str, gl: str, renamed: dict[str, str]) -> str:
    """The source under the file's own names for Gluon, and a fresh name where the file already uses one."""
    text = snippet(name)
    text = re.sub(r"^@gluon\.", f"@{gluon}.", text, flags=re.MULTILINE)
    text = re.sub(r"\bgl\.", f"{gl}.", text)
    return rename(text, renamed)


def rename(text: str, renamed: dict[str, str]) -> str:
    """Calls of, and references to, emitted functions under the names they have in one file."""
    for old, new in renamed.items():
        text = re.sub(rf"(?<![.\w]){old}\b(?=[(,])", new, text)
    return text
