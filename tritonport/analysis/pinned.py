"""Layouts that are given, not chosen: those that Triton's compiler has for one specialisation of a kernel."""

from __future__ import annotations

from dataclasses import dataclass, fields, is_dataclass
from typing import Any


@dataclass(frozen=True)
class Pinned:
    """One layout as a Gluon expression with the prefix `gl.`; of a slice also what it is a slice of."""

    text: str
    axis: int | None = None
    parent: Pinned | None = None


def pinned(layout: Any) -> Pinned:
    """A layout object of Gluon as source text: arguments by position up to the first that is left at its default."""
    name = type(layout).__name__
    if name == "SliceLayout":
        parent = pinned(layout.parent)
        return Pinned(f"gl.SliceLayout({layout.dim}, {parent.text})", layout.dim, parent)
    if not is_dataclass(layout):
        return Pinned(f"gl.{layout!r}")
    parts = []
    for field in fields(layout):
        value = getattr(layout, field.name)
        if field.name == "cga_layout" and not value:  # one block has a cluster of its own
            continue
        text = pinned(value).text if is_dataclass(value) else repr(value)
        parts.append(f"{field.name}={text}")
    return Pinned(f"gl.{name}({', '.join(parts)})")


__all__ = ["Pinned", "pinned"]
