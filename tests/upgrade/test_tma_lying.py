"""Matrices that lie by rows or by columns as a compile-time argument says, and dots at a precision that one names."""

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("triton", reason="upgraded kernels are run with Triton")

import torch

from tests.conversions import conversion
from tests.convert.kernels import VERSION
from tests.upgrade.test_async_copy import run as copied
from tests.upgrade.test_tma import run
from tritonport.convert import ConvertOptions

KERNEL = """
import torch
import triton
import triton.language as tl


@triton.jit
def product_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, lda, ldb,
    B_BY_COLUMNS: tl.constexpr, PRECISION: tl.constexpr, BLOCK: tl.constexpr, BLOCK_K: tl.constexpr,
):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    cols = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        ks = k + tl.arange(0, BLOCK_K)
        a = tl.load(a_ptr + rows[:, None] * lda + ks[None, :], mask=(rows[:, None] < M) & (ks[None, :] < K), other=0.0)
        LOADS
        acc = tl.dot(a, b, acc, input_precision=PRECISION)
    tl.store(c_ptr + rows[:, None] * N + cols[None, :], acc, mask=(rows[:, None] < M) & (cols[None, :] < N))


def launch(a, b, precision="tf32"):
    (M, K), N = a.shape, b.shape[1]
    c = torch.full((M, N), 7.0)
    columns = b.stride(0) == 1
    product_kernel[(triton.cdiv(M, 32), triton.cdiv(N, 32))](
        a, b, c, M, N, K, a.stride(0), b.stride(1) if columns else b.stride(0),
        B_BY_COLUMNS=columns, PRECISION=precision, BLOCK=32, BLOCK_K=16, num_warps=4,
    )
    return c
"""
BY_COLUMNS = (
    "tl.load(b_ptr + cols[:, None] * ldb + ks[None, :], mask=(cols[:, None] < N) & (ks[None, :] < K), other=0.0)"
)
BY_ROWS = "tl.load(b_ptr + ks[:, None] * ldb + cols[None, :], mask=(ks[:, None] < K) & (cols[None, :] < N), other=0.0)"
ACROSS = BY_COLUMNS.replace("cols[:, None]", "cols[None, :]").replace("ks[None, :]", "ks[:, None]")
LOADS = {
    "turned by a line": f"b = {BY_COLUMNS}\n            b = tl.trans(b)",
    "turned at once": f"b = tl.trans({BY_COLUMNS})",
    "under another name": f"columns = {BY_COLUMNS}\n            b = columns.T",
    "by its pointers": f"b = {ACROSS}",
}


def kernel(columns: str, rows: str = f"b = {BY_ROWS}") -> str:
    loads = f"if B_BY_COLUMNS:\n            {columns}\n        else:\n            {rows}"
    return KERNEL.replace("LOADS", loads)


def staged(text: str, stage: str, version: str = VERSION) -> str:
    return conversion(text, ConvertOptions(triton=version, target="sm_90", stage=stage)).text


def operands(columns: bool, dtype: torch.dtype = torch.float16) -> dict[str, Any]:
    """Small whole numbers, of which every sum is exact at any precision; tails in every dimension."""
    generator = torch.Generator().manual_seed(0)
    a, b = (torch.randint(-3, 4, size, generator=generator).to(dtype) for size in ((40, 88), (88, 48)))
    return {"a": a, "b": b.t().contiguous().t() if columns else b}


@pytest.mark.parametrize("spelled", LOADS)
def test_both_branches_load_one_matrix_whose_order_the_argument_decides(spelled: str, tmp_path: Path) -> None:
    text = staged(kernel(LOADS[spelled]), "mma")
    tiles = text[text.index("def product_kernel_tiles(") : text.rindex("def product_kernel(")]
    assert "b_order: gl.constexpr = [0, 1] if B_BY_COLUMNS else [1, 0]" in tiles
    assert "if B_BY_COLUMNS" not in tiles.replace("[0, 1] if B_BY_COLUMNS", ""), "nothing of the branches is left"
    assert "b = landed(in_order(b_ring.index(slot), b_order), 1, acc_layout, PRECISION)" in tiles
    assert "dot_started(" in tiles, "the dot stays under way"
    for columns in (False, True):
        given = operands(columns)
        got, made = run(text, tmp_path, **given)
        assert torch.equal(got, given["a"].float() @ given["b"].float())
        assert made == [True] * len(made)


@pytest.mark.parametrize("stage", ["tma", "multibuffer", "mma"])
def test_one_matrix_of_several(stage: str, tmp_path: Path) -> None:
    batched = kernel(LOADS["turned at once"]).replace("b_ptr + ", "b_ptr + tl.program_id(2) * K * N + ")
    batched = batched.replace("c_ptr + ", "c_ptr + tl.program_id(2) * M * N + ")
    batched = batched.replace("b.shape[1]", "b.shape[2]").replace("b.stride(0)", "b.stride(1)")
    batched = batched.replace("b.stride(1) if columns", "b.stride(2) if columns")
    batched = batched.replace("torch.full((M, N)", "torch.full((2, M, N)").replace("cdiv(N, 32))]", "cdiv(N, 32), 2)]")
    text = staged(batched, stage)
    assert "b_order: gl.constexpr = [0, 1] if B_BY_COLUMNS else [1, 0]" in text
    for columns in (False, True):
        given = operands(columns)
        both = torch.stack([given["b"], given["b"].flip(0)])
        given["b"] = both.transpose(1, 2).contiguous().transpose(1, 2) if columns else both
        got, made = run(text, tmp_path, **given)
        assert torch.equal(got, given["a"].float() @ both.float())
        assert all(made)


def test_the_branches_the_other_way_round(tmp_path: Path) -> None:
    swapped = KERNEL.replace(
        "LOADS",
        f"if not B_BY_COLUMNS:\n            b = {BY_ROWS}\n        else:\n            b = tl.trans({BY_COLUMNS})",
    )
    text = staged(swapped, "tma")
    assert "b_order: gl.constexpr = [1, 0] if not B_BY_COLUMNS else [0, 1]" in text
    for columns in (False, True):
        given = operands(columns)
        assert torch.equal(run(text, tmp_path, **given)[0], given["a"].float() @ given["b"].float())


@pytest.mark.parametrize(
    ("columns", "rows"),
    [
        # Tiles of other places, or a tile that something else reads too, are not one.
        (f"b = tl.trans({BY_COLUMNS.replace('cols[:, None] * ldb', '(cols[:, None] + 1) * ldb')})", f"b = {BY_ROWS}"),
        (f"b = {BY_COLUMNS}\n            b = tl.trans(b + 1)", f"b = {BY_ROWS}"),
        (f"b = tl.trans({BY_COLUMNS})", f"b = {BY_ROWS} * 2"),
        (f"b = tl.trans({BY_COLUMNS})", f"b = {BY_ROWS.replace('b_ptr', 'a_ptr')}"),
    ],
)
def test_what_is_not_one_matrix_keeps_its_branches(columns: str, rows: str) -> None:
    text = staged(kernel(columns, rows), "tma")
    assert "b_order" not in text and "if B_BY_COLUMNS:" in text


def test_a_test_that_the_kernel_makes_while_it_runs_keeps_its_branches() -> None:
    text = kernel(LOADS["turned at once"]).replace("B_BY_COLUMNS: tl.constexpr", "B_BY_COLUMNS")
    assert "b_order" not in staged(text, "tma")


# -- turned, without an `if`


@pytest.mark.parametrize("spelled", ["turned by a line", "turned at once", "under another name"])
def test_a_tile_that_is_turned_first_is_read_where_it_was_copied(spelled: str, tmp_path: Path) -> None:
    loads = LOADS[spelled].replace("\n            ", "\n        ")
    text = staged(KERNEL.replace("LOADS", loads), "mma")
    name = "columns" if spelled == "under another name" else "b"
    assert f"b = landed({name}_ring.index(slot).permute((1, 0)), 1, acc_layout, PRECISION)" in text
    given = operands(True)
    assert torch.equal(run(text, tmp_path, **given)[0], given["a"].float() @ given["b"].float())


def test_a_turned_tile_whose_new_name_stands_for_something_else_in_between() -> None:
    loads = f"b_turned = {BY_COLUMNS}\n        acc += tl.sum(b.to(tl.float32))\n        b = tl.trans(b_turned)"
    before = "    b = tl.full((BLOCK_K, BLOCK), 2.0, tl.float16)\n    for k in"
    text = KERNEL.replace("LOADS", loads).replace("    for k in", before)
    assert "landed(b_turned" not in staged(text, "tma")


# -- the precision


@pytest.mark.parametrize("stage", ["tma", "mma", "async-copy"])
@pytest.mark.parametrize("precision", ["tf32", "ieee", "tf32x3"])
def test_an_argument_names_the_precision_of_float32(stage: str, precision: str, tmp_path: Path) -> None:
    text = staged(KERNEL.replace("LOADS", f"b = {BY_ROWS}"), stage)
    assert ", acc_layout, PRECISION)" in text
    given = operands(False, torch.float32)
    wanted = given["a"] @ given["b"]
    if stage == "async-copy":
        assert torch.equal(copied(text, tmp_path, "sm_90", **given, precision=precision), wanted)
    else:
        assert torch.equal(run(text, tmp_path, **given, precision=precision)[0], wanted)


def test_a_precision_that_the_kernel_makes_is_none_of_the_launch() -> None:
    text = KERNEL.replace("LOADS", f"b = {BY_ROWS}\n        how: tl.constexpr = PRECISION")
    assert ", acc_layout, how)" not in staged(text.replace("input_precision=PRECISION", "input_precision=how"), "tma")
