"""What code asks of the builder, kept to be asked again with other values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import triton.language as tl
from triton.experimental.gluon.language import _layouts as layouts

from tritonport.verify.emulate.regions import CombineOp
from tritonport.verify.emulate.values import Value

LAYOUTS = layouts.DistributedLayout | layouts.SharedLayout
ATTRIBUTES = len(vars(tl.tensor(None, tl.int32)))
"""Of a tensor; one that has more was marked by the front end."""
_OPERATIONS = ("create_", "get_", "to_", "is_")
_FOLDED = frozenset(
    f"create_{name}" for name in ("add", "sub", "mul", "splat", "make_range", "expand_dims", "broadcast", "int_cast")
)
"""Operations whose results are kept where all that they take is known at compile time."""
_PLAIN = (int, bool, str, type(None))


class NotKept(Exception):
    """Code cannot be kept: it takes, or gives, more than values and types."""


@dataclass(frozen=True)
class Place:
    """Where the code of a function stands: its node and line, and the functions that were called from there."""

    node: Any
    line: int
    called: tuple[Any, ...]


@dataclass(frozen=True)
class _Slot:
    """A value that a replay computes, or that it is given."""

    index: int


@dataclass(frozen=True)
class _Template:
    """A tensor of a result: all but its handle is the same each time."""

    attributes: dict[str, Any]
    slot: _Slot | Value | None


@dataclass(frozen=True)
class _Step:
    """One operation of the builder; a slot among its arguments stands for a value.

    ``results`` is how many values it gives: -1 for one that is not in a tuple, 0 for none. ``place`` is None for a step
    of a call, which stands where the call is made.
    """

    name: str
    arguments: tuple[Any, ...]
    keywords: tuple[tuple[str, Any], ...]
    results: int
    place: Place | None

    def run(self, builder: Any, values: list[Value]) -> None:
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

    steps: tuple[_Step, ...]
    result: Any

    def replay(self, builder: Any, values: list[Value]) -> Any:
        """The result of a call for other operands."""
        for step in self.steps:
            step.run(builder, values)
        return _rebuilt(self.result, values)

    def replay_in(self, generator: Any, builder: Any, values: list[Value]) -> Any:
        """The result of code of the function that ``generator`` runs, for other values of its variables."""
        frames = generator.run.frames
        node, line, depth, place = generator.cur_node, generator.node_line, len(frames), None
        for step in self.steps:
            if step.place is not place and step.place is not None:
                place = step.place
                generator.cur_node, generator.node_line = place.node, place.line
                frames[depth:] = place.called
            step.run(builder, values)
        # Not in a `finally`: after an error the innermost place is the one to report.
        del frames[depth:]
        generator.cur_node, generator.node_line = node, line
        return _rebuilt(self.result, values)


def _filled(argument: Any, values: list[Value]) -> Any:
    kind = type(argument)
    if kind is _Slot:
        return values[argument.index]
    if kind is list:
        return [_filled(each, values) for each in argument]
    return argument


def _rebuilt(result: Any, values: list[Value]) -> Any:
    kind = type(result)
    if kind is _Template:
        tensor = object.__new__(tl.tensor)
        tensor.__dict__.update(result.attributes)
        tensor.handle = _filled(result.slot, values)
        return tensor
    if kind is list:
        return tl.tuple([_rebuilt(each, values) for each in result])
    if kind is dict:
        return {name: _rebuilt(each, values) for name, each in result.items()}
    return result


class Tape:
    """The builder while code is recorded."""

    def __init__(
        self,
        builder: Any,
        operands: list[Value],
        constants: dict[int, Value],
        generator: Any,
        spoil: Callable[[], None],
    ) -> None:
        """Args:
        builder: the builder, or the tape of what the code is a part of.
        operands: the values that the code takes.
        constants: by identity, the values known at compile time that all code may share; those found are added.
        generator: what runs the code; None for a call.
        spoil: called once it is known that the code cannot be kept.
        """
        self._builder = builder
        self._generator = generator
        self._spoil = spoil
        # Kept alive: they are known by their identity.
        self._values: list[Value] = list(operands)
        self._slots: dict[int, _Slot] = {}
        for index, value in enumerate(operands):
            self._slots.setdefault(id(value), _Slot(index))
        self._constants = constants
        self._steps: list[_Step] = []
        self._kept = True

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._builder, name)
        if not name.startswith(_OPERATIONS):
            return found

        def operation(*arguments: Any, **keywords: Any) -> Any:
            result = found(*arguments, **keywords)
            if isinstance(result, CombineOp):
                # What it computes is asked of the builder in turn.
                return result
            if name.startswith("create_"):
                self._note(name, arguments, keywords, result)
            elif isinstance(result, Value):
                self._know([result])
            return result

        return operation

    @property
    def is_of_code(self) -> bool:
        """Whether more than a call is recorded."""
        return self._generator is not None or (type(self._builder) is Tape and self._builder.is_of_code)

    def depends_on_data(self) -> None:
        self.give_up()
        self._builder.depends_on_data()

    def give_up(self) -> None:
        """What is recorded will not stand for the code."""
        if self._kept:
            self._kept = False
            self._spoil()

    def _note(self, name: str, arguments: tuple[Any, ...], keywords: dict[str, Any], result: Any) -> None:
        several = type(result) in (tuple, list)
        results = [] if result is None else [*result] if several else [result]
        try:
            given = tuple(self._spelled(argument) for argument in arguments)
            named = tuple((key, self._spelled(argument)) for key, argument in keywords.items())
        except NotKept:
            self.give_up()
            return
        if not all(isinstance(each, Value) for each in results):
            self.give_up()
            return
        if name in _FOLDED and not named and not any(type(each) in (_Slot, list) for each in given):
            self._know(results)
            return
        for value in results:
            self._slots.setdefault(id(value), _Slot(len(self._values)))
            self._values.append(value)
        count = len(results) if result is None or several else -1
        self._steps.append(_Step(name, given, named, count, self._place()))

    def _know(self, results: list[Value]) -> None:
        """Values that are the same in each run; one that was also given is not told apart from what will be given."""
        if any(id(value) in self._slots and id(value) not in self._constants for value in results):
            self.give_up()
        self._constants.update({id(value): value for value in results})

    def _place(self) -> Place | None:
        running = self._generator
        if running is None:
            return None
        frames = running.run.frames
        called = tuple(frame.standing() for frame in frames[frames.index(running) + 1 :])
        place = Place(running.cur_node, running.node_line, called)
        last = self._steps[-1].place if self._steps else None
        return last if place == last else place

    def _spelled(self, argument: Any) -> Any:
        """An argument with slots for values. Raises NotKept for a value that came from elsewhere."""
        if isinstance(argument, Value):
            return self._slot(argument)
        if type(argument) in (list, tuple) and any(isinstance(each, Value | list | tuple) for each in argument):
            return [self._spelled(each) for each in argument]
        return argument

    def _slot(self, value: Value) -> _Slot | Value:
        found = self._slots.get(id(value)) or self._constants.get(id(value))
        if found is None:
            raise NotKept
        return found

    def recorded(self, result: Any) -> Recorded | None:
        """What was recorded; None where it cannot stand for the code."""
        if not self._kept:
            return None
        try:
            return Recorded(tuple(self._steps), self._template(result))
        except NotKept:
            self.give_up()
            return None

    def _template(self, result: Any) -> Any:
        if type(result) is tl.tensor:
            if len(vars(result)) != ATTRIBUTES:
                raise NotKept
            # What a store returns has no handle.
            slot = None if result.handle is None else self._slot(result.handle)
            return _Template({**vars(result), "handle": None}, slot)
        if type(result) is tl.tuple:
            if getattr(result.type, "fields", None) is not None:
                raise NotKept
            return [self._template(each) for each in result.values]
        if type(result) is dict:
            return {name: self._template(each) for name, each in result.items()}
        if result is None or constant_key(result) is not None:
            return result
        raise NotKept


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
