"""Comparing what the port computed with what the original did.

Equal means equal bit for bit, except that any NaN equals any other. What is not equal is measured: the error of both
sides against a reference in float64. The port may have at most twice the error of the original, in the maximum and in
the root of the mean square, or half a unit in the last place of the result's type where that is more: no correctly
rounded result is better. Where the original computes something else each time it runs (a sum by atomics), one run says
little about its error: the largest of several is taken.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from tritonport.verify import codes
from tritonport.verify.case import Tolerance
from tritonport.verify.poison import is_poison

RATIO = 2.0
"""How much larger than the original's error the port's may be."""

OF_CASE = "float64"
EXACT_RUN = "an exact run of the original"
MEAN_OF_RUNS = "the mean of the original's runs"
"""What a reference may be: the case's, or what takes its place."""

_FAR = 2.0**-6
"""How far the original may be from an exact run of it, as a share of the size: a few roundings to bfloat16. Further
off, rounding is not what makes the difference: the kernel computes something else in float64."""

_DEFAULT_TOLERANCE: Mapping[str, tuple[float, float]] = {
    "torch.float64": (1e-7, 1e-7),
    "torch.float32": (1.3e-6, 1e-5),
    "torch.float16": (1e-3, 1e-5),
    "torch.bfloat16": (1.6e-2, 1e-5),
}
"""(rtol, atol) by type, as `torch.testing.assert_close` has them; other floats: one unit in the last place."""


@dataclass(frozen=True)
class Error:
    """How far a result is from a reference: the largest and the root-mean-square absolute difference."""

    largest: float
    rms: float

    def __str__(self) -> str:
        return f"max {self.largest:.3g} rms {self.rms:.3g}"


@dataclass(frozen=True)
class Difference:
    """One result that is not equal bit for bit.

    Attributes:
        code: TP801 for values, shapes and types, TP802 for NaN and infinity on one side only.
        text: what differs, where first, and by how much.
        count, total: elements that differ, and all.
        ulp: the largest distance in units in the last place; None where it has no meaning.
        atol, rtol: each alone, the tolerance that would pass; None where none would.
        source: what the errors are against; empty where there is no reference.
        port, original: the errors against the reference; None where there is none.
        allowed: the error that the port may have; None where there is no reference.
    """

    code: str
    text: str
    count: int = 0
    total: int = 0
    ulp: int | None = None
    atol: float | None = None
    rtol: float | None = None
    source: str = ""
    port: Error | None = None
    original: Error | None = None
    allowed: Error | None = None

    @property
    def tolerable(self) -> bool:
        """Whether the port is as good as the original."""
        if self.code != codes.MISMATCH or self.port is None or self.allowed is None:
            return False
        return self.port.largest <= self.allowed.largest and self.port.rms <= self.allowed.rms


def _as_tensor(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        value = value.detach()
        return torch.view_as_real(value.resolve_conj()) if value.is_complex() else value
    if isinstance(value, complex):
        return torch.tensor([value.real, value.imag], dtype=torch.float64)
    kind = torch.float64 if isinstance(value, float) else torch.bool if isinstance(value, bool) else torch.int64
    return torch.tensor(value, dtype=kind)


_BITS = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


def _bits(tensor: Any) -> Any:
    return tensor.contiguous().view(_BITS[tensor.dtype.itemsize])


def _double(tensor: Any) -> Any:
    # The eight-bit floats convert by way of float32 only.
    return (tensor.float() if tensor.dtype.itemsize == 1 and tensor.dtype.is_floating_point else tensor).double()


def _nan(tensor: Any) -> Any:
    return _double(tensor).isnan() if tensor.dtype.is_floating_point else torch.zeros_like(tensor, dtype=torch.bool)


def _infinite(tensor: Any) -> Any:
    return _double(tensor).isinf() if tensor.dtype.is_floating_point else torch.zeros_like(tensor, dtype=torch.bool)


def _first(mask: Any) -> tuple[int, ...]:
    return tuple(int(i) for i in mask.nonzero()[0])


def _show(tensor: Any, index: tuple[int, ...]) -> str:
    value = tensor[index]
    return f"{_double(value).item():.9g}" if value.dtype.is_floating_point else str(value.item())


def _at(index: tuple[int, ...]) -> str:
    return f" at [{', '.join(map(str, index))}]" if index else ""


def _exact_difference(a: Any, b: Any) -> Any:
    """a - b in float64: exact up to its rounding also for large integers."""
    if not a.dtype.is_floating_point and not b.dtype.is_floating_point and torch.uint64 not in (a.dtype, b.dtype):
        return (a.long() - b.long()).double()
    return _double(a) - _double(b)


def _error(difference: Any) -> Error:
    if difference.numel() == 0:
        return Error(0.0, 0.0)
    return Error(float(difference.abs().max()), float(difference.square().mean().sqrt()))


def _ulps(a: Any, b: Any, mask: Any) -> int | None:
    if not a.dtype.is_floating_point or not bool(mask.any()):
        return None
    ordered = []
    for tensor in (a, b):
        bits = _bits(tensor)[mask].long()
        # Negative floats count downwards from zero.
        ordered.append(torch.where(bits >= 0, bits, torch.iinfo(_BITS[a.dtype.itemsize]).min - bits))
    # Of unequal signs, the distance may not fit into an int64.
    wide = (ordered[0] < 0) != (ordered[1] < 0)
    apart = (ordered[0] - ordered[1]).abs()[~wide]
    across = (ordered[0].double() - ordered[1].double()).abs()[wide]
    return max(int(part.max()) for part in (apart, across) if part.numel())


def equal_mask(original: Any, port: Any) -> Any:
    """Where two tensors of one shape and type are equal: the same bits, or NaN on both sides."""
    return (_bits(original) == _bits(port)) | (_nan(original) & _nan(port))


def same_bits(a: Any, b: Any) -> Any:
    """Where two tensors of one shape and type have the same bits, those of NaN too."""
    return _bits(a) == _bits(b)


def bitwise_equal(a: Any, b: Any) -> bool:
    """Whether two leaves have the same shape, type and elements."""
    a, b = _as_tensor(a), _as_tensor(b)
    return bool(a.shape == b.shape and a.dtype == b.dtype and a.device == b.device and equal_mask(a, b).all())


def _shape(tensor: Any) -> str:
    kind = str(tensor.dtype).removeprefix("torch.")
    return f"{kind}[{', '.join(map(str, tensor.shape))}] on {tensor.device}"


def _ratio_bound(original: Any, reference: Any, error: Error) -> Error:
    """The error that the port may have: twice the original's, but no less than rounding alone makes."""
    unit = torch.finfo(original.dtype).eps / 2 if original.dtype.is_floating_point else 0.0
    if reference.dtype.is_floating_point and reference.dtype != torch.float64:
        unit = max(unit, torch.finfo(reference.dtype).eps / 2)
    size = _error(_double(reference)[_double(reference).isfinite()])
    return Error(max(RATIO * error.largest, unit * size.largest), max(RATIO * error.rms, unit * size.rms))


def compare(
    name: str,
    original: Any,
    port: Any,
    reference: Any = None,
    repeats: Sequence[Any] = (),
    source: str = OF_CASE,
) -> Difference | None:
    """The difference of one result; None where the port's is equal.

    Args:
        name: of the result, for the message.
        original, port: tensors or numbers.
        reference: what it should be, in any floating or integer type; None where that is unknown.
        repeats: what further runs of the original gave, of the shape and type of `original`.
        source: where the reference comes from.
    """
    if not isinstance(original, torch.Tensor) and not isinstance(port, torch.Tensor) and original == port:
        return None
    original, port = _as_tensor(original), _as_tensor(port)
    if original.shape != port.shape or original.dtype != port.dtype or original.device != port.device:
        return Difference(codes.MISMATCH, f"{name} differs: port {_shape(port)}, original {_shape(original)}")
    equal = equal_mask(original, port)
    if bool(equal.all()):
        return None
    total, count = equal.numel(), int((~equal).sum())
    special = _special_difference(name, original, port)
    if special is not None:
        return Difference(codes.NAN_MISMATCH, special, count, total)
    finite = ~(_nan(original) | _infinite(original))
    delta = _exact_difference(port, original)
    delta = torch.where(finite, delta, torch.zeros_like(delta))
    first, worst = _first(~equal), _first(delta.abs() == delta.abs().max())
    error = _error(delta)
    ulp = _ulps(port, original, ~equal & finite)
    text = f"{name} differs{_at(first)}: port {_show(port, first)}, original {_show(original, first)}"
    if worst != first:
        text += f"; worst{_at(worst)}: port {_show(port, worst)}, original {_show(original, worst)}"
    text += f"; {count} of {total} elements, {error}" + (f", {ulp} ULP" if ulp is not None else "")
    unwritten = int((is_poison(port) & ~is_poison(original)).sum()) if port.dtype != torch.bool else 0
    if unwritten:
        text += f"; {unwritten} not written by the port"
    scale = _double(original).abs()
    relative = torch.where(delta == 0, torch.zeros_like(delta), delta.abs() / scale)[finite]
    rtol = float(relative.max()) if relative.numel() else 0.0
    difference = Difference(
        codes.MISMATCH, text, count, total, ulp, error.largest, rtol if math.isfinite(rtol) else None
    )
    if reference is None:
        return difference
    return _judge(difference, [original, *map(_as_tensor, repeats)], port, _as_tensor(reference), source)


def mean_of_runs(runs: Sequence[Any]) -> Any:
    """The mean, in float64, of what several runs gave; None where that means nothing: integers, other shapes."""
    tensors = [_as_tensor(run) for run in runs]
    first = tensors[0]
    if not first.dtype.is_floating_point or any(one.shape != first.shape for one in tensors):
        return None
    return torch.stack([_double(one) for one in tensors]).mean(dim=0)


def _special_difference(name: str, original: Any, port: Any) -> str | None:
    """What to say where NaN or infinity stands on one side only; None where they agree."""
    for what, of in (("NaN", _nan), ("infinity", _infinite)):
        there, here = of(original), of(port)
        wrong = there != here
        if what == "infinity":
            wrong |= there & here & (_double(original) != _double(port))
        if not bool(wrong.any()):
            continue
        index = _first(wrong)
        text = f"{name} differs{_at(index)}: port {_show(port, index)}, original {_show(original, index)}"
        text += f"; {what} on one side only, or of the other sign, in {int(wrong.sum())} of {wrong.numel()} elements"
        unwritten = int((is_poison(port) & ~is_poison(original)).sum())
        if unwritten:
            text += f"; {unwritten} not written by the port, or computed from memory that nothing wrote"
        return text
    return None


def _judge(difference: Difference, originals: Sequence[Any], port: Any, reference: Any, source: str) -> Difference:
    first = originals[0]
    if reference.shape != first.shape:
        return difference
    reference = reference.to(first.device)
    by_port = _against(reference, port, first)
    errors = [_against(reference, one, first) for one in originals if one.shape == first.shape]
    by_original = Error(max(error.largest for error in errors), max(error.rms for error in errors))
    allowed = _ratio_bound(first, reference, by_original)
    runs = f" (the worst of {len(errors)} runs)" if len(errors) > 1 else ""
    return replace(
        difference,
        text=f"{difference.text}; against {source}: port {by_port}, original {by_original}{runs}, allowed {allowed}",
        source=source,
        port=by_port,
        original=by_original,
        allowed=allowed,
    )


def _against(reference: Any, value: Any, original: Any) -> Error:
    """The error of a value, where reference, original and value are finite."""
    finite = _double(reference).isfinite()
    for one in (original, value):
        finite &= ~(_nan(one) | _infinite(one))
    return _error(_exact_difference(value, reference)[finite])


def check_exact_run(name: str, original: Any, exact: Any) -> str | None:
    """Why an exact run is no reference for a result of the original; None where it is one."""
    original = _as_tensor(original)
    if original.shape != exact.shape:
        return f"{name} has the shape {list(original.shape)}, that of the exact run {list(exact.shape)}"
    exact = exact.to(original.device)
    error = _against(exact, original, original)
    size = _error(exact[exact.isfinite()])
    if error.rms <= _FAR * size.rms:
        return None
    return f"{name} is {error} away from it, which no rounding explains (it is rms {size.rms:.3g} large)"


def check_reference(name: str, value: Any, reference: Any, tol: Tolerance) -> str | None:
    """What is wrong with a result by `|value - reference| <= atol + rtol * |reference|`; None where nothing is.

    NaN and infinity must stand where the reference has them.
    """
    value, reference = _as_tensor(value), _as_tensor(reference)
    if value.shape != reference.shape:
        return f"{name} has the shape {list(value.shape)}, the reference {list(reference.shape)}"
    reference = reference.to(value.device)
    rtol, atol = _tolerance(value.dtype, reference.dtype, tol)
    exact = _double(reference)
    delta = _exact_difference(value, reference).abs()
    finite = exact.isfinite() & _double(value).isfinite()
    same = (_nan(value) & exact.isnan()) | (_double(value) == exact)
    bad = torch.where(finite, delta > atol + rtol * exact.abs(), ~same)
    if not bool(bad.any()):
        return None
    index = _first(bad)
    return (
        f"{name} is wrong{_at(index)}: {_show(value, index)}, reference {_show(reference, index)}; "
        f"{int(bad.sum())} of {bad.numel()} elements beyond atol={atol:g}, rtol={rtol:g}, max error "
        f"{float(delta[finite].max()) if bool(finite.any()) else math.nan:.3g}"
    )


def _tolerance(dtype: Any, reference: Any, tol: Tolerance) -> tuple[float, float]:
    """(rtol, atol): those of the case, else the defaults of the coarser type."""
    candidates = [_DEFAULT_TOLERANCE.get(str(kind)) for kind in (dtype, reference)]
    known = [pair for pair in candidates if pair is not None]
    if not dtype.is_floating_point:
        default = (0.0, 0.0)
    elif candidates[0] is None:
        default = (torch.finfo(dtype).eps, torch.finfo(dtype).eps)
    else:
        default = max(known)
    if tol.atol is None and tol.rtol is None:
        return default
    return (0.0 if tol.rtol is None else tol.rtol, 0.0 if tol.atol is None else tol.atol)
