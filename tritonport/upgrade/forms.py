"""The forms that the stage tma makes of a kernel: its entry calls `name_tiles` or `name_pointers`."""

from __future__ import annotations

import re

from tritonport.source.kernel import Kernel
from tritonport.source.module import SourceModule


def is_form(module: SourceModule, kernel: Kernel, which: str = "pointers|tiles") -> bool:
    """Whether a kernel is one of the forms that an entry of the file calls."""
    return any(
        re.fullmatch(rf"{re.escape(entry.name)}_({which})(_\d+)?", kernel.name) is not None
        for entry in _callers(module, kernel)
    )


def is_fallback(module: SourceModule, kernel: Kernel, seen: frozenset[Kernel] = frozenset()) -> bool:
    """Whether a kernel is the form with pointers, or a function that nothing but this form calls."""
    if is_form(module, kernel, "pointers"):
        return True
    callers = [one for one in _callers(module, kernel) if one is not kernel and one not in seen]
    return bool(callers) and all(is_fallback(module, one, seen | {kernel}) for one in callers)


def entry_of(module: SourceModule, kernel: Kernel) -> Kernel | None:
    """The entry that calls a form with pointers, where nothing else does; None for another function."""
    callers = _callers(module, kernel)
    return callers[0] if len(callers) == 1 and is_form(module, kernel, "pointers") else None


def _callers(module: SourceModule, kernel: Kernel) -> list[Kernel]:
    calls = module.calls.get(kernel.name, ())
    return list({id(caller): caller for caller, _ in calls}.values())


__all__ = ["entry_of", "is_fallback", "is_form"]
