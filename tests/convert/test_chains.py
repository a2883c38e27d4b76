"""A dot that takes the result of another one, where the warps divide what it sums over."""

import re
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


TWO_READERS = """def kernel(
    q_ptr, k_ptr, v_ptr, out_ptr, n, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr, T: tl.constexpr
):
    r, c, d = tl.arange(0, M), tl.arange(0, N), tl.arange(0, D)
    q = tl.load(q_ptr + r[:, None] * D + d[None, :])
    acc = tl.zeros((N, D), tl.float32)
    total = tl.zeros((M, D), tl.float32)
    for i in range(n):
        k = tl.load(k_ptr + (i * N + c)[None, :] * D + d[:, None])
        v = tl.load(v_ptr + (i * N + c)[:, None] * D + d[None, :])
        w = tl.load(v_ptr + (i * M + r)[:, None] * D + d[None, :])
        p = tl.exp2(tl.dot(q, k)).to(v.dtype)
        total = tl.dot(p, v, total)
        {second}
    tl.store(out_ptr + r[:, None] * D + d[None, :], total)
    tl.store(out_ptr + c[:, None] * D + d[None, :], acc)
"""


@pytest.mark.parametrize(
    ("second", "follows"),
    [
        # The last dot says for all that hang together how the warps divide them, whichever of them read the first.
        ("acc = tl.dot(tl.trans(p), w, acc)", ["[N, D]", "[N, D]", "[N, D]"]),
        ("acc += 1", ["[M, D]", "[M, D]"]),
        # A dot that only some launches have says nothing for those that all have; it has them beside it.
        ("if T:\n            acc = tl.dot(tl.trans(p), w, acc)", ["[M, D]", "[M, D]", "[N, D]"]),
        # What is in a branch that is decided at run time is compiled apart.
        ("if i > 2:\n            acc = tl.dot(tl.trans(p), w, acc)", ["[M, D]", "[M, D]", ""]),
    ],
)
def test_dots_that_hang_together_follow_the_last(second: str, follows: list[str]) -> None:
    text = convert(HEAD + TWO_READERS.replace("{second}", second), VERSION).text
    calls = re.findall(r": gl.constexpr = mma_layout\((.*?)\)\n", text, re.DOTALL)
    found = [re.search(r"follows=(\[.*?\])", call) for call in calls]
    assert sorted(match[1] if match else "" for match in found) == sorted(follows)


def test_what_some_launches_make_of_a_result_stays_in_its_layout() -> None:
    scaled = "if T:\n            p = p * tl.load(w_ptr + r)[:, None]"
    body = TWO_READERS.replace("to(v.dtype)", f"to(tl.float32)\n        {scaled}\n        p = p.to(v.dtype)")
    text = convert(HEAD + body.replace("{second}", "acc += 1").replace("v_ptr, out", "v_ptr, w_ptr, out"), VERSION).text
    loop = text[text.index("    for i in range(n):") :]
    assert "convert_layout" not in loop[: loop.index("gl.store(")]


PARTS = f"""{HEAD}def kernel(a_ptr, m_ptr, n):
    r = tl.arange(0, 64)
    m = tl.load(m_ptr + r[:, None] * 64 + r[None, :])
    for i in range(n):
        a = tl.load(a_ptr + i * 64 * 64 + r[:, None] * 64 + r[None, :])
        m = tl.dot(a, m, input_precision="tf32x3")
    tl.store(m_ptr + r[:, None] * 64 + r[None, :], m)
"""


def test_parts_of_a_right_operand_wait_in_shared_memory(tmp_path: Path) -> None:
    """In the registers of mma.sync every warp would have all of both parts; and the dots of the parts are a chain."""
    port = resources(module_of(convert(PARTS, VERSION, target="sm_80").text, tmp_path, "port"), target="sm_80")
    original = resources(module_of(PARTS, tmp_path, "original"), target="sm_80")
    assert port.registers <= original.registers
    assert port.shared == original.shared
