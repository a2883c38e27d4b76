"""The loops of a function that have rings."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tritonport.source.kernel import Kernel
from tritonport.source.module import SourceModule
from tritonport.source.walk import walk
from tritonport.upgrade.multibuffer.copies import Copies


def pipelined(module: SourceModule, kernel: Kernel) -> Iterator[cst.For]:
    """The loops that await tiles of a ring in their own body."""
    copies = Copies(module)
    for node in walk(kernel.node.body):
        if isinstance(node, cst.For):
            body = node.body.body if isinstance(node.body, cst.IndentedBlock) else ()
            steps = (copies.step(place, line) for place, line in enumerate(body))
            if any(step is not None and step.kind == "wait" for step in steps):
                yield node


__all__ = ["pipelined"]
