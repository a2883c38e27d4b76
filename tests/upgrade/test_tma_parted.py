"""Stage tma: stores whose address an `if` on a flag has given two forms."""

from pathlib import Path

import pytest

pytest.importorskip("triton", reason="upgraded kernels are run with Triton")

import torch

from tests.upgrade.test_tma import run, upgraded

STATES = """
import torch
import triton
import triton.language as tl


@triton.jit
def states_kernel(
    k_ptr, v_ptr, out_ptr, T, H: tl.constexpr, K: tl.constexpr, V: tl.constexpr, BLOCK: tl.constexpr,
    V_FIRST: tl.constexpr,
):
    rows, cols, steps = tl.arange(0, K), tl.arange(0, V), tl.arange(0, BLOCK)
    head = tl.program_id(0)
    acc = tl.zeros((K, V), dtype=tl.float32)
    for t in range(0, T, BLOCK):
        mask = t + steps < T
        k = tl.load(k_ptr + head * K + (t + steps)[None, :] * (H * K) + rows[:, None], mask=mask[None, :], other=0.0)
        v = tl.load(v_ptr + head * V + (t + steps)[:, None] * (H * V) + cols[None, :], mask=mask[:, None], other=0.0)
        if V_FIRST:
            p = out_ptr + (head * (T // BLOCK) + t // BLOCK) * K * V + cols[:, None] * K + rows[None, :]
            m = (cols[:, None] < V) & (rows[None, :] < K)
        else:
            p = out_ptr + (head * (T // BLOCK) + t // BLOCK) * K * V + rows[:, None] * V + cols[None, :]
            m = (rows[:, None] < K) & (cols[None, :] < V)
        # the state before this block
        tl.store(p, (tl.trans(acc) if V_FIRST else acc).to(p.dtype.element_ty), mask=m)
        acc = tl.dot(k, v, acc)


def launch(k, v, v_first):
    (T, H, K), V = k.shape, v.shape[2]
    out = torch.full((H, T // 16, *((V, K) if v_first else (K, V))), float("nan"))
    states_kernel[(H,)](k, v, out, T, H=H, K=K, V=V, BLOCK=16, V_FIRST=v_first)
    return out
"""


@pytest.mark.parametrize("v_first", [False, True])
def test_each_form_of_a_store_is_copied_by_its_launches(v_first: bool, tmp_path: Path) -> None:
    found = upgraded(STATES)
    assert [one.message for one in found.diagnostics] == []
    assert found.text.count("store_tile(\n") + found.text.count("store_tile(out_desc") == 2
    torch.manual_seed(0)
    k, v = torch.randint(-3, 4, (48, 2, 16)).half(), torch.randint(-3, 4, (48, 2, 32)).half()
    got, made = run(found.text, tmp_path, k=k, v=v, v_first=v_first)
    sums = torch.einsum("bthk,bthv->bhkv", k.float().view(3, 16, 2, 16), v.float().view(3, 16, 2, 32)).cumsum(0)
    wanted = torch.cat([torch.zeros_like(sums[:1]), sums[:-1]]).permute(1, 0, 2, 3)
    torch.testing.assert_close(got, wanted.mT if v_first else wanted, rtol=0, atol=0)
    assert made == [True] * 3


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("        if V_FIRST:\n            p =", "        V_FIRST = t % 32 == 0\n        if V_FIRST:\n            p ="),
        ("K + rows[None, :]\n", "K + rows[None, :] // 2\n"),
        ("m = (rows[:, None] < K) & (cols[None, :] < V)", "m = rows[:, None] < cols[None, :]"),
    ],
    ids=["a flag that changes", "no sum", "a triangle"],
)
def test_a_store_stays_where_one_of_its_forms_has_to(right: str, wrong: str) -> None:
    assert STATES.count(right) == 1
    found = upgraded(STATES.replace(right, wrong))
    assert any(one.message.startswith("the store") for one in found.diagnostics)
    assert "store_tile(" not in found.text


SIDES = """
import torch
import triton
import triton.language as tl


@triton.jit
def sides_kernel(
    k_ptr, v_ptr, out_ptr, T, H: tl.constexpr, K: tl.constexpr, V: tl.constexpr, BK: tl.constexpr, BV: tl.constexpr,
    BLOCK: tl.constexpr, V_FIRST: tl.constexpr,
):
    head, part = tl.program_id(0), tl.program_id(1) * BV
    acc = tl.zeros((BK, BV), dtype=tl.float32)
    for t in range(0, T, BLOCK):
        p_k = tl.make_block_ptr(k_ptr + head * K, (K, T), (1, H * K), (0, t), (BK, BLOCK), (0, 1))
        p_v = tl.make_block_ptr(v_ptr + head * V, (T, V), (H * V, 1), (t, part), (BLOCK, BV), (1, 0))
        k = tl.load(p_k, boundary_check=(0, 1))
        v = tl.load(p_v, boundary_check=(0, 1))
        acc = tl.dot(k, v, acc)
    if V_FIRST:
        first, second, rows, cols, wide = part, 0, V, K, K
        acc = tl.trans(acc)
        TALL: tl.constexpr = BV
        BROAD: tl.constexpr = BK
    else:
        first, second, rows, cols, wide = 0, part, K, V, V
        TALL: tl.constexpr = BK
        BROAD: tl.constexpr = BV
    at_row = first + tl.arange(0, TALL)
    at_col = second + tl.arange(0, BROAD)
    mask = (at_row[:, None] < rows) & (at_col[None, :] < cols)
    p = out_ptr + head * K * V + at_row[:, None] * wide + at_col[None, :]
    tl.store(p, acc, mask=mask)


def launch(k, v, v_first):
    (T, H, K), V = k.shape, v.shape[2]
    out = torch.full((H, V, K) if v_first else (H, K, V), float("nan"))
    sides_kernel[(H, triton.cdiv(V, 16))](k, v, out, T, H=H, K=K, V=V, BK=32, BV=16, BLOCK=16, V_FIRST=v_first)
    return out
"""


@pytest.mark.parametrize("v_first", [False, True])
def test_lines_that_make_a_place_of_what_a_flag_decides_stand_in_both_branches(v_first: bool, tmp_path: Path) -> None:
    found = upgraded(SIDES)
    assert [one.message for one in found.diagnostics] == [] and found.text.count("store_tile(out_desc") == 2
    torch.manual_seed(0)
    k, v = torch.randint(-3, 4, (40, 2, 24)).half(), torch.randint(-3, 4, (40, 2, 40)).half()
    got, made = run(found.text, tmp_path, k=k, v=v, v_first=v_first)
    wanted = torch.einsum("thk,thv->hkv", k.float(), v.float())
    torch.testing.assert_close(got, wanted.mT if v_first else wanted, rtol=0, atol=0)
    assert made == [True] * 3


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("    mask = (at", "    first = 0\n    mask = (at"),
        ("    mask = (at", "    at_row += part\n    mask = (at"),
        ("    p = out_ptr", "    for again in range(T):\n        cols = again\n    p = out_ptr"),
        ("    at_col = second", "    V_FIRST = T > 7\n    at_col = second"),
        ("    at_row = first", "    at_row = tl.load(out_ptr).to(tl.int32) + first"),
        ("    p = out_ptr", "    if part > 3:\n        wide = wide + 1\n    p = out_ptr"),
    ],
    ids=["its part changes", "it changes", "a bound that a loop changes", "a flag that changes", "a load", "an if"],
)
def test_lines_that_are_others_where_they_stand_are_not_taken(right: str, wrong: str) -> None:
    assert SIDES.count(right) == 1
    found = upgraded(SIDES.replace(right, wrong))
    assert "store_tile(" not in found.text
    assert any(one.message.startswith("the store") for one in found.diagnostics)
