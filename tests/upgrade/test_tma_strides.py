"""Stage tma: strides that are sums and numbers, pointers that a flag moves before a sum is made of them."""

from pathlib import Path

import pytest

pytest.importorskip("triton", reason="upgraded kernels are run with Triton")

import torch

from tests.upgrade.test_tma import run, upgraded

SUMMARY = """
import torch
import triton
import triton.language as tl


@triton.jit
def summary_kernel(
    k_ptr, v_ptr, out_ptr, T, H: tl.constexpr, K: tl.constexpr, V: tl.constexpr, BLOCK: tl.constexpr,
    MANY: tl.constexpr,
):
    part, head = tl.program_id(0), tl.program_id(1)
    if MANY:
        batch = tl.program_id(2)
        out_ptr += batch * H * K * (K + V) + head * K * (K + V)
    else:
        batch = 0
        out_ptr += head * K * (K + V)
    rows, steps = tl.arange(0, 16), tl.arange(0, BLOCK)
    is_state = part * BLOCK < V
    if is_state:
        cols = part * BLOCK + tl.arange(0, BLOCK)
        state = tl.zeros((16, BLOCK), dtype=tl.float32)
        for t in range(0, T, BLOCK):
            at = t + steps
            p_k = k_ptr + (batch * T * H + head) * K + at[None, :] * (H * K) + rows[:, None]
            k = tl.load(p_k, mask=(at[None, :] < T) & (rows[:, None] < K), other=0.0)
            p_v = v_ptr + (batch * T * H + head) * V + at[:, None] * (H * V) + cols[None, :]
            v = tl.load(p_v, mask=(at[:, None] < T) & (cols[None, :] < V), other=0.0)
            state = tl.dot(k, v, state)
        stride = K + V
        p_state = out_ptr + rows[:, None] * stride + cols[None, :]
        tl.store(p_state, state.to(p_state.dtype.element_ty), mask=(rows[:, None] < K) & (cols[None, :] < V))
    else:
        place = part - tl.cdiv(V, BLOCK)
        cols = place * BLOCK + tl.arange(0, BLOCK)
        square = tl.zeros((16, BLOCK), dtype=tl.float32)
        for t in range(0, T, BLOCK):
            at = t + steps
            p_k = k_ptr + (batch * T * H + head) * K + at[None, :] * (H * K) + rows[:, None]
            k = tl.load(p_k, mask=(at[None, :] < T) & (rows[:, None] < K), other=0.0)
            p_c = k_ptr + (batch * T * H + head) * K + at[:, None] * (H * K) + cols[None, :]
            c = tl.load(p_c, mask=(at[:, None] < T) & (cols[None, :] < K), other=0.0)
            square = tl.dot(k, c, square)
        p_square = out_ptr + V + rows[:, None] * (K + V) + cols[None, :]
        tl.store(p_square, square, mask=(rows[:, None] < K) & (cols[None, :] < K))


def launch(k, v):
    (B, T, H, K), V = k.shape, v.shape[3]
    out = torch.full((B, H, K, V + K), 7.0)
    grid = (triton.cdiv(V, 16) + triton.cdiv(K, 16), H, B)
    summary_kernel[grid](k, v, out, T, H=H, K=K, V=V, BLOCK=16, MANY=B > 1)
    return out
"""


@pytest.mark.parametrize(("batch", "width"), [(1, 32), (2, 24)])
def test_a_stride_that_is_a_sum_and_a_pointer_that_a_flag_moves(batch: int, width: int, tmp_path: Path) -> None:
    found = upgraded(SUMMARY)
    assert [one.message for one in found.diagnostics] == []
    torch.manual_seed(0)
    k, v = torch.randint(-3, 4, (batch, 40, 2, 8)).half(), torch.randint(-3, 4, (batch, 40, 2, width)).half()
    got, made = run(found.text, tmp_path, k=k, v=v)
    both = torch.cat([v, k], 3).float()
    torch.testing.assert_close(got, torch.einsum("bthk,bthc->bhkc", k.float(), both), rtol=0, atol=0)
    assert all(made) and len(made) >= 5


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("is_state = part * BLOCK < V", "is_state = part * BLOCK < V - 1"),
        ("is_state = part * BLOCK < V", "is_state = (part * BLOCK < V) & (T > 0)"),
        ("part - tl.cdiv(V, BLOCK)", "part - tl.cdiv(V, BLOCK) - 1"),
        ("part - tl.cdiv(V, BLOCK)", "part - tl.cdiv(T, BLOCK)"),
    ],
)
def test_a_part_that_may_begin_below_zero_is_refused(right: str, wrong: str) -> None:
    assert SUMMARY.count(right) == 1
    said = [one.message for one in upgraded(SUMMARY.replace(right, wrong)).diagnostics]
    assert any("may be negative" in one for one in said), said


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("(K + V)\n    rows", "(K + V) + part\n    rows"),
        ("    is_state = part", "    MANY = MANY and T > 8\n    is_state = part"),
    ],
)
def test_a_state_that_no_descriptor_has_stays(right: str, wrong: str) -> None:
    assert SUMMARY.count(right) == 1
    found = upgraded(SUMMARY.replace(right, wrong))
    assert any(one.message.startswith("the store") for one in found.diagnostics)
    assert "store_tile(" not in found.text


HEADS = """
import torch
import triton
import triton.language as tl


@triton.jit
def halves_kernel(a_ptr, b_ptr, c_ptr, M, H: tl.constexpr):
    head = tl.program_id(1) % H
    rows, cols = tl.program_id(0) * 16 + tl.arange(0, 16), tl.arange(0, 16)
    a_ptr += head * 32
    p_a = a_ptr + rows[:, None] * (H * 32) + (16 + cols)[None, :]
    a = tl.load(p_a, mask=(rows[:, None] < M) & ((16 + cols)[None, :] < 32), other=0.0)
    b = tl.load(b_ptr + tl.arange(0, 16)[:, None] * 16 + cols[None, :])
    c = tl.dot(a, b)
    tl.store(c_ptr + head * 16 + rows[:, None] * (H * 16) + cols[None, :], c, mask=rows[:, None] < M)


def launch(a, b):
    M, H, _ = a.shape
    c = torch.full((M, H, 16), 7.0)
    halves_kernel[(triton.cdiv(M, 16), H)](a, b, c, M, H=H)
    return c
"""


def test_heads_of_a_length_that_is_a_number(tmp_path: Path) -> None:
    found = upgraded(HEADS)
    assert [one.message for one in found.diagnostics] == []
    torch.manual_seed(0)
    a, b = torch.randint(-3, 4, (40, 3, 32)).half(), torch.randint(-3, 4, (16, 16)).half()
    got, made = run(found.text, tmp_path, a=a, b=b)
    torch.testing.assert_close(got, a[..., 16:].float() @ b.float(), rtol=0, atol=0)
    assert made == [True] * 3


def test_what_moves_by_single_elements_is_no_dimension() -> None:
    said = [one.message for one in upgraded(HEADS.replace("a_ptr += head * 32", "a_ptr += head")).diagnostics]
    assert any("which the launch cannot align" in one for one in said), said


OFFSET = """
import torch
import triton
import triton.language as tl


@triton.jit
def scores_kernel(q_ptr, k_ptr, out_ptr, T, H, OFFSET, D: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(1).to(tl.int64) + OFFSET
    batch, head = at // H, at % H
    rows, cols = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), tl.arange(0, BLOCK)
    steps = tl.arange(0, D)
    q = tl.load(q_ptr + (batch * T * H + head) * D + rows[:, None] * (H * D) + steps[None, :], mask=rows[:, None] < T)
    k = tl.load(k_ptr + (batch * T * H + head) * D + cols[None, :] * (H * D) + steps[:, None], mask=cols[None, :] < T)
    p_out = out_ptr + (at * T + rows[:, None]) * T + cols[None, :]
    tl.store(p_out, tl.dot(q, k), mask=(rows[:, None] < T) & (cols[None, :] < T))


def launch(q, k, offset, least=0):
    B, T, H, D = q.shape
    out = torch.full((B * H, T, T), 7.0)
    programs = B * H - offset
    scores_kernel[(triton.cdiv(T, 16), programs)](q, k, out[least:], T, H, offset - least, D=D, BLOCK=16)
    return out
"""


@pytest.mark.parametrize("offset", [0, 2])
def test_what_the_launch_moves_a_tile_by_is_counted_with_the_program(offset: int, tmp_path: Path) -> None:
    found = upgraded(OFFSET)
    assert [one.message for one in found.diagnostics] == []
    assert '[args["T"] * args["T"], args["T"], 1]' in found.text and 'args["OFFSET"] >= 0' in found.text
    torch.manual_seed(0)
    q, k = torch.randint(-3, 4, (2, 2, 16, 3, 16)).half().unbind()
    got, made = run(found.text, tmp_path, q=q, k=k, offset=offset)
    wanted = torch.einsum("bthd,bshd->bhts", q.float(), k.float()).reshape(6, 16, 16)
    wanted[:offset] = 7.0
    torch.testing.assert_close(got, wanted, rtol=0, atol=0)
    assert made == [True] * 3


def test_an_offset_below_zero_takes_the_pointers(tmp_path: Path) -> None:
    text = OFFSET.replace("batch, head = at // H, at % H", "batch, head = tl.program_id(1) // H, tl.program_id(1) % H")
    found = upgraded(text)
    q = torch.randint(-3, 4, (1, 16, 3, 16)).half()
    got, made = run(found.text, tmp_path, q=q, k=q, offset=0, least=1)
    wanted = torch.einsum("bthd,bshd->bhts", q.float(), q.float()).reshape(3, 16, 16)
    torch.testing.assert_close(got, wanted, rtol=0, atol=0)
    assert made == [True] * 2, "no descriptor is asked for what is stored"
