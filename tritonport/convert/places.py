"""Where the expressions of a kernel stand, in words that the compiler's locations can be held against."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

import libcst as cst

from tritonport.analysis.frame import Frame
from tritonport.analysis.values import Kind, Value
from tritonport.layouts.recover.claims import Chain, Place
from tritonport.layouts.recover.numbering import FileNumbers
from tritonport.source.module import SourceModule

Placed = tuple[Chain, int, cst.CSTNode, Frame, Value]
"""Where an expression stands, its column, the expression, the function it is in, and what is known of its value."""


class Places:
    """The places of expressions, over all files that a kernel's code stands in."""

    def __init__(self) -> None:
        self._numbers: dict[SourceModule, FileNumbers] = {}
        self._repeated: dict[SourceModule, Counter[cst.CSTNode]] = {}

    def of(self, node: cst.CSTNode, frame: Frame) -> tuple[Place, int] | None:
        """The place of a node of a frame's function, and its column; None for what the author did not write."""
        module = frame.kernel.module
        if module not in self._numbers:
            self._numbers[module] = FileNumbers(module.text)
            self._repeated[module] = Counter(module.origins.values())
        if self._repeated[module][module.origins.get(node, node)] > 1:
            return None
        span = module.span(node)
        if span is None:
            return None
        number = self._numbers[module].number(module.line_of(frame.kernel), span)
        path = str(module.file) if module.file is not None else module.path
        return None if number is None else ((path, span[0], number), span[1])

    def chain(self, frame: Frame) -> Chain | None:
        """The calls that lead to a frame, innermost first."""
        places: list[Place] = []
        while frame.caller is not None and frame.call is not None:
            found = self.of(frame.call, frame.caller)
            if found is None:
                return None
            places.append(found[0])
            frame = frame.caller
        return tuple(places)

    def values(self, frames: Iterable[Frame]) -> Iterator[Placed]:
        """Every tensor and scalar that an expression makes (of a store: moves)."""
        for frame in frames:
            around = self.chain(frame)
            if around is None:
                continue
            for node, value in frame.values.items():
                if value.kind not in (Kind.TENSOR, Kind.SCALAR) or isinstance(node, cst.Name):
                    continue
                found = self.of(node, frame)
                if found is not None:
                    yield (found[0], *around), found[1], node, frame, value


__all__ = ["Placed", "Places"]
