"""Symbolic sizes: two spellings of one number are one size, and what a size says is what the numbers do."""

from collections.abc import Callable

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tritonport.analysis import dims
from tritonport.analysis.dims import Dim

# How long an example takes says nothing here: it depends on what else the machine does.
settings.register_profile("sizes", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("sizes")

NAMES = ("BM", "BN", "K")
Sized = tuple[Dim, Callable[[dict[str, int]], int]]


def leaf(value: int | str) -> Sized:
    if isinstance(value, int):
        return dims.number(value), lambda _: value
    return dims.symbol(value), lambda given: given[value]


def combined(parts: tuple[str, Sized, Sized]) -> Sized:
    op, (left, left_value), (right, right_value) = parts
    text = f"({left.text}) {op} ({right.text})"
    if op == "+":
        return dims.add(left, right, text), lambda given: left_value(given) + right_value(given)
    if op == "-":
        return dims.add(left, right, text, sign=-1), lambda given: left_value(given) - right_value(given)
    return dims.multiply(left, right, text), lambda given: left_value(given) * right_value(given)


expressions = st.recursive(
    st.one_of(st.integers(-8, 8), st.sampled_from(NAMES)).map(leaf),
    lambda inner: st.tuples(st.sampled_from("+-*"), inner, inner).map(combined),
    max_leaves=6,
)
assignments = st.fixed_dictionaries({name: st.integers(1, 64) for name in NAMES})


def value_of(dim: Dim, given: dict[str, int]) -> int:
    total = 0
    for monomial, coefficient in dim.terms:
        for atom in monomial:
            coefficient *= given[atom]
        total += coefficient
    return total


@given(expressions, assignments)
def test_the_polynomial_and_the_text_are_the_number(sized: Sized, given_values: dict[str, int]) -> None:
    dim, value = sized
    assert value_of(dim, given_values) == value(given_values)
    assert eval(dim.text, {}, given_values) == value(given_values)


@given(expressions, expressions)
def test_sums_and_products_do_not_depend_on_their_order(left: Sized, right: Sized) -> None:
    a, b = left[0], right[0]
    assert dims.add(a, b, "") == dims.add(b, a, "")
    assert dims.multiply(a, b, "") == dims.multiply(b, a, "")
    assert dims.add(dims.add(a, b, ""), b, "", sign=-1) == a
    assert hash(dims.multiply(a, b, "")) == hash(dims.multiply(b, a, ""))


@given(expressions, expressions, expressions)
def test_products_distribute_over_sums(one: Sized, two: Sized, three: Sized) -> None:
    a, b, c = one[0], two[0], three[0]
    spread = dims.add(dims.multiply(a, b, ""), dims.multiply(a, c, ""), "")
    assert dims.multiply(a, dims.add(b, c, ""), "") == spread
    assert dims.canonical(dims.multiply(a, dims.add(b, c, ""), "")) == dims.canonical(spread)


@given(expressions, st.integers(1, 8), assignments)
def test_a_division_that_divides_is_exact(sized: Sized, divisor: int, given_values: dict[str, int]) -> None:
    dim, value = sized
    multiple = dims.multiply(dim, dims.number(divisor), "")
    assert dims.divide(multiple, dims.number(divisor), "") == dim
    assert value_of(multiple, given_values) // divisor == value(given_values)


@given(expressions, st.lists(st.sampled_from(NAMES), max_size=2), st.integers(1, 8))
def test_what_was_multiplied_in_is_taken_out_again(sized: Sized, names: list[str], factor: int) -> None:
    by = dims.product([dims.number(factor), *map(dims.symbol, names)])
    assert dims.quotient(dims.multiply(sized[0], by, ""), by, "") == sized[0]


def test_what_no_product_gives_is_no_quotient() -> None:
    m, n = dims.symbol("BM"), dims.symbol("BN")
    assert dims.quotient(dims.number(6), dims.number(4), "") is None
    assert dims.quotient(m, n, "") is None
    assert dims.quotient(dims.multiply(m, n, ""), dims.add(m, n, ""), "") is None


@given(expressions, st.integers(0, 3))
def test_a_power_is_a_product(sized: Sized, exponent: int) -> None:
    product = dims.ONE
    for _ in range(exponent):
        product = dims.multiply(product, sized[0], "")
    assert dims.power(sized[0], exponent, "") == product


def test_a_division_that_may_leave_a_rest_is_a_size_of_its_own() -> None:
    d = dims.symbol("D")
    half, again = dims.divide(d, dims.number(2), "D // 2"), dims.divide(dims.symbol("D"), dims.number(2), "D//2")
    assert half == again and half.text == "D // 2"
    assert half != d and half.value is None
    assert dims.multiply(half, dims.number(2), "") != d
    assert dims.divide(dims.number(7), dims.number(2), "7 // 2") != dims.number(3)
    assert dims.divide(dims.number(8), dims.number(2), "8 // 2").value == 4


def test_numbers_know_their_value_and_symbols_do_not() -> None:
    assert (dims.number(0).value, dims.number(7).value, dims.symbol("N").value) == (0, 7, None)
    assert dims.ONE.is_one and not dims.number(2).is_one and not dims.symbol("ONE").is_one
    zero = dims.add(dims.symbol("N"), dims.symbol("N"), "N - N", sign=-1)
    assert zero.value == 0 and zero == dims.number(0)


def test_a_size_names_what_it_is_made_of() -> None:
    size = dims.add(dims.multiply(dims.symbol("M"), dims.symbol("N"), ""), dims.number(3), "")
    assert size.atoms() == {"M", "N"}
    assert dims.canonical(size) == "3+1*M*N"
    assert dims.canonical(dims.number(0)) == "0"


def test_opaque_sizes_are_equal_by_their_key() -> None:
    assert dims.opaque("next_power_of_2(1*N)", "p2(N)") == dims.opaque(
        "next_power_of_2(1*N)", "triton.next_power_of_2(N)"
    )
    assert dims.opaque("a", "x") != dims.opaque("b", "x")
