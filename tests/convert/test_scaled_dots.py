"""tl.dot_scaled: the bits of Triton's own decomposition, and Blackwell's instructions where they take the scales."""

from pathlib import Path
from types import ModuleType

import pytest
import torch

from tests.convert import scaled_kernels
from tests.convert.kernels import HEAD, VERSION, convert, module_of
from tritonport.rules_data import version_key
from tritonport.verify.compile import compile_kernel
from tritonport.verify.emulate import emulated

SOURCE = Path(scaled_kernels.__file__).read_text()
NAMES = [kernel.__name__ for kernel in scaled_kernels.EVERY]
NATIVE = {"fp8", "fp4", "packed_along_n", "groups_of_16"}
NEW_IN_39 = {"packed_along_n", "groups_of_16"}


@pytest.fixture(scope="module", params=["sm_90", "sm_100"])
def port(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, ModuleType]:
    conversion = convert(SOURCE, VERSION, target=request.param)
    assert conversion.diagnostics == ()
    return request.param, module_of(conversion.text, tmp_path_factory.mktemp("port"), "scaled_port")


def results(module: ModuleType, name: str, target: str, rows: int, fast: bool, scales: tuple[int, int]) -> torch.Tensor:
    g = torch.Generator().manual_seed(1)
    # Bytes without NaN or infinity in any of the formats.
    a, b = (torch.randint(0, 120, (128 * 128,), generator=g, dtype=torch.uint8) for _ in range(2))
    sa, sb = (torch.randint(*scales, (128 * 8,), generator=g, dtype=torch.uint8) for _ in range(2))
    c = torch.full((rows, 128), torch.nan)
    with emulated(target=target):
        getattr(module, name)[(1,)](a, sa, b, sb, c, M=rows, FAST=fast)
    return c


@pytest.mark.parametrize("fast", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_the_decomposed_product_has_the_same_bits(port: tuple[str, ModuleType], name: str, fast: bool) -> None:
    target, module = port
    for scales in ((120, 134), (0, 3), (250, 256)):
        if name == "groups_of_16" and scales[1] > 134:
            continue
        expected = results(scaled_kernels, name, target, 64, fast, scales).nan_to_num(0.5)
        assert torch.equal(results(module, name, target, 64, fast, scales).nan_to_num(0.5), expected)


@pytest.mark.parametrize("name", NAMES)
def test_products_with_scales_in_the_instruction_are_right(port: tuple[str, ModuleType], name: str) -> None:
    target, module = port
    expected = results(scaled_kernels, name, target, 128, False, (116, 124)).nan_to_num(0.5)
    assert torch.equal(results(module, name, target, 128, False, (116, 124)).nan_to_num(0.5), expected)
    assert expected.unique().numel() > 1000


@pytest.mark.parametrize("name", NAMES)
def test_the_instructions_are_those_of_triton(port: tuple[str, ModuleType], name: str) -> None:
    target, module = port
    if version_key(VERSION) < (3, 9) and name in NEW_IN_39 and target == "sm_90":
        pytest.skip("this Triton does not compile the original")
    signature = dict.fromkeys(("a_ptr", "sa_ptr", "b_ptr", "sb_ptr"), "*u8") | dict(c_ptr="*fp32")
    found = []
    for where in (scaled_kernels, module):
        constants = dict(M=128, FAST=False)
        spec = dict(fn=getattr(where, name), signature=signature, constexprs=constants)
        found.append(compile_kernel(spec, target))
    assert name == "narrow_pairs" or list(found[1].mma) == list(found[0].mma)
    ptx = [resource.ptx or "" for resource in found]
    assert ("block_scale" in ptx[1]) == (target == "sm_100" and name in NATIVE)
    assert ("block_scale" in ptx[0]) == (target == "sm_100" and name in NATIVE | {"narrow_pairs"})


@pytest.mark.parametrize(
    ("call", "code", "message"),
    [
        ("tl.dot_scaled(x, s, 'e3m2', x, s, 'e4m3')", "TP103", "lhs_format='e3m2' of tl.dot_scaled is not a format"),
        ("tl.dot_scaled(x, n, 'e4m3', x, s, 'e4m3')", "TP203", "lhs_scale= of tl.dot_scaled is neither None nor"),
        ("tl.dot_scaled(x, s, 'e4m3', x, s, 'e4m3', rhs_k_pack=n)", "TP201", "rhs_k_pack= of tl.dot_scaled is not"),
    ],
)
def test_what_is_refused(call: str, code: str, message: str) -> None:
    body = (
        "    o = tl.arange(0, 64)\n    x = tl.load(x_ptr + o[:, None] * 64 + o[None, :])\n"
        f"    s = tl.load(x_ptr + o[:, None] * 2 + tl.arange(0, 2)[None, :])\n    tl.store(x_ptr, tl.sum({call}))\n"
    )
    (found,) = convert(f"{HEAD}def kernel(x_ptr, n):\n{body}", VERSION).diagnostics
    assert (found.code, message in found.message) == (code, True)
