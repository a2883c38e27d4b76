"""Which partition runs, and when transfers arrive.

Partitions are coroutines: each has a thread, and one of them runs at a time. The first schedule runs a partition until
it has to wait and lets a transfer arrive only when no partition can go on; the others choose at random, from a seed, at
every operation on a barrier.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tritonport.verify.emulate.agents import Partition
from tritonport.verify.emulate.errors import Fault


class _Abandoned(BaseException):
    """Ends a partition when another one has failed."""


@dataclass(eq=False)
class _Lane:
    """A partition with its thread. ``ready`` says whether it can go on, ``describe`` what it waits for."""

    partition: Partition
    resume: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    ready: Callable[[], bool] | None = None
    describe: Callable[[], str] | None = None
    stuck: bool = False
    done: bool = False


class Scheduler:
    """The coroutines of one program. ``seed`` 0 is the lazy schedule."""

    def __init__(self, builder: Any, seed: int) -> None:
        self._builder = builder
        self._random = random.Random(seed) if seed else None
        self._transfers: list[Callable[[], None]] = []
        self._lanes = [_Lane(builder.partition)]
        self._current = self._lanes[0]
        self._error: BaseException | None = None

    # Transfers.

    def add_transfer(self, arrive: Callable[[], None]) -> None:
        """Something that will happen at a time of its own."""
        self._transfers.append(arrive)

    def _let_one_arrive(self) -> bool:
        if not self._transfers:
            return False
        index = self._random.randrange(len(self._transfers)) if self._random else 0
        self._transfers.pop(index)()
        return True

    # Switching.

    def pause(self) -> None:
        """A point where another partition may run, or a transfer arrive."""
        if self._random is None:
            return
        if self._random.random() < 0.3:
            self._let_one_arrive()
        if len(self._lanes) > 1 and self._random.random() < 0.5:
            self._yield()

    def wait(self, ready: Callable[[], bool], describe: Callable[[], str]) -> None:
        """Return once ``ready()``. Raises :class:`Fault` with ``describe()`` when that can never be."""
        while not ready():
            if len(self._lanes) == 1:
                if not self._let_one_arrive():
                    raise Fault(describe())
                continue
            lane = self._current
            lane.ready, lane.describe = ready, describe
            self._yield()
            lane.ready = lane.describe = None
            if lane.stuck:
                raise Fault(describe() + self._others(lane))

    def _others(self, stuck: _Lane) -> str:
        waiting = [
            f"; partition {lane.partition.name}: {lane.describe()}"
            for lane in self._lanes
            if lane is not stuck and lane.describe is not None and not lane.done
        ]
        return "".join(waiting)

    def _yield(self) -> None:
        lane = self._current
        chosen = self._choose()
        if chosen is lane:
            return
        self._give(chosen)
        lane.resume.acquire()
        if self._error is not None:
            raise _Abandoned

    def _choose(self) -> _Lane:
        """The partition to run next: the next one in turn that can, in the first schedule."""
        while True:
            start = self._lanes.index(self._current)
            turn = [*self._lanes[start + 1 :], *self._lanes[: start + 1]]
            able = [lane for lane in turn if not lane.done and (lane.ready is None or lane.ready())]
            if able:
                return self._random.choice(able) if self._random else able[0]
            if not self._let_one_arrive():
                first = next(lane for lane in self._lanes if not lane.done and lane.describe is not None)
                first.stuck = True
                return first

    def _give(self, lane: _Lane) -> None:
        self._current = lane
        self._builder.resume(lane.partition)
        lane.resume.release()

    # Partitions.

    def specialize(self, main: Callable[[], Any], workers: list[tuple[Partition, Callable[[], Any]]]) -> Any:
        """Run ``main`` in the calling thread beside ``workers``; the result of ``main`` once all have ended."""
        if len(self._lanes) > 1:
            raise Fault("a warp_specialize inside a partition of another")
        default = self._lanes[0]
        before = default.partition.release()
        threads = []
        for partition, work in workers:
            partition.clock.join(before)
            lane = _Lane(partition)
            self._lanes.append(lane)
            threads.append(threading.Thread(target=self._run, args=(lane, work), daemon=True))
        for thread in threads:
            thread.start()
        try:
            self.pause()
            result = main()
            self.wait(lambda: all(lane.done for lane in self._lanes[1:]), lambda: "the partitions do not end")
        except BaseException as error:
            self._fail(error)
            for thread in threads:
                thread.join()
            raise self._error from None  # type: ignore[misc]
        for thread in threads:
            thread.join()
        for partition, _ in workers:
            default.partition.clock.join(partition.clock)
        del self._lanes[1:]
        return result

    def _fail(self, error: BaseException) -> None:
        if self._error is None:
            self._error = error
        for lane in self._lanes:
            lane.resume.release()

    def _run(self, lane: _Lane, work: Callable[[], Any]) -> None:
        lane.resume.acquire()
        if self._error is not None:
            return
        try:
            with np.errstate(all="ignore"):
                work()
        except _Abandoned:
            return
        except BaseException as error:
            lane.done = True
            self._fail(error)
            return
        lane.done = True
        self._give(self._choose())
