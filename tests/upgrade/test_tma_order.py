"""Stage tma: copies that must not be begun, phases that must be counted, rows that must not be kept."""

from pathlib import Path

import pytest

pytest.importorskip("triton", reason="upgraded kernels are run with Triton")

import torch

from tests.conversions import conversion
from tests.convert.kernels import VERSION
from tests.upgrade.kernels import matmul
from tests.upgrade.test_async_copy import operands
from tests.upgrade.test_tma import run, upgraded
from tritonport.convert import ConvertOptions

LOOP = "    for k in range(tl.cdiv(K, BLOCK_K)):\n"


def test_a_program_does_not_end_while_a_copy_is_under_way(tmp_path: Path) -> None:
    text = matmul().replace(
        LOOP,
        "    a = tl.load(a_ptrs, mask=offs_k[None, :] < K, other=0.0)\n"
        "    if tl.program_id(0) > 0:\n        return\n"
        "    b = tl.load(b_ptrs, mask=offs_k[:, None] < K, other=0.0)\n"
        "    acc += tl.dot(a, b) * 0\n" + LOOP,
    )
    port = upgraded(text).text
    tiles = port[port.index("def matmul_kernel_tiles(") :]
    assert tiles.index("mbarrier.wait(a_ready, 0)") < tiles.index("return")
    given = operands(64, 32, 64, torch.float16, "plain")
    got, made = run(port, tmp_path, **given)
    assert all(made)
    torch.testing.assert_close(got, given["a"].float() @ given["b"].float(), rtol=0, atol=0)


def test_a_stride_that_triton_does_not_specialise_has_one_order(tmp_path: Path) -> None:
    text = matmul().replace("@triton.jit\n", '@triton.jit(do_not_specialize=["stride_am", "stride_ak"])\n')
    port = upgraded(text).text
    for by_columns in (False, True):
        given = operands(72, 40, 64, torch.float16, "plain")
        if by_columns:
            given["a"] = given["a"].t().contiguous().t()
        got, made = run(port, tmp_path, **given)
        torch.testing.assert_close(got, given["a"].float() @ given["b"].float(), rtol=0, atol=0)
        assert all(made) != by_columns


DOWN = """
import triton
import triton.language as tl


@triton.jit
def rows_kernel(a_ptr, b_ptr, c_ptr, M, K: tl.constexpr, N: tl.constexpr, BLOCK_M: tl.constexpr):
    ks, cols = tl.arange(0, K), tl.arange(0, N)
    b = tl.load(b_ptr + ks[:, None] * N + cols[None, :])
    acc = tl.zeros((BLOCK_M, N), dtype=tl.float32)
    for step in range(tl.cdiv(M, BLOCK_M)):
        INIT
        rows = (tl.cdiv(M, BLOCK_M) - 1 - step) * BLOCK_M + tl.arange(0, BLOCK_M)
        a = tl.load(a_ptr + (rows % M)[:, None] * K + ks[None, :])
        acc += tl.dot(a, b)
        tl.store(c_ptr + rows[:, None] * N + cols[None, :], acc, mask=rows[:, None] < M)
"""


@pytest.mark.parametrize("kept", [False, True])
def test_rows_of_another_iteration_are_followed(kept: bool) -> None:
    """Downward, the rows beyond the end of the first tile are inside in every later one."""
    text = DOWN.replace("INIT", "pass" if kept else "acc = tl.zeros((BLOCK_M, N), dtype=tl.float32)")
    text = text.replace("(tl.cdiv(M, BLOCK_M) - 1 - step)", "step")  # so that the coordinate is not what is refused
    found = upgraded(text)
    said = [one.message for one in found.diagnostics if "keeps its rows from one iteration" in one.message]
    assert bool(said) == kept, [one.message for one in found.diagnostics]
    assert ("a_desc" in found.text) != kept


TWICE = """
import triton
import triton.language as tl


@triton.jit
def rows_kernel(a_ptr, b_ptr, c_ptr, M, K: tl.constexpr, N: tl.constexpr, BLOCK: tl.constexpr):
    ks, cols = tl.arange(0, K), tl.arange(0, N)
    first = 0
    if tl.program_id(1) > 0:
        first = tl.program_id(0) * BLOCK
    rows = first + tl.arange(0, BLOCK)
    a = tl.load(a_ptr + (rows % M)[:, None] * K + ks[None, :])
    b = tl.load(b_ptr + ks[:, None] * N + cols[None, :])
    acc = tl.dot(a, b)
    if tl.program_id(1) > 1:
        first = 0
    there = first + tl.arange(0, BLOCK)
    tl.store(c_ptr + there[:, None] * N + cols[None, :], acc, mask=there[:, None] < M)
"""


def test_a_start_that_two_ifs_change_is_two_numbers() -> None:
    found = upgraded(TWICE)
    assert any("the store to c_ptr may write it" in one.message for one in found.diagnostics)
    assert "a_desc" not in found.text
    once = upgraded(TWICE.replace("    if tl.program_id(1) > 1:\n        first = 0\n", ""))
    assert "a_desc" in once.text


DESCRIPTORS = """
import triton
import triton.language as tl


@triton.jit
def kernel(a_desc, b_desc, c_ptr, K, skip, SKIPS: tl.constexpr):
    rows, cols = tl.arange(0, 64), tl.arange(0, 64)
    acc = tl.zeros((64, 64), dtype=tl.float32)
    for k in range(0, K, 32):
        b = b_desc.load([k, 0])
        if TEST:
            a = a_desc.load([0, k])
            acc = tl.dot(a, b, acc)
    tl.store(c_ptr + rows[:, None] * 64 + cols[None, :], acc)
"""


@pytest.mark.parametrize(("test", "spelled"), [("k >= skip", False), ("SKIPS", True)])
def test_a_copy_that_iterations_leave_out_keeps_its_own_barrier(test: str, spelled: bool) -> None:
    text = upgraded(DESCRIPTORS.replace("TEST", test)).text
    assert "b_tile = gl.allocate_shared_memory(" in text
    assert ("a_tile = gl.allocate_shared_memory(" in text) == spelled
    assert ("a = tma_operand(a_desc" in text) != spelled


def test_a_ring_of_one_place_takes_the_pointers(tmp_path: Path) -> None:
    """Two tiles that do not fit beside each other: no dot can stay under way."""
    options = ConvertOptions(triton=VERSION, target="sm_90", stage="mma")
    port = conversion(matmul(), options).text
    assert "or c_desc is None or NUM_BUFFERS < 2:\n        matmul_kernel_pointers(" in port
    small = port.replace("shared_memory=232448)", "shared_memory=12000)")
    assert small != port
    given = operands(64, 32, 128, torch.float16, "plain")
    got, made = run(small, tmp_path, **given)
    assert all(made)
    torch.testing.assert_close(got, given["a"].float() @ given["b"].float(), rtol=0, atol=0)
