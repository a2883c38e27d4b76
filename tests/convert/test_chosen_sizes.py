"""Sizes that a compile-time test makes 1, or that of the tile they belong to."""

from types import ModuleType

import pytest
import torch

from tests.convert.kernels import VERSION, convert, module_of
from tritonport.verify.compile import compile_kernel
from tritonport.verify.emulate import emulated

TEXT = """
import triton
import triton.language as tl


@triton.jit
def scaled(a_ptr, b_ptr, row_ptr, column_ptr, out_ptr, B: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    offs = tl.arange(0, B)
    if ROWS:
        SIZE_M: tl.constexpr = B
    else:
        SIZE_M: tl.constexpr = 1
    if COLUMNS:
        SIZE_N: tl.constexpr = B
    else:
        SIZE_N: tl.constexpr = 1
    at = offs[:, None] * B + offs[None, :]
    acc = tl.dot(tl.load(a_ptr + at), tl.load(b_ptr + at))
    row = tl.load(row_ptr + tl.arange(0, SIZE_M)[:, None]).broadcast_to((B, 1))
    column = tl.load(column_ptr + tl.arange(0, SIZE_N)[:, None]).broadcast_to((B, 1))
    acc = row * acc
    acc = column.T * acc
    tl.store(out_ptr + at, acc)
"""
ATTRIBUTES = {(index,): [["tt.divisibility", 16]] for index in range(5)}
BOTH = pytest.mark.parametrize(("rows", "columns"), [(True, True), (True, False), (False, True)])


@pytest.fixture(scope="module")
def sides(tmp_path_factory: pytest.TempPathFactory) -> list[ModuleType]:
    conversion = convert(TEXT, VERSION)
    assert conversion.diagnostics == ()
    folder = tmp_path_factory.mktemp("sizes")
    return [module_of(text, folder, name) for name, text in (("sizes", TEXT), ("sizes_port", conversion.text))]


@BOTH
def test_scales_take_the_layout_of_the_sum(sides: list[ModuleType], rows: bool, columns: bool) -> None:
    signature = dict(a_ptr="*fp16", b_ptr="*fp16", row_ptr="*fp32", column_ptr="*fp32", out_ptr="*fp32")
    constants = dict(B=64, ROWS=rows, COLUMNS=columns)
    original, port = (
        compile_kernel(dict(fn=side.scaled, signature=signature, attrs=ATTRIBUTES, constexprs=constants), "sm_90")
        for side in sides
    )
    assert port.conversions == 1 <= original.conversions
    assert port.mma == original.mma


@BOTH
def test_results_are_those_of_the_original(sides: list[ModuleType], rows: bool, columns: bool) -> None:
    g = torch.Generator().manual_seed(0)
    a, b = (torch.randint(-4, 5, (64, 64), generator=g).half() for _ in range(2))
    row, column = (torch.arange(1.0, 65.0) * factor for factor in (1, 3))
    results = []
    for side in sides:
        out = torch.zeros(64, 64)
        with emulated():
            side.scaled[(1,)](a, b, row, column, out, B=64, ROWS=rows, COLUMNS=columns)
        results.append(out)
    assert torch.equal(*results) and results[0].count_nonzero() > 3000
