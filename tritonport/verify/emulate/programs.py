"""What the programs of one launch share."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from types import ModuleType
from typing import TYPE_CHECKING, Any

from triton.runtime.jit import JITFunction

from tritonport.verify.emulate.errors import Fault, Frame
from tritonport.verify.emulate.functions import TRITON, position_of, tree_of
from tritonport.verify.emulate.kept import Kept
from tritonport.verify.emulate.loops import names_in
from tritonport.verify.emulate.shared import Place

if TYPE_CHECKING:
    from tritonport.verify.emulate.generator import Generator


@dataclass
class Run:
    """What the programs of one launch share.

    ``deadline`` is a ``time.monotonic()`` value in seconds; ``loop_limit`` bounds the iterations of one loop. ``kept``
    is what has run before.
    """

    builder: Any
    semantic: Any
    is_gluon: bool
    deadline: float
    loop_limit: int
    kept: Kept
    frames: list[Generator] = field(default_factory=list)
    failure: list[Frame] = field(default_factory=list)
    first_program: bool = True
    _scopes: dict[int, tuple[Any, dict[str, Any]]] = field(default_factory=dict)
    _globals: dict[int, dict[str, Any]] = field(default_factory=dict)
    _global_keys: dict[int, int] = field(default_factory=dict)

    def scope(self, function: Any) -> dict[str, Any]:
        """The globals and captured variables of a device function, with the target's modules in place."""
        known = self._scopes.get(id(function))
        if known is None:
            modules = self.builder.module_map
            scope: dict[str, Any] = {}
            for name, value in function.get_capture_scope().items():
                if isinstance(value, ModuleType):
                    scope[name] = modules.get(value.__name__, value)
                elif (home := getattr(value, "__module__", "")) in modules:
                    scope[name] = getattr(modules[home], value.__name__)
                else:
                    scope[name] = value
            known = self._scopes[id(function)] = (function, scope)
        return known[1]

    def checked_globals(self, function: Any) -> dict[str, Any]:
        """The globals a device function has used so far."""
        return self._globals.setdefault(id(function), {})

    def globals_key(self, function: Any) -> int:
        """A number for what a device function, and what it calls, find outside of themselves."""
        known = self._global_keys.get(id(function))
        if known is None:
            # For a function that calls itself.
            self._global_keys[id(function)] = 0
            scope = self.scope(function)
            found = {name: scope[name] for name in sorted(names_in([tree_of(function)])) if name in scope}
            called = [value for value in found.values() if isinstance(value, JITFunction)]
            inner = tuple(self.globals_key(each) for each in called if not position_of(each)[0].startswith(TRITON))
            known = self._global_keys[id(function)] = self.kept.globals_key(found, inner)
        return known

    def note_failure(self) -> None:
        """Keep the call stack of the first error that is on its way out."""
        if not self.failure:
            self.failure = [frame.place() for frame in self.frames]

    def where(self) -> Place:
        """The line of the user's own source that runs."""
        own = [frame for frame in self.frames if not frame.file_name.startswith(TRITON)]
        frame = (own or self.frames)[-1]
        return Place(frame.file_name, frame.line)

    def switch(self, partition: Any) -> None:
        """Another partition runs: its call stack is the current one."""
        self.frames = partition.frames

    def site(self) -> tuple[Any, ...]:
        """Identifies the call that runs, as the compiler sees it: inlined and with static loops unrolled."""
        return tuple((id(frame.cur_node), *frame.unrolled) for frame in self.frames)

    def check_time(self) -> None:
        if time.monotonic() > self.deadline:
            raise Fault("the launch runs longer than the time limit")
