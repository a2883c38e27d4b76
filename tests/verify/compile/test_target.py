"""Targets by name, and the driver that answers for them."""

import pytest

from tritonport.verify.compile.target import TARGETS, OfflineDriver, UnknownTarget, facts, normalise


@pytest.mark.parametrize("name", ["sm_90", "sm90", "sm_90a", "SM_90", "cuda:90", "90", " sm_90 "])
def test_spellings(name: str) -> None:
    assert normalise(name) == "sm_90"


@pytest.mark.parametrize("name", ["sm_9", "gfx942", "", "sm_90b", "hopper"])
def test_an_unknown_target_names_the_known_ones(name: str) -> None:
    with pytest.raises(UnknownTarget, match=r"known are sm_80, .*sm_90, sm_100"):
        normalise(name)


def test_the_driver_answers_for_the_target() -> None:
    pytest.importorskip("triton")
    driver = OfflineDriver("sm_100")
    target = driver.get_current_target()
    assert (target.backend, target.arch, target.warp_size) == ("cuda", 100, 32)
    assert driver.get_device_capability() == (10, 0)
    assert driver.utils.get_device_properties(driver.get_current_device())["max_shared_mem"] == 232448
    assert OfflineDriver("sm_89").get_device_capability() == (8, 9)


def test_facts() -> None:
    assert set(TARGETS) >= {"sm_80", "sm_90", "sm_100"}
    assert facts("sm_80").shared_memory == 163 * 1024
