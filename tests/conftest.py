"""How the processes of one run work beside one another, and a folder for what they share (tests/conversions.py)."""

import gc
import os
import shutil
import tempfile

import pytest

from tests import CONVERSIONS

_OWN = pytest.StashKey[str]()


# As many processes as cores run tests already, and torch's threads would wait for one another, busily.
os.environ.setdefault("OMP_NUM_THREADS", "1")


def pytest_configure(config: pytest.Config) -> None:
    # As the command line does: with torch and Triton loaded, each search for garbage goes through a million objects.
    gc.set_threshold(200_000, 50, 50)
    # The processes of pytest-xdist inherit the environment of the one that starts them.
    if CONVERSIONS not in os.environ:
        os.environ[CONVERSIONS] = config.stash[_OWN] = tempfile.mkdtemp(prefix="tritonport-tests-")


_LONG = (
    "fixtures/test_fixtures.py",
    "verify/suite/test_command.py",
    "gpu/test_measure.py",
    "verify/sanitize/test_tier.py",
    "verify/capture/test_capture.py",
)
"""Files whose tests take seconds each. They come first: at the end of a run no process waits for one of them."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: not item.path.as_posix().endswith(_LONG))


def pytest_collection_finish() -> None:
    # Modules and tests stay to the end: neither searches for garbage nor forked processes need to touch them again.
    gc.collect()
    gc.freeze()


def pytest_unconfigure(config: pytest.Config) -> None:
    own = config.stash.get(_OWN, None)
    if own is not None:
        os.environ.pop(CONVERSIONS, None)
        shutil.rmtree(own, ignore_errors=True)
