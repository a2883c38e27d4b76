"""Stage tma: launches that leave out the outermost decorator of a kernel, and decorators that keep what one did."""

import pytest

pytest.importorskip("triton", reason="upgraded kernels are converted for the installed Triton")

from tests.convert.kernels import VERSION
from tests.upgrade.test_tma import upgraded
from tritonport.convert import ConvertOptions
from tritonport.upgrade import upgrade_text

TEXT = """
import torch
import triton
import triton.language as tl


@triton.autotune(configs=[triton.Config({"BLOCK": 16})], key=["K"])
@triton.jit
def product_kernel(a_ptr, b_ptr, c_ptr, M, K, N: tl.constexpr, BLOCK: tl.constexpr):
    rows, cols = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), tl.arange(0, N)
    acc = tl.zeros((BLOCK, N), dtype=tl.float32)
    for k in range(0, K, BLOCK):
        steps = k + tl.arange(0, BLOCK)
        mask = (rows[:, None] < M) & (steps[None, :] < K)
        a = tl.load(a_ptr + rows[:, None] * K + steps[None, :], mask=mask, other=0.0)
        b = tl.load(b_ptr + steps[:, None] * N + cols[None, :], mask=steps[:, None] < K, other=0.0)
        acc += tl.dot(a, b)
    tl.store(c_ptr + rows[:, None] * N + cols[None, :], acc, mask=rows[:, None] < M)


def launch(a, b, tuned=True):
    (M, K), N = a.shape, b.shape[1]
    c = torch.full((M + 5, N), 7.0)
    kernel = product_kernel if tuned else product_kernel.fn
    kernel[(triton.cdiv(M, 16),)](a, b, c, M, K, N=N, **({} if tuned else {"BLOCK": 16}))
    product_kernel.fn[(triton.cdiv(M, 16),)](a, b, c, M, K, N=N, BLOCK=16)
    return c
"""
TUNED = '@triton.autotune(configs=[triton.Config({"BLOCK": 16})], key=["K"])\n'


def test_a_launch_without_the_autotuner_goes_through_the_heuristics() -> None:
    text = upgraded(TEXT).text
    assert text.index("@triton.autotune") < text.rindex("@launch_heuristics") < text.index("\ndef product_kernel(")
    assert '"a_desc": lambda' in text
    both = TEXT.replace("@triton.jit", '@triton.heuristics({"N": lambda args: 32})\n@triton.jit')
    assert '"a_desc": lambda' in upgraded(both).text


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        (TUNED, '@triton.heuristics({"BLOCK": lambda args: 16})\n'),
        (TUNED, ""),
        ("product_kernel.fn[(t", "product_kernel.fn.fn[(t"),
        ("    return c", "    return c, product_kernel.fn"),
        ("    return c", "    return c, product_kernel.arg_names"),
        ("    return c", "    return c, kernel.arg_names"),
    ],
)
def test_a_kernel_of_which_more_is_asked_stays(right: str, wrong: str) -> None:
    assert TEXT.count(right) == 1
    found = upgraded(TEXT.replace(right, wrong))
    assert "a_desc" not in found.text
    assert any("inspected by other code" in one.message for one in found.diagnostics)


KEEPING = {
    # What stands above the kernel's decorator, and its name where launches go through it.
    "@triton.heuristics({'N': lambda args: 32})\n": None,
    "@tuned\n": None,
    "@by_place(configs=[triton.Config({'BLOCK': 16})])\n": None,
    "@kept()\n": "kept",
    "@kept\n": "kept",
    "@kept()\n@tuned\n": "kept",
    "@tuned\n@parts.kept\n": "parts.kept",
}


@pytest.mark.parametrize("above", KEEPING)
def test_a_decorator_that_may_keep_the_descriptors_of_a_launch_has_none(above: str) -> None:
    made = "from parts import by_place, kept\nimport parts\n\n"
    made += 'tuned = triton.autotune([triton.Config({"BLOCK": 16})], ["K"])\n'
    text = TEXT.replace("\n\n@triton.autotune", f"{made}\n\n@triton.autotune").replace(TUNED, above)
    text = text.replace("product_kernel.fn[", "product_kernel[").replace(" if tuned else product_kernel.fn", "")
    found = upgraded(text)
    name = KEEPING[above]
    assert ("a_desc" in found.text) == (name is None)
    said = [one.message for one in found.diagnostics if "of an earlier one" in one.message]
    assert bool(said) == (name is not None)
    assert all(f"through `{name}`" in one for one in said)
    # What is compiled for a launch is kept with it: copies by threads ask compile-time values alone.
    threads = staged(text)
    assert ("a_ring" in threads) and ("A_ASYNC" in threads)


def staged(text: str) -> str:
    return upgrade_text(text, path="kernel.py", options=ConvertOptions(triton=VERSION, stage="async-copy")).text
