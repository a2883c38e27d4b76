"""A dot that takes the result of another one, where the warps divide what it sums over."""

from pathlib import Path

import pytest

from tests.convert.kernels import HEAD, VERSION, convert, module_of, resources

KERNEL = f"""{HEAD}def kernel(q_ptr, k_ptr, v_ptr, out_ptr, n):
    r = tl.arange(0, 16)
    c = tl.arange(0, 64)
    d = tl.arange(0, 32)
    q = tl.load(q_ptr + r[:, None] * 32 + d[None, :]).to(tl.float16)
    acc = tl.zeros((16, 32), tl.float32)
    for i in range(n):
        k = tl.load(k_ptr + (i * 64 + c)[None, :] * 32 + d[:, None]).to(tl.float16)
        v = tl.load(v_ptr + (i * 64 + c)[:, None] * 32 + d[None, :]).to(tl.float16)
        p = tl.exp2(tl.dot(q, k))
        acc = tl.dot(p.to(tl.float16), v, acc)
    tl.store(out_ptr + r[:, None] * 32 + d[None, :], acc)
"""


@pytest.mark.parametrize("target", ["sm_80", "sm_90", "sm_100"])
def test_the_left_operand_goes_through_shared_memory(target: str, tmp_path: Path) -> None:
    """In registers, no warp has all of a row of it: `convert_layout` would exchange it in every iteration."""
    port = resources(module_of(convert(KERNEL, VERSION, target=target).text, tmp_path, "port"), target=target)
    original = resources(module_of(KERNEL, tmp_path, "original"), target=target)
    assert (port.conversions_in_loops, original.conversions_in_loops) == (0, 0)
    assert port.mma == original.mma
