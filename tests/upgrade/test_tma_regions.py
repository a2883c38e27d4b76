"""Stage tma: a tensor that a kernel reads up to a row and writes from that row on."""

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
def append_kernel(p_ptr, u_ptr, flag_ptr, T, C, shift, stride_u, D: tl.constexpr, BLOCK: tl.constexpr):
    rows, cols = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), tl.arange(0, D)
    acc = tl.zeros((BLOCK, D), dtype=tl.float32)
    edge = T - C
    for t in range(0, T - C, BLOCK):
        at = t + tl.arange(0, BLOCK)
        p = tl.load(p_ptr + rows[:, None] * T + at[None, :], mask=(rows[:, None] < C) & (at[None, :] < T), other=0.0)
        u = tl.load(u_ptr + at[:, None] * stride_u + cols[None, :], mask=at[:, None] < edge, other=0.0)
        acc = tl.dot(p, u, acc)
    own = edge + shift + rows
    u_ptrs = u_ptr + own[:, None] * stride_u + cols[None, :]
    tl.store(u_ptrs, acc.to(tl.float16), mask=own[:, None] < T)


def launch(u, p, rows, shift=0, stride=None):
    (T, D), C = u.shape, rows
    whole = torch.zeros(T * (stride or D) + D, dtype=torch.float16)
    torch.as_strided(whole, (T, D), (stride or D, 1)).copy_(u)
    append_kernel[(triton.cdiv(C, 16),)](p, whole, whole, T, C, shift, stride or D, D=D, BLOCK=16)
    return whole
"""


def wanted(u: torch.Tensor, p: torch.Tensor, rows: int, shift: int, stride: int) -> torch.Tensor:
    (T, D), edge = u.shape, u.shape[0] - rows
    whole = torch.zeros(T * stride + D, dtype=torch.float16)
    view = torch.as_strided(whole, (T, D), (stride, 1))
    view.copy_(u)
    made = torch.zeros(-(-rows // 16) * 16, D, dtype=torch.float16)
    made[:rows] = (p[:, :edge].float() @ u[:edge].float()).half()
    own = view[edge + shift :][: len(made)]
    own.copy_(made[: len(own)])
    return whole


@pytest.mark.parametrize(
    ("length", "rows", "shift", "stride"),
    [(56, 16, 0, 32), (56, 24, 0, 40), (48, 20, 4, 32), (48, 16, -24, 32), (32, 32, 0, 32), (56, 24, 0, 36)],
)
def test_rows_are_written_behind_those_that_are_read(
    length: int, rows: int, shift: int, stride: int, tmp_path: Path
) -> None:
    found = upgraded(KERNEL)
    assert [one.message for one in found.diagnostics] == [] and found.text.count("u_desc = ") == 0
    text = "".join(found.text.split())
    assert 'args["shift"]>=0' in text and text.count('args["stride_u"]>=args["D"]') == 2
    torch.manual_seed(0)
    u, p = torch.randint(-3, 4, (length, 32)).half(), torch.randint(-2, 3, (rows, length)).half()
    got, made = run(found.text, tmp_path, u=u, p=p, rows=rows, shift=shift, stride=stride)
    torch.testing.assert_close(got, wanted(u, p, rows, shift, stride), rtol=0, atol=0)
    # A row that is not there, nothing to read, rows that begin at no 16 bytes: the pointers.
    assert (made == [True] * 3) == (shift >= 0 and rows < length and stride % 8 == 0)


STORE = "    tl.store(u_ptrs, acc.to(tl.float16), mask=own[:, None] < T)\n"
REFUSED = {
    "a row too many is read": ("mask=at[:, None] < edge", "mask=at[:, None] <= edge"),
    "a row too early is written": ("own = edge + rows", "own = edge - 1 + rows"),
    "rows down from the edge": ("own = edge + rows", "own = edge - rows"),
    "another bound": ("mask=at[:, None] < edge", "mask=at[:, None] < edge + D"),
    "no bound": (", mask=at[:, None] < edge, other=0.0", ""),
    "other columns": ("u_ptrs = u_ptr +", "u_ptrs = u_ptr + 8 +"),
    "columns of the program": ("own[:, None] * stride_u +", "own[:, None] * stride_u - tl.program_id(1) * D +"),
    "other rows": ("own[:, None] * stride_u", "own[:, None] * (stride_u - 8)"),
    "a bound that the loop moves": ("        acc = tl.dot", "        edge += BLOCK\n        acc = tl.dot"),
    "rows that the loop moves": ("        acc = tl.dot", "        rows -= BLOCK\n        acc = tl.dot"),
    "rows that wrap": ("    own = edge + rows", "    own = (edge + rows) % T"),
    "a bound out of memory": ("    edge = T - C", "    edge = tl.load(flag_ptr).to(tl.int32)"),
    "programs that wait for each other": (
        "    edge = T - C", "    while tl.atomic_cas(flag_ptr, 0, 1) == 1:\n        pass\n    edge = T - C"
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_rows_that_may_be_the_same_are_refused(case: str) -> None:
    right, wrong = REFUSED[case]
    text = KERNEL.replace("edge + shift + rows", "edge + rows")
    assert text.count(right) == 1
    found = upgraded(text.replace(right, wrong))
    said = [one.message for one in found.diagnostics]
    assert any(one.startswith("the store") for one in said) or "tile_descriptor(" not in found.text, said
    assert any(one.startswith("the load of u ") for one in said) or "tile_descriptor(" not in found.text, said


def test_a_bound_of_the_loop_above_is_none_behind_it() -> None:
    """Rows below the index of a loop are others in each iteration."""
    text = KERNEL.replace("< edge, other", "< t + 8, other").replace("edge + shift + rows", "t + 8 + rows")
    text = (
        text.replace("    own =", "        own =")
        .replace("    u_ptrs =", "        u_ptrs =")
        .replace(STORE, "    " + STORE)
    )
    found = upgraded(text)
    said = [one.message for one in found.diagnostics]
    assert any(one.startswith("the store") for one in said) and any(one.startswith("the load of u ") for one in said)
