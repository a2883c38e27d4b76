"""Planted faults are found at their line, and the corrected twins are clean."""

import pytest
import torch
import triton

from tests.verify.emulate.faults import (
    copies,
    global_memory,
    handovers,
    loads,
    partitions,
    placement,
    products,
    releases,
    rings,
    stores,
)
from tritonport.verify.emulate import EmulationError, NotEmulated, emulated

FAULTS = [
    fault
    for module in (copies, loads, stores, products, partitions, rings, releases, handovers, global_memory, placement)
    for fault in module.FAULTS
]


def test_there_are_enough():
    assert len({fault.name for fault in FAULTS}) == len(FAULTS) >= 25


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_fault_is_found(fault):
    with emulated(target=fault.target), pytest.raises(EmulationError, match=fault.message) as caught:
        fault.launch(True)
    assert not isinstance(caught.value, NotEmulated)
    assert (caught.value.path, caught.value.line) == (fault.file, fault.line)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_its_twin_is_clean(fault):
    if tuple(map(int, triton.__version__.split(".")[:2])) < tuple(map(int, fault.since.split("."))):
        pytest.skip(f"cannot be written before Triton {fault.since}")
    with emulated(target=fault.target, schedules=5):
        got, expected = fault.launch(False)
    assert torch.equal(got, expected)
