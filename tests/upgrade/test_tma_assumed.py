"""Stage tma: branches that the launch decides, where they give an address two forms."""

from pathlib import Path

import pytest

pytest.importorskip("triton", reason="upgraded kernels are run with Triton")

import torch

from tests.conversions import conversion
from tests.convert.kernels import VERSION
from tests.upgrade.test_tma import run, upgraded
from tritonport.convert import ConvertOptions

KERNEL = """
import torch
import triton
import triton.language as tl


@triton.jit
def places(COLUMNS: tl.constexpr):
    pid = tl.program_id(0)
    return pid // COLUMNS, pid % COLUMNS


@triton.heuristics({"RAGGED": lambda args: args["starts"] is not None})
@triton.jit
def product_kernel(
    a_ptr, b_ptr, c_ptr, bias_ptr, starts, M, N: tl.constexpr, K: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
    RAGGED: tl.constexpr, BY_COLUMNS: tl.constexpr, HAS_BIAS: tl.constexpr,
):
    i_m, i_n = places(tl.cdiv(N, BLOCK_N))
    if RAGGED:
        first = tl.load(starts + 0)
    else:
        first = 0
    if HAS_BIAS:
        bias_ptr += 0
        bias = tl.load(bias_ptr + i_n * BLOCK_N + tl.arange(0, BLOCK_N)).to(tl.float32)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    rows = i_m * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = i_n * BLOCK_N + tl.arange(0, BLOCK_N)
    a_ptr += first * K
    start = tl.maximum(i_m - 100, 0) if HAS_BIAS else 0
    for k in range(start, K, BLOCK_K):
        offs = k + tl.arange(0, BLOCK_K)
        p_a = a_ptr + rows[:, None] * K + offs[None, :]
        if BY_COLUMNS:
            p_b = b_ptr + cols[:, None] * K + offs[None, :]
            m_b = (cols[:, None] < N) & (offs[None, :] < K)
        else:
            p_b = b_ptr + offs[:, None] * N + cols[None, :]
            m_b = (offs[:, None] < K) & (cols[None, :] < N)
        a = tl.load(p_a, mask=(rows[:, None] < M) & (offs[None, :] < K), other=0.)
        b = tl.load(p_b, mask=m_b, other=0.0)
        if BY_COLUMNS:
            acc = tl.dot(a, tl.trans(b), acc)
        else:
            acc = tl.dot(a, b, acc)
    if HAS_BIAS:
        acc += bias[None, :]
    tl.store(c_ptr + rows[:, None] * N + cols[None, :], acc, mask=(rows[:, None] < M) & (cols[None, :] < N))


def launch(a, b, bias=None, starts=None, by_columns=False):
    M, K = a.shape
    N = b.shape[0] if by_columns else b.shape[1]
    c = torch.empty((M, N), dtype=torch.float32)
    grid = (triton.cdiv(M, 16) * triton.cdiv(N, 16),)
    product_kernel[grid](
        a, b, c, bias, starts, M, N, K, BLOCK_M=16, BLOCK_N=16, BLOCK_K=16,
        BY_COLUMNS=by_columns, HAS_BIAS=bias is not None,
    )
    return c
"""


def inputs(by_columns: bool, bias: bool, ragged: bool) -> dict[str, object]:
    torch.manual_seed(0)
    a, b = (torch.randint(-3, 4, size).to(torch.float16) for size in ((40, 48), (48, 32)))
    return {
        "a": a,
        "b": b.t().contiguous() if by_columns else b,
        "bias": torch.arange(32, dtype=torch.float32) if bias else None,
        "starts": torch.zeros(1, dtype=torch.int32) if ragged else None,
        "by_columns": by_columns,
    }


def test_the_form_with_copies_has_the_branches_that_were_decided() -> None:
    text = upgraded(KERNEL).text
    tiles = text[text.index("def product_kernel_tiles(") : text.rindex("def product_kernel(")]
    assert "if BY_COLUMNS" not in tiles
    assert "if RAGGED" not in tiles
    assert "if HAS_BIAS:" in tiles, "what no address depends on is not decided"
    pointers = text[text.index("def product_kernel_pointers(") : text.index("def product_kernel_tiles(")]
    assert "if BY_COLUMNS" in pointers and "if RAGGED" in pointers


@pytest.mark.parametrize("by_columns", [False, True])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("ragged", [False, True])
def test_launches_of_the_other_branch_take_the_pointers(
    by_columns: bool, bias: bool, ragged: bool, tmp_path: Path
) -> None:
    given = inputs(by_columns, bias, ragged)
    got, made = run(upgraded(KERNEL).text, tmp_path, **given)
    a, b = given["a"], given["b"]
    assert isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor)
    expected = a.float() @ (b.t() if by_columns else b).float()
    if bias:
        expected = expected + torch.arange(32)
    torch.testing.assert_close(got, expected, rtol=0, atol=0)
    assert made == ([] if by_columns or ragged else [True] * 3), "a launch of the other branch asks for none"


def test_a_test_that_only_the_kernel_knows_is_not_decided() -> None:
    wrong = KERNEL.replace(
        "        if BY_COLUMNS:\n            p_b", "        if tl.load(bias_ptr) > 0:\n            p_b"
    )
    assert wrong != KERNEL
    found = upgraded(wrong)
    assert any("differs between the branches" in one.message for one in found.diagnostics)
    assert "b_desc" not in found.text


def test_a_test_of_a_number_that_the_kernel_changes_is_not_decided() -> None:
    wrong = KERNEL.replace("        if BY_COLUMNS:\n            p_b", "        if M > 3:\n            p_b")
    wrong = wrong.replace("    a_ptr += first * K\n", "    a_ptr += first * K\n    M = M - 1\n")
    found = upgraded(wrong)
    assert any("differs between the branches" in one.message for one in found.diagnostics)
    assert "b_desc" not in found.text


def test_coordinates_of_64_bits_from_a_function_are_narrowed(tmp_path: Path) -> None:
    wide = KERNEL.replace("pid = tl.program_id(0)\n", "pid = tl.program_id(0).to(tl.int64)\n")
    text = upgraded(wide).text
    assert "(i_m * BLOCK_M).to(gl.int32)" in text
    assert "k.to(gl.int32)" in text, "the loop begins at a number of 64 bits"
    assert ".to(gl.int32)" not in upgraded(KERNEL).text
    given = inputs(False, False, False)
    got, made = run(text, tmp_path, **given)
    a, b = given["a"], given["b"]
    assert isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor)
    torch.testing.assert_close(got, a.float() @ b.float(), rtol=0, atol=0)
    assert all(made)


# -- casts of operands whose types differ

CASTS = """
import torch
import triton
import triton.language as tl


@triton.jit
def product_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr
):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        offs = k + tl.arange(0, BLOCK_K)
        in_k = offs < K
        a = tl.load(a_ptr + rows[:, None] * K + offs[None, :], mask=(rows[:, None] < M) & in_k[None, :], other=0.0)
        b = tl.load(b_ptr + offs[:, None] * N + cols[None, :], mask=in_k[:, None] & (cols[None, :] < N), other=0.0)
        if a.dtype != b.dtype:
            a = a.to(c_ptr.dtype.element_ty)
            b = b.to(c_ptr.dtype.element_ty)
        acc += tl.dot(a, b)
    tl.store(c_ptr + rows[:, None] * N + cols[None, :], acc, mask=(rows[:, None] < M) & (cols[None, :] < N))


def launch(a, b):
    (M, K), N = a.shape, b.shape[1]
    c = torch.empty((M, N), dtype=torch.float16)
    product_kernel[(triton.cdiv(M, 64), triton.cdiv(N, 32))](a, b, c, M, N, K, BLOCK_M=64, BLOCK_N=32, BLOCK_K=32)
    return c
"""
COMPARED = "        if a.dtype != b.dtype:\n"


def tiles_of(text: str) -> str:
    return text[text.index("def product_kernel_tiles(") : text.rindex("def product_kernel(")]


def test_operands_of_one_type_are_read_where_they_were_copied_to() -> None:
    text = upgraded(CASTS).text
    assert "if a.dtype" not in tiles_of(text)
    assert "a = landed(a_tile, 0, acc_layout)" in tiles_of(text)
    pointers = text[text.index("def product_kernel_pointers(") : text.index("def product_kernel_tiles(")]
    assert COMPARED in pointers
    assert text.count('if args["a_ptr"].dtype == args["b_ptr"].dtype') == 3, "two operands and the result"


@pytest.mark.parametrize("stage", ["tma", "all"])
@pytest.mark.parametrize("one_type", [False, True])
def test_launches_with_operands_of_two_types_take_the_pointers(one_type: bool, stage: str, tmp_path: Path) -> None:
    torch.manual_seed(0)
    a = torch.randint(-3, 4, (70, 48)).to(torch.float16)
    b = torch.randint(-3, 4, (48, 40)).to(torch.float16 if one_type else torch.bfloat16)
    text = conversion(CASTS, ConvertOptions(triton=VERSION, target="sm_90", stage=stage)).text
    got, made = run(text, tmp_path, a=a, b=b)
    torch.testing.assert_close(got.float(), a.float() @ b.float(), rtol=0, atol=0)
    assert made == ([True] * 3 if one_type else [])


def test_the_branch_of_equal_types_may_be_the_first() -> None:
    both = f"{COMPARED.replace('!=', '==')}            b = b + 0\n        else:\n"
    text = upgraded(CASTS.replace(COMPARED, both)).text
    assert "if a.dtype" not in tiles_of(text)
    assert "b + 0" in tiles_of(text)
    assert 'if args["a_ptr"].dtype == args["b_ptr"].dtype' in text


@pytest.mark.parametrize("line", ["a = a.to(tl.float16)", "a, b = b.to(tl.float16), a", "b += 0"])
def test_a_type_that_is_not_that_of_memory_is_not_decided(line: str) -> None:
    text = upgraded(CASTS.replace(COMPARED, f"        {line}\n{COMPARED}")).text
    assert 'args["a_ptr"].dtype' not in text


def test_a_cast_at_other_places_is_none_of_an_operand() -> None:
    text = upgraded(CASTS.replace("a.dtype != b.dtype", "a.dtype != acc.dtype")).text
    assert 'args["a_ptr"].dtype' not in text


def test_tiles_of_another_type_go_through_tma_where_threads_could_copy_none(tmp_path: Path) -> None:
    """Of tiles that are cast cp.async has as much; where their addresses are read from memory it has nothing."""
    cast = KERNEL.replace(
        "        if BY_COLUMNS:\n            acc", "        b = b.to(a.dtype)\n        if BY_COLUMNS:\n            acc"
    )
    assert cast != KERNEL
    found = conversion(cast, ConvertOptions(triton=VERSION, target="sm_90", stage="all"))
    assert not any("stays as it is" in one.message for one in found.diagnostics)
    a = torch.randint(-3, 4, (40, 48)).to(torch.float16)
    b = torch.randint(-3, 4, (48, 64)).to(torch.float32)
    got, made = run(found.text, tmp_path, a=a, b=b)
    assert torch.equal(got, a.float() @ b) and made == [True] * 3
