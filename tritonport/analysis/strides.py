"""How an index moves in memory along each dimension of a tile.

An address in a Triton kernel is almost always base + sum(arange_d * stride_d). What the layout of the access needs
from it is, per dimension, whether neighbouring elements are neighbours in memory. `Stride` is that answer and `Order`
the order of dimensions that follows from it, fastest first.

Triton specialises an integer argument equal to 1 to a constant, so for strides that are arguments the answer is known
when the kernel is compiled, and is written into the output as `unit(stride)`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum


class Kind(Enum):
    ZERO = "zero"  # the same element for every index
    UNIT = "unit"  # neighbours in memory
    ARGUMENT = "argument"  # neighbours where every named argument is 1
    STRIDED = "strided"  # a constant distance that is not 1
    UNKNOWN = "unknown"  # read from memory, wrapped or divided: no constant distance


@dataclass(frozen=True)
class Stride:
    """`sizes`: whether the arguments are sizes that are known at compile time, which hardly ever are 1."""

    kind: Kind
    names: tuple[str, ...] = ()
    sizes: bool = field(default=False, compare=False)


ZERO = Stride(Kind.ZERO)
UNIT = Stride(Kind.UNIT)
STRIDED = Stride(Kind.STRIDED)
UNKNOWN = Stride(Kind.UNKNOWN)


def argument(name: str, compile_time: bool = False) -> Stride:
    """What an argument says of the elements that it parts; one known at compile time is a size unless its name says
    that it is a stride."""
    return Stride(Kind.ARGUMENT, (name,), compile_time and "stride" not in name.lower())


def add(left: Stride, right: Stride) -> Stride:
    if left.kind is Kind.ZERO:
        return right
    if right.kind is Kind.ZERO:
        return left
    if Kind.UNKNOWN in (left.kind, right.kind):
        return UNKNOWN
    return STRIDED


def scale(stride: Stride, factor: Stride) -> Stride:
    """The stride of index * scalar, where `factor` is UNIT for 1, ARGUMENT for a parameter, STRIDED for the rest."""
    if stride.kind is Kind.ZERO or factor.kind is Kind.UNIT:
        return stride
    if stride.kind is Kind.UNKNOWN:
        return UNKNOWN
    if Kind.STRIDED in (stride.kind, factor.kind):
        return STRIDED
    sizes = factor.sizes and (stride.sizes or not stride.names)
    return Stride(Kind.ARGUMENT, stride.names + factor.names, sizes)


FLAG = "="
"""In front of a name of `Stride.names` that is a compile-time condition: neighbours where it holds."""


def either(left: Stride, right: Stride, flag: str = "") -> Stride:
    """The stride of an index that is one of two: neighbours in memory where both are.

    flag: the compile-time argument that decides for the left one.
    """
    if left == right:
        return left
    if all(stride.kind in (Kind.UNIT, Kind.ARGUMENT) and not stride.sizes for stride in (left, right)):
        return Stride(Kind.ARGUMENT, tuple(dict.fromkeys((*left.names, *right.names))))
    if flag and Kind.UNIT in (left.kind, right.kind):
        return Stride(Kind.ARGUMENT, (f"{FLAG}{flag}" if left.kind is Kind.UNIT else f"{FLAG}not {flag}",))
    return UNKNOWN


@dataclass(frozen=True)
class Order:
    """The dimension order an access wants, fastest first.

    `fixed` holds it where the source decides; else `choices` lists (dimension, argument names): the first dimension
    whose arguments are all 1 comes first, and the last dimension where none is. `contiguous` is False where no
    dimension can be contiguous, so that more than one element per thread would only spread the accesses out. `unlikely`
    is such an order in all but name: one has to be, and it would take sizes of 1.
    """

    fixed: tuple[int, ...] | None
    choices: tuple[tuple[int, tuple[str, ...]], ...] = ()
    contiguous: bool = True
    unlikely: bool = False


def row_major(rank: int) -> tuple[int, ...]:
    return tuple(range(rank - 1, -1, -1))


def leading(dim: int, rank: int) -> tuple[int, ...]:
    """Row-major order with `dim` moved to the front."""
    return (dim, *(d for d in row_major(rank) if d != dim))


def order_of(strides: tuple[Stride, ...]) -> Order | None:
    """The order an access with these strides wants; None where it does not care (a broadcast of one element)."""
    rank = len(strides)
    if all(stride.kind is Kind.ZERO for stride in strides):
        return None
    for dim in row_major(rank):
        if strides[dim].kind is Kind.UNIT:
            return Order(leading(dim, rank))
    chosen = [dim for dim in row_major(rank) if strides[dim].kind is Kind.ARGUMENT]
    if chosen:
        choices = tuple((dim, strides[dim].names) for dim in chosen)
        return Order(None, choices, unlikely=all(strides[dim].sizes for dim in chosen))
    return Order(row_major(rank), contiguous=False)
