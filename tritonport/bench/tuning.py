"""Autotuners that choose by the clock of a bench."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import torch

from tritonport.bench.clock import Clock
from tritonport.bench.statistics import Times

SAMPLES = 24
"""Of each configuration: a batch of `CudaClock` holds some more."""


@contextmanager
def tuned_by(clock: Clock | None) -> Iterator[None]:
    """In the block, autotuners without a benchmark of their own measure their configurations with a clock; Triton's
    own way where there is none, or no GPU.

    Triton's times a launch with the part of the host's work that the device waits for (`triton.testing.do_bench` queues
    one at a time): of a kernel that is shorter than that it chooses any configuration.
    """
    if clock is None or not torch.cuda.is_available():
        yield
        return
    from triton.runtime import driver

    def timed(kernel: Callable[[], Any], quantiles: Sequence[float] = (0.5,), **_: Any) -> list[float]:
        kernel()  # it compiles, or does not
        spent = Times((tuple(clock.time([(_nothing, kernel)] * SAMPLES)),))
        return [spent.percentile(round(100 * one)) for one in quantiles]

    with patch.object(driver.active, "get_benchmarker", lambda: timed, create=True):
        yield


def _nothing() -> None:
    pass


__all__ = ["tuned_by"]
