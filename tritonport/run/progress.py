"""A line on standard error that says how far a long run is."""

import shutil
import sys
import time

_MANY = 8
_INTERVAL = 0.1  # seconds between two updates


class ProgressLine:
    """Shows progress where standard error is a terminal and there are many files; elsewhere does nothing."""

    def __init__(self, quiet: bool = False) -> None:
        self._shown = not quiet and sys.stderr.isatty()
        self._last = 0.0
        self._visible = False

    def __call__(self, done: int, total: int, path: str) -> None:
        now = time.monotonic()
        if not self._shown or total < _MANY or now - self._last < _INTERVAL:
            return
        self._last = now
        self._visible = True
        width = shutil.get_terminal_size().columns - 1
        sys.stderr.write(f"\r{f'[{done}/{total}] {path}'[:width]:<{width}}")
        sys.stderr.flush()

    def clear(self) -> None:
        """Take the line away."""
        if self._visible:
            width = shutil.get_terminal_size().columns - 1
            sys.stderr.write(f"\r{'':<{width}}\r")
            sys.stderr.flush()
            self._visible = False
