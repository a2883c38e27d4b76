"""Stage tma: strides that a function makes of a tuple, windows of rows that end at a row of the program's own."""

from pathlib import Path

import pytest

pytest.importorskip("triton", reason="upgraded kernels are run with Triton")

import torch

from tests.convert.kernels import VERSION
from tests.upgrade.test_tma import run, upgraded
from tritonport.rules_data import version_key

WINDOW = """
import torch
import triton
import triton.language as tl


@triton.jit
def widened(strides, WIDE: tl.constexpr):
    result = ()
    for axis in tl.static_range(len(strides)):
        result += (tl.cast(strides[axis], tl.int64 if WIDE else tl.int32),)
    return result


@triton.jit
def place(indices, strides):
    tl.static_assert(len(indices) == len(strides))
    offset = 0
    for axis in tl.static_range(len(strides)):
        offset += indices[axis] * strides[axis]
    return offset


@triton.jit
def window_kernel(
    q_ptr, kv_ptr, out_ptr, S, Q_STRIDES: tl.constexpr, KV_STRIDES: tl.constexpr, WINDOW: tl.constexpr,
    WIDE: tl.constexpr, N: tl.constexpr,
):
    Q_STRIDES = widened(Q_STRIDES, WIDE)
    KV_STRIDES = widened(KV_STRIDES, WIDE)
    row, offs = tl.program_id(0), tl.arange(0, 16)
    q = tl.load(q_ptr + place((row, offs[:, None], offs[None, :]), Q_STRIDES))
    acc = tl.zeros((16, N), dtype=tl.float32)
    first = row - WINDOW + 1
    for start in range(0, WINDOW, N):
        at = first + start + tl.arange(0, N)
        valid = (at >= 0) & (at <= row) & (at < S)
        kv = tl.load(kv_ptr + place((at[:, None], offs[None, :]), KV_STRIDES), mask=valid[:, None], other=0.0)
        acc += tl.dot(q, tl.trans(kv))
    tl.store(out_ptr + row * 16 * N + offs[:, None] * N + tl.arange(0, N)[None, :], acc)


def launch(q, kv, window=32, wide=False):
    S = kv.shape[0]
    out = torch.full((S + 3, 16, 16), float("nan"))
    window_kernel[(S + 3,)](
        q, kv, out, S, Q_STRIDES=q.stride(), KV_STRIDES=kv.stride(), WINDOW=window, WIDE=wide, N=16
    )
    return out
"""


def wanted(q: torch.Tensor, kv: torch.Tensor, window: int) -> torch.Tensor:
    steps = -(-window // 16) * 16
    padded = torch.cat([torch.zeros(window - 1, 16), kv.float(), torch.zeros(steps + 3, 16)])
    rows = []
    for row in range(q.shape[0]):
        blocks = padded[row : row + steps].clone()
        blocks[window:] = 0.0
        rows.append(q[row].float() @ blocks.view(-1, 16, 16).sum(0).T)
    return torch.stack(rows)


@pytest.mark.skipif(version_key(VERSION) < version_key("3.8"), reason="Triton 3.6 has no sums of tuples in a kernel")
@pytest.mark.parametrize(("window", "wide"), [(32, False), (16, True), (24, False)])
def test_a_window_of_rows_that_ends_at_a_row(window: int, wide: bool, tmp_path: Path) -> None:
    found = upgraded(WINDOW)
    assert [one.message for one in found.diagnostics] == []
    torch.manual_seed(0)
    q, kv = torch.randint(-3, 4, (23, 16, 16)).half(), torch.randint(-3, 4, (20, 16)).half()
    got, made = run(found.text, tmp_path, q=q, kv=kv, window=window, wide=wide)
    torch.testing.assert_close(got, wanted(q, kv, window), rtol=0, atol=0)
    assert (len(made) >= 2 and all(made)) or window % 16
    assert '(args["WINDOW"] % args["N"]) == 0' in found.text


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("at <= row)", "at < row)"),
        ("range(0, WINDOW, N)", "range(0, WINDOW + 1, N)"),
        ("range(0, WINDOW, N)", "range(N, WINDOW + N, N)"),
        ("first + start + tl", "first + 2 * start + tl"),
    ],
)
def test_a_window_that_ends_elsewhere_is_refused(right: str, wrong: str) -> None:
    assert WINDOW.count(right) == 1
    found = upgraded(WINDOW.replace(right, wrong))
    assert any("bounds one dimension in two ways" in one.message for one in found.diagnostics)
    assert "kv_desc" not in found.text


def test_strides_that_are_read_from_memory_are_none_of_the_launch() -> None:
    text = WINDOW.replace("tl.cast(strides[axis], tl.int64 if WIDE else tl.int32)", "strides[axis] + tl.program_id(1)")
    found = upgraded(text)
    assert "q_desc" not in found.text and "kv_desc" not in found.text


TURNED = """
import torch
import triton
import triton.language as tl


@triton.jit
def product_kernel(a_ptr, b_ptr, c_ptr, M, N, K, BLOCK: tl.constexpr):
    rows, cols = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    for k in range(0, K, BLOCK):
        steps = k + tl.arange(0, BLOCK)
        a = tl.load(a_ptr + (rows % M)[:, None] * K + steps[None, :], mask=steps[None, :] < K, other=0.0)
        b = tl.load(b_ptr + (cols % N)[:, None] * K + steps[None, :], mask=steps[None, :] < K, other=0.0)
        acc += tl.dot(a, tl.trans(b))
    mask = (rows[:, None] < M) & (cols[None, :] < N)
    tl.store(c_ptr + rows[:, None] * N + cols[None, :], acc, mask=mask)


def launch(a, b):
    (M, K), N = a.shape, b.shape[0]
    c = torch.full((M, N), 7.0)
    product_kernel[(triton.cdiv(M, 16), triton.cdiv(N, 16))](a, b, c, M, N, K, BLOCK=16)
    return c
"""


def test_rows_that_wrap_are_followed_through_a_transposition(tmp_path: Path) -> None:
    found = upgraded(TURNED)
    assert [one.message for one in found.diagnostics] == []
    torch.manual_seed(0)
    a, b = torch.randint(-3, 4, (24, 40)).half(), torch.randint(-3, 4, (20, 40)).half()
    got, made = run(found.text, tmp_path, a=a, b=b)
    torch.testing.assert_close(got, a.float() @ b.float().T, rtol=0, atol=0)
    assert len(made) == 3 and made[:2] == [True, True]


@pytest.mark.parametrize(
    ("right", "wrong", "why"),
    [
        (" & (cols[None, :] < N)", "", "the store to c_ptr may write it"),
        ("tl.trans(b))", "b)", "a dot sums over it"),
    ],
)
def test_rows_that_wrap_are_seen_behind_a_transposition(right: str, wrong: str, why: str) -> None:
    assert TURNED.count(right) == 1
    said = [one.message for one in upgraded(TURNED.replace(right, wrong)).diagnostics]
    assert any("the load of b" in one and why in one for one in said), said


OTHER = """    if FAST:
        acc = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
        tl.store(c_ptr + rows[:, None] * N + cols[None, :], acc)
    else:
"""


def branched(inner: str) -> str:
    """The kernel with its work in the second branch of an `if`, whose first one stores the same name as it is."""
    head, _, rest = TURNED.partition("    acc = tl.zeros")
    body, _, behind = ("    acc = tl.zeros" + rest).partition("\n\n\ndef launch")
    lines = "\n".join(f"    {line}" for line in body.split("\n"))
    text = f"{head}{OTHER}{lines}\n{inner}\n\ndef launch{behind}"
    text = text.replace("BLOCK: tl.constexpr):", "BLOCK: tl.constexpr, FAST: tl.constexpr):")
    return text.replace("K, BLOCK=16)", "K, BLOCK=16, FAST=False)")


def test_what_the_other_branch_does_with_a_name_is_done_with_another_value(tmp_path: Path) -> None:
    found = upgraded(branched(""))
    assert not [one.message for one in found.diagnostics if "the load" in one.message]
    torch.manual_seed(0)
    a, b = torch.randint(-3, 4, (24, 40)).half(), torch.randint(-3, 4, (24, 40)).half()
    got, made = run(found.text, tmp_path, a=a, b=b)
    torch.testing.assert_close(got, a.float() @ b.float().T, rtol=0, atol=0)
    assert made[:2] == [True, True]


@pytest.mark.parametrize(
    "inner", ["    tl.store(c_ptr + rows[:, None] * N + cols[None, :], acc)", "    tl.store(c_ptr, tl.sum(acc))"]
)
def test_what_stands_behind_both_branches_is_reached(inner: str) -> None:
    said = [one.message for one in upgraded(branched(inner)).diagnostics]
    assert any("the load of b" in one and "wraps" in one for one in said), said
