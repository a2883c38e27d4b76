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
