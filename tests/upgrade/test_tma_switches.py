"""Stage tma: `if`s on compile-time values, early returns of functions, functions that write, several stores."""

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("triton", reason="upgraded kernels are run with Triton")

import torch

from tests.upgrade.test_tma import run, upgraded
from tests.upgrade.test_tma_proofs import expected, given
from tritonport.upgrade.facts import Path as Way
from tritonport.upgrade.facts import on_every_way

KERNEL = """
import torch
import triton
import triton.language as tl


@triton.jit
def work(table, count, BLOCK: tl.constexpr, RAGGED: tl.constexpr):
    block = tl.program_id(0)
    if RAGGED:
        if block >= tl.load(count):
            return -1, 0
        return tl.load(table + block), tl.load(table + block + 1)
    return block * BLOCK, BLOCK


@triton.jit
def noted(sums_ptr, places, sums, N: tl.constexpr):
    tl.store(sums_ptr + places[:, None] * N + tl.arange(0, N)[None, :], sums)


@triton.jit
def product_kernel(
    a_ptr, b_ptr, c_ptr, first_ptr, last_ptr, sums_ptr, table, count, M, K,
    N: tl.constexpr, BLOCK: tl.constexpr, RAGGED: tl.constexpr, HAS_FIRST: tl.constexpr,
):
    row, valid = work(table, count, BLOCK, RAGGED)
    if row < 0:
        return
    places, cols = tl.arange(0, BLOCK), tl.arange(0, N)
    rows = row + places
    mask = (places < valid)[:, None]
    acc = tl.zeros((BLOCK, N), dtype=tl.float32)
    if HAS_FIRST:
        top = tl.load(b_ptr + places[:, None] * N + cols[None, :])
        first = tl.load(first_ptr + cols[:, None] * N + cols[None, :])
        acc += tl.dot(top, first)
    for k in range(0, K, BLOCK):
        steps = k + tl.arange(0, BLOCK)
        a = tl.load(a_ptr + rows[:, None] * K + steps[None, :], mask=mask & (steps[None, :] < K), other=0.0)
        b = tl.load(b_ptr + steps[:, None] * N + cols[None, :], mask=steps[:, None] < K, other=0.0)
        acc += tl.dot(a, b)
    noted(sums_ptr, rows, acc * 2, N)
    if last_ptr is not None:
        tl.store(last_ptr + rows[:, None] * N + cols[None, :], acc, mask=mask)
    tl.store(c_ptr + rows[:, None] * N + cols[None, :], acc, mask=mask)
    tl.store(c_ptr + M * N + rows[:, None] * N + cols[None, :], -acc, mask=mask)


def launch(a, b, first=None, last=None, ragged=False):
    (M, K), N = a.shape, b.shape[1]
    c, sums = torch.full((2, M, N), 7.0), torch.full((M, N), 7.0)
    product_kernel[(M // 16,)](
        a, b, c, first, last, sums, torch.arange(0, M + 1, 16), torch.tensor(M // 16), M, K,
        N=N, BLOCK=16, RAGGED=ragged, HAS_FIRST=first is not None,
    )
    return torch.cat([c, sums[None]])
"""


def inputs(first: bool, last: bool) -> dict[str, Any]:
    found = given(32, 40)
    found["first"] = torch.randint(-3, 4, (32, 32)).to(torch.float16) if first else None
    found["last"] = torch.full((32, 32), 7.0) if last else None
    return found


def product(given: dict[str, Any]) -> torch.Tensor:
    found = expected({"a": given["a"], "b": given["b"]})[:32]
    if given["first"] is None:
        return found
    return found + (given["b"][:16].float() @ given["first"].float()).repeat(2, 1)


@pytest.mark.parametrize("ragged", [False, True])
@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("last", [False, True])
def test_each_launch_takes_the_copies_that_it_comes_to(first: bool, last: bool, ragged: bool, tmp_path: Path) -> None:
    if ragged and first != last:
        pytest.skip("the same launch as the others of the table")
    inp = inputs(first, last)
    text = upgraded(KERNEL).text
    if ragged:  # lengths of the table are not those of the blocks
        text = text.replace("tl.load(table + block + 1)", "BLOCK").replace("gl.load(table + block + 1)", "BLOCK")
    got, made = run(text, tmp_path, **inp, ragged=ragged)
    wanted = product(inp)
    torch.testing.assert_close(got, torch.stack([wanted, -wanted, wanted * 2]), rtol=0, atol=0)
    if last:
        torch.testing.assert_close(inp["last"], wanted, rtol=0, atol=0)
    assert made == ([] if ragged else [True] * (4 + 2 * first + last))


def test_the_entry_asks_for_what_a_launch_comes_to() -> None:
    text = " ".join(upgraded(KERNEL).text.split())
    assert "(HAS_FIRST and first_desc is None)" in text
    assert "(last_ptr is not None and last_desc is None)" in text
    assert 'if not args["RAGGED"] and args["HAS_FIRST"] else None' in text
    assert 'if not args["RAGGED"] and args["last_ptr"] is not None else None' in text
    tiles = text[text.index("def product_kernel_tiles(") : text.rindex("def product_kernel(")]
    assert "work(" not in tiles and "if row < 0: return" in tiles


def test_a_misaligned_optional_pointer_takes_the_pointers(tmp_path: Path) -> None:
    inp = inputs(True, True)
    shifted = torch.zeros(32 * 32 + 1, dtype=torch.float16)[1:].view(32, 32)
    shifted.copy_(inp["first"])
    got, made = run(upgraded(KERNEL).text, tmp_path, **{**inp, "first": shifted})
    wanted = product(inp)
    torch.testing.assert_close(got[0], wanted, rtol=0, atol=0)
    assert made.count(False) == 1


def said(text: str) -> list[str]:
    return [one.message for one in upgraded(text).diagnostics if one.code in ("TP411", "TP412")]


REFUSED = {
    "an early return on what only the kernel knows": (
        "    return block * BLOCK, BLOCK\n",
        "    if block > 7:\n        return block * BLOCK, 0\n    return block * BLOCK, BLOCK\n",
        "of a", "is a tile that a function makes",
    ),
    "a return in a loop": (
        "        return tl.load(table + block), tl.load(table + block + 1)\n",
        "        for i in range(0, 4):\n            if tl.load(table + i) > block:\n                return i, i\n"
        "        return tl.load(table + block), tl.load(table + block + 1)\n",
        "of a", "is a tile that a function makes",
    ),
    "a function that gets the pointer": (
        "noted(sums_ptr, rows, acc", "noted(a_ptr + 1, rows, acc", "of a", "a_ptr to noted",
    ),
    "a function that gets the pointer by another name": (
        "    noted(sums_ptr, rows, acc", "    there = (sums_ptr, a_ptr)\n    noted(there[1], rows, acc",
        "of a", "a_ptr to noted",
    ),
    "a second store whose place is read": (
        "c_ptr + M * N + rows[:, None]", "c_ptr + tl.load(count) + rows[:, None]", "(to c_ptr)", "also writes",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_not_proved_stays_and_says_why(case: str) -> None:
    right, wrong, access, words = REFUSED[case]
    assert right in KERNEL
    text = KERNEL.replace(right, wrong)
    if "noted" in right or "a = tl.load" in right:
        text = text.replace("work(table, count, BLOCK, RAGGED)\n    if", "tl.program_id(0) * BLOCK, BLOCK\n    if")
    found = said(text)
    assert any(access in one and words in one for one in found), found


@pytest.mark.parametrize("test", ["k < 32", "tl.load(count) > 1"])
def test_a_branch_that_an_iteration_may_leave_out_turns_its_own_phase(test: str, tmp_path: Path) -> None:
    text = KERNEL.replace(
        "        a = tl.load(a_ptr",
        f"        a = tl.zeros((BLOCK, BLOCK), dtype=tl.float16)\n        if {test}:\n            a = tl.load(a_ptr",
    ).replace("work(table, count, BLOCK, RAGGED)\n    if", "tl.program_id(0) * BLOCK, BLOCK\n    if")
    inp = inputs(True, True)
    got, made = run(upgraded(text).text, tmp_path, **inp)
    if "k" in test:
        inp["a"] = inp["a"] * (torch.arange(40) < 32)
    wanted = product(inp)
    torch.testing.assert_close(got, torch.stack([wanted, -wanted, wanted * 2]), rtol=0, atol=0)
    assert all(made) and "a_phase ^= 1" in upgraded(text).text


def test_products_of_a_tile_are_no_pointer_to_it() -> None:
    assert not any("to noted" in one for one in said(KERNEL))


def test_each_of_several_loads_to_one_name_is_found_at_its_line() -> None:
    text = KERNEL.replace(
        "        acc += tl.dot(a, b)\n    noted",
        "        acc += tl.dot(a, b)\n    for k in range(0, K, BLOCK):\n"
        "        a = tl.load(a_ptr + rows[:, None] * K + (k + tl.arange(0, BLOCK))[None, :], mask=mask, other=1.0)\n"
        "        acc += tl.dot(a, tl.load(b_ptr + tl.arange(0, BLOCK)[:, None] * N + cols[None, :]))\n    noted",
    ).replace("work(table, count, BLOCK, RAGGED)\n    if", "tl.program_id(0) * BLOCK, BLOCK\n    if")
    (found,) = [one for one in upgraded(text).diagnostics if "masked elements are 1.0" in one.message]
    assert "other=1.0" in text.split("\n")[found.line - 1]


BRANCHES = {
    "a product of some programs": ("    if HAS_FIRST:\n", "    if row < 16:\n"),
    "stores of some programs": ("    if last_ptr is not None:\n", "    if row < 16:\n"),
}


@pytest.mark.parametrize("case", BRANCHES)
def test_a_branch_that_each_program_takes_whole_has_its_copies(case: str, tmp_path: Path) -> None:
    right, wrong = BRANCHES[case]
    inp = inputs(True, True)
    found = upgraded(KERNEL.replace(right, wrong))
    got, made = run(found.text, tmp_path, **inp)
    assert made == [True] * 7
    wanted = product(inp)
    if "product" in case:
        wanted[16:] -= inp["b"][:16].float() @ inp["first"].float()
    else:
        assert torch.equal(inp["last"][16:], torch.full((16, 32), 7.0)) and torch.equal(inp["last"][:16], wanted[:16])
    torch.testing.assert_close(got, torch.stack([wanted, -wanted, wanted * 2]), rtol=0, atol=0)


def test_a_loop_whose_iterations_all_take_one_branch_has_its_copies(tmp_path: Path) -> None:
    text = KERNEL.replace(
        "        a = tl.load(a_ptr",
        "        a = tl.zeros((BLOCK, BLOCK), dtype=tl.float16)\n        if row < 16:\n            a = tl.load(a_ptr",
    )
    inp = inputs(False, False)
    found = upgraded(text)
    assert "a_desc" in found.text
    got, made = run(found.text, tmp_path, **inp)
    assert all(made)
    wanted = product(inp)
    wanted[16:] = 0.0
    torch.testing.assert_close(got, torch.stack([wanted, -wanted, wanted * 2]), rtol=0, atol=0)


@pytest.mark.parametrize(
    ("paths", "needed"),
    [
        ([()], True),
        ([((1, 0),)], False),
        ([((1, 0),), ((1, 1),)], True),
        ([((1, 0), (2, 0)), ((1, 1),)], False),
        ([((1, 0), (2, 0)), ((1, 1),), ((1, 0), (2, 1))], True),
        ([((1, 0),), ((2, 1),)], False),
        ([], False),
    ],
)
def test_a_pointer_that_every_branch_needs_is_never_none(paths: list[Way], needed: bool) -> None:
    assert on_every_way(paths) is needed
