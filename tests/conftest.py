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


def pytest_unconfigure(config: pytest.Config) -> None:
    own = config.stash.get(_OWN, None)
    if own is not None:
        os.environ.pop(CONVERSIONS, None)
        shutil.rmtree(own, ignore_errors=True)
