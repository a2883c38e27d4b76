"""What happens in a process of a command before its own code runs."""

from __future__ import annotations

import atexit
import importlib
import importlib.abc
import importlib.util
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from tritonport.verify.hook.settings import Settings, read_settings

_NEEDED = ("torch", "triton")

active: Settings | None = None
"""The settings of this process; None in one that belongs to no command."""
launches: list[Any] = []
"""What was launched so far: `Launch` of tritonport.verify.launches."""


def start(folder: str) -> None:
    """Called by the start-up module that lies in `folder`, which hides any other of its name: that one runs first."""
    global active
    sys.path[:] = [path for path in sys.path if os.path.realpath(path or os.curdir) != os.path.realpath(folder)]
    _run_hidden("sitecustomize")
    active = read_settings()
    if active is None:
        return
    substitute(active.ports)
    _Imports(_torch_loaded, _triton_loaded).install()
    atexit.register(_write_launches, active)


def _run_hidden(name: str) -> None:
    spec = PathFinder.find_spec(name, sys.path)
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


def substitute(ports: Mapping[str, str]) -> None:
    """From now on the modules of these files get the code of other files, however they are imported.

    Args:
        ports: real paths of modules, each with the file that holds the text to execute. Tracebacks and `inspect` see
            that file; `__file__` stays.
    """
    if not ports:
        return
    get_code = SourceFileLoader.get_code

    def ported(self: SourceFileLoader, fullname: str) -> CodeType | None:
        port = ports.get(os.path.realpath(self.path))
        if port is None:
            return get_code(self, fullname)
        return compile(Path(port).read_bytes(), port, "exec", dont_inherit=True)

    SourceFileLoader.get_code = ported  # type: ignore[method-assign,assignment]


class _Imports(importlib.abc.MetaPathFinder):
    """Calls back once torch is imported, and once torch and triton both are."""

    def __init__(self, torch_loaded: Callable[[], None], both_loaded: Callable[[], None]) -> None:
        self._torch_loaded = torch_loaded
        self._both_loaded = both_loaded
        self._running: set[str] = set()
        self._done: set[str] = set()
        self._called = False

    def install(self) -> None:
        """Comes before every other finder."""
        sys.meta_path.insert(0, self)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec that the other finders give, for the two modules that are waited for."""
        if fullname not in _NEEDED or fullname in self._running | self._done:
            return None
        for finder in sys.meta_path:
            spec = finder.find_spec(fullname, path, target) if finder is not self else None
            if spec is not None and spec.loader is not None:
                self._watch(fullname, spec.loader)
                return spec
        return None

    def _watch(self, name: str, loader: Any) -> None:
        execute = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            self._running.add(name)
            try:
                execute(module)
            finally:
                self._running.discard(name)
            self._loaded(name)

        loader.exec_module = exec_module

    def _loaded(self, name: str) -> None:
        self._done.add(name)
        if name == "torch":
            self._torch_loaded()
        # Torch may import triton while it is only half there itself.
        if self._done.issuperset(_NEEDED) and "torch" not in self._running and not self._called:
            self._called = True
            self._both_loaded()


_contexts = ExitStack()


def _torch_loaded() -> None:
    """A test may ask for the device before it imports a kernel, and so triton."""
    assert active is not None
    if active.target is not None:
        importlib.import_module("triton")


def _triton_loaded() -> None:
    """Puts the emulator and the recorder in place, for as long as the process lives."""
    global launches
    assert active is not None
    if active.target is not None:
        from tritonport.verify.emulate import emulated

        _contexts.enter_context(emulated(target=active.target, time_limit=active.time_limit))
        _pretend_cuda()
    if active.capture is not None:
        from tritonport.verify.capture.recorder import recording

        _contexts.enter_context(recording(active))
    from tritonport.verify.launches import recorded_launches

    launches = _contexts.enter_context(recorded_launches())


def _pretend_cuda() -> None:
    from triton.runtime.jit import JITFunction

    from tritonport.verify.hook.cuda_on_cpu import pretend_cuda, unpretended

    pretend_cuda()
    JITFunction.run = unpretended(JITFunction.run)


def launched(since: int = 0) -> list[dict[str, Any]]:
    """The launches after the first `since`, counted: the kernel, its file (the original's), whether it is Gluon."""
    assert active is not None
    originals = {os.path.realpath(port): file for file, port in active.ports.items()}
    counts: dict[tuple[str, str, bool], int] = {}
    for launch in launches[since:]:
        file = os.path.realpath(launch.function.fn.__code__.co_filename)
        key = (launch.kernel, originals.get(file, file), launch.gluon)
        counts[key] = counts.get(key, 0) + 1
    return [
        {"kernel": kernel, "file": file, "gluon": gluon, "count": count}
        for (kernel, file, gluon), count in counts.items()
    ]


def _write_launches(settings: Settings) -> None:
    if launches:
        settings.record("launches", {"launches": launched()})
