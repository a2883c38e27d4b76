"""What one compiled kernel uses, as plain data that crosses a process boundary and prints as JSON."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class LayoutConversion:
    """One ``ttg.convert_layout`` of the final TTGIR that moves data between threads.

    ``source`` and ``destination`` are the layouts as Gluon expressions. ``line`` is the kernel's line (0: unknown).
    """

    tensor: str
    source: str
    destination: str
    in_loop: bool
    path: str = ""
    line: int = 0


@dataclass(frozen=True)
class Access:
    """The instructions one load, store or atomic of the source became.

    kind: ``load``, ``store``, ``atomic``, ``async`` (``cp.async`` into shared memory) or ``bulk`` (TMA).
    width: bytes one instruction moves for one thread, the narrowest of them; 0 for ``bulk``, which has no vector width.
    instructions: how many such instructions stand in the PTX (a replicated tile takes more of the same width).
    bytes_per_thread: their sum.
    """

    kind: str
    width: int
    instructions: int
    bytes_per_thread: int
    path: str = ""
    line: int = 0


@dataclass(frozen=True)
class Resources:
    """The resource table of one compiled kernel.

    registers: 32-bit registers per thread, as ptxas reports them (allocated as given, not rounded to the
    granularity of 8 at which the hardware hands them out). spill_stores, spill_loads, stack: bytes per thread.
    shared: bytes per CTA. barriers: CTA-wide barrier instructions (``bar.sync`` and ``barrier.sync``) in the PTX.
    mma: tensor core instructions by family and operand type (``mma_tf32``, ``wgmma_f16``, ``tcgen05_f16``).
    meanings: the kinds of instructions that say what is computed and how memory is used (``ptx.meanings``).
    ptx, ttgir, source: the PTX, the TTGIR after every pass, and the IR that the front end made.
    """

    kernel: str
    language: str
    target: str
    triton: str
    num_warps: int
    registers: int
    spill_stores: int
    spill_loads: int
    stack: int
    shared: int
    barriers: int
    moving: tuple[LayoutConversion, ...] = ()
    free_conversions: int = 0
    accesses: tuple[Access, ...] = ()
    mma: dict[str, int] = field(default_factory=dict)
    meanings: tuple[str, ...] = ()
    ptx: str = field(default="", repr=False)
    ttgir: str = field(default="", repr=False)
    source: str = field(default="", repr=False)
    printed: str = ""

    @property
    def conversions(self) -> int:
        """Layout conversions that move data between threads."""
        return len(self.moving)

    @property
    def conversions_in_loops(self) -> int:
        """How many of them stand inside a loop."""
        return sum(conversion.in_loop for conversion in self.moving)

    @property
    def spills(self) -> int:
        """Bytes of spill stores and spill loads together, per thread."""
        return self.spill_stores + self.spill_loads

    def widths(self, kind: str) -> tuple[int, ...]:
        """The width in bytes of every access of one kind, ascending: a multiset with one entry per source access."""
        return tuple(sorted(access.width for access in self.accesses if access.kind == kind))

    @property
    def load_widths(self) -> tuple[int, ...]:
        """Widths of everything that reads global memory into a thread or into shared memory, ascending."""
        return tuple(sorted((*self.widths("load"), *self.widths("async"))))

    @property
    def store_widths(self) -> tuple[int, ...]:
        """Widths of the global stores, ascending."""
        return self.widths("store")

    @property
    def atomic_widths(self) -> tuple[int, ...]:
        """Widths of the global atomics and reductions, ascending."""
        return self.widths("atomic")

    def to_json(self) -> dict[str, Any]:
        """The table as JSON data, without the texts of the PTX and of the IR."""
        data = asdict(self)
        for text in ("ptx", "ttgir", "source"):
            del data[text]
        data |= {"conversions": self.conversions, "conversions_in_loops": self.conversions_in_loops}
        return data


@dataclass(frozen=True)
class CompileFailure:
    """Why one kernel did not compile.

    reason: ``error`` (the compiler refused it), ``crash`` (the compiler's process died), ``timeout``, ``load`` (the
    module or the case could not be imported) or ``spec`` (the specification does not fit the kernel).
    message: the first useful line. path and line: where in the source, line 0 when unknown. details: all the text.
    """

    kernel: str
    target: str
    reason: str
    message: str
    path: str = ""
    line: int = 0
    details: str = field(default="", repr=False)

    @property
    def where(self) -> str:
        """``path:line``, ``path`` or an empty string."""
        return f"{self.path}:{self.line}" if self.line else self.path

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        return f"{place}{self.kernel} for {self.target}: {self.reason}: {self.message}"

    def to_json(self) -> dict[str, Any]:
        """The failure as JSON data."""
        return asdict(self)


class CompileError(Exception):
    """Raised by :func:`compile_kernel`; ``failure`` says what happened."""

    def __init__(self, failure: CompileFailure) -> None:
        super().__init__(str(failure))
        self.failure = failure
