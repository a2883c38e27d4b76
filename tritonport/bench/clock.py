"""Clocks for steps that run one after another: device events, and the wall clock."""

import time
from collections.abc import Callable, Sequence
from typing import Protocol

Step = Callable[[], None]


class Clock(Protocol):
    """Times steps one after another."""

    def time(self, samples: Sequence[tuple[Step, Step]]) -> list[float]:
        """Milliseconds of the second step of each pair; the first one prepares it and is not timed."""
        ...


class CudaClock:
    """Device events around each step, after a read of more memory than the L2 cache holds.

    The cache is flushed by reading: a write would leave dirty lines whose write-back the timed step would pay for.
    """

    def __init__(self, flush_bytes: int = 256 << 20, lead_cycles: int = 4_000_000) -> None:
        """Args:
        flush_bytes: what is read before each step; an H200 has 60 MB of L2.
        lead_cycles: how long the device is kept busy first, so that the host is ahead of it from then on.
        """
        import torch

        self._cuda = torch.cuda
        self._lead_cycles = lead_cycles
        self._flush = torch.randn(flush_bytes // 4, device="cuda")
        self._sum = torch.zeros((), device="cuda")
        self._torch = torch

    def time(self, samples: Sequence[tuple[Step, Step]]) -> list[float]:
        """As `Clock` says."""
        events = [tuple(self._cuda.Event(enable_timing=True) for _ in range(2)) for _ in samples]
        self._cuda.synchronize()
        self._cuda._sleep(self._lead_cycles)
        for (prepare, run), (start, end) in zip(samples, events, strict=True):
            prepare()
            self._torch.sum(self._flush, dim=0, out=self._sum)
            start.record()
            run()
            end.record()
        self._cuda.synchronize()
        return [float(start.elapsed_time(end)) for start, end in events]


class HostClock:
    """The wall clock of the host, for kernels that run in this process."""

    def __init__(self, now: Callable[[], float] = time.perf_counter) -> None:
        """Args:
        now: seconds.
        """
        self._now = now

    def time(self, samples: Sequence[tuple[Step, Step]]) -> list[float]:
        """As `Clock` says."""
        spent = []
        for prepare, run in samples:
            prepare()
            start = self._now()
            run()
            spent.append(1e3 * (self._now() - start))
        return spent
