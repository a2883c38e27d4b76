"""A folder for what the processes of one run share (tests/conversions.py)."""

import os
import shutil
import tempfile

import pytest

from tests import CONVERSIONS

_OWN = pytest.StashKey[str]()


def pytest_configure(config: pytest.Config) -> None:
    # The processes of pytest-xdist inherit the environment of the one that starts them.
    if CONVERSIONS not in os.environ:
        os.environ[CONVERSIONS] = config.stash[_OWN] = tempfile.mkdtemp(prefix="tritonport-tests-")


def pytest_unconfigure(config: pytest.Config) -> None:
    own = config.stash.get(_OWN, None)
    if own is not None:
        os.environ.pop(CONVERSIONS, None)
        shutil.rmtree(own, ignore_errors=True)
