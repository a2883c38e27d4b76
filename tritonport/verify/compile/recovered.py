"""The layouts of Triton's own compile of a file's kernels, each for one specialisation."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from tritonport.convert import ConvertOptions, claims_for_text
from tritonport.layouts.recover.claims import KernelClaims, RecoveredLayouts
from tritonport.report import Diagnostic, InputError
from tritonport.verify.case import find_case
from tritonport.verify.compile.forked import run_forked
from tritonport.verify.compile.resources import CompileFailure, Resources
from tritonport.verify.compile.run import prepare_process, side_of
from tritonport.verify.compile.side import Side, SideRequest, compile_side
from tritonport.verify.compile.signature import guess

NOT_RECOVERED = "TP207"
# Loading a file and each of its kernels have a limit of their own.
_NO_LIMIT = 10.0 * 24 * 3600


def recover_layouts(
    file: Path,
    path: str,
    text: str,
    options: ConvertOptions,
    *,
    case: Path | None = None,
    guess_signature: bool = False,
    specialisation: int = 1,
    timeout: float = 120.0,
) -> tuple[Mapping[str, RecoveredLayouts], list[Diagnostic]]:
    """By kernel, the layouts that Triton's compiler chose for `options.target`; and why some have none.

    The kernels are compiled in child processes. case: with COMPILE_SPECS; None: the one beside the file, if any.
    specialisation: which of those of a kernel, from 1. timeout: seconds per kernel. InputError where the text cannot
    be read.
    """
    claims = claims_for_text(text, path=path, options=options)
    if not claims:
        return {}, []
    try:
        found = find_case(file, case)
    except InputError:
        if case is not None:
            raise
        found = None
    request = SideRequest(
        file=file,
        path=path,
        target=options.target,
        case=found,
        guesses=tuple(guess(text, path)) if guess_signature else (),
        kernels=frozenset(claims),
        timeout=timeout,
        claims=claims,
    )
    prepare_process([found or file], [options.target])
    (outcome,) = run_forked([functools.partial(compile_side, request)], timeout=_NO_LIMIT)
    side = side_of(outcome, request)
    recovered = dict(_recovered(side, specialisation))
    missing = [_missing(claims[name], side, path, specialisation) for name in claims if name not in recovered]
    return recovered, [*side.diagnostics, *missing]


def _recovered(side: Side, specialisation: int) -> Iterator[tuple[str, RecoveredLayouts]]:
    numbers: Counter[str] = Counter()
    for spec in side.compiled:
        numbers[spec.kernel] += 1
        heard = isinstance(spec.result, Resources) and spec.heard is not None and not spec.heard.failed
        if heard and spec.heard is not None and numbers[spec.kernel] == specialisation:
            yield spec.kernel, RecoveredLayouts(spec.label, dict(spec.heard.comparison.chosen))


def _missing(claims: KernelClaims, side: Side, path: str, specialisation: int) -> Diagnostic:
    specs = [spec for spec in side.compiled if spec.kernel == claims.kernel]
    why = "no entry of COMPILE_SPECS says with which arguments to compile it (or use --guess-signature)"
    if specs and specialisation > len(specs):
        why = f"there is no specialisation {specialisation}, only {len(specs)}"
    for spec in specs[specialisation - 1 : specialisation]:
        if isinstance(spec.result, CompileFailure):
            why = f"the original does not compile: {spec.result.message}"
        elif spec.heard is not None:
            why = f"the compiler's IR cannot be read: {spec.heard.failed}"
    message = f"{claims.kernel} has layouts of the port's own: {why}"
    return Diagnostic(NOT_RECOVERED, message, path, claims.line, 1, claims.kernel)


__all__ = ["recover_layouts"]
