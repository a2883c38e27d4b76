"""Comparison of results."""

import math

import pytest
import torch

from tritonport.verify.case import Tolerance
from tritonport.verify.compare import bitwise_equal, check_reference, compare, mean_of_runs
from tritonport.verify.poison import Arena


def test_equal_bits_are_equal():
    a = torch.tensor([1.0, -0.0, math.inf, math.nan])
    assert compare("result", a, a.clone()) is None
    assert compare("result", 3, 3) is None
    assert compare("result", math.nan, math.nan) is None
    assert bitwise_equal(torch.ones(2), torch.ones(2))
    assert not bitwise_equal(torch.ones(2), torch.ones(2).double())


def test_any_nan_equals_any_other():
    a = torch.tensor([0x7FC00000, 0x7F800001], dtype=torch.int32).view(torch.float32)
    b = torch.tensor([-1, 0x7FC00000], dtype=torch.int32).view(torch.float32)
    assert compare("result", a, b) is None


def test_signed_zeros_differ_but_are_no_error():
    found = compare("result", torch.tensor([0.0]), torch.tensor([-0.0]), torch.tensor([0.0]))
    assert found is not None and found.tolerable
    assert (found.count, found.atol, found.rtol) == (1, 0.0, 0.0)


def test_the_first_and_the_worst_element_are_named():
    original = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    port = torch.tensor([[1.0, 2.5], [3.0, 5.0]])
    found = compare("result[1]", original, port)
    assert found is not None
    assert found.text.startswith(
        "result[1] differs at [0, 1]: port 2.5, original 2; worst at [1, 1]: port 5, original 4"
    )
    assert "2 of 4 elements, max 1 rms 0.559" in found.text
    assert (found.count, found.total, found.atol, found.rtol) == (2, 4, 1.0, 0.25)
    assert not found.tolerable


@pytest.mark.parametrize(
    ("original", "port", "ulp"),
    [
        (torch.tensor([1.0]), torch.nextafter(torch.tensor([1.0]), torch.tensor([2.0])), 1),
        (torch.tensor([1.0], dtype=torch.float64), torch.tensor([1.0 + 2**-52], dtype=torch.float64), 1),
        (torch.tensor([1.0]).half(), torch.tensor([1.0 + 3 * 2**-10]).half(), 3),
        (torch.tensor([1e-45]), torch.tensor([-1e-45]), 2),
    ],
)
def test_the_distance_in_units_in_the_last_place(original, port, ulp):
    found = compare("result", original, port)
    assert found is not None and found.ulp == ulp


@pytest.mark.parametrize("dtype", [torch.float8_e4m3fn, torch.float8_e5m2, torch.bfloat16, torch.float16])
def test_narrow_floats(dtype):
    original = torch.tensor([1.0, 2.0]).to(dtype)
    assert compare("result", original, original.clone()) is None
    found = compare("result", original, torch.tensor([1.0, 4.0]).to(dtype))
    assert found is not None and (found.count, found.atol) == (1, 2.0)


def test_nan_and_infinity_on_one_side_only_have_their_own_code():
    original = torch.tensor([1.0, math.inf, 2.0])
    found = compare("result", original, torch.tensor([1.0, math.inf, math.nan]))
    assert found is not None and found.code == "TP802"
    assert "differs at [2]: port nan, original 2" in found.text
    found = compare("result", original, torch.tensor([1.0, -math.inf, 2.0]), torch.zeros(3))
    assert found is not None and (found.code, found.tolerable) == ("TP802", False)
    found = compare("result", torch.tensor([65504.0]), torch.tensor([math.inf]), torch.tensor([65504.0]))
    assert found is not None and not found.tolerable


def test_what_was_not_written_is_called_so():
    unwritten = Arena(0).allocate(torch.empty(3), "out")
    found = compare("result", torch.ones(3), unwritten)
    assert found is not None and "3 not written by the port" in found.text
    unwritten = Arena(0).allocate(torch.empty(3, dtype=torch.int32), "out")
    found = compare("result", torch.ones(3, dtype=torch.int32), unwritten)
    assert found is not None and "3 not written by the port" in found.text


def test_shapes_and_types_must_agree():
    found = compare("result", torch.ones(2, 3), torch.ones(6))
    assert found is not None and found.text == "result differs: port float32[6] on cpu, original float32[2, 3] on cpu"
    found = compare("result", torch.ones(2), torch.ones(2).half())
    assert found is not None and not found.tolerable
    assert compare("result", 1, 2) is not None
    assert compare("result", True, 1.0) is None  # Python's own equality


def test_the_port_may_have_twice_the_error_of_the_original():
    exact = torch.zeros(4, dtype=torch.float64) + 1.0
    original = (exact + torch.tensor([1e-3, 0.0, -1e-3, 0.0])).float()
    twice = (exact + torch.tensor([1.9e-3, 0.0, 0.0, 0.0])).float()
    thrice = (exact + torch.tensor([3e-3, 0.0, 0.0, 0.0])).float()
    found = compare("result", original, twice, exact)
    assert found is not None and found.tolerable
    assert found.original is not None and found.original.largest == pytest.approx(1e-3, rel=1e-3)
    found = compare("result", original, thrice, exact)
    assert found is not None and not found.tolerable


def test_the_worst_run_of_an_original_that_moves_is_the_measure():
    exact = torch.ones(4, dtype=torch.float64)
    original, worse = (exact.float() + torch.tensor([error, 0.0, 0.0, 0.0]) for error in (1e-3, 2e-3))
    port = exact.float() + torch.tensor([0.0, 0.0, 3e-3, 0.0])
    alone, among = (compare("result", original, port, exact, repeats) for repeats in ((), (original, worse)))
    assert alone is not None and not alone.tolerable
    assert among is not None and among.tolerable
    assert among.original is not None and among.original.largest == pytest.approx(2e-3, rel=1e-3)
    assert "original max 0.002 rms 0.001 (the worst of 3 runs), allowed max 0.004 rms 0.002" in among.text
    found = compare("result", original, exact.float() + 5e-3, exact, (worse,))
    assert found is not None and not found.tolerable


def test_the_mean_of_runs_is_that_of_floats_of_one_shape():
    assert mean_of_runs([torch.tensor([1.0]), torch.tensor([2.0])]).tolist() == [1.5]
    assert mean_of_runs([torch.tensor([1]), torch.tensor([2])]) is None
    assert mean_of_runs([torch.ones(2), torch.ones(3)]) is None


def test_the_mean_square_counts_beside_the_maximum():
    exact = torch.ones(100, dtype=torch.float64)
    original, port = exact.float(), (exact + 1e-3).float()
    original[0] += 1e-3
    found = compare("result", original, port, exact)
    assert found is not None and not found.tolerable


def test_a_correctly_rounded_port_passes_whatever_the_luck_of_the_original():
    exact = torch.tensor([1.0 + 2**-24 + 2**-40], dtype=torch.float64)
    found = compare("result", torch.tensor([1.0]), torch.tensor([1.0 + 2**-23]), exact)
    assert found is not None and found.tolerable


def test_rounding_through_a_narrower_type_does_not_pass():
    exact = torch.linspace(1, 2, 50, dtype=torch.float64) * 0.3
    original = torch.linspace(1, 2, 50) * 0.3
    found = compare("result", original, original.bfloat16().float(), exact)
    assert found is not None and not found.tolerable


def test_integers_must_be_equal():
    original = torch.tensor([2**53, 5])
    found = compare("result", original, original + torch.tensor([1, 0]), original)
    assert found is not None and not found.tolerable
    assert found.ulp is None and found.atol == 1.0


def test_complex_results():
    original = torch.tensor([1 + 2j])
    assert compare("result", original, original.clone()) is None
    found = compare("result", original, torch.tensor([1 + 3j]))
    assert found is not None and "at [0, 1]: port 3, original 2" in found.text


def test_the_original_is_held_to_its_reference():
    reference = torch.tensor([1.0, 2.0])
    assert check_reference("result", torch.tensor([1.0, 2.1]), reference, Tolerance(0.0, 0.1)) is None
    wrong = check_reference("result", torch.tensor([1.0, 2.1]), reference, Tolerance(0.01, 0.0))
    assert wrong is not None and wrong.startswith("result is wrong at [1]: 2.0999999, reference 2; 1 of 2 elements")
    assert check_reference("result", torch.ones(3), reference, Tolerance(1.0, 1.0)) is not None
    nan = torch.tensor([1.0, math.nan])
    assert check_reference("result", nan, nan, Tolerance(0.0, 0.0)) is None
    assert check_reference("result", nan, reference, Tolerance(9.0, 9.0)) is not None
    assert check_reference("result", torch.tensor([math.inf, 2.0]), reference, Tolerance(9.0, 9.0)) is not None


def test_without_a_tolerance_that_of_the_type_holds():
    exact = torch.tensor([1.0, 2.0], dtype=torch.float64)
    none = Tolerance()
    assert check_reference("result", (exact * (1 + 1e-3)).bfloat16(), exact, none) is None
    assert check_reference("result", (exact * (1 + 1e-3)).float(), exact, none) is not None
    assert check_reference("result", torch.tensor([1, 3]), torch.tensor([1, 2]), none) is not None
