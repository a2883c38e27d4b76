"""The fixtures at every stage run in the emulator without an alarm, by the tiles that the stage is about."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("triton", reason="ports are run with Triton")

import torch

from tests.convert.kernels import VERSION
from tritonport.rules_data import version_key
from tritonport.verify.case import Case, find_case, load_case, read_source
from tritonport.verify.fallback import fallbacks_of, ways_of
from tritonport.verify.side import Side, SideFailed, SideRun, Variation, emulator

ROOT = Path(__file__).parents[2]
FOUND = [path for pattern in ("*.py", "sm_100/*.py") for path in ROOT.glob(f"fixtures/*/expected/{pattern}")]
PORTS = sorted(path for path in FOUND if path.stem != "literal")
TILED = {"batched_matmul": 2, "block_pointer_matmul": 1, "conv2d": 2, "int8_matmul": 1, "masked_matmul": 3, "matmul": 2}
TILED |= {"persistent_matmul": 1, "split_k_matmul": 1}
"""The variant of a case whose launches take the tiles, with more steps than a ring has places; else the plain case."""


def run(case: Case, target: str) -> SideRun:
    variation = Variation(0, variant=TILED.get(case.kernel_file.stem, 0))
    with emulator(target, 120.0) as backend:
        return Side("port", case, backend).run(variation)


@cache
def expected(kernel_file: Path) -> Mapping[str, Any]:
    """What the original computes; the reference where the installed Triton refuses it."""
    case = load_case(find_case(kernel_file), kernel_file)
    try:
        return run(case, "sm_90").results
    except SideFailed:
        with emulator("sm_90", 60.0) as backend:
            found = Side("original", case, backend).reference(Variation(0, variant=TILED.get(kernel_file.stem, 0)))
        assert found is not None
        return found


def test_there_are_ports_of_every_stage() -> None:
    assert {path.stem for path in PORTS} == {"async-copy", "tma", "multibuffer", "mma"}


@pytest.mark.skipif(version_key(VERSION) < version_key("3.8"), reason="the expected files are for Triton 3.8 and newer")
@pytest.mark.parametrize(
    "port", PORTS, ids=lambda port: "-".join(port.relative_to(ROOT / "fixtures").with_suffix("").parts)
)
def test_a_port_raises_no_alarm(port: Path) -> None:
    folder = next(parent for parent in port.parents if parent.parent.name == "fixtures")
    kernel_file = folder / f"{folder.name}.py"
    target = port.parent.name if port.parent.name.startswith("sm_") else "sm_90"
    text = read_source(port)
    case = load_case(find_case(kernel_file), kernel_file, text)
    found = run(case, target)
    assert any(launch.gluon for launch in found.launches)
    ways = ways_of(found.launches, fallbacks_of(text))
    assert port.stem == "async-copy" or not ways or any(not way.fallback for way in ways), "no launch takes the tiles"
    wanted = expected(kernel_file)
    assert found.results.keys() == wanted.keys()
    for name, value in found.results.items():
        tolerance = {"atol": case.tol.atol or 0.0, "rtol": case.tol.rtol or 0.0}
        torch.testing.assert_close(value.double(), wanted[name].double(), equal_nan=True, **tolerance)
