"""How an index moves in memory, and the dimension order that follows."""

import pytest

from tritonport.analysis.strides import (
    FLAG,
    STRIDED,
    UNIT,
    UNKNOWN,
    ZERO,
    Order,
    Stride,
    add,
    argument,
    either,
    leading,
    order_of,
    row_major,
    scale,
)

S, T = argument("s"), argument("t")
EVERY = (ZERO, UNIT, STRIDED, UNKNOWN, S)


@pytest.mark.parametrize("stride", EVERY)
def test_adding_nothing_and_multiplying_by_one_change_nothing(stride: Stride) -> None:
    assert add(stride, ZERO) == add(ZERO, stride) == stride
    assert scale(stride, UNIT) == stride
    assert scale(ZERO, stride) == ZERO


@pytest.mark.parametrize(("left", "right", "total"), [(UNIT, UNIT, STRIDED), (UNIT, UNKNOWN, UNKNOWN), (S, T, STRIDED)])
def test_sums(left: Stride, right: Stride, total: Stride) -> None:
    assert add(left, right) == add(right, left) == total


@pytest.mark.parametrize(
    ("stride", "factor", "product"),
    [
        (UNIT, STRIDED, STRIDED),
        (UNIT, S, S),
        (S, T, Stride(S.kind, ("s", "t"))),
        (S, STRIDED, STRIDED),
        (STRIDED, S, STRIDED),
        (UNKNOWN, S, UNKNOWN),
        (UNKNOWN, STRIDED, UNKNOWN),
    ],
)
def test_products(stride: Stride, factor: Stride, product: Stride) -> None:
    assert scale(stride, factor) == product


@pytest.mark.parametrize(
    ("left", "right", "stride"),
    [(S, S, S), (UNIT, S, S), (S, T, Stride(S.kind, ("s", "t"))), (UNIT, ZERO, UNKNOWN), (S, STRIDED, UNKNOWN)],
)
def test_one_of_two(left: Stride, right: Stride, stride: Stride) -> None:
    assert either(left, right) == stride


def test_a_flag_that_says_which_of_two() -> None:
    size = argument("K", compile_time=True)
    assert either(UNIT, size, "FLAG") == Stride(S.kind, (f"{FLAG}FLAG",))
    assert either(STRIDED, UNIT, "FLAG") == Stride(S.kind, (f"{FLAG}not FLAG",))
    assert either(UNIT, size) == either(STRIDED, size, "FLAG") == UNKNOWN


def test_orders_of_dimensions() -> None:
    assert row_major(3) == (2, 1, 0)
    assert [leading(dim, 3) for dim in range(3)] == [(0, 2, 1), (1, 2, 0), (2, 1, 0)]


@pytest.mark.parametrize(
    ("strides", "order"),
    [
        ((ZERO,), None),
        ((ZERO, ZERO), None),
        ((UNIT,), Order((0,))),
        ((STRIDED, UNIT), Order((1, 0))),
        ((UNIT, STRIDED), Order((0, 1))),
        ((UNIT, S), Order((0, 1))),
        ((S, T), Order(None, ((1, ("t",)), (0, ("s",))))),
        ((S, UNKNOWN), Order(None, ((0, ("s",)),))),
        ((UNKNOWN, STRIDED), Order((1, 0), contiguous=False)),
        ((STRIDED, ZERO, UNIT), Order((2, 1, 0))),
        ((ZERO, UNIT, STRIDED), Order((1, 2, 0))),
    ],
)
def test_the_order_an_access_wants(strides: tuple[Stride, ...], order: Order | None) -> None:
    assert order_of(strides) == order
