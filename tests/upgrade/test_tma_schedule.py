"""Stage tma: a schedule of tiles that the epilogue asks again, with a counter of its own."""

from pathlib import Path

import pytest

pytest.importorskip("triton", reason="upgraded kernels are run with Triton")

import torch

from tests.upgrade.test_tma import run, upgraded
from tests.upgrade.test_tma_proofs import expected, given

KERNEL = """
import torch
import triton
import triton.language as tl


@triton.jit
def place(tile, width, height, GROUP: tl.constexpr):
    first = tile // (GROUP * width) * GROUP
    rows = min(height - first, GROUP)
    return first + tile % rows, tile % (GROUP * width) // rows


@triton.jit
def product_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, BLOCK: tl.constexpr, GROUP: tl.constexpr, PROGRAMS: tl.constexpr,
):
    start = tl.program_id(0)
    height, width = tl.cdiv(M, BLOCK), tl.cdiv(N, BLOCK)
    behind = start - PROGRAMS
    for tile in tl.range(start, height * width, PROGRAMS, flatten=True):
        row, col = place(tile, width, height, GROUP)
        rows, cols = row * BLOCK + tl.arange(0, BLOCK), col * BLOCK + tl.arange(0, BLOCK)
        rows, cols = tl.where(rows < M, rows, 0), tl.where(cols < N, cols, 0)
        acc = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
        for k in range(tl.cdiv(K, BLOCK)):
            steps = k * BLOCK + tl.arange(0, BLOCK)
            a = tl.load(a_ptr + rows[:, None] * K + steps[None, :], mask=steps[None, :] < K, other=0.0)
            b = tl.load(b_ptr + steps[:, None] * N + cols[None, :], mask=steps[:, None] < K, other=0.0)
            acc = tl.dot(a, b, acc)
        behind += PROGRAMS
        row, col = place(behind, width, height, GROUP)
        out_rows, out_cols = row * BLOCK + tl.arange(0, BLOCK), col * BLOCK + tl.arange(0, BLOCK)
        mask = (out_rows[:, None] < M) & (out_cols[None, :] < N)
        tl.store(c_ptr + out_rows[:, None] * N + out_cols[None, :], acc, mask=mask)


def launch(a, b, programs=3):
    (M, K), N = a.shape, b.shape[1]
    c = torch.full((M + 5, N), 7.0)
    product_kernel[(programs,)](a, b, c, M, N, K, BLOCK=16, GROUP=2, PROGRAMS=programs)
    return c
"""


@pytest.mark.parametrize(("rows", "depth"), [(40, 40), (24, 8), (72, 41), (16, 0)])
def test_the_epilogue_asks_for_the_tile_of_its_iteration(rows: int, depth: int, tmp_path: Path) -> None:
    inputs = given(rows, depth)
    got, made = run(upgraded(KERNEL).text, tmp_path, **inputs)
    torch.testing.assert_close(got, expected(inputs), rtol=0, atol=0)
    # Neither odd rows nor empty tensors are copied.
    assert made == {0: [False, False, True], 41: [False, True, True]}.get(depth, [True] * 3)


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("behind = start - PROGRAMS", "behind = start"),  # the tile of the next iteration
        ("behind += PROGRAMS", "behind += 1"),
        ("place(behind, width, height", "place(behind, height, width"),
    ],
)
def test_a_counter_that_is_not_the_index_is_another_tile(right: str, wrong: str) -> None:
    found = upgraded(KERNEL.replace(right, wrong))
    said = [one.message for one in found.diagnostics if one.code == "TP412"]
    assert len(said) == 2 and all("the store to c_ptr may write it" in one for one in said)
    assert "tile_descriptor" not in found.text


def test_a_place_that_a_function_takes_away_from_may_be_negative() -> None:
    text = KERNEL.replace("return first + tile % rows", "return first - tile % rows")
    said = [one.message for one in upgraded(text).diagnostics if one.code == "TP412"]
    assert any("may be negative" in one for one in said), said
