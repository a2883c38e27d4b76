"""The builder while code is recorded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import triton.language as tl

from tritonport.verify.emulate.regions import CombineOp
from tritonport.verify.emulate.replay import (
    ATTRIBUTES,
    Descriptor,
    Handle,
    NotKept,
    Place,
    Recorded,
    Slot,
    Step,
    Template,
    constant_key,
)
from tritonport.verify.emulate.shared import Memory
from tritonport.verify.emulate.values import Value

_OPERATIONS = ("create_", "get_", "to_", "is_")
_FOLDED = frozenset(
    f"create_{name}" for name in ("add", "sub", "mul", "splat", "make_range", "expand_dims", "broadcast", "int_cast")
)
"""Operations whose results are kept where all that they take is known at compile time."""
_ON_MEMORY = frozenset(
    f"create_{name}"
    for name in (
        "local_alloc", "local_load", "local_store", "memdesc_index", "memdesc_subslice", "memdesc_trans",
        "memdesc_reshape", "memdesc_reinterpret", "warpgroup_mma", "warpgroup_mma_wait", "memory_name",
    )
)  # fmt: skip
"""Operations on shared memory that are kept: those after which the same code goes on."""


class Tape:
    """The builder while code is recorded."""

    def __init__(
        self,
        builder: Any,
        operands: list[Handle],
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
        self._values: list[Handle] = list(operands)
        self._slots: dict[int, Slot] = {}
        for index, value in enumerate(operands):
            self._slots.setdefault(id(value), Slot(index))
        self._constants = constants
        self._static = 0 if generator is None else len(generator.unrolled)
        self._steps: list[Step] = []
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
        if not all(isinstance(each, Handle) for each in results):
            self.give_up()
            return
        if any(_has_memory(each) for each in (*arguments, *keywords.values(), *results)) and not self._keeps(name):
            self.give_up()
            return
        if name in _FOLDED and not named and not any(type(each) in (Slot, list) for each in given):
            self._know(results)
            return
        for value in results:
            # What is waited for may be the value that was given, or another one the next time.
            self._slots[id(value)] = Slot(len(self._values))
            self._values.append(value)
        count = len(results) if result is None or several else -1
        self._steps.append(Step(name, given, named, count, self._place()))

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
        place = Place(running.cur_node, running.node_line, called, tuple(running.unrolled[self._static :]))
        last = self._steps[-1].place if self._steps else None
        return last if place == last else place

    def _keeps(self, name: str) -> bool:
        """Whether an operation on shared memory is kept: one that no other partition runs beside."""
        return name in _ON_MEMORY and len(self._builder.partitions) == 1

    def _spelled(self, argument: Any) -> Any:
        """An argument with slots for values. Raises NotKept for a value that came from elsewhere."""
        if isinstance(argument, Handle):
            return self._slot(argument)
        if type(argument) in (list, tuple) and any(isinstance(each, Handle | list | tuple) for each in argument):
            return [self._spelled(each) for each in argument]
        return argument

    def _slot(self, value: Handle) -> Slot | Value:
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
            return Template(tl.tensor, {**vars(result), "handle": None}, slot)
        if type(result) is Descriptor and len(vars(result)) == 2 and type(result.handle) is Memory:
            return Template(Descriptor, {**vars(result), "handle": None}, self._slot(result.handle))
        if type(result) is tl.tuple:
            if getattr(result.type, "fields", None) is not None:
                raise NotKept
            return [self._template(each) for each in result.values]
        if type(result) is dict:
            return {name: self._template(each) for name, each in result.items()}
        if result is None or constant_key(result) is not None:
            return result
        raise NotKept


def _has_memory(argument: Any) -> bool:
    return type(argument) is Memory or (type(argument) in (list, tuple) and any(map(_has_memory, argument)))
