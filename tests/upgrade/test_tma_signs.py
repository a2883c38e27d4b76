"""Stage tma: the signs that a coordinate relies on are asked of the launch, those of compile-time numbers too."""

from pathlib import Path

import pytest

pytest.importorskip("triton", reason="upgraded kernels are run with Triton")

import torch

from tests.upgrade.test_tma import run, upgraded

KERNEL = """
import torch
import triton
import triton.language as tl


@triton.jit
def product_kernel(
    a_ptr, b_ptr, c_ptr, M, K, N: tl.constexpr, STEP: tl.constexpr, WAY: tl.constexpr, BLOCK: tl.constexpr
):
    pid = tl.program_id(0)
    own, cols, steps = pid * BLOCK + tl.arange(0, BLOCK), tl.arange(0, N), tl.arange(0, BLOCK)
    rows = pid * STEP + tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK, N), dtype=tl.float32)
    for k in range(0, K, BLOCK * WAY):
        at = k + steps
        a = tl.load(a_ptr + rows[:, None] * 64 + at[None, :], mask=rows[:, None] < M, other=0.0)
        b = tl.load(b_ptr + at[:, None] * N + cols[None, :])
        acc = tl.dot(a, b, acc)
    tl.store(c_ptr + own[:, None] * N + cols[None, :], acc)


def launch(a, b, first, step, way):
    c = torch.full((48, b.shape[1]), 7.0)
    begin = 0 if way > 0 else 48
    sizes = {"N": b.shape[1], "STEP": step, "WAY": way, "BLOCK": 16}
    product_kernel[(3,)](a[first:, begin:], b[begin:], c, 64 - first, 64 * way, **sizes)
    return c
"""


@pytest.mark.parametrize(("first", "step", "way"), [(0, 16, 1), (32, -16, 1), (0, 16, -1)])
def test_a_number_that_is_compiled_in_may_be_below_zero(first: int, step: int, way: int, tmp_path: Path) -> None:
    found = upgraded(KERNEL)
    assert [one.message for one in found.diagnostics] == []
    torch.manual_seed(0)
    a, b = torch.randint(-3, 4, (64, 64)).half(), torch.randint(-3, 4, (64, 32)).half()
    got, made = run(found.text, tmp_path, a=a, b=b, first=first, step=step, way=way)
    whole = a.float() @ b.float()
    wanted = torch.cat([whole[first + pid * step :][:16] for pid in range(3)])
    torch.testing.assert_close(got, wanted, rtol=0, atol=0)
    assert (made == [True] * 3) == (step > 0 and way > 0)


PLACES = {
    "divided": ("pid // STEP", True),
    "divided by a number": ("pid // -2", False),
    "compile-time": ("(6 % STEP)", True),
    "a function's default": ("place(pid)", False),
    "a function with a name of Triton's": ("cdiv(pid, STEP)", False),
}
FUNCTIONS = """

@triton.jit
def place(pid, moved: tl.constexpr = -1):
    return pid + moved


@triton.jit
def cdiv(one, other):
    return one // 2 - other


@triton.jit
def product_kernel("""


@pytest.mark.parametrize("case", PLACES)
def test_what_is_divided_by_may_be_below_zero(case: str, tmp_path: Path) -> None:
    place, asked = PLACES[case]
    text = KERNEL.replace("rows = pid * STEP", f"rows = {place} * 16").replace(
        "\n\n@triton.jit\ndef product_kernel(", FUNCTIONS
    )
    found = upgraded(text)
    if not asked:
        assert any("may be negative" in one.message for one in found.diagnostics) and "a_desc" not in found.text
        return
    assert 'args["STEP"] >= 0' in found.text
    torch.manual_seed(0)
    a, b = torch.randint(-3, 4, (64, 64)).half(), torch.randint(-3, 4, (64, 32)).half()
    got, made = run(found.text, tmp_path, a=a, b=b, first=32, step=-4, way=1)
    rows = [32 + 16 * (int(pid / -4) if case == "divided" else 6 % -4) for pid in range(3)]
    whole = a.float() @ b.float()
    torch.testing.assert_close(got, torch.cat([whole[row : row + 16] for row in rows]), rtol=0, atol=0)
    assert len(made) < 3, "such launches take the pointers"


def test_an_index_has_no_value_behind_its_loop() -> None:
    """Triton gives it none, and a copy must not read where the name pointed before the loop."""
    lines = (
        "    end = 0\n    for end in range(0, K, BLOCK):\n        acc += end\n    rows = end + tl.arange(0, BLOCK)\n"
    )
    text = KERNEL.replace("    for k in range", f"{lines}    for k in range")
    found = upgraded(text)
    assert any("`end` is the index of a loop before it" in one.message for one in found.diagnostics)
    assert "a_desc" not in found.text
