"""The compiler as a witness: what the analysis says of a kernel, held against the IR of the original's compile."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tritonport.layouts.recover.claims import KernelClaims
from tritonport.layouts.recover.compare import Comparison, Witness, compare_claims
from tritonport.layouts.recover.scope import Scope
from tritonport.layouts.recover.witness import Compiler, read
from tritonport.verify.compile.forked import Outcome, run_forked
from tritonport.verify.compile.resources import CompileFailure, Resources
from tritonport.verify.compile.spec import CompileSpec
from tritonport.verify.compile.target import gpu_target


@dataclass(frozen=True)
class Heard:
    """What the compiler says to the claims about one kernel in one specialisation.

    failed: why it could not be asked; empty where it was.
    """

    comparison: Comparison = field(default_factory=Comparison)
    failed: str = ""


def hear(
    specs: Sequence[CompileSpec],
    results: Sequence[Resources | CompileFailure],
    claims: Mapping[str, KernelClaims],
    target: str,
    *,
    timeout: float,
) -> list[Heard | None]:
    """Per specification, the claims held against the compiler, each in a child of its own.

    results: of the compiles, with their IR. None for a kernel without claims or that did not compile.
    """
    asked = [
        (index, spec, result, claims[spec.kernel])
        for index, (spec, result) in enumerate(zip(specs, results, strict=True))
        if spec.numbered and isinstance(result, Resources)
    ]

    def call(spec: CompileSpec, result: Resources, own: KernelClaims) -> Callable[[], Comparison]:
        return lambda: _ask(spec, result, own, target)

    outcomes = run_forked([call(spec, result, own) for _, spec, result, own in asked], timeout=timeout)
    found: list[Heard | None] = [None] * len(specs)
    for (index, *_), outcome in zip(asked, outcomes, strict=True):
        found[index] = _heard(outcome)
    return found


def _heard(outcome: Outcome[Comparison]) -> Heard:
    if outcome.value is not None:
        return Heard(outcome.value)
    lines = outcome.output.strip().splitlines()
    return Heard(failed=lines[-1] if lines and outcome.ended == "raised" else outcome.status or outcome.ended)


def _ask(spec: CompileSpec, result: Resources, claims: KernelClaims, target: str) -> Comparison:
    compiler = Compiler(gpu_target(target))
    witness = Witness(read(compiler, result.source), read(compiler, result.ttgir))
    return compare_claims(claims.claims, witness, scope_of(spec, result, claims, compiler), compiler)


def scope_of(spec: CompileSpec, result: Resources, claims: KernelClaims, compiler: Compiler) -> Scope:
    """The names of the kernel with the values of one specialisation."""
    names = list(spec.signature)
    aligned = {names[_position(place)] for place, attributes in spec.attrs.items() if _divides(attributes)}
    return Scope(
        claims,
        compiler,
        signature=spec.signature,
        constexprs=spec.constexprs,
        aligned=aligned,
        num_warps=result.num_warps,
        names=_names(spec.fn),
    )


def _position(place: Any) -> int:
    """The position of a parameter: a case may give it alone or as the tuple that Triton takes."""
    return int(place[0] if isinstance(place, tuple) else place)


def _divides(attributes: Any) -> bool:
    return any(name == "tt.divisibility" and value % 16 == 0 for name, value in attributes)


def _names(fn: Any) -> dict[str, Any]:
    """What a kernel sees beside its parameters: the globals of its file, and the cells of the functions around it."""
    function = fn.fn
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=False))
    found = dict(function.__globals__)
    for name, cell in cells.items():
        try:
            found[name] = cell.cell_contents
        except ValueError:  # a variable that is not assigned yet
            continue
    return found


__all__ = ["Heard", "hear", "scope_of"]
