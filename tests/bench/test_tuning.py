"""Autotuners choose by the clock of the bench, in the block and not behind it."""

from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import pytest

pytest.importorskip("triton", reason="the autotuner is Triton's")

import torch
import triton

from tests.bench.made import CountingClock
from tritonport.bench.tuning import SAMPLES, tuned_by


class NamingClock(CountingClock):
    """Says that what ran last takes as many milliseconds as its block is away from 32."""

    def __init__(self) -> None:
        super().__init__()
        self.launched: list[int] = []

    def time(self, samples: Any) -> list[float]:
        super().time(samples)
        return [1.0 + abs(self.launched[-1] - 32)] * len(samples)


@pytest.mark.parametrize("fails", [False, True])
def test_an_autotuner_chooses_what_the_clock_says(fails: bool) -> None:
    clock = NamingClock()
    configs = [triton.Config({"BLOCK": block}) for block in (16, 32, 64)]

    def run(*args: Any, BLOCK: int, **kwargs: Any) -> None:
        if fails and BLOCK == 32:
            raise triton.OutOfResources(2, 1, "shared memory")
        clock.launched.append(BLOCK)

    def body(x: Any, BLOCK: Any) -> None: ...

    tuned = triton.autotune(configs, key=[])(SimpleNamespace(fn=body, run=run, arg_names=["x", "BLOCK"]))
    theirs = object()
    active = SimpleNamespace(get_benchmarker=theirs)
    with (
        patch.object(type(triton.runtime.driver), "active", property(lambda self: active)),
        patch.object(torch.cuda, "is_available", lambda: True),
    ):
        with tuned_by(clock):
            assert active.get_benchmarker is not theirs
            tuned.run(1, grid=(1,))
        assert active.get_benchmarker is theirs
    assert tuned.best_config.kwargs == {"BLOCK": 16 if fails else 32}
    assert clock.samples == SAMPLES * (2 if fails else 3)


def test_without_a_gpu_nothing_is_changed() -> None:
    with patch.object(torch.cuda, "is_available", lambda: False), tuned_by(CountingClock()):
        pass
    with tuned_by(None):
        pass
