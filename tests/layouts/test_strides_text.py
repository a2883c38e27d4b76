"""The order of a layout as it is written."""

import pytest

from tritonport.analysis.strides import Order
from tritonport.analysis.terms import Access, Root
from tritonport.layouts.strides_text import bits_condition, order_text

BOTH = Order(None, ((1, ("sn",)), (0, ("sm",))))


@pytest.mark.parametrize(
    ("rank", "order", "text", "needed"),
    [
        (1, Order((0,)), "[0]", set()),
        (2, None, "[1, 0]", set()),
        (2, Order((0, 1)), "[0, 1]", set()),
        (2, BOTH, "[0, 1] if unit(sm) else [1, 0]", {"unit"}),
        (2, Order(None, ((0, ("s", "t")),)), "[0, 1] if unit(s) and unit(t) else [1, 0]", {"unit"}),
        (2, Order(None, ((1, ("sn",)),)), "[1, 0]", set()),
        (
            3,
            Order(None, ((2, ("c",)), (1, ("b",)), (0, ("a",)))),
            "[1, 2, 0] if unit(b) else [0, 2, 1] if unit(a) else [2, 1, 0]",
            {"unit"},
        ),
    ],
)
def test_orders(rank: int, order: Order | None, text: str, needed: set[str]) -> None:
    used: set[str] = set()
    assert order_text(Root(rank, (), order), used, "3.9") == text
    assert used == needed


@pytest.mark.parametrize(
    ("order", "text"),
    [
        (Order((2, 1, 0)), "[2, 0, 1]"),
        (Order((1, 2, 0)), "[1, 0, 2]"),
        # Not one of ties: the dimensions of a permuted tensor.
        (Order((0, 1, 2)), "[0, 1, 2]"),
        (Order(None, ((2, ("c",)), (1, ("b",)))), "[1, 0, 2] if unit(b) else [2, 0, 1]"),
    ],
)
def test_the_oldest_triton_takes_the_first_of_equal_dimensions(order: Order, text: str) -> None:
    assert order_text(Root(3, (), order), set(), "3.6") == text
    assert order_text(Root(3, (), order), set(), "3.7") != text or order.fixed == (0, 1, 2)


def test_when_run_time_strides_can_have_runs() -> None:
    used: set[str] = set()
    assert bits_condition(Root(2, (), BOTH, [Access(("x",), BOTH, 0)]), used) == "unit(sn) or unit(sm)"
    assert used == {"unit"}
    fixed = Access(("y",), Order((1, 0)), 1)
    assert bits_condition(Root(2, (), BOTH, [Access(("x",), BOTH, 0), fixed]), used) == ""
    gather = Access(("z",), Order((1, 0), contiguous=False), 2)
    assert bits_condition(Root(2, (), None, [gather]), used) == ""
