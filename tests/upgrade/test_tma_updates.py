"""Stage tma: tiles that a program reads before it writes them, and writes by columns."""

import re
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
def update_kernel(a_ptr, b_ptr, c_ptr, M, K, N, stride_c, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    for n in range(tl.cdiv(N, BLOCK)):
        cols = n * BLOCK + tl.arange(0, BLOCK)
        acc = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
        for k in range(0, K, BLOCK):
            steps = k + tl.arange(0, BLOCK)
            a = tl.load(
                a_ptr + rows[:, None] * K + steps[None, :], mask=(rows[:, None] < M) & (steps[None, :] < K), other=0.0
            )
            b = tl.load(
                b_ptr + steps[:, None] * N + cols[None, :], mask=(steps[:, None] < K) & (cols[None, :] < N), other=0.0
            )
            acc = tl.dot(a, b, acc)
        c_ptrs = c_ptr + rows[:, None] * stride_c + cols[None, :]
        mask = (rows[:, None] < M) & (cols[None, :] < N)
        acc += tl.load(c_ptrs, mask=mask, other=0.0)
        tl.store(c_ptrs, acc, mask=mask)


def launch(a, b, stride_c=None):
    (M, K), N = a.shape, b.shape[1]
    c = torch.arange(0, (M + 8) * (N + 8), dtype=torch.float32)
    update_kernel[(triton.cdiv(M, 16),)](a, b, c, M, K, N, stride_c or N, BLOCK=16)
    return c
"""
LOADED = KERNEL.replace(
    "        acc += tl.load(c_ptrs, mask=mask, other=0.0)\n        tl.store(c_ptrs, acc, mask=mask)",
    "        before = tl.load(c_ptrs, mask=mask, other=0.0)\n        made = before + acc\n"
    "        tl.store(c_ptrs, made.to(tl.float32), mask=mask)",
)


def wanted(a: torch.Tensor, b: torch.Tensor, stride: int) -> torch.Tensor:
    (m, _), n = a.shape, b.shape[1]
    c = torch.arange(0, (m + 8) * (n + 8), dtype=torch.float32)
    torch.as_strided(c, (m, n), (stride, 1)).add_(a.float() @ b.float())
    return c


@pytest.mark.parametrize("text", [KERNEL, LOADED], ids=["in place", "by a name"])
@pytest.mark.parametrize(("columns", "stride"), [(40, 40), (40, 44), (42, 42)])
def test_a_tile_is_written_by_tma_behind_its_load(text: str, columns: int, stride: int, tmp_path: Path) -> None:
    found = upgraded(text)
    assert [one.message for one in found.diagnostics] == [] and "store_tile(c_desc" in "".join(found.text.split())
    torch.manual_seed(0)
    a, b = torch.randint(-4, 5, (24, 32)).half(), torch.randint(-4, 5, (32, columns)).half()
    got, made = run(found.text, tmp_path, a=a, b=b, stride_c=stride)
    torch.testing.assert_close(got, wanted(a, b, stride), rtol=0, atol=0)
    assert made == [True] * 3 or columns == 42


def test_rows_that_overlap_take_the_pointers(tmp_path: Path) -> None:
    text = upgraded(KERNEL).text
    assert 'args["stride_c"] >= args["N"]' in text
    a, b = torch.zeros(16, 16).half(), torch.zeros(16, 40).half()
    _, made = run(text, tmp_path, a=a, b=b, stride_c=36)
    assert made == [True, True], "no descriptor is asked for what is stored"


BEHIND = (
    KERNEL.replace(
        "        acc += tl.load(c_ptrs, mask=mask, other=0.0)\n        tl.store(c_ptrs, acc, mask=mask)",
        "        acc = acc + tl.load(c_ptrs, mask=mask, other=0.0).to(tl.float32)\n        twice = acc * 2\n"
        "        tl.store(c_ptrs, acc.to(tl.float32), mask=mask)\n        tl.store(d_ptr + rows[:, None] * N"
        " + cols[None, :], twice, mask=mask)",
    )
    .replace("c_ptr, M, K", "c_ptr, d_ptr, M, K")
    .replace("a, b, c, M", "a, b, c, d, M")
    .replace("    return c", "    return c, d")
    .replace("    update_kernel[", "    d = torch.full((M, N), float('nan'))\n    update_kernel[")
)


def test_a_sum_with_what_was_there_may_be_read_behind_its_store(tmp_path: Path) -> None:
    found = upgraded(BEHIND)
    # The port writes the mask anew for the store, in a layout of its own; the load is a copy too.
    assert not found.diagnostics and {"acc_desc", "c_desc"} <= set(re.findall(r"\w+", found.text))
    torch.manual_seed(0)
    a, b = torch.randint(-4, 5, (24, 32)).half(), torch.randint(-4, 5, (32, 40)).half()
    (got, twice), made = run(found.text, tmp_path, a=a, b=b, stride_c=44)
    torch.testing.assert_close(got, wanted(a, b, 44), rtol=0, atol=0)
    torch.testing.assert_close(twice, 2 * torch.as_strided(got, (24, 40), (44, 1)), rtol=0, atol=0)
    assert made == [True] * 5


@pytest.mark.parametrize(
    "value",
    [
        "tl.zeros_like(acc)",
        "acc - acc",
        "acc * 0",
        "tl.where(rows[:, None] > 3, acc, 0.0)",
    ],
)
def test_a_value_that_leaves_out_elements_is_not_read_behind_its_store(value: str) -> None:
    text = BEHIND.replace("acc.to(tl.float32), mask", f"({value}).to(tl.float32), mask")
    assert text != BEHIND
    said = [one.message for one in upgraded(text).diagnostics if one.message.startswith("the store (to c_ptr)")]
    assert said and "the kernel also reads c_ptr" in said[0]


WHOLE = (
    KERNEL.replace("for n in range(tl.cdiv(N, BLOCK)):", "for n in range(0, N, BLOCK):")
    .replace("cols = n * BLOCK +", "cols = n +")
    .replace("mask = (rows[:, None] < M) & (cols[None, :] < N)", "mask = rows[:, None] < M")
)


@pytest.mark.parametrize("columns", [48, 40])
def test_columns_that_only_the_loop_ends_lie_apart_where_its_blocks_do(columns: int, tmp_path: Path) -> None:
    found = upgraded(WHOLE)
    asked = '(args["N"] % args["BLOCK"]) == 0 and args["stride_c"] >= args["N"]'
    assert not found.diagnostics and found.text.count(asked) == 1
    torch.manual_seed(0)
    a, b = torch.randint(-4, 5, (24, 32)).half(), torch.randint(-4, 5, (32, columns)).half()
    got, made = run(found.text, tmp_path, a=a, b=b, stride_c=48)
    torch.testing.assert_close(got, wanted(a, b, 48), rtol=0, atol=0)
    assert len(made) == (3 if columns == 48 else 2)


STORE = "        tl.store(c_ptrs, acc, mask=mask)\n"
LOAD = "        acc += tl.load(c_ptrs, mask=mask, other=0.0)\n"
REFUSED = {
    "a load behind the store": (STORE, STORE + "        tl.store(b_ptr, tl.sum(tl.load(c_ptrs)).to(tl.float16))\n"),
    "a load in the next iteration": ("        cols = n * BLOCK +", "        cols = n +"),
    "the same tile again": ("        cols = n * BLOCK +", "        cols = n // 2 * BLOCK +"),
    "a part that an if takes back": (
        "        c_ptrs = c_ptr +",
        "        if n > 2:\n            part = 0\n        else:\n            part = 1\n"
        "        c_ptrs = c_ptr + part * M +",
    ),
    "blocks that overlap": ("        cols = n * BLOCK +", "        cols = n * 8 +"),
    "other elements": (LOAD, LOAD.replace("c_ptrs", "c_ptrs + stride_c")),
    "a value that is not made of it": (
        LOAD, "        before = tl.load(c_ptrs, mask=mask, other=0.0)\n        before = acc\n        acc = before\n"
    ),
    "a value that is read behind the store": (
        LOAD + STORE,
        "        before = tl.load(c_ptrs, mask=mask, other=0.0)\n        acc *= before\n" + STORE
        + "        tl.store(b_ptr, tl.sum(before).to(tl.float16))\n",
    ),
    "programs that take turns": (
        LOAD,
        "        while tl.atomic_cas(b_ptr, 0, 1) == 1:\n            pass\n" + LOAD.replace("acc +=", "acc = acc +"),
    ),
    "columns without an end": (
        "        mask = (rows[:, None] < M) & (cols[None, :] < N)\n", "        mask = rows[:, None] < M\n"
    ),
    "another program's part": ("        acc += tl", "        tl.atomic_add(c_ptr, 1.0)\n        acc += tl"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_a_store_that_a_load_may_miss_is_refused(case: str) -> None:
    right, wrong = REFUSED[case]
    assert right in KERNEL
    text = KERNEL.replace(right, wrong)
    found = upgraded(text)
    said = [one for one in found.diagnostics if one.code == "TP412" and one.message.startswith("the store (to c_ptr)")]
    assert said and all("the kernel also " in one.message for one in said), [one.message for one in found.diagnostics]
    assert "c_desc" not in found.text
    lines = text.split("\n")
    for one in said:
        number = int(one.message.rpartition(" in line ")[2])
        assert "c_ptr" in lines[number - 1] and number != one.line


AGAIN = {
    "in every iteration": ("", "", STORE, "of the loop over k writes the same elements"),
    "of less than a block": ("cols = n * BLOCK +", "cols = n * 8 +", "", "n write elements that others have written"),
    "behind itself": (STORE, STORE + f"        acc *= 2\n{STORE}", "", "the kernel also writes c_ptr in line"),
    "an element further": (
        STORE, STORE + STORE.replace("c_ptrs", "c_ptrs + 1"), "", "the kernel also writes c_ptr in line"
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", AGAIN)
def test_elements_that_are_written_again_are_not_copied(case: str) -> None:
    right, wrong, inside, reason = AGAIN[case]
    text = KERNEL.replace(LOAD, "").replace(right, wrong)
    if inside:
        made = "        c_ptrs = c_ptr + rows[:, None] * stride_c + cols[None, :]\n"
        mask = "        mask = (rows[:, None] < M) & (cols[None, :] < N)\n"
        text = text.replace(made, "").replace(mask, "").replace(STORE, "")
        text = text.replace("        acc = tl.zeros", f"{made}{mask}        acc = tl.zeros")
        text = text.replace("tl.dot(a, b, acc)\n", f"tl.dot(a, b, acc)\n    {STORE}")
    said = [one.message for one in upgraded(text).diagnostics if one.code == "TP412"]
    assert said and all(reason in one and one.startswith("the store (to c_ptr)") for one in said), said


AROUND = {
    "an index that says nothing": ("for again in range(2):", "", "n", True),
    "a count of its own": ("for again in range(2):", "n = 0", "n", True),
    "a count that goes on": ("for again in range(2):", "", "(n + begun)", False),
    "the index of the loop around": ("for again in range(2):", "first = again * 4", "(n + first)", False),
    "what another program leaves": ("while M > 0:", "first = tl.atomic_add(b_ptr + 8, 1.0)", "(n + first)", False),
}  # fmt: skip


@pytest.mark.parametrize("case", AROUND)
def test_a_loop_around_one_that_writes_every_block_writes_it_again(case: str) -> None:
    loop, begin, index, again = AROUND[case]
    head, inner = KERNEL.replace(LOAD, "").split("    for n in range(tl.cdiv(N, BLOCK)):\n")
    inner, launch = inner.split("\n\ndef launch")
    inner = inner.replace("n * BLOCK", f"{index} * BLOCK")
    lines = [begin or "pass", "for n in range(tl.cdiv(N, BLOCK)):", *(line[4:] for line in inner.splitlines())]
    if case == "a count that goes on":
        head += "    begun = 0\n"
        lines.append("begun += tl.cdiv(N, BLOCK)")
    text = f"{head}    {loop}\n" + "".join(f"        {line}\n" for line in lines) + f"\n\ndef launch{launch}"
    found = upgraded(text)
    said = [one.message for one in found.diagnostics if "writes the same elements" in one.message]
    assert bool(said) == again, [one.message for one in found.diagnostics]
    assert not again or "c_desc" not in found.text


ONCE = {
    # The test that the store stands under, in a loop around the one that writes every block, and whether it holds once.
    "again == 0": True,
    "again == BLOCK - 1": True,
    "again < 1": False,
    "again == n": False,
    "again != 0": False,
    "M == 0": False,
    "again == tl.load(b_ptr).to(tl.int32)": False,
}


@pytest.mark.parametrize("test", ONCE)
def test_what_one_iteration_of_a_loop_around_writes_is_written_once(test: str, tmp_path: Path) -> None:
    head, inner = KERNEL.replace(LOAD, "").split("    for n in range(tl.cdiv(N, BLOCK)):\n")
    inner, launch = inner.split("\n\ndef launch")
    inner = inner.replace(STORE, f"        if {test}:\n    {STORE}")
    lines = ["for n in range(tl.cdiv(N, BLOCK)):", *(line[4:] for line in inner.splitlines())]
    around = "    for again in range(17):\n"
    found = upgraded(f"{head}{around}" + "".join(f"        {line}\n" for line in lines) + f"\n\ndef launch{launch}")
    said = [one.message for one in found.diagnostics if "writes the same elements" in one.message]
    assert bool(said) != ONCE[test], [one.message for one in found.diagnostics]
    assert ("c_desc" in found.text) == ONCE[test]
    if ONCE[test]:
        a, b = torch.randint(-4, 5, (24, 32)).half(), torch.randint(-4, 5, (32, 40)).half()
        got, made = run(found.text, tmp_path, a=a, b=b)
        torch.testing.assert_close(torch.as_strided(got, (24, 40), (40, 1)), a.float() @ b.float(), rtol=0, atol=0)
        assert made == [True] * 3


def test_one_of_two_branches_writes() -> None:
    branches = f"        if K > 64:\n    {STORE}        else:\n            acc *= 2\n    {STORE}"
    found = upgraded(KERNEL.replace(LOAD, "").replace(STORE, branches))
    assert found.diagnostics == () and found.text.count("store_tile(c_desc") == 2


COLUMNS = """
import torch
import triton
import triton.language as tl


@triton.jit
def states_kernel(k_ptr, v_ptr, out_ptr, T, H: tl.constexpr, K: tl.constexpr, V: tl.constexpr, BLOCK: tl.constexpr):
    rows, cols, steps = tl.arange(0, K), tl.arange(0, V), tl.arange(0, BLOCK)
    head = tl.program_id(0)
    acc = tl.zeros((K, V), dtype=tl.float32)
    for t in range(0, T, BLOCK):
        mask = t + steps < T
        k = tl.load(k_ptr + head * K + (t + steps)[None, :] * (H * K) + rows[:, None], mask=mask[None, :], other=0.0)
        v = tl.load(v_ptr + head * V + (t + steps)[:, None] * (H * V) + cols[None, :], mask=mask[:, None], other=0.0)
        acc = tl.dot(k, v, acc)
    # A state has its columns one behind the other.
    tl.store(out_ptr + head * K * V + rows[:, None] + cols[None, :] * K, acc)


def launch(k, v):
    (T, H, K), V = k.shape, v.shape[2]
    out = torch.full((H, V, K), float("nan"))
    states_kernel[(H,)](k, v, out, T, H=H, K=K, V=V, BLOCK=16)
    return out
"""


@pytest.mark.parametrize("length", [0, 16, 40])
def test_a_matrix_by_columns_among_others_is_written(length: int, tmp_path: Path) -> None:
    found = upgraded(COLUMNS)
    assert [one.message for one in found.diagnostics] == [] and "store_tile(out_desc" in found.text
    torch.manual_seed(0)
    k, v = torch.randint(-4, 5, (length, 3, 16)).half(), torch.randint(-4, 5, (length, 3, 32)).half()
    got, made = run(found.text, tmp_path, k=k, v=v)
    torch.testing.assert_close(got, torch.einsum("thk,thv->hvk", k.float(), v.float()), rtol=0, atol=0)
    assert made == [True] * 3 or length == 0


TASKS = """
import torch
import triton
import triton.language as tl


@triton.jit
def tasks_kernel(
    a_ptr, b_ptr, c_ptr, B, T, tasks, programs, H: tl.constexpr, K: tl.constexpr, WIDE: tl.constexpr,
    BLOCK: tl.constexpr,
):
    for task in range(tl.program_id(0), tasks, programs):
        row, rest = task // (B * H), task % (B * H)
        batch, head = rest // H, rest % H
        rows, steps = row * BLOCK + tl.arange(0, BLOCK), tl.arange(0, 16)
        mask = rows[:, None] < T
        p_a = a_ptr + (batch * T * H + head) * 16 + rows[:, None] * (H * 16) + steps[None, :]
        a = tl.load(p_a, mask=mask, other=0.0)
        for k in range(tl.cdiv(K, 16)):
            cols = k * 16 + tl.arange(0, 16)
            b = tl.load(b_ptr + steps[:, None] * K + cols[None, :], mask=cols[None, :] < K, other=0.0)
            p_c = c_ptr + (batch * T * H + head) * WIDE + rows[:, None] * (H * WIDE) + cols[None, :]
            old = tl.load(p_c, mask=mask & (cols[None, :] < K), other=0.0)
            new = tl.dot(a, b) + old
            if k < 8:
                tl.store(p_c, new, mask=mask & (cols[None, :] < K))


def launch(a, b, wide=None, programs=3):
    (B, T, H, _), K = a.shape, b.shape[1]
    c = torch.arange(B * T * H * (wide or K), dtype=torch.float32).view(B, T, H, -1) % 7
    tasks = triton.cdiv(T, 16) * B * H
    tasks_kernel[(programs,)](a, b, c, B, T, tasks, programs, H=H, K=K, WIDE=wide or K, BLOCK=16)
    return c
"""


@pytest.mark.parametrize("wide", [40, 48])
def test_tasks_whose_numbers_are_their_places_write_tiles_of_their_own(wide: int, tmp_path: Path) -> None:
    found = upgraded(TASKS)
    assert [one.message for one in found.diagnostics] == [] and "store_tile(" in found.text
    torch.manual_seed(0)
    a, b = torch.randint(-3, 4, (2, 40, 3, 16)).half(), torch.randint(-3, 4, (16, 40)).half()
    got, made = run(found.text, tmp_path, a=a, b=b, wide=wide)
    expected = torch.arange(2 * 40 * 3 * wide, dtype=torch.float32).view(2, 40, 3, wide) % 7
    expected[..., :40] += a.float() @ b.float()
    torch.testing.assert_close(got, expected, rtol=0, atol=0)
    assert made == [True] * 3
    assert 'args["WIDE"] >= args["K"]' in found.text


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("task % (B * H)", "task % (B * H + H)"),
        ("rest // H, rest % H", "rest // H, rest // H"),
        ("rest // H, rest % H", "rest // H, rest % (H + 1)"),
        ("(batch * T * H + head) * WIDE", "head * WIDE"),
        ("row * BLOCK + tl", "row * 8 + tl"),
        ("cols = k * 16 + tl", "cols = k * 8 + tl"),
        ("range(tl.cdiv(K, 16))", "range(2 * tl.cdiv(K, 16))"),
        ("            if k < 8:\n", "            a += old.to(tl.float16)\n            if k < 8:\n"),
    ],
)
def test_tasks_that_may_share_an_element_are_refused(right: str, wrong: str) -> None:
    assert TASKS.count(right) == 1
    found = upgraded(TASKS.replace(right, wrong))
    said = [one.message for one in found.diagnostics if one.message.startswith("the store")]
    assert bool(said) == ("range(2" not in wrong), said


EITHER = """
import torch
import triton
import triton.language as tl


@triton.jit
def either_kernel(a_ptr, b_ptr, c_ptr, M, N, BLOCK: tl.constexpr):
    part = tl.program_id(1)
    rows, cols = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), tl.arange(0, BLOCK)
    a = tl.load(a_ptr + rows[:, None] * BLOCK + cols[None, :], mask=rows[:, None] < M, other=0.0)
    if part > 0:
        at = part * BLOCK + cols
        b = tl.load(b_ptr + cols[:, None] * N + at[None, :], mask=at[None, :] < N, other=0.0)
        acc = tl.dot(a, b)
        tl.store(c_ptr + rows[:, None] * N + at[None, :], acc, mask=(rows[:, None] < M) & (at[None, :] < N))
    elif part == 0:
        for j in range(0, BLOCK):
            tl.store(c_ptr + rows * N + j, rows * 0.5 + j, mask=rows < M)


def launch(a, b):
    M, N = a.shape[0], b.shape[1]
    c = torch.full((M, N), 7.0)
    either_kernel[(triton.cdiv(M, 16), triton.cdiv(N, 16))](a, b, c, M, N, BLOCK=16)
    return c
"""


def test_a_program_that_takes_one_branch_does_not_come_to_the_other(tmp_path: Path) -> None:
    found = upgraded(EITHER)
    assert [one.message for one in found.diagnostics] == [] and "store_tile(c_desc" in found.text
    torch.manual_seed(0)
    a, b = torch.randint(-3, 4, (24, 16)).half(), torch.randint(-3, 4, (16, 40)).half()
    got, made = run(found.text, tmp_path, a=a, b=b)
    expected = a.float() @ b.float()
    expected[:, :16] = torch.arange(24)[:, None] * 0.5 + torch.arange(16)
    torch.testing.assert_close(got, expected, rtol=0, atol=0)
    assert made == [True] * 3


def test_a_loop_may_come_to_both_branches() -> None:
    text = EITHER.replace("    part = tl.program_id(1)\n", "").replace(
        "    if part > 0", "    for part in range(3):\n        if part > 0"
    )
    head, _, body = text.partition("        if part > 0")
    body, _, behind = body.partition("\n\n\ndef launch")
    inner = "\n".join(f"    {line}" if place else line for place, line in enumerate(body.split("\n")))
    said = [one.message for one in upgraded(f"{head}        if part > 0{inner}\n\n\ndef launch{behind}").diagnostics]
    assert any(one.startswith("the store (to c_ptr)") and "also writes" in one for one in said), said


@pytest.mark.parametrize("value", ["0.0", "-2", "EXTRA", "N"])
def test_a_number_is_written_as_a_tile_of_it(value: str, tmp_path: Path) -> None:
    text = EITHER.replace("BLOCK: tl.constexpr", "EXTRA: tl.constexpr, BLOCK: tl.constexpr").replace(
        "a, b, c, M, N,", "a, b, c, M, N, EXTRA=3,"
    )
    head, _, behind = text.partition("        for j in range(0, BLOCK):\n")
    text = f"{head}        tl.store(c_ptr + rows[:, None] * N + cols[None, :], {value}, mask=rows[:, None] < M)\n"
    found = upgraded(text + behind.partition("\n")[2])
    assert [one.message for one in found.diagnostics] == [] and found.text.count("store_tile(") == 3
    a, b = torch.ones(24, 16).half(), torch.ones(16, 40).half()
    got, made = run(found.text, tmp_path, a=a, b=b)
    number = {"0.0": 0.0, "-2": -2.0, "EXTRA": 3.0, "N": 40.0}[value]
    assert (got[:, :16] == number).all() and (got[:, 16:] == 16).all() and made == [True] * 4


@pytest.mark.parametrize("value", ["(rows * 0.5)[:, None]", "cols[None, :].to(tl.float32) + 1", "half"])
def test_a_vector_that_is_spread_over_a_tile_is_written_by_its_threads(value: str, tmp_path: Path) -> None:
    head, _, behind = EITHER.partition("        for j in range(0, BLOCK):\n")
    text = (
        f"{head}        half = rows[:, None] * 0.5\n        tl.store(c_ptr + rows[:, None] * N + cols[None, :], {value}"
    )
    found = upgraded(f"{text}, mask=rows[:, None] < M)\n{behind.partition(chr(10))[2]}")
    said = [one.message for one in found.diagnostics if one.code == "TP412"]
    assert len(said) == 1 and "what it stores is spread over the tile" in said[0]


WAITING = """
import torch
import triton
import triton.language as tl


@triton.jit
def waiting_kernel(a_ptr, b_ptr, p_ptr, c_ptr, flag_ptr, BLOCK: tl.constexpr):
    rows, cols = tl.arange(0, BLOCK)[:, None] * BLOCK, tl.arange(0, BLOCK)[None, :]
    a = tl.load(a_ptr + rows + cols)
    b = tl.load(b_ptr + rows + cols)
    if tl.program_id(0) == 0:
        tl.store(p_ptr + rows + cols, tl.dot(a, b).to(tl.float16))
        tl.atomic_xchg(flag_ptr, 1)
    else:
        while tl.atomic_cas(flag_ptr, 1, 1) != 1:
            pass
        p = tl.load(p_ptr + rows + cols)
        tl.store(c_ptr + rows + cols, tl.dot(p, b))


def launch(a, b):
    p, c, flag = torch.empty_like(a), torch.empty(16, 16), torch.zeros(1, dtype=torch.int32)
    waiting_kernel[(2,)](a, b, p, c, flag, BLOCK=16)
    return c
"""


@pytest.mark.parametrize("turns", ["atomics", "flags", "a function"])
def test_what_a_program_waits_for_is_no_copy_of_another_branch(turns: str) -> None:
    text = WAITING
    if turns != "atomics":
        text = text.replace("tl.atomic_xchg(flag_ptr, 1)", "tl.store(flag_ptr, 1)").replace(
            "tl.atomic_cas(flag_ptr, 1, 1) != 1", "tl.load(flag_ptr, volatile=True) != 1"
        )
    if turns == "a function":
        wait = "while tl.load(flag_ptr, volatile=True) != 1:\n{}pass\n"
        text = text.replace(wait.format(" " * 12), "wait(flag_ptr)\n").replace(
            "@triton.jit\ndef", "@triton.jit\ndef wait(flag_ptr):\n    " + wait.format(" " * 8) + "\n\n@triton.jit\ndef"
        )
        assert "        wait(flag_ptr)\n" in text
    said = [one.message for one in upgraded(text).diagnostics]
    assert any(one.startswith("the load of p (from p_ptr)") and "also writes" in one for one in said), said
    assert any(one.startswith("the store (to p_ptr)") and "also reads" in one for one in said), said
