"""Variables that are a number, or a vector, on one path and a tile on another: refused by name."""

import pytest

from tests.convert.kernels import HEAD, convert

KERNEL = """
def kernel(x_ptr, y_ptr, n, B: tl.constexpr, C: tl.constexpr):
    t, u = tl.arange(0, B), tl.arange(0, C)
    w = tl.load(x_ptr + t[:, None] * C + u[None, :])
    m = 0
    s = tl.sum(t)
    for i in tl.static_range(2):
        BODY
    m += tl.where(s > 0, s, w)
    tl.store(y_ptr + u, w)
"""


@pytest.mark.parametrize("body", ["w = s + w.T\n        m = tl.where(w > 0, s, w)"])
def test_a_number_that_is_a_tile_in_a_loop(body: str) -> None:
    found = convert(HEAD + KERNEL.lstrip().replace("BODY", body))
    assert [one.code for one in found.diagnostics] == ["TP203"]
