"""Offline compile of one kernel: no GPU, no driver, in a forked child."""

from __future__ import annotations

import contextlib
import functools
import io
import os
import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tritonport.layouts.recover.numbering import number_locations
from tritonport.verify.compile import ptx, ptxas
from tritonport.verify.compile.diagnose import from_crash, from_exception
from tritonport.verify.compile.forked import Outcome, run_forked
from tritonport.verify.compile.resources import CompileError, CompileFailure, Resources
from tritonport.verify.compile.spec import CompileSpec, SpecError, complete
from tritonport.verify.compile.target import activate, gpu_target, normalise

DEFAULT_TIMEOUT = 120.0


@functools.cache
def warm_up(target: str) -> None:
    """Do once per process what every compile would repeat after the fork: import, hash the compiler, ask ptxas."""
    # Gluon as a whole comes with the front end: an eighth of the time of a small compile.
    import triton.compiler.code_generator  # noqa: F401
    from triton.compiler.compiler import make_backend

    from tritonport.verify.compile import ttgir  # noqa: F401

    try:
        from triton.runtime.cache import triton_key
    except ImportError:
        from triton.compiler.compiler import triton_key
    triton_key()
    make_backend(gpu_target(target)).hash()


def _source(spec: CompileSpec) -> Any:
    if spec.fn.is_gluon():
        from triton.experimental.gluon._runtime import GluonASTSource as Source
    else:
        from triton.compiler import ASTSource as Source
    index = {name: position for position, name in enumerate(spec.fn.arg_names)}
    constants = {(index[name],): value for name, value in spec.constexprs.items()}
    signature = dict(spec.signature)
    if spec.fn.is_gluon():
        signature = {name: _descriptor_type(kind) for name, kind in signature.items()}
    return Source(spec.fn, signature, constants, spec.attrs)


def _descriptor_type(kind: str) -> str:
    """`tensordesc<fp16[64,64]>`, as Triton spells it, with the layout that Gluon's descriptors have."""
    found = re.fullmatch(r"tensordesc<(\w+)\[([\d,\s]+)\]>", kind)
    if found is None:
        return kind
    from triton._utils import get_primitive_bitwidth
    from triton.experimental.gluon import language as gl

    block = [int(size) for size in found[2].split(",")]
    dtype = getattr(gl, f"int{get_primitive_bitwidth(found[1])}")
    layout = gl.NVMMASharedLayout.get_default_for(block, dtype)
    return f"tensordesc<{found[1]}[{','.join(map(str, block))}],{layout!r}>"


def _forget_pipelining() -> None:
    """Make ``tl.range`` drop num_stages, warp_specialize and flatten: with num_stages=1 nothing is to be pipelined.

    ``flatten`` makes one loop of a nest "to pipeline the flattened loop" (``tl.range``). Without a pipeline it only
    computes what the outer loop computes under a condition in the inner one, and carries it.
    """
    import triton.language as tl

    original = tl.range.__init__

    @functools.wraps(original)
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        self.num_stages = None
        self.flatten = False
        self.warp_specialize = False

    tl.range.__init__ = init


def _compile_here(spec: CompileSpec, target: str, cache: Path) -> Resources | CompileFailure:
    """Compile in this process, which must be a child made for it: environment, driver and tl.range are changed."""
    os.environ.update(
        TRITON_CACHE_DIR=str(cache),
        TRITON_DEFAULT_FP_FUSION="1",
        TRITON_ALWAYS_COMPILE="1",
        TRITON_DUMP_PTXAS_LOG="1",
        TRITON_DISABLE_LINE_INFO="0",
    )
    tempfile.tempdir = str(cache)
    import triton
    from triton.compiler import compile as triton_compile

    from tritonport.verify.compile.ttgir import conversions

    activate(target)
    if spec.numbered:
        number_locations()
    if not spec.as_launched:
        _forget_pipelining()
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed):
            options = {"num_warps": spec.num_warps, "num_stages": spec.num_stages, **spec.options}
            kernel = triton_compile(_source(spec), target=gpu_target(target), options=options)
    except Exception as error:
        message, path, line = from_exception(error, spec.fn, _written())
        details = f"{error}\n{_written()}".strip()
        return CompileFailure(spec.kernel, target, "error", message, path, line, details)
    log = printed.getvalue()
    info = ptxas.parse(log)
    if info is None:
        return CompileFailure(spec.kernel, target, "error", "ptxas printed no register count", details=log)
    text = kernel.asm["ptx"]
    moving, free = conversions(kernel.asm["ttgir"], gpu_target(target))
    return Resources(
        kernel=spec.kernel,
        language="gluon" if spec.fn.is_gluon() else "triton",
        target=target,
        triton=triton.__version__,
        num_warps=kernel.metadata.num_warps,
        registers=info.registers,
        spill_stores=info.spill_stores,
        spill_loads=info.spill_loads,
        stack=info.stack,
        shared=kernel.metadata.shared,
        barriers=ptx.barriers(text),
        moving=moving,
        free_conversions=free,
        accesses=ptx.accesses(text),
        mma=ptx.mma_kinds(text),
        meanings=ptx.meanings(text),
        ptx=text,
        ttgir=kernel.asm["ttgir"],
        source=str(kernel.asm.get("source", "")),
        printed=ptxas.without_log(log),
    )


def _written() -> str:
    """What this child has written to its standard error so far: file descriptor 2 is a file in a forked child."""
    os.fsync(2)
    with open("/proc/self/fd/2", errors="replace") as stream:
        return stream.read()


def _settle(spec: CompileSpec, target: str, outcome: Outcome[Resources | CompileFailure]) -> Resources | CompileFailure:
    path = spec.fn.fn.__code__.co_filename
    if outcome.ended == "returned" and outcome.value is not None:
        return outcome.value
    if outcome.ended == "timeout":
        return CompileFailure(spec.kernel, target, "timeout", "the compile took too long", path, 0, outcome.output)
    if outcome.ended == "raised":
        last = outcome.output.strip().splitlines()[-1]
        return CompileFailure(spec.kernel, target, "crash", last, path, 0, outcome.output)
    message, where, line = from_crash(outcome.output, outcome.status, path)
    return CompileFailure(spec.kernel, target, "crash", message, where, line, outcome.output)


def compile_specs(
    specs: Sequence[CompileSpec],
    target: str,
    *,
    timeout: float = DEFAULT_TIMEOUT,
    jobs: int = 1,
    cache: Path | None = None,
) -> list[Resources | CompileFailure]:
    """Compile every specification for `target`, each in a forked child, and give the results in order.

    timeout: seconds per kernel. cache: where Triton's cache (the IR of every stage) is kept; None: a temporary
    directory, removed afterwards. A failure is a value, never an exception. UnknownTarget for a target not known.
    """
    target = normalise(target)
    warm_up(target)
    with tempfile.TemporaryDirectory(prefix="tritonport-") as scratch:

        def task(index: int, spec: CompileSpec) -> Callable[[], Resources | CompileFailure]:
            folder = (cache if cache is not None else Path(scratch)) / f"{spec.kernel}-{target}-{index}"
            folder.mkdir(parents=True, exist_ok=True)
            return lambda: _compile_here(spec, target, folder)

        calls = [task(index, spec) for index, spec in enumerate(specs)]
        outcomes = run_forked(calls, timeout=timeout, jobs=jobs)
    return [_settle(spec, target, outcome) for spec, outcome in zip(specs, outcomes, strict=True)]


def compile_kernel(
    spec: CompileSpec | Mapping[str, Any],
    target: str,
    *,
    as_launched: bool = False,
    timeout: float = DEFAULT_TIMEOUT,
    cache: Path | None = None,
) -> Resources:
    """Compile one kernel for `target` and give what it uses.

    spec: an entry of ``COMPILE_SPECS`` or a complete specification. as_launched: with the software pipelining the
    source asks for (see :func:`~tritonport.verify.compile.spec.complete`). Raises CompileError.
    """
    if isinstance(spec, Mapping):
        entry = spec
        try:
            spec = complete(entry, as_launched=as_launched)
        except SpecError as error:
            name = getattr(entry.get("fn"), "__name__", "?")
            raise CompileError(CompileFailure(str(name), normalise(target), "spec", str(error))) from error
    result = compile_specs([spec], target, timeout=timeout, cache=cache)[0]
    if isinstance(result, CompileFailure):
        raise CompileError(result)
    return result
