"""Stage tma: numbers that a flag chooses with an expression."""

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
def sums_kernel(x_ptr, out_ptr, flag_ptr, T, D: tl.constexpr, BLOCK: tl.constexpr, BACK: tl.constexpr):
    cols, steps = tl.arange(0, D), tl.arange(0, BLOCK)
    before = tl.zeros((BLOCK, D), dtype=tl.float32)
    m = tl.where(steps[:, None] >= steps[None, :], 1.0, 0.0)
    count = tl.cdiv(T, BLOCK)
    i = 0 if not BACK else count - 1
    for _ in range(count):
        rows = i * BLOCK + steps
        p = rows[:, None] * D + cols[None, :]
        x = tl.load(x_ptr + p, mask=rows[:, None] < T, other=0.0)
        before = tl.dot(m, x.to(tl.float32), before, allow_tf32=False)
        tl.store(out_ptr + p, before, mask=rows[:, None] < T)
        i += (1 if not BACK else -1)


def launch(x, back):
    out = torch.full_like(x, 7.0, dtype=torch.float32)
    sums_kernel[(1,)](x, out, torch.zeros(4, dtype=torch.int32), x.shape[0], D=x.shape[1], BLOCK=16, BACK=back)
    return out
"""


def wanted(x: torch.Tensor, back: bool) -> torch.Tensor:
    out = torch.full_like(x, 7.0, dtype=torch.float32)
    blocks = list(range(-(-x.shape[0] // 16)))
    before = torch.zeros(16, x.shape[1])
    for i in reversed(blocks) if back else blocks:
        part = torch.zeros(16, x.shape[1])
        rows = x[i * 16 : i * 16 + 16].float()
        part[: len(rows)] = rows
        before = before + part.cumsum(0)
        out[i * 16 : i * 16 + 16] = before[: len(rows)]
    return out


@pytest.mark.parametrize("back", [False, True])
@pytest.mark.parametrize("length", [40, 16, 0])
def test_a_flag_chooses_where_a_loop_begins_and_its_step(length: int, back: bool, tmp_path: Path) -> None:
    found = upgraded(KERNEL)
    assert [one.message for one in found.diagnostics] == [] and 'if not args["BACK"] else None' in found.text
    assert "    i = 0\n" in found.text and "i = 0 if not BACK else count - 1" in found.text
    torch.manual_seed(0)
    x = torch.randint(-3, 4, (length, 32)).half()
    got, made = run(found.text, tmp_path, x=x, back=back)
    torch.testing.assert_close(got, wanted(x, back), rtol=0, atol=0)
    assert made == ([] if back else [length > 0] * 2)


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("    i = 0", "    BACK = T > 16\n    i = 0"),
        ("        i += (1 if not BACK", "        i += (1 if not tl.load(flag_ptr)"),
        ("    for _ in range(count)", "    i -= T\n    for _ in range(count)"),
        ("for _ in range(count)", "for _ in range(count + BLOCK)"),
        ("i = 0 if not BACK else count - 1", "i = -1 if not BACK else count - 2"),
    ],
    ids=["a flag that changes", "a flag out of memory", "below zero", "beyond the end", "one before"],
)
def test_numbers_that_may_be_below_zero_stay(right: str, wrong: str) -> None:
    assert KERNEL.count(right) == 1
    found = upgraded(KERNEL.replace(right, wrong))
    said = [one.message for one in found.diagnostics]
    # Rows beyond the end are no elements of the tensor, and only they.
    assert any("may be negative" in one or "not affine" in one for one in said) == ("count + BLOCK" not in wrong), said
