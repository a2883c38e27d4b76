"""A function call in a process of its own, with a time limit.

Kernels hang, compilers abort the process, cases change global state: none of that may reach the run. The processes are
forked from a server that has torch and Triton imported and has never used them: no thread pool, no CUDA context to
inherit.
"""

import contextlib
import faulthandler
import gc
import multiprocessing
import os
import re
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from tritonport.verify.processes import ended_with

_PRELOAD = (
    "torch",
    "triton",
    "triton.experimental.gluon",
    "tritonport.verify.numeric_tier",
    "tritonport.verify.emulate",
    "tritonport.verify.compile",
    "tritonport.convert",
    "tritonport.verify.parity",
)
_START_LIMIT = 300.0
"""Seconds for a process to start, and for the server to import torch and Triton before the first one."""
_GRACE = 1.0
"""Seconds that a process gets to write its stack before it is killed."""
_FRAME = re.compile(r'^  File "(?P<file>[^"]+)", line (?P<line>\d+)', re.MULTILINE)


@dataclass(frozen=True)
class Outcome:
    """How a call ended.

    Attributes:
        value: what the function returned; None for every other end.
        returned: whether it returned.
        timed_out: whether the limit passed first.
        signal: the name of the signal that ended the process, e.g. `SIGSEGV`; None where there was none.
        error: the traceback of an exception, as text; None where there was none.
        phase: the last thing that the function said it was doing.
        frames: file name and line of each Python frame at a time-out or a crash, innermost first.
        output: what the process wrote to stdout and stderr.
        seconds: wall time.
    """

    value: Any = None
    returned: bool = False
    timed_out: bool = False
    signal: str | None = None
    error: str | None = None
    phase: str = ""
    frames: tuple[tuple[str, int], ...] = ()
    output: str = ""
    seconds: float = 0.0


_connection: Connection | None = None


def report_phase(phase: str) -> None:
    """Says what this process is about to do, for the message about a time-out or a crash; does nothing elsewhere."""
    if _connection is not None:
        _connection.send(("phase", phase))


def _child(
    connection: Connection,
    folder: str,
    environment: Mapping[str, str],
    function: Callable[..., Any],
    args: tuple[Any, ...],
) -> None:
    global _connection
    # A group of its own: what this process starts is killed with it.
    os.setsid()
    # No search for garbage goes through the million objects of torch and Triton that the server has left here.
    gc.freeze()
    os.environ.clear()
    os.environ.update(environment)
    # What is made here and left behind, because the process was stopped, goes with the folder.
    tempfile.tempdir = folder
    output = os.open(os.path.join(folder, "output"), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(output, 1)
    os.dup2(output, 2)
    sys.stdout, sys.stderr = (os.fdopen(fd, "w", 1, "utf-8", "replace", closefd=False) for fd in (1, 2))
    stack = os.open(os.path.join(folder, "stack"), os.O_WRONLY | os.O_CREAT, 0o600)
    faulthandler.enable(stack, all_threads=False)
    faulthandler.register(signal.SIGUSR1, stack, all_threads=False)
    _connection = connection
    connection.send(("phase", ""))
    try:
        connection.send(("value", function(*args)))
    except BaseException:
        connection.send(("error", traceback.format_exc()))
    connection.close()


def _context() -> Any:
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(_PRELOAD))
    return context


def _stop(process: Any) -> None:
    """Ends a process and everything that it started."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(process.pid, signal.SIGUSR1)
        process.join(_GRACE)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    process.join()


def _read(folder: str, name: str) -> str:
    file = Path(folder, name)
    return file.read_text(encoding="utf-8", errors="replace") if file.exists() else ""


def run_isolated(
    function: Callable[..., Any],
    *args: Any,
    timeout: float,
    environment: Mapping[str, str] | None = None,
    on_phase: Callable[[str], None] = lambda phase: None,
) -> Outcome:
    """Calls `function(*args)` in a new process.

    Args:
        function: of a module, so that it can be named in the other process; its arguments and result are pickled.
        timeout: seconds for the call; the imports before it do not count.
        environment: the environment of the process; None: that of this one.
        on_phase: called with every phase that the function reports.
    """
    context = _context()
    with tempfile.TemporaryDirectory(prefix="tritonport-") as folder:
        ours, theirs = context.Pipe(duplex=False)
        environment = dict(os.environ if environment is None else environment)
        process = context.Process(target=_child, args=(theirs, folder, environment, function, args), daemon=False)
        process.start()
        theirs.close()
        try:
            heard = _listen(ours, timeout, on_phase)
            if not heard.timed_out:
                process.join(_GRACE)
        finally:
            # Also when this process is interrupted: the other one is in a group that no terminal reaches.
            if process.is_alive():
                _stop(process)
            ours.close()
        died = heard.kind == "" and not heard.timed_out
        return Outcome(
            value=heard.value if heard.kind == "value" else None,
            returned=heard.kind == "value",
            timed_out=heard.timed_out,
            signal=ended_with(process.exitcode) if died else None,
            error=heard.value if heard.kind == "error" else None,
            phase=heard.phase,
            frames=tuple((match["file"], int(match["line"])) for match in _FRAME.finditer(_read(folder, "stack"))),
            output=_read(folder, "output"),
            seconds=heard.seconds,
        )


@dataclass(frozen=True)
class _Heard:
    """What came through the pipe: `kind` is `value`, `error`, or empty where the other end closed or time was up."""

    kind: str
    value: Any
    phase: str
    timed_out: bool
    seconds: float


def _listen(connection: Connection, timeout: float, on_phase: Callable[[str], None]) -> _Heard:
    start = time.monotonic()
    limit, started, phase = _START_LIMIT, False, ""
    while True:
        left = start + limit - time.monotonic()
        if left <= 0 or not connection.poll(left):
            return _Heard("", None, phase, True, time.monotonic() - start)
        try:
            kind, value = connection.recv()
        except EOFError:
            return _Heard("", None, phase, False, time.monotonic() - start)
        if kind != "phase":
            return _Heard(kind, value, phase, False, time.monotonic() - start)
        if started:
            phase = value
            on_phase(phase)
        else:
            started, limit, start = True, timeout, time.monotonic()
