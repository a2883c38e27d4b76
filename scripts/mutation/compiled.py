"""What the offline compile says of mutants that the emulator lets pass."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tritonport.report.diagnostic import InputError
from tritonport.verify.case import load_case
from tritonport.verify.compile import CompileFailure, compare, compile_specs, complete, registers_hold

_DEBUG = re.compile(r"\s*(\.loc\b|\.file\b|//|\$L__tmp\d+:|\$L__(func|info|debug)\w*:)")


@dataclass(frozen=True)
class Compiled:
    """A text compiled for every specification of its case.

    Attributes:
        failures: the specifications that are refused.
        missed: the bars missed against the original, but for registers.
        registers: whether the bar of registers holds over all specifications.
        code: a digest of the PTX of all specifications, without what only debuggers read.
    """

    failures: frozenset[str]
    missed: frozenset[str]
    registers: bool
    code: str


def compile_texts(kernel_file: Path, case_file: Path, target: str, texts: Sequence[str]) -> list[Compiled]:
    """Compiles the original once and each text as its port."""
    original = _compile(kernel_file, case_file, target, None)
    return [_against(original, _compile(kernel_file, case_file, target, text)) for text in texts]


def _compile(kernel_file: Path, case_file: Path, target: str, text: str | None) -> list[tuple[str, Any]] | str:
    """(label, result) of each specification, or why the text cannot be imported."""
    try:
        case = load_case(case_file, kernel_file, text)
    except InputError as error:
        return error.diagnostic.message
    specs = [complete(entry) for entry in case.compile_specs]
    with case.space.active():
        results = compile_specs(specs, target)
    # What must be refused shows nothing about a port.
    pairs = zip(specs, results, strict=True)
    return [(f"{spec.kernel} ({spec.label})", result) for spec, result in pairs if spec.expect_error is None]


def _against(original: list[tuple[str, Any]] | str, port: list[tuple[str, Any]] | str) -> Compiled:
    assert not isinstance(original, str)
    if isinstance(port, str):
        return Compiled(frozenset({f"import: {port}"}), frozenset(), True, "")
    failures, missed, pairs = set(), set(), []
    code = hashlib.sha256()
    for (label, before), (_, after) in zip(original, port, strict=True):
        if isinstance(after, CompileFailure):
            failures.add(f"{label}: {after.message}")
            continue
        code.update("\n".join(line for line in _instructions(after.ptx)).encode())
        if isinstance(before, CompileFailure):
            continue
        bars = compare(before, after)
        pairs.append(bars)
        missed |= {f"{label}: {bar.text}" for bar in bars if not bar.passed and bar.name != "registers"}
    return Compiled(frozenset(failures), frozenset(missed), registers_hold(pairs), code.hexdigest())


def _instructions(ptx: str) -> list[str]:
    text = ptx.partition("\t.section\t.debug")[0]
    return [line for line in text.splitlines() if line.strip() and not _DEBUG.match(line)]


def fails(mutant: Compiled, port: Compiled) -> str | None:
    """What T1 finds in a mutant and not in the port; None where it finds nothing."""
    if mutant.failures and not port.failures:
        return sorted(mutant.failures)[0]
    names = {text.rpartition(":")[0] for text in port.missed}
    new = sorted(text for text in mutant.missed if text not in port.missed and text.rpartition(":")[0] not in names)
    if new:
        return new[0]
    return "more registers than the bar allows" if port.registers and not mutant.registers else None
