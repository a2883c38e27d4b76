"""Stage tma: numbers out of a table, and what the `if`s of a kernel say of numbers."""

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("triton", reason="upgraded kernels are run with Triton")

import torch

from tests.conversions import conversion
from tests.convert.kernels import VERSION
from tests.upgrade.test_tma import run, upgraded
from tritonport.convert import ConvertOptions

BLOCKS = """
import torch
import triton
import triton.language as tl


@triton.jit
def blocks_kernel(a_ptr, b_ptr, c_ptr, table, M, K, count, N: tl.constexpr, BLOCK: tl.constexpr):
    rows, cols = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), tl.arange(0, N)
    acc = tl.zeros((BLOCK, N), dtype=tl.float32)
    for i in range(count):
        first = tl.load(table + i).to(tl.int64) * BLOCK
        if first < K and first >= 0:
            steps = first + tl.arange(0, BLOCK)
            a = tl.load(
                a_ptr + rows[:, None] * K + steps[None, :], mask=(rows[:, None] < M) & (steps[None, :] < K), other=0.0
            )
            b = tl.load(b_ptr + steps[:, None] * N + cols[None, :], mask=steps[:, None] < K, other=0.0)
            acc += tl.dot(a, b)
    if tl.program_id(0) > 0:
        tl.store(c_ptr + (rows - BLOCK)[:, None] * N + cols[None, :], acc, mask=(rows - BLOCK)[:, None] < M)


def launch(a, b, table, kind=torch.int64):
    (M, K), N = a.shape, b.shape[1]
    c = torch.full((M + 5, N), 7.0)
    blocks = torch.tensor(table, dtype=kind)
    blocks_kernel[(triton.cdiv(M, 16),)](a, b, c, blocks, M, K, len(table), N=N, BLOCK=16)
    return c
"""


def given(rows: int, depth: int) -> dict[str, Any]:
    torch.manual_seed(0)
    return {"a": torch.randint(-3, 4, (rows, depth)).half(), "b": torch.randint(-3, 4, (depth, 32)).half()}


@pytest.mark.parametrize("stage", ["tma", "mma"])
def test_blocks_out_of_a_table_that_the_kernel_tests(stage: str, tmp_path: Path) -> None:
    found = conversion(BLOCKS, ConvertOptions(triton=VERSION, target="sm_90", stage=stage))
    assert [one.message for one in found.diagnostics if one.code in ("TP411", "TP412")] == []
    inputs = given(40, 40)
    table = [2, -1, 0, 7, 2, -(2**30), 2**40, 1]
    got, made = run(found.text, tmp_path, **inputs, table=table)
    steps = torch.cat([torch.arange(place * 16, min(place * 16 + 16, 40)) for place in (2, 0, 2, 1)])
    product = inputs["a"].float()[:, steps] @ inputs["b"].float()[steps]
    wanted = torch.full((45, 32), 7.0)
    wanted[:24] = product[16:]
    wanted[24:32] = 0.0
    torch.testing.assert_close(got, wanted, rtol=0, atol=0)
    assert made == [True] * 3


@pytest.mark.parametrize(
    ("right", "wrong", "why"),
    [
        (" and first >= 0:", ":", "may be negative: it is read from memory"),
        ("if first < K and first >= 0:", "if first >= 0:", "may be any 64-bit number"),
        ("first >= 0:", "first >= -1:", "may be negative"),
        ("first < K and first", "first < K or first", "may be negative"),
        ("first >= 0:", "count >= 0:", "may be negative"),
        ("            steps = ", "            first -= BLOCK\n            steps = ", "may be negative"),
        ("first < K and", "first < K and i < 3:\n            first += 1\n        if i < 3 and", "may be any 64-bit"),
    ],
)
def test_numbers_out_of_a_table_that_nothing_bounds_are_refused(right: str, wrong: str, why: str) -> None:
    assert BLOCKS.count(right) == 1
    found = upgraded(BLOCKS.replace(right, wrong))
    said = [one.message for one in found.diagnostics if one.code in ("TP411", "TP412")]
    assert len(said) >= 2 and all(why in one for one in said), said
    assert "a_desc" not in found.text


def test_a_number_of_32_bits_needs_no_bound_from_above(tmp_path: Path) -> None:
    text = BLOCKS.replace(".to(tl.int64) * BLOCK", ".to(tl.int32) * BLOCK").replace("first < K and ", "")
    inputs = given(40, 40)
    got, _ = run(upgraded(text).text, tmp_path, **inputs, table=[2, 1, 0, 9, -1], kind=torch.int32)
    torch.testing.assert_close(got[:24], (inputs["a"].float() @ inputs["b"].float())[16:], rtol=0, atol=0)


@pytest.mark.parametrize("test", ["> 1", ">= 0", "!= 0"])
def test_a_store_behind_a_test_that_is_not_enough_is_refused(test: str) -> None:
    found = upgraded(BLOCKS.replace("program_id(0) > 0", f"program_id(0) {test}"))
    said = [one.message for one in found.diagnostics if one.message.startswith("the store")]
    assert bool(said) == (test != "> 1"), said


CARRIED = """
import triton
import triton.language as tl


@triton.jit
def carried_kernel(a_ptr, b_ptr, c_ptr, table, K, count, N: tl.constexpr, BLOCK: tl.constexpr):
    rows, cols, steps = tl.arange(0, BLOCK), tl.arange(0, N), tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK, N), dtype=tl.float32)
    START
    for i in range(count):
        STEP
        if place >= 0 and place < K:
            a = tl.load(a_ptr + rows[:, None] * K + place * BLOCK + steps[None, :])
            b = tl.load(b_ptr + (place * BLOCK + steps)[:, None] * N + cols[None, :])
            acc += tl.dot(a, b)
        NEXT
    tl.store(c_ptr + rows[:, None] * N + cols[None, :], acc)
"""


@pytest.mark.parametrize(
    ("start", "step", "next_", "copied"),
    [
        ("place = tl.load(table)", "pass", "pass", True),
        ("pass", "place = tl.load(table + i)", "pass", True),
        ("place = tl.load(table)", "pass", "place = tl.load(table + i)", False),
        ("place = tl.load(table)", "pass", "place += 1", False),
        ("move = tl.load(table)\n    place = 0", "pass", "place += move * 2\n        move = tl.load(table + i)", False),
        ("place, more = tl.load(table), tl.load(c_ptr)", "place, more = more * 2, tl.load(table + i)", "pass", False),
        ("one = tl.load(table)", "if i > 3:\n            one = 0\n        place = one * 1", "pass", False),
    ],
)
def test_a_number_that_is_read_is_that_of_its_load(start: str, step: str, next_: str, copied: bool) -> None:
    text = CARRIED.replace("START", start).replace("STEP", step).replace("NEXT", next_)
    found = upgraded(text)
    assert ("a_desc" in found.text) == copied, [one.message for one in found.diagnostics]
