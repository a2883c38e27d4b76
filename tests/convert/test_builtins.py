"""Files that have functions of their own called `max`, `all`, `sum`: what a port brings along means Python's."""

from pathlib import Path

from tests.convert.kernels import assert_same_numbers, kernel_text, ported

BODY = """
offs = tl.arange(0, BN)
rows = tl.arange(0, BM)
x = tl.load(x_ptr + rows[:, None] * stride + offs[None, :], mask=offs[None, :] < n, other=0.)
tl.store(out_ptr + rows[:, None] * BN + offs[None, :], x * 2)
"""
OWN = """

def max(inp):
    return inp.max()


def all(inp):
    return inp.all()


from math import fsum as sum
"""


def test_a_file_with_functions_named_like_built_in_ones(tmp_path: Path) -> None:
    text = kernel_text(BODY, "x_ptr, out_ptr, stride, n, BM: tl.constexpr, BN: tl.constexpr") + OWN
    port = ported(text)
    assert "    from builtins import max\n\n    rank = len(shape)\n" in port
    assert_same_numbers(text, tmp_path)


def test_python_s_own_names_are_left_alone() -> None:
    port = ported(kernel_text(BODY, "x_ptr, out_ptr, stride, n, BM: tl.constexpr, BN: tl.constexpr"))
    assert "builtins" not in port
