"""Code of kernels that is run again: by its text and the types of its variables.

What the front end emits depends on types and on compile-time values, never on elements. So the operations that code
asks of the builder are kept, and the runs after the first go to the builder at once: walking the code, and the front
end's checks and promotions, take many times as long as the arithmetic on a small tile.
"""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from typing import Any

import triton.language as tl
from triton.experimental.gluon.language import _core as gluon_core

from tritonport.verify.emulate.code import Code
from tritonport.verify.emulate.replay import (
    ATTRIBUTES,
    LAYOUTS,
    Descriptor,
    Handle,
    NotKept,
    Recorded,
    constant_key,
)
from tritonport.verify.emulate.shared import Memory
from tritonport.verify.emulate.tape import Tape
from tritonport.verify.emulate.values import Exact, Value

_MAX_KEPT = 4_000
"""Pieces of code and calls; then all are forgotten, so that kernels that are gone do not stay in memory."""
_MAX_SCOPES = 1_000


@cache
def is_kept(function: Any) -> bool:
    """Whether calls of a function may be kept: a builtin that sees no more than its arguments, or a layout."""
    if isinstance(function, type):
        return issubclass(function, LAYOUTS)
    if not getattr(function, tl.core.TRITON_BUILTIN, False) and not getattr(function, gluon_core.GLUON_BUILTIN, False):
        return False
    signature = getattr(function, "signature", None) or inspect.signature(function)
    return "_generator" not in signature.parameters


def _nothing() -> None:
    pass


class Kept:
    """What the launches of a kind have run so far."""

    def __init__(self) -> None:
        self._kept: dict[Any, Recorded | None] = {}
        self._constants: dict[int, Value] = {}
        self._types: dict[tuple[Any, ...], Any] = {}
        self._known_types: set[int] = set()
        self._scopes: dict[Any, tuple[int, list[Any]]] = {}
        self._numbers = itertools.count(1)

    def call(self, semantic: Any, key: tuple[Any, ...], operands: list[Any], emit: Callable[[], Any]) -> Any:
        """The result of ``emit()``, or of what it did when it was last called with such operands.

        Args:
            semantic: the semantics that ``emit`` uses.
            key: the function, and what else the call depends on.
            operands: all that ``emit`` takes from the kernel.
        """
        values: list[Handle] = []
        found = self._keys(semantic.builder, operands, values)
        if found is None:
            return emit()
        key = (*key, *found, _shared(values), self._constant(values))
        known = self._kept.get(key, self)
        if isinstance(known, Recorded):
            return known.replay(semantic.builder, values)
        return emit() if known is None else self._record(semantic, key, values, emit, None, _nothing)

    def run(self, generator: Any, code: Code, emit: Callable[[], Any]) -> Any:
        """What ``emit()`` gives, which has ``generator`` run ``code``, or what that gave before with other values."""
        scope, semantic = generator.lscope, generator.semantic
        if type(semantic.builder) is Tape and semantic.builder.is_of_code:
            # A part of what is recorded.
            return emit()
        values: list[Handle] = []
        key: list[Any] = [code, generator.globals_key, semantic.builder.num_warps]
        for name in code.names:
            found = self._keys(semantic.builder, [scope[name]], values) if name in scope else [None]
            if found is None:
                code.cannot_take(name)
                return emit()
            key += found
        whole = (*key, _shared(values), self._constant(values))
        known = self._kept.get(whole, self)
        if isinstance(known, Recorded):
            return known.replay_in(generator, semantic.builder, values)
        return emit() if known is None else self._record(semantic, whole, values, emit, generator, code.give_up)

    def _record(
        self,
        semantic: Any,
        key: tuple[Any, ...],
        values: list[Handle],
        emit: Callable[[], Any],
        generator: Any,
        give_up: Callable[[], None],
    ) -> Any:
        builder = semantic.builder
        semantic.builder = tape = Tape(builder, values, self._constants, generator, give_up)
        try:
            result = emit()
        except BaseException:
            tape.give_up()
            raise
        finally:
            semantic.builder = builder
        if len(self._kept) >= _MAX_KEPT:
            self._kept.clear()
            self._constants.clear()
        self._kept[key] = tape.recorded(result)
        return result

    def globals_key(self, found: Mapping[str, Any], inner: tuple[int, ...]) -> int:
        """A number for what names stand for outside of a function: another one where one of them stands for another.

        It is positive, and never given again for something else.

        Args:
            inner: these numbers of the functions among them.
        """
        identities = (*((name, *_identity(value)) for name, value in found.items()), inner)
        if identities not in self._scopes:
            if len(self._scopes) >= _MAX_SCOPES:
                self._scopes.clear()
            # Kept with the values: their identities stay their own.
            self._scopes[identities] = next(self._numbers), list(found.values())
        return self._scopes[identities][0]

    def _keys(self, builder: Any, operands: list[Any], values: list[Handle]) -> list[Any] | None:
        """What code depends on of operands; None where that is not known."""
        try:
            return [self._key(builder, operand, values) for operand in operands]
        except NotKept:
            return None

    def _key(self, builder: Any, operand: Any, values: list[Handle]) -> Any:
        """What code depends on of an operand, whose values are collected. Raises NotKept where that is not known."""
        kind = type(operand)
        if kind is tl.tensor:
            if type(operand.handle) not in (Value, Exact) or len(operand.__dict__) != ATTRIBUTES:
                raise NotKept
            values.append(operand.handle)
            return self._type_key(operand)
        if kind is Descriptor:
            # Where partitions share memory, another one may run before an operation on it is done.
            if type(operand.handle) is not Memory or len(operand.__dict__) != 2 or len(builder.partitions) > 1:
                raise NotKept
            values.append(operand.handle)
            ty = operand.type
            return ("memory", ty.element_ty, ty.layout, *ty.shape, None, *ty.alloc_shape)
        if kind is tl.tuple:
            if getattr(operand.type, "fields", None) is not None:
                raise NotKept
            return ("tuple", *[self._key(builder, each, values) for each in operand.values])
        if kind is tl.core.slice:
            parts = (operand.start, operand.stop, operand.step)
            return ("slice", *[self._key(builder, each, values) for each in parts])
        key = constant_key(operand)
        if key is None:
            raise NotKept
        return key

    def _constant(self, values: list[Handle]) -> tuple[tuple[int, int], ...]:
        """Which of some values are known at compile time, and which of those that are known.

        What code makes of such a value and what it makes of a constant of its own are told apart by nothing else:
        `acc = zeros` where acc is those zeros already.
        """
        found = ((place, id(value)) for place, value in enumerate(values))
        return tuple(one for one in found if one[1] in self._constants)

    def _type_key(self, tensor: Any) -> int:
        """The identity of a type, the same one for equal types."""
        found = id(tensor.type)
        if found not in self._known_types:
            ty = tensor.type
            tensor.type = self._types.setdefault((type(ty), ty.name), ty)
            found = id(tensor.type)
            self._known_types.add(found)
        return found


def _shared(values: list[Handle]) -> tuple[int, ...] | None:
    """Which of some values are one, as the positions where each stands first; None where each is another."""
    identities = [id(value) for value in values]
    if len(set(identities)) == len(identities):
        return None
    return tuple(identities.index(identity) for identity in identities)


def _identity(value: Any) -> tuple[Any, Any]:
    key = constant_key(value)
    return (None, id(value)) if key is None else (key, None)


@lru_cache(maxsize=16)
def kept_of(builder: str, options: Any) -> Kept:
    """What launches with a builder of this class, and with these options, have run."""
    return Kept()
