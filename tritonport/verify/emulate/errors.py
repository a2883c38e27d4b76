"""What can go wrong when a kernel runs on the CPU."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


class EmulationError(Exception):
    """A kernel did something a GPU would not survive, or that its compiler would refuse.

    ``path`` and ``line`` (1-based) name the innermost line of the user's own source, ``program`` the program id.
    Each is None where the error is not bound to one.
    """

    def __init__(
        self,
        message: str,
        *,
        kernel: str | None = None,
        path: str | None = None,
        line: int | None = None,
        program: tuple[int, int, int] | None = None,
    ) -> None:
        self.message = message
        self.kernel = kernel
        self.path = path
        self.line = line
        self.program = program
        super().__init__(message)

    def __str__(self) -> str:
        where = f"{self.path}:{self.line}: " if self.path is not None else ""
        kernel = f"kernel {self.kernel}" if self.kernel is not None else ""
        program = f"program {self.program}" if self.program is not None else ""
        context = ", ".join(part for part in (kernel, program) if part)
        return f"{where}{self.message}" + (f" ({context})" if context else "")


class NotEmulated(EmulationError):
    """The kernel uses an operation this emulator has no model of; nothing can be said about the kernel."""


class Fault(Exception):
    """Raised where the kernel goes wrong; the launch turns it into an :class:`EmulationError`.

    ``place`` (with ``path`` and ``line``) is given where it is not the line that runs.
    """

    def __init__(self, message: str, place: Any = None) -> None:
        super().__init__(message)
        self.place = place


class Unsupported(Exception):
    """As :class:`Fault`, for an operation that has no model."""


class ReturnSignal(BaseException):
    """Leaves a device function with its result; not an ``Exception``, so that no handler takes it for an error."""

    def __init__(self, value: object) -> None:
        self.value = value


class Divergence(BaseException):
    """A scalar function applied to a whole tensor at once takes both sides of a branch: apply it lane by lane."""


@dataclass(frozen=True)
class Frame:
    """One device function on the call stack when an error arose."""

    function: str
    path: str
    line: int
    source: str
