"""Rates of a copy and of products, on the CPU and by a clock that says how long they take."""

import pytest

pytest.importorskip("torch")

from tests.bench.made import CountingClock, PlannedClock
from tritonport.bench.ceilings import copy_rate, matmul_rate, sustained_ms


def test_a_copy_reads_and_writes() -> None:
    # 8 kB in a millisecond: read once, written once.
    assert copy_rate(CountingClock(), "cpu", size=8000) == pytest.approx(2 * 8000 / 1e-3 / 1e9)


@pytest.mark.parametrize("dtype", ["float32", "tf32", "bfloat16", "float64"])
def test_a_product_has_two_operations_for_each_pair(dtype: str) -> None:
    import torch

    before = torch.backends.cuda.matmul.allow_tf32
    assert matmul_rate(CountingClock(), dtype, "cpu", extent=16) == pytest.approx(2 * 16**3 / 1e-3 / 1e12)
    assert torch.backends.cuda.matmul.allow_tf32 == before


@pytest.mark.parametrize("dtype", ["bool", "linear", "no_such_type"])
def test_a_type_without_a_product_has_no_ceiling(dtype: str) -> None:
    assert matmul_rate(CountingClock(), dtype, "cpu", extent=16) is None


def test_the_rate_is_that_of_the_second_half() -> None:
    class Warming(PlannedClock):
        """Every sample takes longer than the last, up to the tenth."""

        def time(self, samples):
            spent = []
            for prepare, run in samples:
                prepare()
                run()
                spent.append(min(float(len(self.ran)), 10.0))
            return spent

    clock = Warming()
    # Five samples of 1 to 5 ms, median 3; then 60 / 3 = 20 of which all but the first five take 10 ms.
    assert sustained_ms(clock.step(0.0), clock, seconds=0.06) == 10.0
    assert len(clock.ran) == 25
