"""What code asks of the builder, kept to be asked again with other values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import triton.language as tl
from triton.experimental.gluon.language import _layouts as layouts
from triton.experimental.gluon.language import shared_memory_descriptor

from tritonport.verify.emulate.shared import Memory
from tritonport.verify.emulate.values import Value

LAYOUTS = layouts.DistributedLayout | layouts.SharedLayout
ATTRIBUTES = len(vars(tl.tensor(None, tl.int32)))
"""Of a tensor; one that has more was marked by the front end."""
_PLAIN = (int, bool, str, type(None))

Handle = Value | Memory
Descriptor = shared_memory_descriptor


class NotKept(Exception):
    """Code cannot be kept: it takes, or gives, more than values and types."""


@dataclass(frozen=True)
class Place:
    """Where the code of a function stands: its node and line, the functions that were called from there, and which
    iterations of the static loops in the code."""

    node: Any
    line: int
    called: tuple[Any, ...]
    unrolled: tuple[int, ...]


@dataclass(frozen=True)
class Slot:
    """A value that a replay computes, or that it is given."""

    index: int


@dataclass(frozen=True)
class Template:
    """A tensor or a descriptor of a result: all but its handle is the same each time."""

    kind: type
    attributes: dict[str, Any]
    slot: Slot | Value | None


@dataclass(frozen=True)
class Step:
    """One operation of the builder; a slot among its arguments stands for a value.

    ``results`` is how many values it gives: -1 for one that is not in a tuple, 0 for none. ``place`` is None for a step
    of a call, which stands where the call is made.
    """

    name: str
    arguments: tuple[Any, ...]
    keywords: tuple[tuple[str, Any], ...]
    results: int
    place: Place | None

    def run(self, builder: Any, values: list[Handle]) -> None:
        """Make the operation; what it gives is appended to ``values``."""
        arguments = [_filled(argument, values) for argument in self.arguments]
        if self.keywords:
            named = {name: _filled(argument, values) for name, argument in self.keywords}
            result = getattr(builder, self.name)(*arguments, **named)
        else:
            result = getattr(builder, self.name)(*arguments)
        if self.results < 0:
            values.append(result)
        elif self.results:
            values.extend(result)


@dataclass(frozen=True)
class Recorded:
    """The operations of some code and what it gives, with slots for values."""

    steps: tuple[Step, ...]
    result: Any

    def replay(self, builder: Any, values: list[Handle]) -> Any:
        """The result of a call for other operands."""
        for step in self.steps:
            step.run(builder, values)
        return _rebuilt(self.result, values)

    def replay_in(self, generator: Any, builder: Any, values: list[Handle]) -> Any:
        """The result of code of the function that ``generator`` runs, for other values of its variables."""
        frames = generator.run.frames
        node, line, depth, place = generator.cur_node, generator.node_line, len(frames), None
        static = len(generator.unrolled)
        for step in self.steps:
            if step.place is not place and step.place is not None:
                place = step.place
                generator.cur_node, generator.node_line = place.node, place.line
                frames[depth:] = place.called
                generator.unrolled[static:] = place.unrolled
            step.run(builder, values)
        # Not in a `finally`: after an error the innermost place is the one to report.
        del frames[depth:], generator.unrolled[static:]
        generator.cur_node, generator.node_line = node, line
        return _rebuilt(self.result, values)


def _filled(argument: Any, values: list[Handle]) -> Any:
    kind = type(argument)
    if kind is Slot:
        return values[argument.index]
    if kind is list:
        return [_filled(each, values) for each in argument]
    return argument


def _rebuilt(result: Any, values: list[Handle]) -> Any:
    kind = type(result)
    if kind is Template:
        tensor = object.__new__(result.kind)
        tensor.__dict__.update(result.attributes)
        tensor.handle = _filled(result.slot, values)
        return tensor
    if kind is list:
        return tl.tuple([_rebuilt(each, values) for each in result])
    if kind is dict:
        return {name: _rebuilt(each, values) for name, each in result.items()}
    return result


def constant_key(value: Any) -> Any:
    """What tells a compile-time value from others; None for a value that is none."""
    kind = type(value)
    if kind is tl.constexpr:
        inner = constant_key(value.value)
        return None if inner is None else ("constexpr", inner)
    if kind in _PLAIN:
        return kind, value
    if kind is float:
        return kind, value.hex()
    if kind in (tuple, list):
        inner = [constant_key(each) for each in value]
        return None if None in inner else (kind, *inner)
    if kind is tl.dtype or isinstance(value, LAYOUTS):
        return kind, value
    return None
