"""What became of the kernels of a file, as a run counts them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tritonport.convert.module import ModuleWriter
from tritonport.convert.snippets import emitted_names
from tritonport.source.kernel import Kernel
from tritonport.source.module import SourceModule

_WRITTEN = re.compile(r"^#\s*tritonport: stages? ", re.MULTILINE)
_FORM = re.compile(r"(?P<entry>\w+)_(?:tiles|pointers)(?:_\d+)?")


@dataclass(frozen=True)
class KernelOutcome:
    """What became of one kernel: "converted", "left" (see the diagnostics), "already" Gluon, or "skipped" by
    --kernel."""

    name: str
    line: int
    status: str


def outcomes_of(module: SourceModule, writer: ModuleWriter, wanted: frozenset[str] | None) -> Iterator[KernelOutcome]:
    """What became of each kernel; the functions that a port has beside the user's are none.

    Args:
        wanted: the names of the kernels that were asked for; None for all.
    """
    written = _WRITTEN.search(module.text) is not None
    for kernel in module.kernels:
        if written and kernel.language == "gluon" and _is_added(module, kernel):
            continue
        if kernel.language == "gluon":
            status = "already"
        elif kernel in writer.written or kernel in writer.helpers:
            status = "converted"
        elif wanted is not None and kernel.name not in wanted:
            status = "skipped"
        else:
            status = "left"
        yield KernelOutcome(kernel.qualified, module.line_of(kernel), status)


def _is_added(module: SourceModule, kernel: Kernel) -> bool:
    """Whether a function of a port is one that ports bring along, or a form that an entry of a stage calls."""
    if re.sub(r"_\d+$", "", kernel.name) in emitted_names():
        return True
    form = _FORM.fullmatch(kernel.name)
    return form is not None and any(caller.name == form["entry"] for caller, _ in module.calls.get(kernel.name, ()))


__all__ = ["KernelOutcome", "outcomes_of"]
