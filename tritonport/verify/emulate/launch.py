"""One launch: arguments bound, every program of the grid run in the order of its id."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler.compiler import make_backend
from triton.compiler.errors import CompilationError, CompileTimeAssertionFailure

from tritonport.verify.emulate.arguments import Binder
from tritonport.verify.emulate.builder import Builder
from tritonport.verify.emulate.elementwise import convert_fp8e4b15
from tritonport.verify.emulate.errors import EmulationError, Fault, Frame, NotEmulated, Unsupported
from tritonport.verify.emulate.exact_memory import ExactMemory
from tritonport.verify.emulate.exact_ops import ExactBuilder
from tritonport.verify.emulate.generator import Generator
from tritonport.verify.emulate.kept import kept_of
from tritonport.verify.emulate.layouts import GluonBuilder
from tritonport.verify.emulate.memory import MaskUse
from tritonport.verify.emulate.programs import Run
from tritonport.verify.emulate.semantic import EmulatedGluon, EmulatedTriton
from tritonport.verify.emulate.shared import Place

_PROGRAMS_UNDER_ALL_SCHEDULES = 4

_TRITON = os.path.dirname(triton.__file__)


@dataclass(frozen=True)
class Settings:
    """How kernels are run.

    ``target``: the GPU that is played ("sm_90" ...). ``poison_masked``: lanes of a masked load without ``other`` hold
    NaN (or a large integer) instead of zero. ``check_asserts``: a false ``device_assert`` or ``assert`` is an error;
    a GPU checks them in debug mode only. ``time_limit``: seconds for one launch. ``loop_limit``: iterations of one
    loop. ``schedules``: how many schedules the first programs of a kernel with ``warp_specialize`` run under, each from
    the same state of memory; the results must agree.
    """

    target: str = "sm_90"
    poison_masked: bool = False
    check_asserts: bool = True
    time_limit: float = 300.0
    loop_limit: int = 10_000_000
    schedules: int = 3

    @property
    def gpu(self) -> Any:
        """The target as Triton's own description of it."""
        if not self.target.removeprefix("sm_").isdigit():
            raise ValueError(f"unknown target {self.target!r}: only NVIDIA targets such as sm_90 are emulated")
        return GPUTarget("cuda", int(self.target.removeprefix("sm_")), 32)


@dataclass(frozen=True)
class LaunchRecord:
    """A launch that has run. ``dialect`` is "triton" or "gluon"."""

    kernel: str
    grid: tuple[int, int, int]
    num_warps: int
    dialect: str


@lru_cache(maxsize=64)
def _backend_options(gpu: Any, given: tuple[tuple[str, Any], ...], check_asserts: bool) -> Any:
    backend = make_backend(gpu)
    # Only the compiler reads it; naming it keeps Triton 3.9 from warning that its default will change.
    options = backend.parse_options({"enable_fp_fusion": False, **dict(given)})
    # Overflow checks would double every integer operation.
    return replace(options, debug=check_asserts or options.debug, sanitize_overflow=False)


def backend_options(settings: Settings, given: dict[str, Any]) -> Any:
    """The options of a launch as the compiler's backend completes them."""
    return _backend_options(settings.gpu, tuple(sorted(given.items())), settings.check_asserts)


def split_options(kernel: Any, gpu: Any, keywords: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Divide the keywords of a launch into the kernel's arguments and the compiler's options, as the launcher does."""
    known = _backend_options(gpu, (), False).__dict__
    arguments = {name: value for name, value in keywords.items() if name in kernel.signature.parameters}
    options = {name: value for name, value in keywords.items() if name not in arguments}
    for name in options:
        if name not in known:
            raise KeyError(f"Keyword argument {name} was specified but unrecognised")
    return arguments, options


class Launch:
    """Runs one kernel over one grid."""

    def __init__(
        self,
        kernel: Any,
        settings: Settings,
        options: dict[str, Any],
        reachable: Iterable[Any],
        masks: dict[Place, MaskUse] | None = None,
        exact: ExactMemory | None = None,
    ) -> None:
        """Args:
        reachable: tensors that are no arguments and may be touched.
        exact: for an exact run, what it keeps.
        masks: filled, for Gluon kernels, with what the masked accesses of each line have met.
        """
        self._kernel = kernel
        self._name = kernel.__name__
        gpu = settings.gpu
        self.options = backend_options(settings, options)
        backend = make_backend(gpu)
        functions = {**backend.get_codegen_implementation(self.options), "convert_custom_types": convert_fp8e4b15}
        modules = backend.get_module_map()
        is_gluon = kernel.is_gluon()
        builder: Builder
        if is_gluon and self.options.num_ctas > 1:
            raise NotEmulated("clusters of several CTAs are not emulated", kernel=self._name)
        if is_gluon and exact is not None:
            raise NotEmulated("an exact run is one of Triton kernels", kernel=self._name)
        if is_gluon:
            target = f"cuda:{gpu.arch}"
            builder = GluonBuilder(self.options, functions, modules, target)
            semantic: Any = EmulatedGluon(builder)
        else:
            given = (self.options, functions, modules)
            builder = Builder(*given) if exact is None else ExactBuilder(*given, exact)
            semantic = EmulatedTriton(builder)
        builder.poison_masked = settings.poison_masked
        for tensor in reachable:
            builder.memory.add("a tensor made reachable", tensor)
        self._builder = builder
        self._schedules = settings.schedules
        deadline = time.monotonic() + settings.time_limit
        self._count = 0
        kept = kept_of(type(builder).__name__, self.options)
        self._run = Run(builder, semantic, is_gluon, deadline, settings.loop_limit, kept)
        if isinstance(builder, GluonBuilder):
            builder.where, builder.site, builder.switch = self._run.where, self._run.site, self._run.switch
            builder.masks = masks

    def run(self, arguments: dict[str, Any], grid: Any) -> LaunchRecord:
        """Run every program. Raises :class:`EmulationError`; what earlier programs wrote stays written."""
        binder = Binder(self._run.semantic)
        try:
            values = {param.name: binder.value(param, arguments[param.name]) for param in self._kernel.params}
        except (EmulationError, Fault, Unsupported, ValueError, AssertionError, TypeError) as error:
            raise self._described(error, None) from error
        if callable(grid):
            grid = grid(arguments)
        extents = [int(extent) for extent in (grid if isinstance(grid, tuple | list) else (grid,))]
        if not 1 <= len(extents) <= 3:
            raise EmulationError(f"a grid has 1 to 3 dimensions, not {len(extents)}", kernel=self._name)
        x_extent, y_extent, z_extent = (*extents, 1, 1)[:3]
        self._builder.grid = (x_extent, y_extent, z_extent)
        with np.errstate(all="ignore"):
            for z in range(z_extent):
                for y in range(y_extent):
                    for x in range(x_extent):
                        self._program(values, (x, y, z))
        dialect = "gluon" if self._run.is_gluon else "triton"
        return LaunchRecord(self._name, (x_extent, y_extent, z_extent), self.options.num_warps, dialect)

    def _program(self, values: dict[str, Any], program: tuple[int, int, int]) -> None:
        self._builder.program = program
        self._run.failure.clear()
        try:
            self._run.check_time()
            if isinstance(self._builder, GluonBuilder):
                self._gluon_program(self._builder, values)
            else:
                Generator(self._run, self._kernel).call(dict(values))
        except Exception as error:
            raise self._described(error, program) from error
        self._run.first_program = False
        self._count += 1

    def _gluon_program(self, builder: GluonBuilder, values: dict[str, Any]) -> None:
        """Run a program; one with partitions under several schedules, if it is among the first."""
        memory = builder.memory
        several = self._schedules > 1 and self._count < _PROGRAMS_UNDER_ALL_SCHEDULES
        memory.journal = [] if several else None
        seed = 0 if several else self._count % max(1, self._schedules)
        result: bytes | None = None
        while True:
            builder.start_program(seed)
            self._run.switch(builder.partition)
            Generator(self._run, self._kernel).call(dict(values))
            builder.end_program()
            if memory.journal is None or not builder.specialized:
                break
            contents = memory.contents(memory.journal)
            if result is not None and contents != result:
                raise Fault("the results depend on the order in which the partitions run")
            result, seed = contents, seed + 1
            if seed == self._schedules:
                break
            memory.undo(memory.journal)
            memory.journal.clear()
        memory.journal = None

    def _described(self, error: Exception, program: tuple[int, int, int] | None) -> EmulationError:
        root = error
        while isinstance(root.__cause__, Exception) and not isinstance(root, EmulationError | Fault | Unsupported):
            root = root.__cause__
        kind = NotEmulated if isinstance(root, Unsupported | NotEmulated) else EmulationError
        # Nothing has run yet where an argument is at fault: the place is the kernel's definition.
        frame = _innermost(self._run.failure) or Generator(self._run, self._kernel).place()
        place = getattr(root, "place", None) or frame
        return kind(
            _message(root, frame),
            kernel=self._name,
            path=place.path,
            line=place.line,
            program=program,
        )


def _innermost(frames: list[Frame]) -> Frame | None:
    """The innermost frame in the user's own source: Triton's library functions are not where the mistake is."""
    own = [frame for frame in frames if not frame.path.startswith(_TRITON)]
    return (own or frames or [None])[-1]  # type: ignore[list-item]


def _message(error: Exception, frame: Frame) -> str:
    if isinstance(error, EmulationError):
        return error.message
    if isinstance(error, Fault | Unsupported):
        return str(error)
    if isinstance(error, CompileTimeAssertionFailure):
        return f"static_assert failed: {error.error_message}" if error.error_message else "static_assert failed"
    if isinstance(error, CompilationError):
        return str(error.error_message)
    if not str(error):
        return f"{type(error).__name__} in `{frame.source}`"
    return f"{type(error).__name__}: {error}"
