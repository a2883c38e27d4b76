"""One side of a comparison: a kernel file, as it stands or in another text, loaded and compiled for one target."""

from __future__ import annotations

import os
import signal
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tritonport.layouts.recover.claims import KernelClaims
from tritonport.report import Diagnostic, InputError
from tritonport.verify import codes
from tritonport.verify.compile.compiler import compile_specs
from tritonport.verify.compile.pretend import pretend_for
from tritonport.verify.compile.resources import CompileFailure, Resources
from tritonport.verify.compile.signature import Guess, entry_for
from tritonport.verify.compile.spec import CompileSpec, SpecError, complete
from tritonport.verify.compile.target import activate
from tritonport.verify.compile.witness import Heard, hear

# Heuristics of a guessed kernel may ask for sizes: a size that is a multiple of every usual tile.
_ASSUMED_SIZE = 4096


@dataclass(frozen=True)
class SideRequest:
    """What to compile.

    file: the kernel file, whose module name the text is executed under. path: how messages call it. text: the text to
    execute in its place (the port), None for the file itself. case: its case, None without one. guesses: kernels to
    compile beside the case's, with guessed signatures. kernels: only these; None: all.
    timeout: seconds to load the file and for each kernel. claims: by kernel, what to hold against the compiler.
    """

    file: Path
    path: str
    target: str
    text: str | None = None
    case: Path | None = None
    guesses: tuple[Guess, ...] = ()
    kernels: frozenset[str] | None = None
    timeout: float = 120.0
    as_launched: bool = False
    cache: Path | None = None
    claims: Mapping[str, KernelClaims] = field(default_factory=dict)


@dataclass(frozen=True)
class CompiledSpec:
    """One specification and what came of it.

    guessed: the signature was guessed. forbidden: texts of ``ptx_forbid`` that stand in the PTX.
    heard: what the compiler says to the claims about the kernel; None without claims.
    """

    kernel: str
    label: str
    result: Resources | CompileFailure
    guessed: bool = False
    expect_error: str | None = None
    forbidden: tuple[str, ...] = ()
    heard: Heard | None = None

    @property
    def refused_as_expected(self) -> bool:
        """Whether the compiler refused the kernel with the text that ``expect_error`` names."""
        failure = self.result
        if self.expect_error is None or not isinstance(failure, CompileFailure):
            return False
        return self.expect_error in failure.message or self.expect_error in failure.details


@dataclass(frozen=True)
class Side:
    """All specifications of one side, in the order of the case; diagnostics where the file could not be loaded."""

    compiled: tuple[CompiledSpec, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()


def _resolve(module: Any, qualname: str) -> Any:
    for part in qualname.split("."):
        module = getattr(module, part)
    return module


def _load(request: SideRequest) -> tuple[list[tuple[Mapping[str, Any], str]], Any, Mapping[str, str], object]:
    """(entries of the case with the kernel's name, module or None, code file -> shown path, what to keep alive)."""
    from tritonport.verify.case import PORT_MARK, load_case
    from tritonport.verify.modules import ModuleSpace, ModuleText, module_name
    from tritonport.verify.places import first_line, import_failure

    entries: list[tuple[Mapping[str, Any], str]] = []
    shown: dict[str, str] = {}
    keep: list[object] = []
    module = None
    if request.case is not None:
        case = load_case(request.case, request.file, request.text)
        keep.append(case)
        shown |= case.files
        entries = [(entry, _name_of(entry.get("fn"))) for entry in case.compile_specs]
    if request.guesses:
        file = request.file.resolve()
        code_file, path = file, request.path
        if request.text is not None:
            scratch = tempfile.TemporaryDirectory(prefix="tritonport-")
            keep.append(scratch)
            code_file, path = Path(scratch.name) / file.name, f"{request.path}{PORT_MARK}"
            code_file.write_text(request.text, encoding="utf-8")
        shown[str(code_file)] = path
        name, root = module_name(file)
        text = request.text if request.text is not None else code_file.read_text(encoding="utf-8")
        try:
            module = ModuleSpace([ModuleText(name, file, text, code_file)], [root, file.parent]).load(name)
        except (Exception, SystemExit) as error:
            place, chain = import_failure(error, shown)
            message = f"raises when it is imported: {first_line(error)}{chain}"
            path, line, column = (place.path, place.line, place.column) if place else (path, 1, 1)
            raise InputError(Diagnostic(codes.RAISED, message, path, line, column)) from error
    return entries, module, shown, keep


def _name_of(fn: Any) -> str:
    while not isinstance(getattr(fn, "__name__", None), str) and hasattr(fn, "fn"):
        fn = fn.fn
    return str(getattr(fn, "__name__", "?"))


def _specs(
    request: SideRequest, entries: Sequence[tuple[Mapping[str, Any], str]], module: Any
) -> Iterator[tuple[CompileSpec | CompileFailure, bool]]:
    """(a complete specification or why there is none, guessed) for everything to compile."""

    def wanted(kernel: str) -> bool:
        return request.kernels is None or kernel in request.kernels

    def refused(kernel: str, error: SpecError, line: int = 0) -> CompileFailure:
        return CompileFailure(kernel, request.target, "spec", str(error), str(request.file.resolve()), line)

    for entry, kernel in entries:
        if wanted(kernel):
            try:
                yield complete(entry, as_launched=request.as_launched), False
            except SpecError as error:
                yield refused(kernel, error), False
    covered = {kernel for _, kernel in entries}
    for found in request.guesses:
        name = found.kernel.rpartition(".")[2]
        if name in covered or not wanted(name):
            continue
        sizes = {parameter: _ASSUMED_SIZE for parameter, kind in found.signature.items() if kind == "i32"}
        try:
            fn = None if found.problem else _resolve(module, found.kernel)
            yield complete(entry_for(found, fn), as_launched=request.as_launched, assumed=sizes), True
        except (SpecError, AttributeError) as error:
            yield refused(name, error if isinstance(error, SpecError) else SpecError(str(error)), found.line), True


def compile_side(request: SideRequest) -> Side:
    """Load the file and compile its kernels one after the other, each in a child of this process.

    Meant to run in a forked child: it changes the active driver, imports the user's modules, and is killed by an alarm
    if loading takes longer than the timeout.
    """
    os.environ["TRITON_DEFAULT_FP_FUSION"] = "1"
    activate(request.target)
    signal.alarm(max(1, int(request.timeout)))
    if request.guesses:
        pretend_for([request.file.resolve()], request.target)
    try:
        entries, module, shown, keep = _load(request)
    except InputError as error:
        return Side(diagnostics=(error.diagnostic,))
    finally:
        signal.alarm(0)
    planned = list(_specs(request, entries, module))
    specs = [_numbered(spec, request) for spec, _ in planned if isinstance(spec, CompileSpec)]
    compiles = compile_specs(specs, request.target, timeout=request.timeout, cache=request.cache)
    answers = iter(hear(specs, compiles, request.claims, request.target, timeout=request.timeout))
    results = iter(compiles)
    compiled = []
    for spec, guessed in planned:
        if isinstance(spec, CompileFailure):
            compiled.append(CompiledSpec(spec.kernel, "", _shown(spec, shown), guessed))
            continue
        result, heard = next(results), next(answers)
        forbidden: tuple[str, ...] = ()
        if isinstance(result, Resources):
            forbidden = tuple(text for text in spec.ptx_forbid if text in result.ptx)
        result = _shown(result, shown)
        compiled.append(CompiledSpec(spec.kernel, spec.label, result, guessed, spec.expect_error, forbidden, heard))
    del keep
    return Side(tuple(compiled))


def _numbered(spec: CompileSpec, request: SideRequest) -> CompileSpec:
    return replace(spec, numbered=True) if spec.kernel in request.claims else spec


def _shown(result: Resources | CompileFailure, paths: Mapping[str, str]) -> Resources | CompileFailure:
    """The result with file names as the user knows them, and without the long texts."""
    if isinstance(result, CompileFailure):
        return replace(result, path=paths.get(result.path, result.path))
    by_name = {Path(code_file).name: path for code_file, path in paths.items()}
    accesses = tuple(
        replace(access, path=paths.get(access.path, by_name.get(access.path, access.path)))
        for access in result.accesses
    )
    moving = tuple(replace(move, path=paths.get(move.path, move.path)) for move in result.moving)
    return replace(result, accesses=accesses, moving=moving, ptx="", ttgir="", source="")
