"""What is timed: the inputs that the fixtures' cases give for it, and sizes off the block beside them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from inspect import signature
from types import ModuleType
from typing import Any

Inputs = dict[str, Any]

FIXTURES = ("vector_add", "softmax", "rms_norm", "layer_norm", "cross_entropy", "matmul", "attention")


@dataclass(frozen=True)
class Bench:
    """One row of the table.

    Attributes:
        label: shape and type.
        build: makes the arguments of the case's `launch`.
        bar: whether the bars hold for it; the others are reported.
        kernels: the kernels that are timed, of those that `launch` launches; empty: all of them.
    """

    label: str
    build: Callable[[], Inputs]
    bar: bool = False
    kernels: tuple[str, ...] = ()


def _normal(*shape: int, dtype: str = "bfloat16") -> Any:
    import torch

    return torch.randn(*shape, device="cuda", dtype=getattr(torch, dtype))


def _vector_add(count: int, dtype: str = "bfloat16") -> Inputs:
    return {"x": _normal(count, dtype=dtype), "y": _normal(count, dtype=dtype)}


def _rms_norm(rows: int, cols: int, backward: bool = False) -> Inputs:
    x, weight = _normal(rows, cols), _normal(cols)
    return {"x": x, "weight": weight, "dy": _normal(rows, cols) if backward else None}


def _layer_norm(rows: int, cols: int) -> Inputs:
    return {"x": _normal(rows, cols), "weight": _normal(cols), "bias": _normal(cols)}


def _cross_entropy(rows: int, cols: int) -> Inputs:
    import torch

    return {"logits": _normal(rows, cols), "target": torch.randint(0, cols, (rows,), device="cuda")}


def _softmax(rows: int, cols: int, backward: bool = False) -> Inputs:
    return {"x": _normal(rows, cols), "dy": _normal(rows, cols) if backward else None}


_MORE: dict[str, tuple[Bench, ...]] = {
    "vector_add": (
        Bench("2^28-3 bf16", lambda: _vector_add(2**28 - 3)),
        Bench("2^27 fp32", lambda: _vector_add(2**27, "float32")),
    ),
    "softmax": (
        Bench("16384x8191 bf16", lambda: _softmax(16384, 8191)),
        Bench("65536x1000 bf16", lambda: _softmax(65536, 1000)),
        Bench(
            "16384x8192 bf16, backward",
            lambda: _softmax(16384, 8192, backward=True),
            kernels=("softmax_backward_kernel",),
        ),
    ),
    "rms_norm": (
        Bench("8192x4100 bf16", lambda: _rms_norm(8192, 4100)),
        Bench("8192x4095 bf16", lambda: _rms_norm(8192, 4095)),
        Bench(
            "8192x4096 bf16, backward",
            lambda: _rms_norm(8192, 4096, backward=True),
            kernels=("_rms_norm_backward_kernel",),
        ),
    ),
    "layer_norm": (
        Bench("8192x8192 bf16", lambda: _layer_norm(8192, 8192)),
        Bench("8192x8191 bf16", lambda: _layer_norm(8192, 8191)),
    ),
    "cross_entropy": (
        Bench("4096x32768 bf16", lambda: _cross_entropy(4096, 32768)),
        Bench("4096x32001 bf16", lambda: _cross_entropy(4096, 32001)),
    ),
}


def benches(fixture: str, case: ModuleType, device: str, quick: bool) -> Iterator[Bench]:
    """The rows of one fixture: those of its `bench_inputs`, for which the bars hold, then the others.

    Args:
        case: the case of the fixture.
        device: on `cpu` the only row is the case's small inputs, without a bar: it shows that the script works.
        quick: only the smallest of `bench_inputs`.
    """
    if device == "cpu":
        # The locks of the backward pass of layer_norm are set by its host code: its kernels alone cannot run again.
        without = {"dy": None} if fixture == "layer_norm" else {}
        yield Bench("case, seed 1", lambda: {**case.make_inputs(device, 1), **without})
        return
    # The literal port has no pipeline: it is held against a Triton that does not pipeline either.
    plain = {"num_stages": 1} if "num_stages" in signature(case.bench_inputs).parameters else {}
    found = list(case.bench_inputs(device, **plain))
    for label, inputs in found[-1:] if quick else found:
        yield Bench(label, lambda inputs=inputs: inputs, bar=True)  # type: ignore[misc]
    found.clear()
    if not quick:
        yield from _MORE.get(fixture, ())
