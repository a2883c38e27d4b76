"""Helpers whose calls come to other operations, although ranks and kinds of the arguments are the same."""

from pathlib import Path

from tests.convert.kernels import assert_same_numbers, convert, kernel_text

HELPERS = """
@triton.jit
def pairs(x, ROWS: tl.constexpr, COLS: tl.constexpr):
    return tl.reshape(x, [ROWS, COLS])


@triton.jit
def total(x, ROWS: tl.constexpr, COLS: tl.constexpr):
    return tl.sum(pairs(x, ROWS, COLS), axis=1)


"""
BODY = """
x = tl.load(x_ptr + tl.arange(0, BM))
one = total(x, 1, BM)
many = total(x, BM // 4, 4)
tl.store(out_ptr + tl.arange(0, BM // 4), many)
tl.store(out_ptr + BM + tl.arange(0, 1), one)
"""


def kernel() -> str:
    text = kernel_text(BODY.lstrip(), "x_ptr, out_ptr, BM: tl.constexpr")
    return text.replace("\n\n\n@triton.jit\n", f"\n\n\n{HELPERS.strip()}\n\n\n@triton.jit\n", 1)


def test_a_reshape_that_adds_a_dimension_gets_a_version_of_its_own() -> None:
    port = convert(kernel())
    assert not port.diagnostics
    assert "def pairs_2(" in port.text
    assert "def total_2(" in port.text
    assert "gl.expand_dims(" in port.text or "[None, :]" in port.text


def test_the_port_computes_the_same_bits(tmp_path: Path) -> None:
    assert_same_numbers(kernel(), tmp_path)
