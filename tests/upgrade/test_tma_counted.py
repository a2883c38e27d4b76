"""Stage tma: pointers that a loop has moved, which the next loop, or the iteration behind it, goes on with."""

from pathlib import Path

import pytest

pytest.importorskip("triton", reason="upgraded kernels are run with Triton")

import torch

from tests.upgrade.test_tma import run, upgraded

PARTS = """
import torch
import triton
import triton.language as tl


@triton.jit
def parts_kernel(a_ptr, b_ptr, c_ptr, M, K, count, N: tl.constexpr, PARTS: tl.constexpr, BLOCK: tl.constexpr):
    rows, cols, steps = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), tl.arange(0, N), tl.arange(0, BLOCK)
    a_ptrs = a_ptr + rows[:, None] * K + steps[None, :]
    acc = tl.zeros((BLOCK, N), dtype=tl.float32)
    for part in range(PARTS):
        b_ptrs = b_ptr + steps[:, None] * N + cols[None, :]
        for j in range(count):
            a = tl.load(a_ptrs, mask=rows[:, None] < M, other=0.0)
            b = tl.load(b_ptrs)
            acc = tl.dot(a, b, acc)
            a_ptrs += BLOCK
            b_ptrs += BLOCK * N
    tl.store(c_ptr + rows[:, None] * N + cols[None, :], acc, mask=rows[:, None] < M)


def launch(a, b, count, parts=3):
    (M, K), N = a.shape, b.shape[1]
    c = torch.full((M, N), 7.0)
    parts_kernel[(triton.cdiv(M, 16),)](a, b, c, M, K, count, N=N, PARTS=parts, BLOCK=16)
    return c
"""


@pytest.mark.parametrize("count", [2, 1, 0, -2])
def test_a_pointer_goes_on_where_the_last_part_left_it(count: int, tmp_path: Path) -> None:
    found = upgraded(PARTS)
    assert [one.message for one in found.diagnostics] == [] and 'args["count"] >= 0' in found.text
    torch.manual_seed(0)
    a, b = torch.randint(-3, 4, (24, 96)).half(), torch.randint(-3, 4, (32, 32)).half()
    got, made = run(found.text, tmp_path, a=a, b=b, count=count)
    wanted = torch.zeros(24, 32)
    for step in range(3 * max(count, 0)):
        at = step % count * 16
        wanted += a[:, step * 16 :][:, :16].float() @ b[at : at + 16].float()
    torch.testing.assert_close(got, wanted, rtol=0, atol=0)
    assert made == [True] * 3 or count <= 0  # a part of no blocks is no stride


TAIL = """
import torch
import triton
import triton.language as tl


@triton.jit
def tail_kernel(a_ptr, b_ptr, c_ptr, M, K, whole, N: tl.constexpr, BLOCK: tl.constexpr):
    rows, cols, steps = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), tl.arange(0, N), tl.arange(0, BLOCK)
    a_ptrs = a_ptr + rows[:, None] * K + steps[None, :]
    b_ptrs = b_ptr + steps[:, None] * N + cols[None, :]
    acc = tl.zeros((BLOCK, N), dtype=tl.float32)
    for k in range(whole):
        a = tl.load(a_ptrs, mask=rows[:, None] < M, other=0.0)
        b = tl.load(b_ptrs)
        acc = tl.dot(a, b, acc)
        a_ptrs += BLOCK
        b_ptrs += BLOCK * N
    left = K - whole * BLOCK
    a_2 = tl.load(a_ptrs, mask=(rows[:, None] < M) & (steps[None, :] < left), other=0.0)
    b_2 = tl.load(b_ptrs, mask=steps[:, None] < left, other=0.0)
    acc = tl.dot(a_2, b_2, acc)
    tl.store(c_ptr + rows[:, None] * N + cols[None, :], acc, mask=rows[:, None] < M)


def launch(a, b, whole):
    (M, K), N = a.shape, b.shape[1]
    c = torch.full((M, N), 7.0)
    tail_kernel[(triton.cdiv(M, 16),)](a, b, c, M, K, whole, N=N, BLOCK=16)
    return c
"""


@pytest.mark.parametrize("whole", [2, 0, -1])
def test_what_a_loop_over_whole_blocks_leaves_is_read_behind_it(whole: int, tmp_path: Path) -> None:
    found = upgraded(TAIL)
    assert [one.message for one in found.diagnostics] == [] and 'args["whole"] >= 0' in found.text
    torch.manual_seed(0)
    a, b = torch.randint(-3, 4, (24, 40)).half(), torch.randint(-3, 4, (40, 32)).half()
    got, made = run(found.text, tmp_path, a=a, b=b, whole=whole)
    end = 40 if whole > 0 else 16  # behind no loop the tail is the first block
    wanted = a[:, :end].float() @ b[:end].float()
    torch.testing.assert_close(got, wanted, rtol=0, atol=0)
    assert (len(made) == 5 and all(made)) == (whole > 0)


@pytest.mark.parametrize(
    ("text", "right", "wrong", "code"),
    [
        (PARTS, "a_ptrs += BLOCK\n", "a_ptrs += BLOCK * j\n", "TP411"),
        (PARTS, "range(count)", "range(count - part)", "TP411"),
        (PARTS, "range(count)", "range(0, K, BLOCK + 8)", "TP41"),
        (PARTS, "range(count)", "range(tl.load(c_ptr).to(tl.int32))", "TP41"),
        (TAIL, "range(whole)", "range(0, K, BLOCK)", "TP41"),
        (TAIL, "    left = K", "    while left > 0:\n        a_ptrs += BLOCK\n        left -= 1\n    left = K", "TP41"),
    ],
    ids=["not the same", "fewer each time", "a rest", "out of memory", "cdiv", "while"],
)
def test_a_move_that_is_not_known_stays(text: str, right: str, wrong: str, code: str) -> None:
    assert text.count(right) == 1
    found = upgraded(text.replace(right, wrong).replace("whole, N: tl", "whole, left, N: tl"))
    said = [one.message for one in found.diagnostics if one.code.startswith(code)]
    assert any("the load of a_2 " in one or "the load of a " in one for one in said), said


def test_what_is_taken_back_behind_a_loop_is_asked_too(tmp_path: Path) -> None:
    """Of a count below zero the loop moves nothing, and the line behind it does."""
    text = PARTS.replace(
        "            b_ptrs += BLOCK * N\n", "            b_ptrs += BLOCK * N\n        a_ptrs -= count * BLOCK\n"
    )
    found = upgraded(text)
    assert [one.message for one in found.diagnostics] == [] and 'args["count"] >= 0' in found.text
