"""Tiles that lie across K for warpgroup instructions: they are turned where TMA put them."""

from pathlib import Path

import pytest

pytest.importorskip("triton", reason="upgraded kernels are run with Triton")

import torch

from tests.conversions import conversion
from tests.convert.kernels import VERSION
from tests.upgrade.blackwell_kernels import ATTENTION
from tests.upgrade.kernels import matmul
from tests.upgrade.test_mma import run
from tritonport.convert import ConvertOptions

DTYPES = {"int8": torch.int8, "fp8": torch.float8_e5m2, "tf32": torch.float32}


def text_of(kernel: str, stage: str) -> str:
    return conversion(kernel, ConvertOptions(triton=VERSION, target="sm_90", stage=stage)).text


def operands(dtype: torch.dtype, a_by_columns: bool, b_by_rows: bool) -> dict[str, torch.Tensor]:
    """Small whole numbers, of which every sum is exact, over seven steps: a ring of three goes round twice."""
    generator = torch.Generator().manual_seed(0)
    a = torch.randint(-3, 4, (80, 208), generator=generator).to(dtype)
    b = torch.randint(-3, 4, (208, 48), generator=generator).to(dtype)
    a = a.t().contiguous().t() if a_by_columns else a
    return {"a": a, "b": b if b_by_rows else b.t().contiguous().t()}


@pytest.mark.parametrize(
    ("stage", "dtype", "a_by_columns", "b_by_rows"),
    [
        ("tma", "int8", True, True),
        ("multibuffer", "tf32", False, True),
        ("mma", "int8", True, False),
        ("mma", "fp8", True, True),
    ],
)
def test_a_product_of_tiles_across_k(
    stage: str, dtype: str, a_by_columns: bool, b_by_rows: bool, tmp_path: Path
) -> None:
    kernel = matmul()
    if dtype == "int8":
        kernel = kernel.replace("dtype=tl.float32", "dtype=tl.int32").replace(
            "dot(a, b", "dot(a, b, out_dtype=tl.int32"
        )
    given = operands(DTYPES[dtype], a_by_columns, b_by_rows)
    wanted = given["a"].float() @ given["b"].float()
    text = text_of(kernel, stage)
    assert torch.equal(run(text, tmp_path, **given), wanted)
    # What reads the memory is the dot: with the tile left as it was, the result is another one.
    assert not torch.equal(run(text.replace("turned.store(values)", "pass"), tmp_path, **given), wanted)


SKIPPED = {
    "none of the sum's": ("        acc += tl.dot(a, b)", "        if left < 64:\n            acc += tl.dot(a, b)"),
    "one of two": (
        "        acc += tl.dot(a, b)",
        "        if left < 64:\n            acc += tl.dot(a, b)\n        else:\n            acc += 1.0",
    ),
}


@pytest.mark.parametrize("stage", ["tma", "mma"])
@pytest.mark.parametrize("case", SKIPPED)
def test_a_tile_that_some_iterations_have_no_dot_of_stays_as_it_was_copied(
    case: str, stage: str, tmp_path: Path
) -> None:
    # The fence of the dot orders what is written before the next copy: the emulator asks for one.
    right, wrong = SKIPPED[case]
    text = text_of(matmul().replace(right, wrong), stage)
    given = operands(torch.float32, True, True)
    rest = given["a"][:, 160:] @ given["b"][160:] + (5.0 if case == "one of two" else 0.0)
    assert torch.equal(run(text, tmp_path, **given), rest)


def test_a_tile_of_which_every_way_has_a_dot_is_turned() -> None:
    right = "        acc += tl.dot(a, b)"
    both = "        if left < 64:\n            acc += tl.dot(a, b)\n        else:\n            acc -= tl.dot(a, b)"
    assert "landed_as_is" not in text_of(matmul().replace(right, both), "tma")
    assert "landed_as_is" in text_of(matmul().replace(right, SKIPPED["one of two"][1]), "tma")


@pytest.mark.parametrize("trips", [1, 4])
def test_a_chain_whose_last_dot_reads_across_k(trips: int, tmp_path: Path) -> None:
    generator = torch.Generator().manual_seed(trips)
    q, k, v = (torch.randn(rows, 32, generator=generator) for rows in (72, 120, 120))
    given = {"q": q, "k": k, "v": v, "columns": 32 * trips}
    expected = run(text_of(ATTENTION, "literal"), tmp_path, **given)
    assert torch.equal(run(text_of(ATTENTION, "mma"), tmp_path, **given), expected)
