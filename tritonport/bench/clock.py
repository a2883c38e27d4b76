"""Clocks for steps that run one after another: device events, and the wall clock."""

import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any, Protocol

Step = Callable[[], None]
Now = Callable[[], float]


class Clock(Protocol):
    """Times steps one after another."""

    def time(self, samples: Sequence[tuple[Step, Step]]) -> list[float]:
        """Milliseconds of the second step of each pair; the first one prepares it and is not timed."""
        ...

    def queueing(self, step: Step) -> float | None:
        """Microseconds that the host needs to queue a step; None where the host is what runs it."""
        ...


class Queue(Protocol):
    """A device that works off what the host asks of it, in order."""

    def sleep(self, seconds: float) -> Any:
        """Keeps the device busy for about so long; returns what `over` asks about."""
        ...

    def over(self, sleep: Any) -> bool:
        """Whether a sleep has ended."""
        ...

    def flush(self) -> None:
        """Empties the L2 cache of what the kernels left in it."""
        ...

    def mark(self) -> Any:
        """A point in the queue."""
        ...

    def between(self, first: Any, second: Any) -> float:
        """Milliseconds that the device took from one point to another."""
        ...

    def wait(self) -> None:
        """Returns when the device has nothing left to do."""
        ...


class CudaQueue:
    """The current CUDA stream.

    The cache is flushed by reading: a write would leave dirty lines whose write-back the timed step would pay for.
    """

    _HZ = 2.0e9
    """No less than the clock of any target (an H200's highest is 1.98 GHz): a sleep lasts at least as long as asked."""

    def __init__(self, flush_bytes: int = 256 << 20) -> None:
        """Args:
        flush_bytes: what is read before each step; an H200 has 60 MB of L2.
        """
        import torch

        self._torch = torch
        self._flush = torch.randn(flush_bytes // 4, device="cuda")
        self._sum = torch.zeros((), device="cuda")

    def sleep(self, seconds: float) -> Any:
        """As `Queue` says."""
        self._torch.cuda._sleep(int(seconds * self._HZ))
        return self.mark()

    def over(self, sleep: Any) -> bool:
        """As `Queue` says."""
        return bool(sleep.query())

    def flush(self) -> None:
        """As `Queue` says."""
        self._torch.sum(self._flush, dim=0, out=self._sum)

    def mark(self) -> Any:
        """As `Queue` says."""
        event = self._torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def between(self, first: Any, second: Any) -> float:
        """As `Queue` says."""
        return float(first.elapsed_time(second))

    def wait(self) -> None:
        """As `Queue` says."""
        self._torch.cuda.synchronize()


class CudaClock:
    """Device events around each step, after the L2 cache was flushed.

    A launch that the device has to wait for would be timed with its work on the host, which for a small kernel is the
    longer part. So the device sleeps until a batch of samples is queued; a batch that it began sooner is timed again,
    after a longer sleep.
    """

    def __init__(
        self,
        queue: Queue | None = None,
        batch: int = 32,
        lead: float = 2e-3,
        tries: int = 4,
        now: Now = time.perf_counter,
    ) -> None:
        """Args:
        queue: of the device; the current CUDA stream, if none is given.
        batch: samples that are queued behind one sleep; the driver's queue holds some thousand operations.
        lead: seconds of the first sleep.
        tries: how often a batch is timed at most. A step that waits for the device itself never lets it fall behind.
        now: seconds, of the host.
        """
        self._queue: Queue = queue or CudaQueue()
        self._batch = batch
        self._lead = lead
        self._tries = tries
        self._now = now

    def time(self, samples: Sequence[tuple[Step, Step]]) -> list[float]:
        """As `Clock` says."""
        spent: list[float] = []
        for first in range(0, len(samples), self._batch):
            spent += self._timed(samples[first : first + self._batch])
        return spent

    def queueing(self, step: Step) -> float | None:
        """As `Clock` says."""
        spent = []
        self._queue.wait()
        for _ in range(20):
            start = self._now()
            step()
            spent.append(1e6 * (self._now() - start))
        self._queue.wait()
        return statistics.median(spent)

    def _timed(self, samples: Sequence[tuple[Step, Step]]) -> list[float]:
        queue = self._queue
        for _ in range(self._tries):
            queue.wait()
            sleep = queue.sleep(self._lead)
            marks = []
            for prepare, run in samples:
                prepare()
                queue.flush()
                start = queue.mark()
                run()
                marks.append((start, queue.mark()))
            ahead = not queue.over(sleep)
            queue.wait()
            if ahead:
                break
            self._lead *= 2
        return [queue.between(start, end) for start, end in marks]


class HostClock:
    """The wall clock of the host, for kernels that run in this process."""

    def __init__(self, now: Now = time.perf_counter) -> None:
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

    def queueing(self, step: Step) -> float | None:
        """As `Clock` says."""
        return None
