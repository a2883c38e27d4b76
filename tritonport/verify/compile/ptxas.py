"""Registers, spills and stack as ``ptxas -v`` reports them."""

from __future__ import annotations

import re
from dataclasses import dataclass

_REGISTERS = re.compile(r"Used (\d+) registers")
_LOG_LINE = re.compile(r"^(?:ptxas\S*\s.*|\s+\d+ bytes stack frame,.*|\s*)$")
_FRAME = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")


@dataclass(frozen=True)
class PtxasInfo:
    """registers per thread; stack and spills in bytes per thread, summed over the kernel and its functions."""

    registers: int
    stack: int
    spill_stores: int
    spill_loads: int


def parse(log: str) -> PtxasInfo | None:
    """The numbers of one ``ptxas -v`` log; None when it has no register count (a cached compile prints no log)."""
    registers = [int(count) for count in _REGISTERS.findall(log)]
    if not registers:
        return None
    frames = [tuple(map(int, frame)) for frame in _FRAME.findall(log)]
    stack, stores, loads = (sum(column) for column in zip(*frames, strict=True)) if frames else (0, 0, 0)
    return PtxasInfo(max(registers), stack, stores, loads)


def without_log(text: str) -> str:
    """What a kernel printed at compile time (``tl.static_print``), the lines of ptxas taken out."""
    return "\n".join(line for line in text.splitlines() if not _LOG_LINE.match(line))
