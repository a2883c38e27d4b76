"""scripts/mutate.py: what it flips, and that it tells a fault from none."""

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
