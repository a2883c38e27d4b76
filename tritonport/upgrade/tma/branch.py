"""One branch of an `if` whose test the launch knows."""

from __future__ import annotations

import ast
from dataclasses import dataclass


@dataclass(frozen=True)
class Branch:
    """A test, and which of its two branches is meant (0 or 1).

    Attributes:
        test: as the kernel writes it.
        on_host: as the launch writes it.
    """

    test: str
    on_host: str
    taken: int

    @property
    def condition(self) -> str:
        """When that branch is taken, as the launch writes it."""
        return denied(self.on_host) if self.taken else self.on_host


def denied(test: str) -> str:
    """The test that holds where another does not: `x == y` for `x != y`, `not x` for others."""
    node = ast.parse(test, mode="eval").body
    if isinstance(node, ast.Compare) and len(node.ops) == test.count(" != ") == 1:
        return test.replace(" != ", " == ")
    return f"not {test}" if isinstance(node, (ast.Name, ast.Subscript)) else f"not ({test})"


__all__ = ["Branch", "denied"]
