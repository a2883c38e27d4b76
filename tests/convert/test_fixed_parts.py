"""What a loop does not change of its masks and indices stands before it, as Triton's compiler has it."""

import pytest

from tests.convert.kernels import HEAD, VERSION, convert

SUMS = """
def kernel(x_ptr, out_ptr, M, N, BM: tl.constexpr, BN: tl.constexpr):
    cols = tl.program_id(0) * BN + tl.arange(0, BN)[None, :]
    total = tl.zeros([BM, BN], tl.float32)
    # Rows.
    for start in range(0, M, BM):
        rows = start + tl.arange(0, BM)[:, None]
        total += tl.load(x_ptr + rows * N + cols, mask={}, other=0.0)
    tl.store(out_ptr + cols, tl.sum(total, 0)[None, :], mask=cols < N)
"""
COPIED = """
def kernel(x_ptr, out_ptr, N, BLOCK: tl.constexpr):
    size = {}
    base = tl.arange(0, BLOCK)
    for start in tl.range(0, size, BLOCK):
        cols = start + base
        tl.store(out_ptr + cols, tl.load(x_ptr + cols, mask=cols < size), mask=cols < size)
"""


def _kernel(text: str) -> str:
    return convert(HEAD + text.lstrip(), VERSION).text.partition("\ndef kernel(")[2]


@pytest.mark.parametrize("mask", ["(rows < M) & (cols < N)", "(cols < N) & (rows < M)"])
def test_a_mask_of_columns_stands_before_the_loop_over_rows(mask: str) -> None:
    text = _kernel(SUMS.format(mask))
    assert "    cols_mask = cols < N\n    # Rows.\n    for start in range(0, M, BM):\n" in text
    assert mask.replace("(cols < N)", "cols_mask") in text


@pytest.mark.parametrize("mask", ["(rows < M) & (cols + start < N)", "(M < N) & (rows < M)", "rows < M"])
def test_what_the_loop_changes_and_numbers_stay(mask: str) -> None:
    assert f"mask={mask}" in _kernel(SUMS.format(mask))


def test_masks_of_a_loop_with_dots_stay() -> None:
    text = SUMS.replace("total += tl.load(", "total += tl.dot(total, total) + tl.load(")
    assert "_mask" not in _kernel(text.format("(rows < M) & (cols < N)"))


@pytest.mark.parametrize("size", ["tl.cast(N, tl.int64)", "N.to(tl.int64)"])
def test_a_range_is_widened_before_a_loop_of_64_bits(size: str) -> None:
    text = _kernel(COPIED.format(size))
    assert "    base_wide = base.to(gl.int64)\n    for start" in text and "cols = start + base_wide\n" in text


@pytest.mark.parametrize("size", ["N", "tl.cast(N, tl.int32)"])
def test_a_range_of_a_loop_of_32_bits_is_not(size: str) -> None:
    assert "cols = start + base\n" in _kernel(COPIED.format(size))
