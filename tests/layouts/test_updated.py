"""Memory that a kernel reads and writes: no warp may read an element after another has stored its new value."""

import pytest

from tests.convert.kernels import assert_same_numbers, kernel_text, ported

UPDATED = """
offs = tl.arange(0, BN)
rows = tl.arange(0, BM)
w = tl.load({read} + offs)
x = tl.load(x_ptr + rows[:, None] * BN + offs[None, :])
{write}
tl.store(out_ptr + rows[:, None] * BN + offs[None, :], x * w[None, :])
y = tl.load(x_ptr + 1024 + rows[None, :] + offs[:, None] * BM)
tl.store(out_ptr + 2048 + rows[None, :] + offs[:, None] * BM, y * w[:, None])
"""
PARAMETERS = "x_ptr, w_ptr, out_ptr, BM: tl.constexpr, BN: tl.constexpr"


@pytest.mark.parametrize(
    "write",
    [
        "tl.store(w_ptr + offs, w + 1)",
        "tl.store((w_ptr + BN) - BN + offs, w)",
        "tl.atomic_add(w_ptr + offs, w)",
        "at = w_ptr\nfor i in range(3):\n    tl.store(at + offs, w)\n    at += BN",
    ],
)
def test_what_is_updated_is_read_once_and_not_by_several_warps(write: str) -> None:
    port = ported(kernel_text(UPDATED.format(read="w_ptr", write=write), PARAMETERS))
    assert port.count("gl.load(w_ptr") == 1
    assert "w_layout: gl.constexpr = coalesced([BN], element_bits(w_ptr), [0], gl.num_warps())" in port
    assert "w = gl.load(w_ptr + offs_w)" in port
    assert "gl.convert_layout(w, gl.SliceLayout(0, " in port and "gl.convert_layout(w, gl.SliceLayout(1, " in port


def test_what_a_helper_updates() -> None:
    helper = "@triton.jit\ndef add_to(at, value):\n    tl.store(at, value)\n\n\n@triton.jit\ndef kernel("
    text = kernel_text(UPDATED.format(read="w_ptr", write="add_to(w_ptr + offs, w + 1)"), PARAMETERS)
    port = ported(text.replace("@triton.jit\ndef kernel(", helper))
    assert port.count("gl.load(w_ptr") == 1
    assert "coalesced([BN], element_bits(w_ptr), [0], gl.num_warps())" in port


def test_what_is_only_read_has_the_layouts_of_the_tiles() -> None:
    port = ported(kernel_text(UPDATED.format(read="w_ptr", write=""), PARAMETERS))
    assert port.count("gl.load(w_ptr") == 2
    assert "convert_layout" not in port


def test_an_update_leaves_the_same_bits(tmp_path) -> None:
    write = "tl.store(w_ptr + offs, w + 1)"
    assert_same_numbers(kernel_text(UPDATED.format(read="w_ptr", write=write), PARAMETERS), tmp_path)
