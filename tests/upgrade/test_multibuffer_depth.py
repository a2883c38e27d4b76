"""Stage multibuffer: what a ring leaves of shared memory."""

import pytest

pytest.importorskip("triton", reason="upgraded kernels are run with Triton")

from tests.conversions import conversion
from tests.convert.kernels import VERSION
from tritonport.convert import ConvertOptions

KERNEL = """
import triton
import triton.language as tl


@triton.jit
def running_kernel(a_ptr, b_ptr, sums_ptr, last_ptr, K, BLOCK: tl.constexpr):
    rows = tl.arange(0, 32)
    tile = rows[:, None] * 32 + rows[None, :]
    acc = tl.zeros((32, 32), dtype=tl.float32)
    for k in range(0, K, BLOCK):
        tl.store(sums_ptr + (k // BLOCK * 32 + rows)[:, None] * 32 + rows[None, :], acc.to(sums_ptr.dtype.element_ty))
        offs = k + tl.arange(0, BLOCK)
        a = tl.load(a_ptr + rows[:, None] * K + offs[None, :])
        b = tl.load(b_ptr + offs[:, None] * 32 + rows[None, :])
        acc = tl.dot(a, b, acc)
    tl.store(last_ptr + tile, acc)


def launch(a, b, sums, last):
    running_kernel[(1,)](a, b, sums, last, a.shape[1], 16)
"""


def test_a_tile_that_the_loop_stores_stands_beside_the_ring_and_one_behind_it_does_not() -> None:
    options = ConvertOptions(triton=VERSION, target="sm_90", stage="multibuffer")
    text = "".join(conversion(KERNEL, options).text.split())
    assert 'ring_depth_for(args,"NUM_BUFFERS",["a_desc","b_desc"],once=["sums_desc"],' in text
    assert text.count("store_tile(sums_desc,") == text.count("store_tile(last_desc,") == 1
