"""Stage tma: functions that compute with the rows of a tile whose coordinate wraps."""

from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("triton", reason="upgraded kernels are run with Triton")

import torch

from tests.conversions import conversion
from tests.convert.kernels import VERSION
from tests.upgrade.kernels import matmul
from tests.upgrade.test_tma import run, upgraded
from tritonport.convert import ConvertOptions
from tritonport.upgrade.mma.table import dot_tables

Computed = Callable[[torch.Tensor], torch.Tensor]

ACTIVATIONS = """
import torch
import triton
import triton.language as tl


@triton.jit
def leaky(x, slope):
    return tl.where(x >= 0, x, slope * x)
"""

SHIFTED = """

@triton.jit
def shifted(x, by, SIGN: tl.constexpr):
    y = x
    for _ in range(2):
        if SIGN:
            y = y + by[None, :]
        else:
            y = y - by[None, :]
    return leaky(y, slope=0.5)
"""


def fused(call: str, more: str = "") -> str:
    """The matrix product with a call behind its loop, and functions of the file."""
    text = matmul().replace("\nimport torch\nimport triton\nimport triton.language as tl\n", ACTIVATIONS + more)
    return text.replace("    rows = tl", f"    acc = {call}\n    rows = tl", 1)


@pytest.mark.parametrize(
    ("call", "more", "computed"),
    [
        ("leaky(acc, 0.25)", "", lambda x: _leaky(x, 0.25)),
        ("shifted(by=offs_n, x=acc, SIGN=False)", SHIFTED, lambda x: _leaky(x - 2 * torch.arange(x.shape[1]), 0.5)),
    ],
)
def test_a_function_that_keeps_rows_apart_is_followed(call: str, more: str, computed: Computed, tmp_path: Path) -> None:
    found = upgraded(fused(call, more))
    assert [one.message for one in found.diagnostics] == []
    torch.manual_seed(0)
    a, b = torch.randn(70, 48).half(), torch.randn(48, 40).half()
    got, made = run(found.text, tmp_path, a=a, b=b)
    assert all(made) and len(made) >= 2
    torch.testing.assert_close(got, computed(a.float() @ b.float()), atol=2e-2, rtol=2e-2)


def _leaky(x: torch.Tensor, slope: float) -> torch.Tensor:
    return torch.where(x >= 0, x, slope * x)


MIXED = {
    "a sum": "@triton.jit\ndef mixed(x):\n    return x - tl.max(x, 0)[None, :]\n",
    "a function in it that sums": (
        "@triton.jit\ndef total(x):\n    return tl.sum(x)\n\n\n@triton.jit\ndef mixed(x):\n    return x - total(x)\n"
    ),
    "a transposition": "@triton.jit\ndef mixed(x):\n    return x + tl.trans(x)\n",
    "a loop that goes on": (
        "@triton.jit\ndef mixed(x):\n    while tl.sum(x) > 100.0:\n        x = x * 0.5\n    return x\n"
    ),
}


@pytest.mark.parametrize("case", MIXED)
def test_a_function_that_mixes_rows_is_refused(case: str) -> None:
    found = upgraded(fused("mixed(acc)", "\n\n" + MIXED[case]))
    said = [one.message for one in found.diagnostics if one.code == "TP412"]
    assert any("its coordinate wraps or stops at a bound, and in `mixed(acc)` " in one for one in said), said
    assert "a_desc" not in found.text


OPENED = """
import torch
import triton
import triton.language as tl


@triton.jit
def inner(acc, q, k_ptrs, v_ptrs, stride, N, BLOCK_N: tl.constexpr):
    for start in range(0, N, BLOCK_N):
        k = tl.load(k_ptrs)
        p = tl.exp(tl.dot(q, k)).to(tl.float16)
        v = tl.load(v_ptrs)
        acc = acc * 0.5
        acc = tl.dot(p, v, acc)
        k_ptrs += BLOCK_N * stride
        v_ptrs += BLOCK_N * stride
    return acc


@triton.jit
def kernel(q_ptr, k_ptr, v_ptr, out_ptr, N, BLOCK: tl.constexpr, D: tl.constexpr):
    rows, cols = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), tl.arange(0, D)
    steps = tl.arange(0, BLOCK)
    q = tl.load(q_ptr + rows[:, None] * D + cols[None, :])
    k_ptrs = k_ptr + steps[None, :] * D + cols[:, None]
    v_ptrs = v_ptr + steps[:, None] * D + cols[None, :]
    acc = inner(tl.zeros((BLOCK, D), dtype=tl.float32), q, k_ptrs, v_ptrs, D, N, BLOCK)
    tl.store(out_ptr + rows[:, None] * D + cols[None, :], acc)


def launch(q, k, v):
    out = torch.full(q.shape, float("nan"))
    kernel[(q.shape[0] // 16,)](q, k, v, out, k.shape[0], BLOCK=16, D=q.shape[1])
    return out
"""
INNER = OPENED.replace("acc = inner(", "acc = 1.0 * inner(")
"""A call that is part of an expression stays one."""


@pytest.mark.parametrize("steps", [0, 16, 48])
def test_a_function_is_opened_for_its_tiles_beside_those_of_the_kernel(steps: int, tmp_path: Path) -> None:
    found = upgraded(OPENED)
    assert [one.message for one in found.diagnostics] == []
    torch.manual_seed(0)
    q, k, v = (0.25 * torch.randn(rows, 16).half() for rows in (32, steps, steps))
    wanted, _ = run(upgraded(INNER).text, tmp_path, q=q, k=k, v=v)
    got, made = run(found.text, tmp_path, q=q, k=k, v=v)
    torch.testing.assert_close(got, wanted, rtol=0, atol=0)
    assert made == [True] * 4 or (steps == 0 and made.count(True) == 4)


@pytest.mark.parametrize("stage", ["mma", "all"])
def test_what_stays_in_a_function_is_said_by_the_stages_beyond(stage: str) -> None:
    assert INNER.count("tl.load(k_ptrs)") == INNER.count("tl.load(v_ptrs)") == 1
    lines = INNER.split("\n")
    found = conversion(INNER, ConvertOptions(triton=VERSION, target="sm_90", stage=stage))
    said = [(one.code, lines[one.line - 1].strip()) for one in found.diagnostics]
    for line in ("k = tl.load(k_ptrs)", "v = tl.load(v_ptrs)"):
        assert said.count(("TP411", line)) == 1, said
    assert [code for code, _ in said if code == "TP501"] == ["TP501", "TP501"]


def test_all_says_why_a_tile_is_copied_by_cp_async_alone() -> None:
    text = fused("mixed(acc)", "\n\n" + MIXED["a sum"])
    found = conversion(text, ConvertOptions(triton=VERSION, target="sm_90", stage="all"))
    assert "async_copy" in found.text and "a_desc" not in found.text
    said = [one.message for one in found.diagnostics if one.code == "TP412"]
    assert len(said) == 2
    assert said[0].startswith("the load of a (from a_ptr) is not copied by TMA: its coordinate wraps")


def test_a_dot_that_stays_is_quoted_and_placed_as_it_is_written() -> None:
    options = ConvertOptions(triton=VERSION, target="sm_90", stage="mma")
    lines = INNER.split("\n")
    (table,) = dot_tables(INNER, "kernel.py", options)
    said = {lines[one.line - 1].strip(): one for one in table.found}
    assert said.keys() == {"p = tl.exp(tl.dot(q, k)).to(tl.float16)", "acc = tl.dot(p, v, acc)"}
    for line, dot in (("p = tl.exp(tl.dot(q, k)).to(tl.float16)", "tl.dot(q, k)"), ("acc = tl.dot(p, v, acc)",) * 2):
        found = said[line]
        assert f"the dot `{dot.removeprefix('acc = ')}` stays synchronous" in found.message
        assert lines[found.line - 1][found.column - 1 :].startswith(dot.removeprefix("acc = "))
    reason = "stays synchronous{}: its accumulator acc is made by no statement of inner in front of it"
    assert reason.format("") in said["acc = tl.dot(p, v, acc)"].message
    other = said["p = tl.exp(tl.dot(q, k)).to(tl.float16)"].message
    assert other.endswith(reason.format(", as the last dot of its loop does"))
    assert [row[1:3] for row in table.rows] == [("tl.dot", "q, k"), ("tl.dot", "p, v")]
    beyond = conversion(INNER, options).diagnostics
    assert {one.message for one in said.values()} <= {one.message for one in beyond}


def test_a_dot_is_placed_in_its_own_loop_where_other_loops_fill_rings() -> None:
    text = matmul().replace(
        "        acc += tl.dot(a, b)\n", "        acc += tl.dot(a, b)\n        tl.device_assert(acc < 9)\n"
    )
    found = conversion(text, ConvertOptions(triton=VERSION, target="sm_90", stage="mma"))
    (said,) = (one for one in found.diagnostics if one.code == "TP501")
    assert "NUM_BUFFERS" in found.text and "the dot `tl.dot(a, b)` stays synchronous" in said.message
    assert text.split("\n")[said.line - 1][said.column - 1 :] == "tl.dot(a, b)"
