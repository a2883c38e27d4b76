"""That a device that runs ahead of the host does not make the host's work look like the kernel's."""

from dataclasses import dataclass, field

import pytest

from tritonport.bench.clock import CudaClock


@dataclass
class Machine:
    """A host and a device that take the time they are told to: what is queued starts when the device comes to it."""

    host: float = 0.0
    device: float = 0.0
    sleeps: list[float] = field(default_factory=list)

    def _queued(self, seconds: float) -> float:
        self.device = max(self.device, self.host) + seconds
        return self.device

    def sleep(self, seconds: float) -> float:
        self.sleeps.append(seconds)
        return self._queued(seconds)

    def over(self, sleep: float) -> bool:
        return self.host >= sleep

    def flush(self) -> None:
        self._queued(60e-6)

    def mark(self) -> float:
        return self._queued(0.0)

    def between(self, first: float, second: float) -> float:
        return 1e3 * (second - first)

    def wait(self) -> None:
        self.host = max(self.host, self.device)

    def launch(self, host: float, device: float) -> None:
        """A kernel that the host needs some time to launch."""
        self.host += host
        self._queued(device)


def nothing() -> None:
    """No input has to be brought back."""


@pytest.mark.parametrize("host_us", [10, 150, 900])
def test_the_launch_of_a_small_kernel_is_not_timed(host_us: float) -> None:
    machine = Machine()
    clock = CudaClock(machine, batch=8)
    spent = clock.time([(nothing, lambda: machine.launch(1e-6 * host_us, 20e-6))] * 40)
    assert spent == pytest.approx([0.02] * 40)


def test_a_lead_that_was_long_enough_is_kept() -> None:
    machine = Machine()
    clock = CudaClock(machine, batch=8, lead=1e-3)
    clock.time([(nothing, lambda: machine.launch(300e-6, 20e-6))] * 40)
    # Eight launches take 2.4 ms: the first two sleeps are too short, and the four batches after it need but one.
    assert machine.sleeps == pytest.approx([1e-3, 2e-3, 4e-3, 4e-3, 4e-3, 4e-3, 4e-3])


def test_a_step_that_waits_for_the_device_is_timed_all_the_same() -> None:
    machine = Machine()

    def step() -> None:
        machine.launch(10e-6, 20e-6)
        machine.wait()

    clock = CudaClock(machine, batch=4, tries=3)
    assert len(clock.time([(nothing, step)] * 4)) == 4
    assert len(machine.sleeps) == 3


def test_what_the_host_needs_is_told_apart() -> None:
    machine = Machine()
    clock = CudaClock(machine, now=lambda: machine.host)
    assert clock.queueing(lambda: machine.launch(35e-6, 20e-6)) == pytest.approx(35.0)
