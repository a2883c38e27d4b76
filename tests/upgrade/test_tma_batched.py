"""Stage tma: one matrix of several, by rows or by columns as the strides of a launch say."""

from itertools import product
from pathlib import Path

import pytest

pytest.importorskip("triton", reason="upgraded kernels are run with Triton")

import torch

from tests.conversions import conversion
from tests.convert.kernels import VERSION, module_of
from tests.upgrade.test_tma import run, upgraded
from tritonport.convert import ConvertOptions
from tritonport.verify.compile import Resources, compile_kernel

BATCHED = """
import torch
import triton
import triton.language as tl


@triton.jit
def heads_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, stride_ah, stride_am, stride_ak, stride_bh, stride_bk, stride_bn,
    stride_ch, stride_cm, stride_cn, BLOCK: tl.constexpr,
):
    head = tl.program_id(1)
    rows, cols, ks = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), tl.arange(0, BLOCK), tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    for k in range(0, K, BLOCK):
        a = tl.load(
            a_ptr + head * stride_ah + rows[:, None] * stride_am + (k + ks)[None, :] * stride_ak,
            mask=(rows < M)[:, None] & (k + ks < K)[None, :], other=0.0,
        )
        b = tl.load(
            b_ptr + head * stride_bh + (k + ks)[:, None] * stride_bk + cols[None, :] * stride_bn,
            mask=(k + ks < K)[:, None] & (cols < N)[None, :], other=0.0,
        )
        acc = tl.dot(a, b, acc)
    c_ptrs = c_ptr + head * stride_ch + rows[:, None] * stride_cm + cols[None, :] * stride_cn
    tl.store(c_ptrs, acc, mask=(rows < M)[:, None] & (cols < N)[None, :])


def launch(a, b, c, num_stages=3):
    (heads, M, K), N = a.shape, b.shape[2]
    heads_kernel[(triton.cdiv(M, 32), heads)](
        a, b, c, M, N, K, *a.stride(), *b.stride(), *c.stride(), BLOCK=32, num_stages=num_stages
    )
    return c
"""

FORMS = ("rows", "columns", "heads", "rows of a head", "columns of a head")


def placed(x: torch.Tensor, form: str) -> torch.Tensor:
    """The same values: a matrix by rows or by columns, heads outside of it, between its dimensions, or contiguous."""
    order = {
        "rows": (0, 1, 2),
        "columns": (0, 2, 1),
        "heads": (1, 2, 0),
        "rows of a head": (1, 0, 2),
        "columns of a head": (2, 0, 1),
    }[form]
    inverse = [order.index(place) for place in range(3)]
    return x.permute(order).contiguous().permute(inverse)


def matrices(heads: int, M: int, N: int, K: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    g = torch.Generator().manual_seed(0)
    a, b = (torch.randint(-4, 5, shape, generator=g).half() for shape in ((heads, M, K), (heads, K, N)))
    return a, b, torch.full((heads, M, N), float("nan"), dtype=torch.float16)


@pytest.mark.parametrize(("form", "operand"), list(product(FORMS, (0, 1, 2))))
def test_either_order_of_one_of_several_is_copied(form: str, operand: int, tmp_path: Path) -> None:
    text = upgraded(BATCHED).text
    assert text.count("either_order=True") == 3
    given = list(matrices(3, 40, 24, 72))
    given[operand] = placed(given[operand], form)
    got, made = run(text, tmp_path, a=given[0], b=given[1], c=given[2])
    assert torch.equal(got.float(), given[0].float() @ given[1].float())
    assert len(made) == 3
    assert all(made) == (form != "heads")


@pytest.mark.parametrize("forms", list(product(("rows", "columns"), repeat=3)))
def test_the_later_stages_keep_the_order_of_each(forms: tuple[str, str, str], tmp_path: Path) -> None:
    text = conversion(BATCHED, ConvertOptions(triton=VERSION, target="sm_90", stage="mma")).text
    assert "dot_started" in text and "a_ring" in text
    a, b, c = (placed(x, form) for x, form in zip(matrices(2, 48, 32, 136), forms, strict=True))
    got, made = run(text, tmp_path, a=a, b=b, c=c)
    assert all(made)
    assert torch.equal(got.float(), a.float() @ b.float())


@pytest.mark.parametrize("sizes", [(2, 42, 24, 64), (2, 40, 22, 64), (2, 40, 24, 60)])
def test_what_the_hardware_cannot_copy_takes_the_pointers_in_either_order(
    sizes: tuple[int, int, int, int], tmp_path: Path
) -> None:
    """Rows that are no whole 16 bytes: of the columns of `a` its rows, 42 of them, and so on."""
    text = upgraded(BATCHED).text
    _, M, N, K = sizes
    for forms in product(("rows", "columns"), repeat=3):
        a, b, c = (placed(x, form) for x, form in zip(matrices(*sizes), forms, strict=True))
        got, made = run(text, tmp_path, a=a, b=b, c=c)
        assert torch.equal(got.float(), a.float() @ b.float())
        lengths = [(K, M), (N, K), (N, M)]
        fits = [pair[form == "columns"] % 8 == 0 for pair, form in zip(lengths, forms, strict=True)]
        assert made == fits, forms


SMALL = """
import torch
import triton
import triton.language as tl


@triton.jit
def small_kernel(
    a_ptr, b_ptr, c_ptr, batch, M, K, stride_ab, stride_am, stride_ak, stride_bb, stride_bk, stride_bn,
    N: tl.constexpr, BLOCK_B: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_K: tl.constexpr,
):
    which = tl.program_id(0) * BLOCK_B + tl.arange(0, BLOCK_B)[:, None, None]
    m, n, k = tl.arange(0, BLOCK_M), tl.arange(0, N), tl.arange(0, BLOCK_K)
    a = tl.load(
        a_ptr + which * stride_ab + m[None, :, None] * stride_am + k[None, None, :] * stride_ak,
        mask=(which < batch) & (m[None, :, None] < M) & (k[None, None, :] < K), other=0.0,
    )
    b = tl.load(
        b_ptr + which * stride_bb + k[None, :, None] * stride_bk + n[None, None, :] * stride_bn,
        mask=(which < batch) & (k[None, :, None] < K), other=0.0,
    )
    c = tl.dot(a, b, out_dtype=tl.float32)
    cells = (which * M + m[None, :, None]) * N + n[None, None, :]
    tl.store(c_ptr + cells, c.to(c_ptr.dtype.element_ty), mask=(which < batch) & (m[None, :, None] < M))


def launch(a, b, c):
    (batch, M, K), N = a.shape, b.shape[2]
    small_kernel[(triton.cdiv(batch, 2),)](a, b, c, batch, M, K, *a.stride(), *b.stride(), N, 2, 32, 16)
    return c
"""


@pytest.mark.parametrize("forms", list(product(FORMS, repeat=2)))
def test_tiles_of_three_dimensions_hold_matrices_in_either_order(forms: tuple[str, str], tmp_path: Path) -> None:
    text = upgraded(SMALL).text
    assert text.count("either_order=True") == 2
    a, b, c = matrices(5, 24, 16, 16)
    a, b = placed(a, forms[0]), placed(b, forms[1])
    got, made = run(text, tmp_path, a=a, b=b, c=c)
    assert torch.equal(got.float(), a.float() @ b.float())
    assert made == [form != "heads" for form in forms]


@pytest.mark.parametrize("forms", list(product(("rows", "columns"), repeat=2)))
def test_matrices_that_other_statements_read_too_are_read_in_registers(forms: tuple[str, str], tmp_path: Path) -> None:
    line = "    c = tl.dot(a, b, out_dtype=tl.float32)\n"
    text = upgraded(SMALL.replace(line, f"{line}    c += tl.sum(a, 2)[:, :, None]\n")).text
    a, b, c = matrices(5, 24, 16, 16)
    a, b = placed(a, forms[0]), placed(b, forms[1])
    got, made = run(text, tmp_path, a=a, b=b, c=c)
    assert torch.equal(got.float(), a.float() @ b.float() + a.float().sum(2, keepdim=True))
    assert made == [True, True]


@pytest.mark.parametrize("units", list(product(("stride_am", "stride_ak"), ("stride_bk", "stride_bn"))))
def test_tiles_of_three_dimensions_are_compiled_in_either_order(units: tuple[str, str], tmp_path: Path) -> None:
    module = module_of(upgraded(SMALL).text, tmp_path, "small")
    constexprs = dict.fromkeys(units, 1) | {"N": 16, "BLOCK_B": 2, "BLOCK_M": 32, "BLOCK_K": 16}
    strides = [f"stride_{name}" for name in ("ab", "am", "ak", "bb", "bk", "bn") if f"stride_{name}" not in units]
    signature = dict.fromkeys(("a_ptr", "b_ptr", "c_ptr"), "*fp16") | dict.fromkeys(
        ("batch", "M", "K", *strides), "i32"
    )
    signature |= dict.fromkeys(constexprs, "constexpr")
    found = compile_kernel(
        dict(fn=module.small_kernel, signature=signature, constexprs=constexprs, num_warps=4), "sm_90"
    )
    assert isinstance(found, Resources), found
    assert [one for one in found.accesses if one.kind == "load"] == []
