"""Names that both branches of a compile-time `if` use for themselves share nothing: only one branch is compiled."""

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
def either(x_ptr, y_ptr, B: tl.constexpr, ROWS: tl.constexpr):
    offs = tl.arange(0, B)
    if ROWS:
        tile = tl.load(x_ptr + offs[:, None] * B + offs[None, :]) * 2
        tl.store(y_ptr + offs[:, None] * B + offs[None, :], tile)
    else:
        tile = tl.load(x_ptr + offs[:, None] + offs[None, :] * B) * 3
        tl.store(y_ptr + offs[:, None] + offs[None, :] * B, tile)


@triton.jit
def ranks(x_ptr, y_ptr, B: tl.constexpr, ROWS: tl.constexpr):
    offs = tl.arange(0, B)
    if ROWS:
        part = tl.load(x_ptr + offs[:, None] * B + offs[None, :])
        total = tl.sum(part, axis=1)
    else:
        part = tl.load(x_ptr + offs)
        total = part * 2
    total += 1
    tl.store(y_ptr + offs, total)
"""
ATTRIBUTES = {(index,): [["tt.divisibility", 16]] for index in range(2)}


@pytest.fixture(scope="module")
def sides(tmp_path_factory: pytest.TempPathFactory) -> list[ModuleType]:
    conversion = convert(TEXT, VERSION)
    assert conversion.diagnostics == ()
    folder = tmp_path_factory.mktemp("branches")
    return [module_of(text, folder, name) for name, text in (("branches", TEXT), ("branches_port", conversion.text))]


@pytest.mark.parametrize("rows", [True, False])
def test_each_branch_has_the_layout_of_its_own_accesses(sides: list[ModuleType], rows: bool) -> None:
    signature = dict(x_ptr="*fp32", y_ptr="*fp32")
    constants = dict(B=64, ROWS=rows)
    original, port = (
        compile_kernel(dict(fn=side.either, signature=signature, attrs=ATTRIBUTES, constexprs=constants), "sm_90")
        for side in sides
    )
    assert original.conversions == port.conversions == 0
    assert port.load_widths == original.load_widths == (16,)
    assert port.store_widths == original.store_widths == (16,)


@pytest.mark.parametrize("rows", [True, False])
@pytest.mark.parametrize("name", ["either", "ranks"])
def test_results_are_those_of_the_original(sides: list[ModuleType], name: str, rows: bool) -> None:
    x = torch.arange(64 * 64, dtype=torch.float32).reshape(64, 64)
    results = []
    for side in sides:
        y = torch.zeros(64, 64)
        with emulated():
            getattr(side, name)[(1,)](x, y, B=64, ROWS=rows)
        results.append(y)
    assert torch.equal(*results) and results[0].count_nonzero() >= 63
