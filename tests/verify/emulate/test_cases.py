"""Whole kernels with a case beside them: what ``launch`` computes must agree with ``reference``."""

import importlib.util
import os
import sys
import warnings
from pathlib import Path

import pytest
import torch
import triton

from tritonport.verify.emulate import EmulationError, emulated

ROOT = Path(__file__).parents[3]
CASES = Path(os.environ.get("TRITONPORT_CASES", ROOT.parent / "shared" / "cases"))
FIXTURES = sorted(path for path in (ROOT / "fixtures").glob("*/*_case.py"))


def load(path, monkeypatch):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, path.stem, module)
    spec.loader.exec_module(module)
    return module


def tensors(value):
    if torch.is_tensor(value):
        return [value]
    if value is None:
        return []
    return [tensor for item in (value.values() if isinstance(value, dict) else value) for tensor in tensors(item)]


def check(case, seed):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = case.reference(**case.make_inputs("cpu", seed))
        # Tables of pointers hold addresses of tensors that no argument is.
        with emulated(follow_addresses=True) as emulator:
            got = case.launch(**case.make_inputs("cpu", seed))
    assert emulator.launches
    pairs = list(zip(tensors(got), tensors(expected), strict=True))
    assert pairs
    for actual, reference in pairs:
        torch.testing.assert_close(actual, reference.to(actual.dtype), **{"equal_nan": True, **case.TOL})


CASE_FILES = sorted(CASES.glob("[0-9]*.py")) if CASES.is_dir() else []


@pytest.mark.skipif(not CASE_FILES, reason=f"there are no cases in {CASES}")
@pytest.mark.parametrize("path", CASE_FILES, ids=lambda path: path.stem)
def test_a_case_agrees_with_its_reference(path, monkeypatch):
    case = load(path, monkeypatch)
    if path.stem.startswith("007") and not hasattr(triton.language, "advance"):
        with pytest.raises(EmulationError, match="Block pointers have been removed"):
            check(case, 0)
        return
    check(case, 0)


@pytest.mark.parametrize("path", FIXTURES, ids=lambda path: path.parent.name)
def test_a_fixture_agrees_with_its_reference(path, monkeypatch):
    load(path.with_name(path.parent.name + ".py"), monkeypatch)
    if path.parent.name.startswith("block_pointer") and not hasattr(triton.language, "advance"):
        with pytest.raises(EmulationError, match="Block pointers have been removed"):
            check(load(path, monkeypatch), 1)
        return
    check(load(path, monkeypatch), 1)
