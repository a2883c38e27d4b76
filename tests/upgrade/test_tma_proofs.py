"""Stage tma: masks of several branches, functions that compute addresses, bounds that are the least of two."""

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("triton", reason="upgraded kernels are run with Triton")

import torch

from tests.conversions import conversion
from tests.convert.kernels import VERSION
from tests.upgrade.test_tma import run, upgraded
from tritonport.convert import ConvertOptions

FLAGS = """
import torch
import triton
import triton.language as tl


@triton.jit
def place(indices, strides):
    tl.static_assert(len(indices) == len(strides))
    offset = 0
    for axis in tl.static_range(len(strides)):
        offset += indices[axis] * strides[axis]
    return offset


@triton.heuristics({
    "WHOLE_M": lambda args: args["M"] % args["BLOCK"] == 0,
    "WHOLE_K": lambda args: args["K"] % args["BLOCK"] == 0,
})
@triton.jit
def product_kernel(
    a_ptr, b_ptr, c_ptr, table, M, K, last, N: tl.constexpr, BLOCK: tl.constexpr,
    WHOLE_M: tl.constexpr, WHOLE_K: tl.constexpr,
):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    cols, steps = tl.arange(0, N), tl.arange(0, BLOCK)
    if not WHOLE_M:
        row_mask = rows < M
    acc = tl.zeros((BLOCK, N), dtype=tl.float32)
    for k in range(0, K, BLOCK):
        offs = k + steps
        if WHOLE_K:
            if WHOLE_M:
                a_mask = None
            else:
                a_mask = row_mask[:, None]
            b_mask = None
        else:
            step_mask = offs < K
            if WHOLE_M:
                a_mask = step_mask[None, :]
            else:
                a_mask = row_mask[:, None] & step_mask[None, :]
            b_mask = step_mask[:, None]
        a = tl.load(a_ptr + place((rows[:, None], offs[None, :]), (K, 1)), mask=a_mask, other=0.0)
        b = tl.load(b_ptr + offs[:, None] * N + cols[None, :], mask=b_mask, other=0.0)
        acc += tl.dot(a, b, allow_tf32=False)
    if WHOLE_M:
        c_mask = None
    else:
        c_mask = True
        c_mask &= rows[:, None] < M
    tl.store(c_ptr + rows[:, None] * N + cols[None, :], acc, mask=c_mask)


def launch(a, b, last=0):
    (M, K), N = a.shape, b.shape[1]
    c = torch.full((M + 5, N), 7.0)
    product_kernel[(triton.cdiv(M, 16),)](a, b, c, torch.tensor([K]), M, K, last, N=N, BLOCK=16)
    return c
"""


def given(rows: int, depth: int, dtype: torch.dtype = torch.float16) -> dict[str, Any]:
    torch.manual_seed(0)
    return {"a": torch.randint(-3, 4, (rows, depth)).to(dtype), "b": torch.randint(-3, 4, (depth, 32)).to(dtype)}


def expected(inputs: dict[str, Any]) -> torch.Tensor:
    product = inputs["a"].float() @ inputs["b"].float()
    return torch.cat([product, torch.full((5, 32), 7.0)])


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
@pytest.mark.parametrize("depth", [32, 40])
@pytest.mark.parametrize("rows", [32, 24])
def test_each_branch_of_a_mask_is_an_extent_of_its_launches(
    rows: int, depth: int, dtype: torch.dtype, tmp_path: Path
) -> None:
    inputs = given(rows, depth, dtype)
    got, made = run(upgraded(FLAGS).text, tmp_path, **inputs)
    torch.testing.assert_close(got, expected(inputs), rtol=0, atol=0)
    assert made == [True] * 3


def test_the_extents_say_when() -> None:
    text = " ".join(upgraded(FLAGS).text.split())
    assert '[args["M"] if not args["WHOLE_M"] else None, args["K"] if not args["WHOLE_K"] else None]' in text
    tiles = text[text.index("def product_kernel_tiles(") : text.rindex("def product_kernel(")]
    assert "place(" not in tiles, "what only computed an address is gone"


def test_operands_of_a_dot_at_ieee_are_read_where_they_are(tmp_path: Path) -> None:
    options = ConvertOptions(triton=VERSION, target="sm_90", stage="mma")
    found = conversion(FLAGS, options)
    assert "dot_started(" in found.text or "dot_added_started(" in found.text
    inputs = given(128, 64)
    got, made = run(found.text, tmp_path, **inputs)
    torch.testing.assert_close(got, expected(inputs), rtol=0, atol=0)
    assert all(made)


LEAST = FLAGS.replace("rows < M", "rows < tl.minimum(M, last)").replace(
    "        if WHOLE_K:\n", "        tl.static_assert(N >= 16)\n        if WHOLE_K:\n"
)


@pytest.mark.parametrize("last", [8, 100])
def test_below_the_least_of_two_numbers_is_below_both(last: int, tmp_path: Path) -> None:
    inputs = given(24, 40)
    got, made = run(upgraded(LEAST).text, tmp_path, **inputs, last=last)
    wanted = expected(inputs)
    wanted[min(last, 24) : 24] = 0.0
    torch.testing.assert_close(got, wanted, rtol=0, atol=0)
    assert made == [True] * 3


def test_a_mask_that_every_place_of_a_tile_passes_bounds_nothing(tmp_path: Path) -> None:
    text = FLAGS.replace("b_mask = step_mask[:, None]", "b_mask = step_mask[:, None] & (steps[:, None] < BLOCK)")
    inputs = given(24, 40)
    got, made = run(upgraded(text).text, tmp_path, **inputs)
    torch.testing.assert_close(got, expected(inputs), rtol=0, atol=0)
    assert all(made)


PEELED = """
import torch
import triton
import triton.language as tl


@triton.jit
def whole(a, b):
    return tl.cdiv(a, b) * b - b


@triton.jit
def product_kernel(a_ptr, b_ptr, c_ptr, M, K, N: tl.constexpr, BLOCK: tl.constexpr):
    rows, cols = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), tl.arange(0, N)
    wrapped = rows % M
    last = whole(K, BLOCK)
    acc = tl.zeros((BLOCK, N), dtype=tl.float32)
    for k in range(0, last, BLOCK):
        steps = k + tl.arange(0, BLOCK)
        a = tl.load(a_ptr + wrapped[:, None] * K + steps[None, :])
        b = tl.load(b_ptr + steps[:, None] * N + cols[None, :])
        if a.dtype != b.dtype:
            a = a.to(tl.float16)
        acc += tl.dot(a, b)
    steps = last + tl.arange(0, BLOCK)
    a = tl.load(a_ptr + wrapped[:, None] * K + steps[None, :], mask=steps[None, :] < K, other=0.0)
    b = tl.load(b_ptr + steps[:, None] * N + cols[None, :], mask=steps[:, None] < K, other=0.0)
    acc += tl.dot(a, b)
    tl.store(c_ptr + rows[:, None] * N + cols[None, :], acc, mask=rows[:, None] < M)


def launch(a, b):
    (M, K), N = a.shape, b.shape[1]
    c = torch.full((M + 5, N), 7.0)
    product_kernel[(triton.cdiv(M, 16),)](a, b, c, M, K, N=N, BLOCK=16)
    return c
"""


@pytest.mark.parametrize("depth", [8, 16, 40, 48])
def test_a_last_block_behind_the_loop(depth: int, tmp_path: Path) -> None:
    inputs = given(24, depth)
    got, made = run(upgraded(PEELED).text, tmp_path, **inputs)
    torch.testing.assert_close(got, expected(inputs), rtol=0, atol=0)
    assert all(made) and len(made) >= 3


def test_a_block_before_the_first_is_no_coordinate() -> None:
    text = PEELED.replace("tl.cdiv(a, b) * b - b", "tl.cdiv(a, b) * b - b - b")
    said = [one.message for one in upgraded(text).diagnostics]
    assert any("its coordinate last may be negative" in one for one in said), said


def test_an_if_on_a_row_that_wraps_is_refused() -> None:
    text = PEELED.replace("if a.dtype != b.dtype:", "if tl.sum(a) > 0:").replace("a = a.to(tl.float16)", "acc += 1.0")
    said = [one.message for one in upgraded(text).diagnostics]
    assert any("an if depends on it" in one for one in said), said


HELPERS = """
import torch
import triton
import triton.language as tl


@triton.jit
def first_row(table, block, BLOCK: tl.constexpr, RAGGED: tl.constexpr):
    if RAGGED:
        row = tl.load(table + block)
    else:
        row = block * BLOCK
    return row, BLOCK


@triton.jit
def summed(acc, a_ptr, b_ptr, rows, cols, M, K, N: tl.constexpr, BLOCK: tl.constexpr):
    for k in range(0, K, BLOCK):
        steps = k + tl.arange(0, BLOCK)
        a = tl.load(
            a_ptr + rows[:, None] * K + steps[None, :], mask=(rows[:, None] < M) & (steps[None, :] < K), other=0.0
        )
        b = tl.load(b_ptr + steps[:, None] * N + cols[None, :], mask=steps[:, None] < K, other=0.0)
        acc += tl.dot(a, b)
    return acc


@triton.jit
def product_kernel(a_ptr, b_ptr, c_ptr, table, M, K, N: tl.constexpr, BLOCK: tl.constexpr, RAGGED: tl.constexpr):
    row, count = first_row(table, tl.program_id(0), BLOCK, RAGGED)
    rows, cols = row + tl.arange(0, BLOCK), tl.arange(0, N)
    acc = tl.zeros((BLOCK, N), dtype=tl.float32)
    acc = summed(acc, a_ptr, b_ptr, rows, cols, M, K, N, BLOCK)
    tl.store(c_ptr + rows[:, None] * N + cols[None, :], acc, mask=rows[:, None] < M)


def launch(a, b, ragged=False):
    (M, K), N = a.shape, b.shape[1]
    c = torch.full((M + 5, N), 7.0)
    table = torch.arange(0, M, 16, dtype=torch.int32)
    product_kernel[(triton.cdiv(M, 16),)](a, b, c, table, M, K, N=N, BLOCK=16, RAGGED=ragged)
    return c
"""


@pytest.mark.parametrize("ragged", [False, True])
def test_functions_that_load_and_that_say_where_are_opened(ragged: bool, tmp_path: Path) -> None:
    found = upgraded(HELPERS)
    inputs = given(24, 40)
    got, made = run(found.text, tmp_path, **inputs, ragged=ragged)
    torch.testing.assert_close(got, expected(inputs), rtol=0, atol=0)
    assert made == ([] if ragged else [True] * 3)
    tiles = found.text[found.text.index("def product_kernel_tiles(") : found.text.rindex("def product_kernel(")]
    assert "summed(" not in tiles and "gl.load(" not in tiles


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("        acc += tl.dot(a, b)\n", "        acc += tl.dot(a, b)\n        tl.store(a_ptr, 0.0)\n"),
        ("    for k in range(0, K, BLOCK):\n", "    if K < 8:\n        return acc\n    for k in range(0, K, BLOCK):\n"),
    ],
)
def test_a_function_that_writes_what_it_reads_or_returns_early_is_not_opened(right: str, wrong: str) -> None:
    assert right in HELPERS
    found = upgraded(HELPERS.replace(right, wrong))
    assert "a_desc" not in found.text


def test_what_a_function_writes_is_not_copied() -> None:
    text = PEELED.replace(
        "@triton.jit\ndef product_kernel",
        "@triton.jit\ndef cleared(ptr):\n    tl.store(ptr, 0.0)\n\n\n@triton.jit\ndef product_kernel",
    ).replace("        acc += tl.dot(a, b)\n", "        acc += tl.dot(a, b)\n        cleared(a_ptr + k)\n", 1)
    found = upgraded(text)
    assert "a_desc" not in found.text
    assert any("cleared, which writes memory" in one.message for one in found.diagnostics)


REFUSED = {
    "a flag that the kernel reads": (
        "        if WHOLE_K:\n",
        "        if tl.load(table) > 32:\n",
        "is no bound of a coordinate",
    ),
    "a flag that the kernel changes": (
        "    cols, steps",
        "    WHOLE_K = WHOLE_K and K > 32\n    cols, steps",
        "is no bound of a coordinate",
    ),
    "rows that are stored in one branch": (
        "rows[:, None], offs[None, :]), (K, 1))",
        "(rows % M)[:, None], offs[None, :]), (K, 1))",
        "wraps or stops at a bound",
    ),
    "places that end before their block": (
        "b_mask = step_mask[:, None]",
        "b_mask = step_mask[:, None] & (steps[:, None] < BLOCK - 1)",
        "the mask bounds one dimension in two ways",
    ),
    "the largest of two bounds": (
        "mask=a_mask",
        "mask=rows[:, None] < tl.maximum(M, tl.load(table))",
        "is no bound of a coordinate",
    ),
    "a bound that is read from memory": (
        "        if WHOLE_K:\n",
        "        end = tl.load(table).to(tl.int32)\n        if WHOLE_K:\n",
        "its mask ends at `end`, read from memory",
    ),
    "a function that multiplies two coordinates": (
        "        offset += indices[axis] * strides[axis]\n",
        "        offset += indices[axis] * strides[axis] + indices[axis] * (indices[axis] - indices[axis])\n",
        "not affine",
    ),
    "a function that divides": (
        "        offset += indices[axis] * strides[axis]\n",
        "        offset += indices[axis] // 2 * strides[axis]\n",
        "not affine",
    ),
    "a function that reads memory": (
        "    offset = 0\n",
        "    offset = tl.load(indices[0] + strides[0])\n",
        "not affine",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_not_proved_stays_and_says_why(case: str) -> None:
    right, wrong, words = REFUSED[case]
    assert right in FLAGS
    text = FLAGS.replace(right, wrong)
    if "end = tl.load(" in wrong:
        text = text.replace("step_mask = offs < K", "step_mask = offs < end")
    found = upgraded(text)
    said = [one.message for one in found.diagnostics if one.code in ("TP411", "TP412")]
    assert any(words in one for one in said), [one.message for one in found.diagnostics]
    assert "a_desc" not in found.text or "b_desc" not in found.text


MOVED = (
    FLAGS.replace(", other=0.0", "")
    .replace("    acc = tl.zeros", "    own = steps\n    acc = tl.zeros")
    .replace("            step_mask = offs < K\n", "            step_mask = own < K\n            own += BLOCK\n")
)


@pytest.mark.parametrize(("rows", "depth"), [(40, 40), (24, 8), (32, 32)])
def test_a_mask_that_one_branch_of_a_flag_moves_is_that_of_its_launches(rows: int, depth: int, tmp_path: Path) -> None:
    found = upgraded(MOVED)
    assert [one.message for one in found.diagnostics] == [] and 'if not args["WHOLE_K"] else None' in found.text
    inputs = given(rows, depth)
    got, made = run(found.text, tmp_path, **inputs)
    torch.testing.assert_close(got, expected(inputs), rtol=0, atol=0)
    assert len(made) == (3 if depth % 16 else 0) and all(made)


def test_a_mask_that_falls_behind_its_tile_leaves_the_other_launches() -> None:
    text = upgraded(MOVED.replace("            own += BLOCK\n", "            own += BLOCK // 2\n")).text
    assert text.count('if args["WHOLE_K"] else None') == 3
