"""The Gluon versions of a helper: one for all of its calls, or one for those that share what its text depends on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import libcst as cst

from tritonport.analysis.frame import Frame
from tritonport.convert.wants import Want
from tritonport.source.kernel import Kernel
from tritonport.source.walk import walk


class Inconsistent(Exception):
    """Two calls of a helper need different text: it has to be written once for each."""


@dataclass
class HelperVersion:
    """One Gluon version of a helper: its name, its text, and the layouts it has to be given.

    `text` is that of the source's own name, which versions have in common.
    `shared`: arguments that it takes in shared memory, each with the operand of dots it is and the layouts of their
    results. `again`: arguments that it takes in further layouts, each with these and the name of the parameter for it.
    `as_it_is`: the Triton function of another file, which needs no version of its own.
    """

    name: str
    kernel: Kernel
    frames: list[Frame]
    node: cst.FunctionDef | None = None
    slots: list[tuple[str, Want]] = field(default_factory=list)
    as_it_is: bool = False
    text: str | None = None
    again: list[tuple[str, Want, str]] = field(default_factory=list)
    shared: dict[str, tuple[int, Want]] = field(default_factory=dict)

    def serves_too(self, other: HelperVersion) -> bool:
        """Take over the calls of another version, where it has the same text."""
        if self.text is None or self.text != other.text or self.shared.keys() != other.shared.keys():
            return False
        self.frames = [*self.frames, *other.frames]
        pairs = zip(self.slots, other.slots, strict=True)
        self.slots = [(name, (*roots, *more)) for (name, roots), (_, more) in pairs]
        again = zip(self.again, other.again, strict=True)
        self.again = [(argument, (*terms, *more), name) for (argument, terms, name), (_, more, _) in again]
        self.shared = {name: (index, (*want, *other.shared[name][1])) for name, (index, want) in self.shared.items()}
        return True

    def shared_for(self, callees: Sequence[Frame | None]) -> dict[str, tuple[int, Want]]:
        """The arguments in shared memory, with the layouts for the given frames."""
        return {name: (index, self._for(callees, want)) for name, (index, want) in self.shared.items()}

    def again_for(self, callees: Sequence[Frame | None]) -> list[tuple[str, Want, str]]:
        """The arguments that are given again, with the layouts for the given frames."""
        return [(argument, self._for(callees, terms), name) for argument, terms, name in self.again]

    def slots_for(self, callees: Sequence[Frame | None]) -> list[tuple[str, Want]]:
        """The layout parameters with their terms for the given frames."""
        return [(name, self._for(callees, roots)) for name, roots in self.slots]

    def _for(self, callees: Sequence[Frame | None], want: Want) -> Want:
        return tuple(None if frame is None else want[self.frames.index(frame)] for frame in callees)


def grouped_calls(frames: Iterable[Frame]) -> list[list[Frame]]:
    """Calls of a helper by what they share when one text serves them: the kinds and ranks of its arguments, and what
    its calls come to (a reshape that only adds a dimension is another operation)."""
    groups: dict[tuple[object, ...], list[Frame]] = {}
    for frame in frames:
        groups.setdefault((_signature(frame), _forms(frame)), []).append(frame)
    return list(groups.values())


def _signature(frame: Frame) -> tuple[object, ...]:
    return tuple((name, definition.value.kind, definition.value.rank) for name, definition in frame.parameters.items())


def _forms(frame: Frame) -> tuple[object, ...]:
    """What the calls of a helper come to, and those of the helpers that it calls, in the order of the source."""
    found: list[object] = []
    for node in walk(frame.kernel.node.body):
        if isinstance(node, cst.Call) and node in frame.calls:
            found.append(_forms(frame.calls[node]))
        elif isinstance(node, cst.Call) and node in frame.values:
            found.append(frame.values[node].op)
    return tuple(found)
