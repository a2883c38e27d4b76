"""Running a program to its end, with a time limit for it and everything that it starts."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Ended:
    """How a program ended.

    Attributes:
        code: its exit status; None where it was stopped, or a signal's number below zero.
        output: what it wrote to stdout and stderr.
        seconds: wall time.
    """

    code: int | None
    output: str
    seconds: float

    @property
    def timed_out(self) -> bool:
        """Whether the time limit stopped it."""
        return self.code is None


def run_to_end(command: Sequence[str], environment: Mapping[str, str], log: Path, timeout: float) -> Ended:
    """Runs a program; after `timeout` seconds it and everything that it started is killed.

    Args:
        log: the file that takes what it writes.

    Raises OSError where it cannot be started.
    """
    start = time.monotonic()
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, env=dict(environment), stdout=output, stderr=subprocess.STDOUT, start_new_session=True
        )
        try:
            code: int | None = process.wait(timeout)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            # Also when this process is interrupted.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    return Ended(code, log.read_text(encoding="utf-8", errors="replace"), time.monotonic() - start)


def ended_with(code: int | None) -> str:
    """The name of the signal that ended a process, else its exit status in words."""
    if code is None or code >= 0:
        return f"exit status {code}"
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"
