"""scripts/mutate.py: what it flips, and that it tells a fault from none."""

import argparse
import importlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PORT = '''"""A port."""
from triton.experimental import gluon
from triton.experimental.gluon import language as gl


def host(n):
    return n + 1


@gluon.jit
def kernel(x_ptr, y_ptr, n, stride, flag, BLOCK: gl.constexpr):
    """Not 1 but 2."""
    layout: gl.constexpr = gl.BlockedLayout([1], [32], [4], [0])
    offs = gl.program_id(0) * BLOCK + gl.arange(0, BLOCK, layout=layout)
    mask = (offs < n) & (offs >= 0)
    é = gl.load(x_ptr + offs * stride, mask=mask, other=0.0)
    if flag:
        é = é.to(gl.float32)
    fence_async_shared()
    mbarrier.wait(bar, 0)
    gl.store(y_ptr + offs, é + gl.sum(é, 0), mask=mask)
'''


@pytest.fixture(scope="module")
def flips() -> Any:
    """The module scripts/mutation/flips.py."""
    sys.path.insert(0, str(ROOT / "scripts" / "mutation"))
    yield importlib.import_module("flips")
    sys.path.pop(0)


def found(flips: Any, kind: str) -> set[tuple[str, str]]:
    return {(one.before, one.after) for one in flips.flips(PORT) if one.kind == kind}


def test_kinds_follow_from_what_an_expression_is_for(flips: Any) -> None:
    assert found(flips, "stride") == {("offs * stride", "offs")}
    assert ("+", "-") in found(flips, "offset") and ("*", "+") in found(flips, "offset")
    assert {("<", "<="), ("<", ">="), (">=", ">"), ("&", "|"), ("mask", "mask | True")} <= found(flips, "mask")
    assert found(flips, "fill") == {("0.0", "1.0")}
    assert found(flips, "phase") == {("0", "1")}
    assert found(flips, "fence") == {("fence_async_shared()", "pass")}
    assert found(flips, "wait") == {("mbarrier.wait(bar, 0)", "pass")}
    assert found(flips, "cast") == {("é.to(gl.float32)", "é")}
    assert found(flips, "branch") == {("flag", "(not (flag))")}
    assert found(flips, "reduction") == {("gl.sum", "gl.max")}


def test_every_flip_changes_one_place_of_a_kernel_and_still_parses(flips: Any) -> None:
    for one in flips.flips(PORT):
        changed = one.apply(PORT)
        lines = zip(PORT.splitlines(), changed.splitlines(), strict=True)
        assert [number for number, (old, new) in enumerate(lines, 1) if old != new] == [one.line]
        compile(changed, "port.py", "exec")
        assert one.function == "kernel" and "Not 1" not in one.source
        assert f'gl.static_assert({one.idle}, "compiled")' in one.marked(PORT)
        compile(one.marked(PORT), "port.py", "exec")
    assert len({one.digest for one in flips.flips(PORT)}) == len(flips.flips(PORT))


@pytest.mark.slow
def test_a_run(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    command = [sys.executable, "scripts/mutate.py", "vector_add", "--no-compile", "-j", "1", "--out", str(report)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    mutants = json.loads(report.read_text())["mutants"]
    killers = {(one["kind"], one["before"]): one["killed_by"] for one in mutants}
    assert killers["mask", "<"] == "T2" and killers["offset", "+"] == "T2"
    assert all("out-of-bounds" in one["how"] for one in mutants if one["after"] == "mask | True")


@pytest.fixture(scope="module")
def mutate() -> Any:
    """The module scripts/mutate.py."""
    kept = list(sys.path)
    sys.path.insert(0, str(ROOT / "scripts"))
    yield importlib.import_module("mutate")
    sys.path[:] = kept


def test_a_sample_is_the_same_each_time_and_another_with_another_seed(mutate: Any, flips: Any) -> None:
    every = [mutate.Mutant("a", "literal", one) for one in flips.flips(PORT)]

    def drawn(**asked: Any) -> list[Any]:
        found: list[Any] = mutate._sampled(
            every, argparse.Namespace(**{"sample": None, "share": None, "seed": ""} | asked)
        )
        return found

    assert drawn() == every
    assert len(drawn(sample=5, seed="x")) == 5 and drawn(sample=5, seed="x") == drawn(sample=5, seed="x")
    assert drawn(sample=5, seed="x") != drawn(sample=5, seed="y")
    half = drawn(share=0.5, seed="x")
    assert 0 < len(half) < len(every) and half == [one for one in every if one in half]


def test_goldens_of_other_targets_are_ports_too(mutate: Any) -> None:
    found = {(port.fixture, port.stage): port.target for port in mutate._ports()}
    assert found["matmul", "mma"] == "sm_90" and found["matmul", "sm_100/mma"] == "sm_100"


def test_what_T2_shows_to_be_no_fault(mutate: Any, flips: Any) -> None:
    fence = next(one for one in flips.flips(PORT) if one.kind == "fence")
    mutant = mutate.Mutant("a", "tma", fence)
    port, passes = (mutate.Judgement(False, "equal bit for bit", tiles=tiles) for tiles in (4, 4))
    assert mutate._outcome(mutant, passes, port).how == "equal bit for bit"
    assert mutate._outcome(mutant, mutate.Judgement(False, "equal bit for bit", tiles=3), port).how == mutate.POINTERS
    assert mutate._outcome(mutant, mutate.Judgement(True, "race", tiles=0), port).killer == "T2"
    killed, survivor = (mutate.Outcome(mutant, killer, "") for killer in ("T2", None))
    assert "| fence | 1 | 1 | 0 | 0 | 0 | 0 | 100.0 % |" in mutate.table([killed], {})
    assert "| tma | 1 | 0 | 0 | 0 | 0 | 1 | 0.0 % |" in mutate.table([survivor], {})
    assert "| tma | 1 | 0 | 0 | 0 | 1 | 0 | 100.0 % |" in mutate.table([survivor], {mutant.key: "why"})
