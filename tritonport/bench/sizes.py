"""What a case offers to time: sets of inputs, and how much work they are.

Beside what every case has (`tritonport.verify.case`), it may define

    bench_inputs(device, ...)   yields pairs of a label and the arguments of `launch`; parameters beyond the device are
                                sizes that the user may choose, with defaults
    bench_work(**inputs)        a dict of what `launch` does with them: flops=, bytes=, dtype= (of torch, by name; tf32)

Without `bench_inputs`, the case's own inputs are timed, one set for each seed.
"""

import inspect
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from tritonport.bench.result import Work
from tritonport.report.diagnostic import Diagnostic, InputError
from tritonport.verify import codes
from tritonport.verify.case import DEFAULT_SEEDS, Case, Inputs
from tritonport.verify.isolate import report_phase
from tritonport.verify.modules import module_name
from tritonport.verify.places import first_line
from tritonport.verify.side import seed_everything

Chosen = Mapping[tuple[str, ...], Sequence[Any]]
"""The values of the sizes that the user asked for, by the names that share them: `M,N=64,128` is two squares."""


@dataclass(frozen=True)
class Size:
    """One set of inputs to time.

    Attributes:
        label: shape and type.
        build: gives the arguments of `launch`.
        sizes: the values that the user asked for.
        kernels: the kernels that are timed, of those that `launch` launches; empty: all of them.
    """

    label: str
    build: Callable[[], Inputs]
    sizes: Mapping[str, Any] = field(default_factory=dict)
    kernels: tuple[str, ...] = ()


def case_module(case: Case) -> ModuleType:
    """The module of a case, which may be the kernel file itself."""
    return case.space.load(module_name(case.path)[0])


def sizes_of(case: Case, device: str, chosen: Chosen, seeds: Sequence[int] | None = None) -> Iterator[Size]:
    """The sets of inputs of a case.

    Args:
        device: that the tensors are on: `cuda`, or `cpu` in the emulator.
        chosen: sizes to use in place of the case's; every combination of them.
        seeds: for a case without `bench_inputs`, in place of its own.

    Raises InputError for sizes that the case does not have (TP813), and where it raises (TP804).
    """
    function = getattr(case_module(case), "bench_inputs", None)
    known = _parameters(function)
    for name in itertools.chain(*chosen):
        if function is None or (name not in known and "**" not in known):
            raise _no_size(case, name, known)
    if function is None:
        for seed in seeds or case.seeds or DEFAULT_SEEDS:
            yield Size(f"seed {seed}", _seeded(case, device, seed))
        return
    for values in itertools.product(*chosen.values()):
        sizes = {name: value for names, value in zip(chosen, values, strict=True) for name in names}
        for label, inputs in _rows(case, function, device, sizes):
            yield Size(label, lambda inputs=inputs: inputs, sizes)  # type: ignore[misc]


def _parameters(function: Callable[..., Any] | None) -> list[str]:
    """The sizes that `bench_inputs` takes; `**` stands for any."""
    if function is None:
        return []
    found = list(inspect.signature(function).parameters.values())[1:]
    return ["**" if one.kind is inspect.Parameter.VAR_KEYWORD else one.name for one in found]


def _no_size(case: Case, name: str, known: Sequence[str]) -> InputError:
    has = f"it has {', '.join(known)}" if known else "it has no bench_inputs(device, ...) with sizes as parameters"
    return InputError(Diagnostic(codes.CASE_PROTOCOL, f"the case has no size {name!r}: {has}", _shown(case), 1, 1))


def _shown(case: Case) -> str:
    """The path of a case as the user named it."""
    return case.files.get(str(case.path), str(case.path))


def _seeded(case: Case, device: str, seed: int) -> Callable[[], Inputs]:
    def build() -> Inputs:
        seed_everything(seed)
        return case.inputs(device, seed, {})

    return build


def _rows(
    case: Case, function: Callable[..., Any], device: str, sizes: Mapping[str, Any]
) -> Iterator[tuple[str, Inputs]]:
    # One after another: the inputs of all sizes at once may be more than the device holds.
    seed_everything(0)
    rows = iter(_called(case, "bench_inputs", function, device, **sizes))
    while True:
        report_phase("original: bench_inputs of the case")
        row = _called(case, "bench_inputs", next, rows, None)
        if row is None:
            return
        label, inputs = row
        yield str(label), dict(inputs)


def _called(case: Case, name: str, function: Callable[..., Any], *args: Any, **keywords: Any) -> Any:
    """Calls a function of the case with its modules in place. Raises InputError (TP804) where it raises."""
    try:
        with case.space.active():
            return function(*args, **keywords)
    except Exception as error:
        message = f"{name} of the case raises: {first_line(error)}"
        raise InputError(Diagnostic(codes.RAISED, message, _shown(case), 1, 1)) from error


def work_of(case: Case, inputs: Inputs, counted: int) -> Work:
    """What a run of `launch` does: by `bench_work` of the case, else the bytes of the launches' tensors.

    Raises InputError where `bench_work` raises (TP804) or returns something else than it may (TP813).
    """
    function = getattr(case_module(case), "bench_work", None)
    if function is None:
        return Work(counted)
    said = _called(case, "bench_work", function, **inputs)
    if not isinstance(said, Mapping) or said.keys() - {"flops", "bytes", "dtype"}:
        message = "bench_work of the case does not return dict(flops=, bytes=, dtype=)"
        raise InputError(Diagnostic(codes.CASE_PROTOCOL, message, _shown(case), 1, 1))
    flops, dtype = said.get("flops"), said.get("dtype")
    return Work(
        bytes=int(said.get("bytes", counted)),
        counted="bytes" not in said,
        flops=None if flops is None else float(flops),
        dtype=str(dtype).removeprefix("torch.") if dtype is not None else _dtype(inputs),
    )


def _dtype(inputs: Inputs) -> str | None:
    """The type of the first floating-point tensor."""
    from tritonport.verify.tensors import input_leaves

    kinds = (leaf.dtype for leaf in input_leaves(inputs).values() if leaf.dtype.is_floating_point)
    return next((str(kind).removeprefix("torch.") for kind in kinds), None)
