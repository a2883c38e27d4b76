"""A tile whose shape a compile-time flag picks has layouts that fit it, whatever the flag says."""

from pathlib import Path
from types import ModuleType

import pytest
import torch

from tests.convert import flag_kernels
from tests.convert.kernels import VERSION, convert, module_of
from tritonport.verify.compile import compile_kernel
from tritonport.verify.emulate import emulated

SOURCE = Path(flag_kernels.__file__).read_text()
SIGNATURE = dict(w_ptr="*fp16", k_ptr="*fp16", h_ptr="*fp32", o_ptr="*fp32", n="i32")
ATTRIBUTES = {(index,): [["tt.divisibility", 16]] for index in range(4)}


@pytest.fixture(scope="module", params=["sm_80", "sm_90"])
def port(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, ModuleType]:
    conversion = convert(SOURCE, VERSION, target=request.param)
    assert conversion.diagnostics == ()
    return request.param, module_of(conversion.text, tmp_path_factory.mktemp("port"), "flag_port")


@pytest.mark.parametrize("width", [32, 128])
@pytest.mark.parametrize("rows_first", [True, False])
@pytest.mark.parametrize("name", ["recurrence", "chosen"])
def test_both_shapes_compile_to_the_dots_of_the_original(
    port: tuple[str, ModuleType], name: str, rows_first: bool, width: int
) -> None:
    target, module = port
    constants = dict(WIDTH=width, ROWS_FIRST=rows_first, START=True)
    signature = SIGNATURE | dict.fromkeys(constants, "constexpr")
    original, ported = (
        compile_kernel(
            dict(fn=getattr(where, name), signature=signature, attrs=ATTRIBUTES, constexprs=constants), target
        )
        for where in (flag_kernels, module)
    )
    assert ported.mma == original.mma
    assert ported.conversions <= original.conversions + 1
    assert ported.conversions_in_loops == 0
    assert ported.spills == original.spills == 0


@pytest.mark.parametrize("width", [32, 128])
@pytest.mark.parametrize("rows_first", [True, False])
@pytest.mark.parametrize("name", ["recurrence", "chosen"])
def test_both_shapes_give_the_results_of_the_original(
    port: tuple[str, ModuleType], name: str, rows_first: bool, width: int
) -> None:
    target, module = port
    g = torch.Generator().manual_seed(0)
    w, k = (torch.randint(-1, 2, (2, 64, 64), generator=g).half() for _ in range(2))
    h = torch.randint(-2, 3, (64 * width,), generator=g).float()
    results = []
    for where in (flag_kernels, module):
        out = torch.full_like(h, torch.nan)
        with emulated(target=target):
            getattr(where, name)[(1,)](w, k, h, out, 2, WIDTH=width, ROWS_FIRST=rows_first, START=True)
        results.append(out)
    assert torch.equal(*results)
