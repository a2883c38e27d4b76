"""What the PTX of a kernel says: global accesses, barriers and tensor core instructions.

The instruction forms are those of the PTX ISA (sections "Data Movement and Conversion Instructions", "Parallel
Synchronization", "Asynchronous Warpgroup Level Matrix", "TensorCore 5th Generation").
"""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache

from tritonport.verify.compile.resources import Access

_OPCODE = re.compile(r"^\s*(?:@!?%\w+\s+)?([a-z][\w.:]*)(.*)$")
_LOC = re.compile(r"^\s*\.loc\s+(\d+)\s+(\d+)\s+(\d+)(.*)$")
_FILE = re.compile(r'^\s*\.file\s+(\d+)\s+"([^"]*)"(?:\s+"([^"]*)")?')
_TYPE = re.compile(r"^(?:[busf]|bf|tf)(8|16|32|64|128)(x2)?$")
_SIZE = re.compile(r",\s*(0x[0-9a-fA-F]+|\d+)")
_NOT_GLOBAL = frozenset({"shared", "shared::cta", "shared::cluster", "local", "param", "param::entry", "const"})
_KINDS = {"ld": "load", "ldu": "load", "st": "store", "atom": "atomic", "red": "atomic"}


def vector_bytes(opcode: str) -> int:
    """Bytes one thread moves with one ``ld``, ``st``, ``atom`` or ``red``: ``.vN`` times the type; 0 without a type."""
    lanes, size = 1, 0
    for part in opcode.split(".")[1:]:
        if part in ("v2", "v4", "v8"):
            lanes = int(part[1])
        elif match := _TYPE.match(part):
            size = int(match[1]) // 8 * (2 if match[2] else 1)
    return lanes * size


def _access(opcode: str, operands: str) -> tuple[str, int] | None:
    """(kind, bytes) of a global access, None for any other instruction."""
    parts = opcode.split(".")
    if opcode.startswith(("cp.async.bulk", "cp.reduce.async.bulk")):
        moves = "prefetch" not in parts and any(part in ("global", "tensor") for part in parts)
        return ("bulk", 0) if moves else None
    if opcode.startswith("cp.async.") and "global" in parts:
        size = _SIZE.search(operands)
        return "async", int(size[1], 0) if size else 0
    kind = _KINDS.get(parts[0])
    # An address without a state space is generic; Triton only loses the space of global pointers.
    if kind is None or _NOT_GLOBAL.intersection(parts) or not (size_bytes := vector_bytes(opcode)):
        return None
    return kind, size_bytes


@lru_cache(maxsize=2)
def _instructions(ptx: str) -> tuple[tuple[str, str, str], ...]:
    """(opcode, the rest, location key) of every instruction; the key tells source accesses apart.

    Kept for the text at hand: everything that is said of a kernel starts from them.

    Inside an inline assembly block the assembler prints one ``.loc`` per line of the block, each a line further down
    than the one before, so only the first of them is a position in the source.
    """
    found: list[tuple[str, str, str]] = []
    location, inside, seen = "", False, False
    for line in ptx.splitlines():
        stripped = line.strip()
        if stripped.startswith("//"):
            if "begin inline asm" in stripped:
                inside, seen = True, False
            elif "end inline asm" in stripped:
                inside = False
            continue
        if _LOC.match(line):
            if not (inside and seen):
                location = " ".join(stripped.split())
            seen = True
            continue
        for statement in stripped.strip("{} ").split(";"):
            if match := _OPCODE.match(statement):
                seen = True
                found.append((match[1], match[2], location))
    return tuple(found)


def accesses(ptx: str) -> tuple[Access, ...]:
    """Every global access of the kernel, one entry per load, store or atomic of the source, in the order of the PTX.

    Instructions with one source position (line, column and the calls it was inlined through) are one access: a tile
    of several vectors, an unrolled loop. Without line information each kind is one access.
    """
    files = {match[1]: match[3] or match[2] for line in ptx.splitlines() if (match := _FILE.match(line))}
    found: dict[tuple[str, str], list[int]] = {}
    for opcode, operands, location in _instructions(ptx):
        if access := _access(opcode, operands):
            found.setdefault((access[0], location), []).append(access[1])
    result = []
    for (kind, location), sizes in found.items():
        match = _LOC.match(location)
        path, line = (files.get(match[1], ""), int(match[2])) if match else ("", 0)
        result.append(Access(kind, min(sizes), len(sizes), sum(sizes), path, line))
    return tuple(result)


def barriers(ptx: str) -> int:
    """How many CTA-wide barriers stand in the PTX."""
    return sum(
        opcode.startswith(("bar.sync", "bar.red", "barrier.sync", "barrier.cta.sync", "barrier.cta.red"))
        for opcode, _, _ in _instructions(ptx)
    )


_FLOAT = re.compile(r"^(?:f|bf|tf)(?:16|32|64)(?:x2)?$|^e\dm\d(?:x2)?$")
_VECTOR = re.compile(r"^v\d$")
_SHAPED = ("mma", "wgmma", "tcgen05", "ldmatrix", "stmatrix")
_PLAIN = ("mov", "selp", "shfl")


def meaning_of(opcode: str) -> str | None:
    """What an instruction says of a kernel's numbers and of its memory accesses: one kernel, one meaning, one name.

    Arithmetic, comparisons and conversions of floats, integer division, and atomics are named with their types and
    rounding (``ex2.approx.f32``, ``atom.global.gpu.relaxed.add.f32``); loads and stores by how they use the caches
    and the memory model (``ld.global.L1::evict_last``). None for what depends on layouts and addresses alone.
    """
    parts = [part for part in opcode.split(".") if not _VECTOR.match(part)]
    if parts[0] in ("ld", "st"):
        kept = [part for part in parts if not _TYPE.match(part)]
        return ".".join(kept) if "global" in parts else None
    if parts[0] in ("atom", "red"):
        return ".".join(["atom", *parts[1:]]) if "shared" not in parts else None
    if parts[0] in _SHAPED or parts[0] in _PLAIN:
        return None
    if parts[0] == "setp":
        return f"setp.{parts[-1]}" if _FLOAT.match(parts[-1]) else None
    if parts[0] in ("div", "rem") or any(_FLOAT.match(part) for part in parts[1:]):
        return ".".join(parts)
    return None


def meanings(ptx: str) -> tuple[str, ...]:
    """What the instructions of a kernel say of its numbers and accesses (:func:`meaning_of`), sorted, each once."""
    opcodes = {opcode for opcode, _, _ in _instructions(ptx)}
    return tuple(sorted({found for opcode in opcodes if (found := meaning_of(opcode))}))


def mma_kind(opcode: str) -> str | None:
    """``mma_tf32``, ``wgmma_bf16``, ``tcgen05_f16`` ... for a tensor core instruction, None for any other.

    mma.sync and wgmma name D, A and B types in this order; where A and B differ both are named (``mma_e4m3_e5m2``).
    tcgen05 names only a kind: ``f16`` stands for fp16 and bf16 alike.
    """
    parts = opcode.split(".")
    if opcode.startswith("tcgen05.mma"):
        kind = next((part.removeprefix("kind::") for part in parts if part.startswith("kind::")), "")
        return f"tcgen05_{kind}" if kind else None
    if opcode.startswith("wgmma.mma_async"):
        family = "wgmma"
    elif parts[0] == "mma":
        family = "mma"
    else:
        return None
    types = [part for part in parts if re.fullmatch(r"(?:[busf]|bf|tf)\d+|e\dm\d", part)]
    if len(types) < 3:
        return family
    return f"{family}_{types[1]}" if types[1] == types[2] else f"{family}_{types[1]}_{types[2]}"


def mma_kinds(ptx: str) -> dict[str, int]:
    """Tensor core instructions by kind, sorted by name."""
    counts: Counter[str] = Counter()
    for opcode, number in Counter(opcode for opcode, _, _ in _instructions(ptx)).items():
        if kind := mma_kind(opcode):
            counts[kind] += number
    return dict(sorted(counts.items()))
