"""Helpers whose calls need different text: one version for each kind of call, or a refusal that names the calls."""

from pathlib import Path

import pytest

from tests.convert.kernels import assert_same_numbers, convert, ported

FOLDS = """
import triton
import triton.language as tl


@triton.jit
def fold(x, ROWS: tl.constexpr, HALF: tl.constexpr):
    return tl.sum(tl.reshape(x, (ROWS, 2, HALF)), axis=1)


@triton.jit
def kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, BLOCK))
    acc = tl.reshape(x, (BLOCK // 8, 8))
    acc = fold(acc, BLOCK // 8, 4)
    acc = fold(acc, BLOCK // 8, 2)
    acc = fold(acc, BLOCK // 8, 1)
    tl.store(out_ptr + tl.arange(0, BLOCK // 8), tl.reshape(acc, (BLOCK // 8,)))
"""


@pytest.mark.parametrize(
    "first",
    [
        "    acc = tl.reshape(x, (BLOCK // 8, 8))\n",
        # The first call has an argument of another rank, too.
        "    acc = x\n",
    ],
)
def test_a_reshape_that_only_adds_a_dimension_in_one_call_has_a_version_of_its_own(first: str, tmp_path: Path) -> None:
    text = FOLDS.replace("    acc = tl.reshape(x, (BLOCK // 8, 8))\n", first)
    port = ported(text)
    assert port.count("def fold") == 2
    assert port.count("= fold(acc, BLOCK // 8, ") == 2
    assert "[:, :, None]" in port
    assert_same_numbers(text, tmp_path)


def test_calls_that_no_version_serves_are_named() -> None:
    text = """
import triton
import triton.language as tl


@triton.jit
def flat(x):
    return tl.squeeze(x, 1)


@triton.jit
def kernel(x_ptr, out_ptr, A: tl.constexpr, B: tl.constexpr):
    one = tl.arange(0, 1)
    a = tl.load(x_ptr + tl.arange(0, A)[:, None] + one[None, :])
    b = tl.load(x_ptr + tl.arange(0, B)[:, None] + one[None, :])
    tl.store(out_ptr + tl.arange(0, A), flat(a))
    tl.store(out_ptr + tl.arange(0, B), flat(b))
"""
    (found,) = convert(text).diagnostics
    assert (found.code, found.line, found.kernel) == ("TP204", 7, "kernel")
    assert found.message == "flat cannot be written for all of its calls: `flat(a)` in line 16, `flat(b)` in line 17"
