"""Compiling what a survey found: each kernel's original, then the ports of those that compile."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib
import pickle
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path

from tritonport.report import Diagnostic
from tritonport.verify.compile.compiler import warm_up
from tritonport.verify.compile.forked import run_forked
from tritonport.verify.compile.pretend import allocate_on_cpu, forgive, pretend_gpu
from tritonport.verify.compile.resources import CompileFailure, Resources
from tritonport.verify.compile.side import CompiledSpec, Side, SideRequest, compile_side
from tritonport.verify.compile.target import activate
from tritonport.verify.modules import module_name

# Loading a package and compiling its slowest file; each kernel has a limit of its own.
_FILE_LIMIT = 3600.0


@dataclass
class ResultCache:
    """Results of compiles by what they depend on, kept in a file.

    The compile of a kernel depends on the text of its file, the signature and the versions; what other files of the
    package hold is taken to stay as it is while the cache is in use.
    """

    file: Path | None
    version: str
    results: dict[str, CompiledSpec] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.file is not None and self.file.is_file():
            self.results = pickle.loads(self.file.read_bytes())

    def key(self, request: SideRequest, kernel: str) -> str:
        """One kernel of one side."""
        text = request.text if request.text is not None else request.file.read_text(encoding="utf-8", errors="replace")
        guesses = [found for found in request.guesses if found.kernel == kernel]
        measured = ",".join(one.name for one in fields(Resources))
        parts = (self.version, measured, request.target, str(request.file), kernel, repr(guesses), text)
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()

    def save(self) -> None:
        """Write the file, under another name first."""
        if self.file is not None:
            scratch = self.file.with_suffix(".tmp")
            scratch.write_bytes(pickle.dumps(self.results))
            scratch.replace(self.file)


def prepare_process(target: str, packages: frozenset[str], samples: Sequence[Path], jobs: int) -> None:
    """Import once what every child would import: what these files, one of each package, need from elsewhere.

    packages: top-level names whose `__init__` may fail. Meant for a process of its own: torch is made to answer as on
    a machine with a GPU of this target.
    """
    activate(target)
    warm_up(target)
    pretend_gpu(target)
    allocate_on_cpu()
    forgive(packages)
    # In a child: what packages register with torch when they are loaded can be registered once, by each side itself.
    outcomes = run_forked([functools.partial(_modules_behind, file) for file in samples], timeout=300, jobs=jobs)
    for name in dict.fromkeys(name for outcome in outcomes for name in outcome.value or ()):
        if name.partition(".")[0] not in packages and name not in sys.modules:
            with contextlib.suppress(Exception, SystemExit):
                importlib.import_module(name)


def _modules_behind(file: Path) -> list[str]:
    """The modules that are loaded after this file is."""
    name, root = module_name(file.resolve())
    sys.path.insert(0, str(root))
    with contextlib.suppress(Exception, SystemExit):
        importlib.import_module(name)
    return list(sys.modules)


def compile_sides(
    requests: Sequence[SideRequest],
    cache: ResultCache,
    *,
    jobs: int,
    progress: Callable[[int, int, str], None],
) -> list[dict[str, CompiledSpec]]:
    """For each request (one side of one file) what came of each kernel that its guesses name, by qualified name.

    A file that cannot be loaded gives every kernel the reason as a failure.
    """
    found: list[dict[str, CompiledSpec]] = []
    todo: list[tuple[int, SideRequest]] = []
    for index, request in enumerate(requests):
        keys = {guess.kernel: cache.key(request, guess.kernel) for guess in request.guesses}
        found.append({kernel: cache.results[key] for kernel, key in keys.items() if key in cache.results})
        missing = tuple(guess for guess in request.guesses if guess.kernel not in found[index])
        if missing:
            todo.append((index, replace(request, guesses=missing)))

    ended = 0

    def done(position: int, outcome: object) -> None:
        nonlocal ended
        ended += 1
        index, request = todo[position]
        results = _results(outcome, request)
        found[index].update(results)
        for kernel, result in results.items():
            if isinstance(result.result, CompileFailure) and result.result.reason == "load":
                continue
            cache.results[cache.key(requests[index], kernel)] = result
        if ended % 5 == 0:
            cache.save()
        progress(ended, len(todo), request.path)

    run_forked([functools.partial(compile_side, one) for _, one in todo], timeout=_FILE_LIMIT, jobs=jobs, done=done)
    cache.save()
    return found


def _results(outcome: object, request: SideRequest) -> dict[str, CompiledSpec]:
    side = getattr(outcome, "value", None)
    if isinstance(side, Side) and side.compiled:
        return {guess.kernel: one for guess, one in zip(request.guesses, side.compiled, strict=True)}
    if isinstance(side, Side) and side.diagnostics:
        first: Diagnostic = side.diagnostics[0]
        reason, message, path, line = "load", first.message, first.path, first.line
    else:
        last = (getattr(outcome, "output", "").strip().splitlines() or ["no output"])[-1]
        reason, message, path, line = "load", f"{getattr(outcome, 'ended', '?')}: {last}", request.path, 1
    return {
        guess.kernel: CompiledSpec(
            guess.kernel, "", CompileFailure(guess.kernel, request.target, reason, message, path, line), True
        )
        for guess in request.guesses
    }
