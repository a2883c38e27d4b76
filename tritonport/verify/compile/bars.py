"""The bars of a literal port against Triton's own compile of the original: one target, one specialisation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from tritonport.verify.compile.resources import Resources
from tritonport.verify.compile.target import facts

REGISTERS_PERCENT = 10
REGISTERS_ALLOWED_PERCENT = 20


@dataclass(frozen=True)
class BarResult:
    """One bar. original and port are the compared values as printed; text is one line for a person.

    allowed: for a failed ``registers`` bar, that it is within the 20 % which one pair in ten may take
    (:func:`registers_hold`). False for every other bar. with_spills: for a ``registers`` bar beyond 10 % that holds all
    the same, because the original spills more (:func:`compare`).
    """

    name: str
    passed: bool
    original: str
    port: str
    text: str
    allowed: bool = False
    with_spills: bool = False


def show_widths(widths: Iterable[int]) -> str:
    """``2x16 1x4``: accesses by width in bytes, widest first; ``-`` for none."""
    counts: dict[int, int] = {}
    for width in widths:
        counts[width] = counts.get(width, 0) + 1
    return " ".join(f"{counts[width]}x{width}" for width in sorted(counts, reverse=True)) or "-"


def widths_hold(original: Sequence[int], port: Sequence[int]) -> bool:
    """Whether the accesses of the port are nowhere narrower than the original's.

    The numbers are bytes one instruction moves for one thread, one number per access of the source (a ``tl.load``),
    however many instructions it takes. As many accesses on both sides: sorted, each one of the port is at least as
    wide as its counterpart. A port may also

    - take more instructions of the same width for an access: a one-dimensional tile read in a slice layout is
      replicated over threads, where Triton reads it once and converts. The number of instructions and their bytes are
      in the resource table (``Access``) and not part of this bar; what replication costs shows in the registers;
    - load something twice that the original loads once (an index read in two layouts): each access beyond the
      original's number may be as narrow as the narrowest of the original;
    - have fewer accesses, where the compiler found two to be one: then no width may hold more accesses at or below
      it than in the original, and the widest of the original must still be reached.

    An original without accesses of this kind allows none in the port.
    """
    if not port or not original:
        return bool(port) == bool(original)
    if min(port) < min(original) or max(port) < max(original):
        return False
    extra = max(0, len(port) - len(original))
    return all(
        sum(width < limit for width in port) <= sum(width < limit for width in original) + extra
        for limit in set(original)
    )


def _widths_bar(kind: str, original: Sequence[int], port: Sequence[int]) -> BarResult:
    passed = widths_hold(original, port)
    shown, seen = show_widths(port), show_widths(original)
    text = f"{kind} widths in bytes: {shown}, Triton {seen}"
    if passed and len(port) != len(original):
        text += f" ({len(port)} accesses, Triton {len(original)})"
    return BarResult(f"{kind}-width", passed, seen, shown, text)


def _percent(original: int, port: int) -> Fraction:
    return Fraction(100 * (port - original), original) if original else Fraction(0)


def _precisions(resources: Resources) -> frozenset[str]:
    return frozenset(kind.partition("_")[2] for kind in resources.mma)


def _new_precisions(original: Resources, port: Resources) -> list[str]:
    """Operand types of the port's tensor core instructions that the original does not use.

    ``tcgen05`` names fp16 and bf16 alike ``f16``, so these two are told apart between mma.sync and wgmma only.
    """
    allowed = set(_precisions(original))
    if any(kind == "tcgen05_f16" for kind in (*original.mma, *port.mma)) and allowed & {"f16", "bf16"}:
        allowed |= {"f16", "bf16"}
    return sorted(_precisions(port) - allowed)


def held_bytes(resources: Resources) -> int:
    """Bytes per thread in registers, and moved by the instructions that spill others and load them again."""
    return 4 * resources.registers + resources.spills


def _registers_bar(original: Resources, port: Resources) -> BarResult:
    percent = _percent(original.registers, port.registers)
    text = f"{port.registers} registers, Triton {original.registers} ({float(percent):+.1f} %)"
    over = percent > REGISTERS_PERCENT
    kept = over and original.spills > 0 and held_bytes(port) <= held_bytes(original)
    if kept:
        text += f", with spills {held_bytes(port)} bytes, Triton {held_bytes(original)}"
    return BarResult(
        "registers",
        kept or not over,
        str(original.registers),
        str(port.registers),
        text,
        allowed=over and not kept and percent <= REGISTERS_ALLOWED_PERCENT,
        with_spills=kept,
    )


def compare(original: Resources, port: Resources) -> list[BarResult]:
    """Hold `port` against `original`, both compiled for one target with one specialisation.

    - conversions: those that move data, at most one more than Triton's.
    - loop-conversions: none more inside loops.
    - load-width, store-width, atomic-width: see :func:`widths_hold`. ``cp.async`` counts as a load.
    - registers: at most 10 % more, by the exact numbers of ptxas and without slack for small kernels, although the
      hardware allocates registers in steps of 8 per thread: 16 -> 18 is reported as 12.5 % and fails. Fewer is fine.
      Where the original spills, the port may keep in registers what the original does not: there the bar also holds if
      registers and spills together, 4 bytes a register, are no more bytes than the original's (:func:`held_bytes`).
    - spills: no more bytes of spill stores and loads than the original.
    - mma-precision: no tensor core operand type the original does not have.
    - shared-memory: where the original fits the target's shared memory, so does the port.
    """
    more = port.conversions - original.conversions
    limit = facts(port.target).shared_memory
    new = _new_precisions(original, port)
    kinds_seen, kinds_shown = (" ".join(sorted(side.mma)) or "-" for side in (original, port))
    return [
        BarResult(
            "conversions",
            more <= 1,
            str(original.conversions),
            str(port.conversions),
            f"{port.conversions} conversions that move data, Triton {original.conversions}",
        ),
        BarResult(
            "loop-conversions",
            port.conversions_in_loops <= original.conversions_in_loops,
            str(original.conversions_in_loops),
            str(port.conversions_in_loops),
            f"{port.conversions_in_loops} conversions in loops, Triton {original.conversions_in_loops}",
        ),
        _widths_bar("load", original.load_widths, port.load_widths),
        _widths_bar("store", original.store_widths, port.store_widths),
        _widths_bar("atomic", original.atomic_widths, port.atomic_widths),
        _registers_bar(original, port),
        BarResult(
            "spills",
            port.spills <= original.spills,
            str(original.spills),
            str(port.spills),
            f"{port.spills} bytes spilled, Triton {original.spills}",
        ),
        BarResult(
            "mma-precision", not new, kinds_seen, kinds_shown, f"tensor cores: {kinds_shown}, Triton {kinds_seen}"
        ),
        BarResult(
            "shared-memory",
            port.shared <= limit or original.shared > limit,
            str(original.shared),
            str(port.shared),
            f"{port.shared} bytes of shared memory, Triton {original.shared}, {port.target} has {limit}",
        ),
    ]


def registers_hold(pairs: Sequence[Sequence[BarResult]]) -> bool:
    """The register bar over a set of pairs: within 10 % each, or within 20 % for at most one pair in ten.

    With fewer than ten pairs none may exceed 10 %.
    """
    failed = [bar for bars in pairs for bar in bars if bar.name == "registers" and not bar.passed]
    return all(bar.allowed for bar in failed) and 10 * len(failed) <= len(pairs)


def bars_hold(pairs: Sequence[Sequence[BarResult]]) -> bool:
    """Whether every bar of every pair holds, the register bar taken over all pairs (:func:`registers_hold`)."""
    rest = all(bar.passed for bars in pairs for bar in bars if bar.name != "registers")
    return rest and registers_hold(pairs)
