"""The command line. One file per command; a file that is added here is a command."""

import atexit
import contextlib
import gc
import os
import sys
from typing import NoReturn

from tritonport.cli._group import CommandsFromFiles, cli

__all__ = ["CommandsFromFiles", "cli", "main"]


def main() -> None:
    """The entry point of the `tritonport` script."""
    # Syntax trees are many small objects, nearly all alive until the end: searching them for garbage as often as Python
    # does by default takes a third of the time of a short run.
    gc.set_threshold(200_000, 50, 50)
    try:
        cli()
    except SystemExit as ended:
        _leave(ended.code if isinstance(ended.code, int) else 0)


def _leave(code: int) -> NoReturn:
    """End the process without taking modules apart, which takes a twentieth of the time of a short run.

    From 3.9 on Triton's bindings fill standard error when they go.
    """
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)
