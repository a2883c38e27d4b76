"""Running functions in forked children: a crash, a hang or a flood of output stays in the child.

Importing Triton once and forking costs milliseconds per kernel, and live objects (jitted functions, layouts) reach
the child without being pickled. POSIX only, like Triton's compiler.
"""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import os
import pickle
import selectors
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO, Generic, TypeVar

T = TypeVar("T")

# Read ends of running children: a child closes them, so that the end of one process is seen as the end of its pipe.
_open_pipes: set[int] = set()


@dataclass(frozen=True)
class Outcome(Generic[T]):
    """How a child ended.

    ended: ``returned`` (value is set), ``raised`` (output ends with the traceback), ``crash`` or ``timeout``.
    output: all the child wrote to file descriptors 1 and 2. status: for a crash the signal's name or the exit status.
    """

    ended: str
    value: T | None = None
    output: str = ""
    status: str = ""


@dataclass
class _Child:
    index: int
    pid: int
    pipe: int
    output: BinaryIO
    deadline: float
    data: bytearray


def _die_with_parent() -> None:
    # Not on Linux the children outlive a killed parent until they are done.
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG of prctl(2)


def _run_child(call: Callable[[], Any], write_end: int, output: BinaryIO) -> None:
    """Body of the child; never returns."""
    status = 70
    try:
        os.setpgid(0, 0)
        # A crash is an outcome here: no traceback of it on the parent's terminal.
        faulthandler.disable()
        _die_with_parent()
        for descriptor in _open_pipes:
            os.close(descriptor)
        _open_pipes.clear()
        for descriptor in (1, 2):
            os.dup2(output.fileno(), descriptor)
        sys.stdout = os.fdopen(1, "w", buffering=1, closefd=False)
        sys.stderr = os.fdopen(2, "w", buffering=1, closefd=False)
        try:
            payload = pickle.dumps(("returned", call()))
        except BaseException:
            traceback.print_exc()
            payload = pickle.dumps(("raised", None))
        sys.stdout.flush()
        sys.stderr.flush()
        with os.fdopen(write_end, "wb") as stream:
            stream.write(payload)
        status = 0
    finally:
        os._exit(status)


def _start(index: int, call: Callable[[], Any], timeout: float) -> _Child:
    output = tempfile.TemporaryFile()  # noqa: SIM115 closed when the child has ended
    read_end, write_end = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    with warnings.catch_warnings():
        # Native threads of imported libraries are idle here; none of their locks is held.
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if pid == 0:
        os.close(read_end)
        _run_child(call, write_end, output)
    os.close(write_end)
    _open_pipes.add(read_end)
    return _Child(index, pid, read_end, output, time.monotonic() + timeout, bytearray())


def _kill(child: _Child) -> None:
    for kill in (os.killpg, os.kill):
        try:
            kill(child.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):  # the group does not exist before the child's setpgid
            continue


def _finish(child: _Child, timed_out: bool) -> Outcome[Any]:
    if timed_out:
        _kill(child)
    _, wait_status = os.waitpid(child.pid, 0)
    _open_pipes.discard(child.pipe)
    os.close(child.pipe)
    child.output.seek(0)
    output = child.output.read().decode(errors="replace")
    child.output.close()
    if timed_out:
        return Outcome("timeout", output=output)
    code = os.waitstatus_to_exitcode(wait_status)
    if code == 0 and child.data:
        ended, value = pickle.loads(bytes(child.data))
        return Outcome(ended, value, output)
    return Outcome("crash", output=output, status=signal.Signals(-code).name if code < 0 else f"exit status {code}")


def run_forked(
    calls: Sequence[Callable[[], T]],
    *,
    timeout: float,
    jobs: int = 1,
    done: Callable[[int, Outcome[T]], None] | None = None,
) -> list[Outcome[T]]:
    """Run every call in a child of its own, `jobs` at a time, and give their outcomes in the order of `calls`.

    timeout: seconds one child may run before it and what it started are killed. `done(index, outcome)` is called as
    each one ends. The values returned must be picklable.
    """
    outcomes: dict[int, Outcome[T]] = {}
    running: dict[int, _Child] = {}
    waiting = list(enumerate(calls))[::-1]
    selector = selectors.DefaultSelector()

    def close(child: _Child, timed_out: bool) -> None:
        selector.unregister(child.pipe)
        del running[child.pipe]
        outcomes[child.index] = _finish(child, timed_out)
        if done is not None:
            done(child.index, outcomes[child.index])

    try:
        while waiting or running:
            while waiting and len(running) < max(1, jobs):
                child = _start(*waiting.pop(), timeout)
                running[child.pipe] = child
                selector.register(child.pipe, selectors.EVENT_READ)
            pause = max(0.0, min(child.deadline for child in running.values()) - time.monotonic())
            for key, _ in selector.select(pause):
                child = running[key.fd]
                chunk = os.read(key.fd, 1 << 16)
                child.data += chunk
                if not chunk:
                    close(child, timed_out=False)
            now = time.monotonic()
            for child in [child for child in running.values() if child.deadline <= now]:
                close(child, timed_out=True)
    finally:
        for child in running.values():
            _kill(child)
            os.waitpid(child.pid, 0)
            _open_pipes.discard(child.pipe)
            os.close(child.pipe)
            child.output.close()
        selector.close()
    return [outcomes[index] for index in range(len(calls))]
