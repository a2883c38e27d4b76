"""Tiles of dots beside tiles of narrower elements: as many elements per thread, where both have one shape."""

import re

import pytest

from tests.convert.kernels import HEAD, convert

KERNEL = """def kernel(x_ptr, w_ptr, out_ptr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, stride):
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    x = tl.load(x_ptr + m[:, None] * {x_row} + k[None, :])
    w = tl.load(w_ptr + {w_place})
    tl.store(out_ptr + m[:, None] * N + n[None, :], tl.dot({x}, {w}))
"""
ROWS = "n[:, None] * 512 + k[None, :]"
COLUMNS = "k[:, None] * 512 + n[None, :]"


def bits_of_x(x: str = "x", w: str = "w.to(x.dtype).T", w_place: str = ROWS, x_row: str = "512") -> str:
    """What the layout of x is made for."""
    conversion = convert(HEAD + KERNEL.format(x=x, w=w, w_place=w_place, x_row=x_row))
    assert conversion.diagnostics == ()
    text = conversion.text[conversion.text.index("def kernel(") :]
    layout = re.search(r"x_layout: gl.constexpr = coalesced\(\s*\[M, K\], (.*), \[1, 0\]", text)
    assert layout is not None
    line = re.search(rf"{layout[1]}: gl.constexpr = (.*)", text)
    return line[1] if line is not None else layout[1]


@pytest.mark.parametrize(
    ("w", "w_place", "same"),
    [
        ("w.to(x.dtype).T", ROWS, "M == N"),
        ("w.T.to(tl.float16)", ROWS, "M == N"),
        ("w.to(x.dtype)", COLUMNS, "[M, K] == [K, N]"),
        ("(w.to(tl.float32) * 2).to(x.dtype)", COLUMNS, "[M, K] == [K, N]"),
    ],
)
def test_a_tile_that_is_cast_may_have_narrower_elements(w: str, w_place: str, same: str) -> None:
    assert bits_of_x(w=w, w_place=w_place) == f"element_bits(x_ptr, w_ptr if {same} else None)"


def test_rows_that_may_be_unaligned_count_where_they_are_aligned() -> None:
    w_place = "n[:, None] * stride + k[None, :]"
    assert bits_of_x(w_place=w_place) == "element_bits(x_ptr, w_ptr if M == N and ALIGNED else None)"
    both = bits_of_x(w_place=w_place, x_row="stride")
    assert both == "element_bits(x_ptr, w_ptr if M == N else None) if ALIGNED else 128"


@pytest.mark.parametrize(
    ("x", "w", "w_place"),
    [
        # Elements of one type, or of types that nothing tells apart.
        ("x", "w.T", ROWS),
        ("x.to(tl.float16)", "w.to(tl.float16).T", ROWS),
        # It lies the other way, or a stride says how it lies.
        ("x", "w.to(x.dtype)", "k[:, None] + n[None, :] * 512"),
        ("x", "w.to(x.dtype)", "k[:, None] * stride + n[None, :]* 512"),
    ],
)
def test_other_tiles_take_no_part(x: str, w: str, w_place: str) -> None:
    assert bits_of_x(x, w, w_place) == "element_bits(x_ptr)"
