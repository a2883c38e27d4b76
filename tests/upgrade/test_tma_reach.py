"""Stage tma: coordinates that loops keep from falling below zero, pointers moved under a flag, copies in one branch."""

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("triton", reason="upgraded kernels are run with Triton")

import torch

from tests.conversions import conversion
from tests.convert.kernels import VERSION
from tests.upgrade import test_tma_switches
from tests.upgrade.test_tma import run, upgraded
from tests.upgrade.test_tma_proofs import expected, given
from tritonport.convert import ConvertOptions

KERNEL = """
import torch
import triton
import triton.language as tl


@triton.jit
def product_kernel(
    a_ptr, b_ptr, c_ptr, M, K, first, N: tl.constexpr, BLOCK: tl.constexpr, WIDE: tl.constexpr, COUNT: tl.constexpr,
):
    rows, cols = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), tl.arange(0, N)
    acc = tl.zeros((BLOCK, N), dtype=tl.float32)
    LOOP
        steps = k + tl.arange(0, BLOCK)
        a = tl.load(
            a_ptr + rows[:, None] * K + steps[None, :], mask=(rows[:, None] < M) & (steps[None, :] < K), other=0.0
        )
        b = tl.load(b_ptr + steps[:, None] * N + cols[None, :], mask=steps[:, None] < K, other=0.0)
        acc += tl.dot(a, b)
    tl.store(c_ptr + rows[:, None] * N + cols[None, :], acc, mask=rows[:, None] < M)


def launch(a, b, first=None):
    (M, K), N = a.shape, b.shape[1]
    c = torch.full((M + 5, N), 7.0)
    first = K if first is None else first
    product_kernel[(triton.cdiv(M, 16),)](
        a, b, c, M, K, first, N=N, BLOCK=16, WIDE=32, COUNT=triton.cdiv(K, 16)
    )
    return c
"""
WIDE = "for k in range(tl.cdiv(K, WIDE) * WIDE - BLOCK, -BLOCK, -BLOCK):"
LAST = "for k in range(K - first, K, BLOCK):"
BACK = "for step in range(tl.cdiv(K, BLOCK)):\n        k = (tl.cdiv(K, BLOCK) - 1 - step) * BLOCK"
UNROLLED = "for step in tl.static_range(COUNT):\n        k = (COUNT - 1 - step) * BLOCK"
FLOOR = "for k in range((tl.floor(tl.program_id(0) * BLOCK / WIDE) * 0).to(tl.int32) * WIDE, K, BLOCK):"
MULTIPLE = "for k in range((tl.program_id(0) - tl.program_id(0) % WIDE) * BLOCK, K, BLOCK):"
COUNTED = (
    "for at in range(0, tl.cdiv(K, BLOCK) * BLOCK, BLOCK):\n        k = (tl.cdiv(K, BLOCK) - 1 - at // BLOCK) * BLOCK"
)
LOOPS = {
    "from a multiple": MULTIPLE,
    "down by parts of a block": WIDE,
    "the last ones": LAST,
    "back by the count": BACK,
    "back by whole blocks": COUNTED,
    "unrolled": UNROLLED,
    "from a floor": FLOOR,
}


def kernel(loop: str) -> str:
    return KERNEL.replace("LOOP", loop)


@pytest.mark.parametrize("loop", LOOPS.values(), ids=LOOPS)
@pytest.mark.parametrize("depth", [0, 8, 40, 41])
def test_an_index_stays_above_zero_by_its_loop(loop: str, depth: int, tmp_path: Path) -> None:
    inputs = given(24, depth)
    got, made = run(upgraded(kernel(loop)).text, tmp_path, **inputs)
    torch.testing.assert_close(got, expected(inputs), rtol=0, atol=0)
    assert made == ([True] * 3 if depth in (8, 40) else [False, True, True] if depth else [False, False, True])


def test_what_only_the_launch_knows_is_asked_of_it(tmp_path: Path) -> None:
    text = upgraded(kernel(LAST)).text
    assert text.count('if args["K"] >= args["first"] else None') == 2
    inputs = given(24, 40)
    got, made = run(text, tmp_path, **inputs, first=24)
    wanted = expected({"a": inputs["a"][:, 16:], "b": inputs["b"][16:]})
    torch.testing.assert_close(got, wanted, rtol=0, atol=0)
    assert made == [True] * 3
    assert upgraded(kernel(WIDE)).text.count('(args["WIDE"] % args["BLOCK"]) == 0') == 2
    assert upgraded(kernel(BACK.replace("* BLOCK", "* first"))).text.count('if args["first"] >= 0 else None') == 1
    for loop in (BACK, UNROLLED):
        assert "else None" not in upgraded(kernel(loop)).text.partition("a_desc")[2].partition("@gluon.jit")[0]


@pytest.mark.parametrize(
    ("loop", "wrong"),
    [
        (WIDE, WIDE.replace("* WIDE - BLOCK", "* WIDE - 1 - BLOCK")),
        (WIDE, WIDE.replace(", -BLOCK, -BLOCK", ", -2 * BLOCK, -BLOCK")),
        (WIDE, WIDE.replace("- BLOCK, -BLOCK", "- BLOCK, tl.load(c_ptr).to(tl.int32), -BLOCK", 1)),
        (LAST, LAST.replace("K - first", "K - tl.load(c_ptr).to(tl.int32)")),
        (LAST, LAST.replace("K - first", "K - tl.program_id(0) * first")),
        (BACK, BACK.replace("- 1 - step", "- 2 - step")),
        (MULTIPLE, MULTIPLE.replace("% WIDE", "% WIDE * 2")),
        (COUNTED, COUNTED.replace("- 1 - at", "- 2 - at")),
        (COUNTED, COUNTED.replace("at // BLOCK", "at // (BLOCK // 2)")),
        (COUNTED, COUNTED.replace("BLOCK) * BLOCK, BLOCK):", "BLOCK) * BLOCK + 1, BLOCK):")),
        (BACK, BACK.replace("for step in range(tl.cdiv(K, BLOCK))", "for step in range(first)")),
    ],
)
def test_an_index_that_may_fall_below_zero_is_refused(loop: str, wrong: str) -> None:
    assert loop != wrong
    found = upgraded(kernel(wrong))
    assert all("may be negative" in one.message for one in found.diagnostics if one.code == "TP412")
    assert sum(one.code == "TP412" for one in found.diagnostics) == 2 and "a_desc" not in found.text


# -- masks that are products, columns that begin at a number


@pytest.mark.parametrize("depth", [8, 40, 41])
def test_a_product_of_masks_and_a_first_column(depth: int, tmp_path: Path) -> None:
    text = kernel("for k in range(0, K, BLOCK):").replace("(rows[:, None] < M) & (", "(rows[:, None] < M) * (")
    halves = text.replace(
        "cols = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), tl.arange(0, N)",
        "cols = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), tl.arange(0, 16)",
    )
    halves = halves.replace("(BLOCK, N), dtype", "(BLOCK, 16), dtype").replace(
        "N + cols[None, :], mask=steps", "N + (16 + cols)[None, :], mask=steps"
    )
    inputs = given(24, depth)
    got, made = run(upgraded(halves).text, tmp_path, **inputs)
    wanted = torch.full((29, 32), 7.0)
    wanted[:24, :16] = (inputs["a"].float() @ inputs["b"].float())[:, 16:]
    torch.testing.assert_close(got, wanted, rtol=0, atol=0)
    assert made == [depth != 41, True, True]


# -- copies that some iterations make

SOME = """
import torch
import triton
import triton.language as tl


@triton.jit
def product_kernel(a_ptr, b_ptr, c_ptr, M, K, N: tl.constexpr, BLOCK: tl.constexpr):
    cols = tl.arange(0, N)
    for block in range(tl.program_id(0), tl.cdiv(M, BLOCK), tl.num_programs(0)):
        rows = block * BLOCK + tl.arange(0, BLOCK)
        acc = tl.zeros((BLOCK, N), dtype=tl.float32)
        for k in range(tl.cdiv(K, BLOCK)):
            steps = k * BLOCK + tl.arange(0, BLOCK)
            a = tl.load(
                a_ptr + rows[:, None] * K + steps[None, :], mask=(rows[:, None] < M) & (steps[None, :] < K), other=0.0
            )
            if TEST:
                b = tl.load(b_ptr + steps[:, None] * N + cols[None, :], mask=steps[:, None] < K, other=0.0)
                acc += tl.dot(a, b)
        tl.store(c_ptr + rows[:, None] * N + cols[None, :], acc, mask=rows[:, None] < M)


def launch(a, b):
    (M, K), N = a.shape, b.shape[1]
    c = torch.full((M + 5, N), 7.0)
    product_kernel[(2,)](a, b, c, M, K, N=N, BLOCK=16)
    return c
"""
TESTS = {
    "(k + block) % 2 == 0": lambda k, block: (k + block) % 2 == 0,
    "k > block": lambda k, block: k > block,
    "block != 1": lambda _, block: block != 1,
}


@pytest.mark.parametrize(
    ("test", "stage"), [*((test, "tma") for test in TESTS), *((next(iter(TESTS)), stage) for stage in ("mma", "all"))]
)
def test_a_tile_that_some_iterations_copy(test: str, stage: str, tmp_path: Path) -> None:
    text = conversion(SOME.replace("TEST", test), ConvertOptions(triton=VERSION, target="sm_90", stage=stage)).text
    assert "b_phase ^= 1" in text and "b_desc" in text
    for depth in (8, 40, 72) if stage == "tma" else (72,):
        inputs = given(72, depth)
        taken = torch.tensor([[TESTS[test](k // 16, row // 16) for k in range(depth)] for row in range(72)])
        got, made = run(text, tmp_path, **inputs)
        inputs["a"] = inputs["a"] * taken
        torch.testing.assert_close(got, expected(inputs), rtol=0, atol=0)
        assert made == [True] * 3


# -- pointers that a flag moves

MOVED = test_tma_switches.KERNEL.replace(
    "    places, cols =",
    "    if HAS_FIRST:\n        first_ptr += (tl.program_id(0) * 0 + 1) * N * N\n    places, cols =",
    1,
)


@pytest.mark.parametrize("first", [False, True])
def test_a_pointer_that_a_flag_moves_is_what_it_is_under_the_flag(first: bool, tmp_path: Path) -> None:
    inputs = test_tma_switches.inputs(first, False)
    own = inputs["first"]
    wanted = test_tma_switches.product(inputs)
    if own is not None:
        inputs["first"] = torch.stack([own * 0 + 1, own])
    text = upgraded(MOVED).text
    got, made = run(text, tmp_path, **inputs)
    torch.testing.assert_close(got, torch.stack([wanted, -wanted, wanted * 2]), rtol=0, atol=0)
    assert "first_desc" in text and made == [True] * (4 + 2 * first)


def test_a_flag_that_changes_in_between_says_nothing() -> None:
    changed = (
        MOVED.replace("HAS_FIRST", "flag")
        .replace("flag: tl.constexpr", "flag")
        .replace("    acc = tl.zeros((BLOCK, N)", "    flag = flag - 1\n    acc = tl.zeros((BLOCK, N)", 1)
    )
    found = upgraded(changed)
    assert "first_desc" not in found.text
    assert any("first_ptr after an if" in one.message for one in found.diagnostics)


# -- copies in one branch, descriptors beside pointers

ONE_BRANCH = """
import torch
import triton
import triton.language as tl


@triton.jit
def product_kernel(a_ptr, b_ptr, c_ptr, M, K, N: tl.constexpr, BLOCK: tl.constexpr, OUT: tl.constexpr):
    rows, cols, steps = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), tl.arange(0, N), tl.arange(0, BLOCK)
    out = tl.make_tensor_descriptor(c_ptr, [M, N], [N, 1], [BLOCK, N])
    top = tl.make_tensor_descriptor(b_ptr, [K, N], [N, 1], [BLOCK, N])
    acc = tl.zeros((BLOCK, N), dtype=tl.float32)
    if not OUT:
        a = tl.load(
            a_ptr + rows[:, None] * K + steps[None, :], mask=(rows[:, None] < M) & (steps[None, :] < K), other=0.0
        )
        b = tl.load(b_ptr + steps[:, None] * N + cols[None, :], mask=steps[:, None] < K, other=0.0)
        acc = tl.dot(a, b)
    acc += top.load([0, 0]).to(tl.float32)
    out.store([tl.program_id(0) * BLOCK, 0], acc)


def launch(a, b, out=False):
    (M, K), N = a.shape, b.shape[1]
    triton.set_allocator(lambda size, alignment, stream: torch.empty(size, dtype=torch.int8))
    c = torch.full((M, N), 7.0)
    product_kernel[(triton.cdiv(M, 16),)](a, b, c, M, K, N=N, BLOCK=16, OUT=out)
    return c
"""


@pytest.mark.parametrize("out", [False, True])
def test_copies_under_one_flag_are_for_the_launches_that_come_to_it(out: bool, tmp_path: Path) -> None:
    inputs: dict[str, Any] = given(24, 16)
    text = upgraded(ONE_BRANCH).text
    got, made = run(text, tmp_path, **inputs, out=out)
    top = inputs["b"].float()[None].expand(2, 16, 32).reshape(32, 32)[:24]
    torch.testing.assert_close(got, top + (0 if out else expected(inputs)[:24]), rtol=0, atol=0)
    assert made == ([] if out else [True, True])


def test_copies_under_one_flag_may_be_for_those_without_a_table_too() -> None:
    text = ONE_BRANCH.replace(
        "a_ptr, b_ptr, c_ptr, M, K, N: tl", "a_ptr, b_ptr, c_ptr, table, M, K, RAGGED: tl.constexpr, N: tl"
    )
    first = "    if RAGGED:\n        M = tl.load(table).to(tl.int32)\n    else:\n        table += 1\n    if not OUT:\n"
    text = text.replace("    if not OUT:\n", first)
    found = upgraded(text).text
    asked = found[found.rindex('"a_desc": lambda') :].partition(" else None")[0]
    assert 'not args["RAGGED"]' in asked and 'not args["OUT"]' in asked, asked


def test_a_descriptor_stores_to_what_it_was_made_of() -> None:
    found = upgraded(ONE_BRANCH.replace("tl.make_tensor_descriptor(c_ptr", "tl.make_tensor_descriptor(a_ptr"))
    assert any("gives a_ptr to tma_store, which writes memory" in one.message for one in found.diagnostics)
    assert "a_desc" not in found.text


# -- what is said of functions


def test_nothing_is_said_of_a_function_that_its_kernel_copies_for() -> None:
    inner = """
@triton.jit
def sums(a_ptr, b_ptr, rows, cols, M, K, N: tl.constexpr, BLOCK: tl.constexpr):
    acc = tl.zeros((BLOCK, N), dtype=tl.float32)
    for k in range(0, K, BLOCK):
        steps = k + tl.arange(0, BLOCK)
        a = tl.load(
            a_ptr + rows[:, None] * K + steps[None, :], mask=(rows[:, None] < M) & (steps[None, :] < K), other=0.0
        )
        b = tl.load(b_ptr + steps[:, None] * N + cols[None, :], mask=steps[:, None] < K, other=0.0)
        acc += tl.dot(a, b)
    return acc


@triton.jit
def product_kernel("""
    text = kernel(LAST)
    start, end = text.index("    acc ="), text.index("    tl.store(")
    text = text[:start] + "    acc = sums(a_ptr, b_ptr, rows, cols, M, K, N, BLOCK)\n" + text[end:]
    text = text.replace("@triton.jit\ndef product_kernel(", inner, 1)
    found = upgraded(text)
    assert [one.code for one in found.diagnostics] == [] and "a_desc" in found.text
    masked = text.replace("(steps[None, :] < K), other", "(steps[None, :] < K) & (steps[None, :] != 3), other")
    (said,) = [one for one in upgraded(masked).diagnostics if one.code == "TP412"]
    assert masked.split("\n")[said.line - 1].strip().startswith("a = tl.load("), "at the line in the function"


def test_a_test_of_flags_may_have_a_not_beside_an_or() -> None:
    text = ONE_BRANCH.replace("if not OUT:", "if (N > 64) | (not OUT):")
    assert "| (not args" in upgraded(text).text


TASKS = """
import torch
import triton
import triton.language as tl


@triton.jit
def tasks_kernel(
    a_ptr, b_ptr, c_ptr, table, M, K, step, N: tl.constexpr, BLOCK: tl.constexpr, FROM_TABLE: tl.constexpr,
):
    task = tl.program_id(0)
    while task * BLOCK < M:
        wanted = True
        if FROM_TABLE:
            wanted = tl.load(table + task) > 0
        if wanted:
            if task * BLOCK < M:
                rows, cols, steps = task * BLOCK + tl.arange(0, BLOCK), tl.arange(0, N), tl.arange(0, BLOCK)
                mask = (rows[:, None] < M) & (steps[None, :] < K)
                a = tl.load(a_ptr + rows[:, None] * K + steps[None, :], mask=mask, other=0.0)
                b = tl.load(b_ptr + steps[:, None] * N + cols[None, :], mask=steps[:, None] < K, other=0.0)
                acc = tl.dot(a, b)
                tl.store(c_ptr + rows[:, None] * N + cols[None, :], acc, mask=rows[:, None] < M)
        task += step


def launch(a, b, table=None):
    (M, K), N = a.shape, b.shape[1]
    c = torch.full((M, N), 7.0)
    tasks_kernel[(2,)](a, b, c, table, M, K, 2, N=N, BLOCK=16, FROM_TABLE=table is not None)
    return c
"""


@pytest.mark.parametrize("depth", [8, 12])
@pytest.mark.parametrize("tasks", [None, [1, 0, 1, 1]])
def test_tasks_of_a_while_loop_under_a_flag_that_is_true(tasks: list[int] | None, depth: int, tmp_path: Path) -> None:
    found = upgraded(TASKS)
    assert [one.message for one in found.diagnostics] == [] and "a_desc" in found.text
    inputs = given(56, depth)
    table = None if tasks is None else torch.tensor(tasks, dtype=torch.int32)
    got, made = run(found.text, tmp_path, **inputs, table=table)
    wanted = expected(inputs)[:56]
    for task, one in enumerate(tasks or []):
        wanted[16 * task : 16 * task + 16] = wanted[16 * task : 16 * task + 16] if one else 7.0
    torch.testing.assert_close(got, wanted, rtol=0, atol=0)
    assert tasks is not None or made.count(True) == (3 if depth == 8 else 2)


AGAIN = """
    for again in range(2):
        rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        acc += tl.sum(tl.where(rows < 0, 1.0, 0.0))
    tl.store(
"""


def test_rows_that_a_loop_computes_again_are_where_they_were(tmp_path: Path) -> None:
    text = kernel("for k in range(0, K, BLOCK):").replace("\n    tl.store(", AGAIN.rstrip(), 1)
    found = upgraded(text)
    assert [one.message for one in found.diagnostics] == [] and "store_tile(c_desc" in found.text
    inputs = given(24, 40)
    got, _ = run(found.text, tmp_path, **inputs)
    torch.testing.assert_close(got, expected(inputs), rtol=0, atol=0)
    moved = upgraded(
        text.replace("tl.program_id(0) * BLOCK + tl", "tl.program_id(0) * BLOCK + again + tl", 2).replace(
            "+ again ", "", 1
        )
    )
    assert "c_desc" not in moved.text
