"""Precision of dots: the instructions of the original, no more and no fewer, and the environment's default."""

import re
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest
import torch

from tests.convert import precision_kernels
from tests.convert.kernels import HEAD, VERSION, convert, module_of
from tritonport.verify.compile import Resources, compile_kernel
from tritonport.verify.emulate import emulated

SOURCE = Path(precision_kernels.__file__).read_text()
TARGETS = ("sm_80", "sm_90", "sm_100")
PRECISIONS = ("tf32", "tf32x3", "bf16x3", "bf16x6", "ieee")
# Relative to products near 1, summed over 32: what is lost by bits that no part of an operand has.
BOUNDS = dict(tf32=2**-4, tf32x3=2**-14, bf16x3=2**-9, bf16x6=2**-14, ieee=2**-14)
ATTRIBUTES = {(index,): [["tt.divisibility", 16]] for index in range(3)}


@pytest.fixture(scope="module", params=TARGETS)
def port(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, ModuleType]:
    conversion = convert(SOURCE, VERSION, target=request.param)
    assert conversion.diagnostics == ()
    return request.param, module_of(conversion.text, tmp_path_factory.mktemp("port"), "precision_port")


@cache
def compiled_once(module: ModuleType, target: str, precision: str) -> Resources:
    return compiled(module, "precise", "fp32", target, PRECISION=precision)


def compiled(module: ModuleType, name: str, kind: str, target: str, **constants: object) -> Resources:
    signature = dict(a_ptr=f"*{kind}", b_ptr=f"*{kind}", c_ptr="*fp32", n="i32")
    kernel = getattr(module, name)
    constants |= {flag: True for flag in kernel.arg_names if flag.endswith("ALIGNED")}
    signature |= dict.fromkeys(constants, "constexpr")
    return compile_kernel(dict(fn=kernel, signature=signature, attrs=ATTRIBUTES, constexprs=constants), target)


def both(port: tuple[str, ModuleType], name: str, kind: str, **constants: object) -> tuple[Resources, Resources]:
    target, module = port
    return compiled(precision_kernels, name, kind, target, **constants), compiled(
        module, name, kind, target, **constants
    )


def precise(port: tuple[str, ModuleType], precision: str) -> tuple[Resources, Resources]:
    target, module = port
    original, ported = (compiled_once(one, target, precision) for one in (precision_kernels, module))
    return original, ported


@pytest.mark.parametrize("precision", PRECISIONS)
def test_as_many_instructions_of_each_kind(port: tuple[str, ModuleType], precision: str) -> None:
    original, ported = precise(port, precision)
    assert ported.mma == original.mma
    assert ("tf32" in str(ported.mma)) == precision.startswith("tf32")
    # The kind that Blackwell has for bfloat16 is the one for float16.
    assert ("f16" in str(ported.mma)) == precision.startswith("bf16")


@pytest.mark.parametrize("precision", ["tf32x3", "bf16x3", "bf16x6"])
def test_operands_are_taken_apart_where_tensor_cores_read_them(port: tuple[str, ModuleType], precision: str) -> None:
    original, ported = precise(port, precision)
    if port[0] == "sm_90":
        # Each part of the right operand is stored once, and none of the left one: it stays in registers.
        parts = 3 if precision == "bf16x6" else 2
        assert len(re.findall(r"ttg\.local_alloc %", ported.ttgir)) == parts + 1
        assert ported.registers <= 1.1 * original.registers
    assert (ported.conversions, ported.spills) <= (original.conversions, original.spills)


@pytest.mark.parametrize("precision", PRECISIONS)
def test_the_bits_are_those_of_the_original(port: tuple[str, ModuleType], precision: str) -> None:
    target, module = port
    g = torch.Generator().manual_seed(0)
    a, b, c = (torch.randn(size, generator=g) for size in ((64, 32), (32, 64), (64, 64)))
    a[3, 5], a[6, 7] = torch.inf, 2.0**120
    results = []
    for where in (precision_kernels, module):
        kernel, sums = where.precise, c.clone()
        flags = {flag: True for flag in kernel.arg_names if flag.endswith("ALIGNED")}
        with emulated(target=target):
            kernel[(1,)](a, b, sums, 1, PRECISION=precision, **flags)
        results.append(sums)
    assert torch.equal(*results) and not results[0].isnan().any()


def test_sums_of_several_dots_in_a_loop(port: tuple[str, ModuleType]) -> None:
    original, ported = both(port, "split_in_a_loop", "fp32")
    assert ported.mma == original.mma


# What each precision is on each target is tested above: here every default, and every target twice.
@pytest.mark.parametrize(("default", "target"), [*zip(PRECISIONS, TARGETS * 2, strict=False), ("tf32x3", "sm_100")])
def test_the_default_of_the_environment(
    default: str, target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRITON_F32_DEFAULT", default)
    module = module_of(convert(SOURCE, VERSION, target=target).text, tmp_path, "default_port")
    original = compiled(precision_kernels, "unspecified", "fp32", target)
    assert compiled(module, "unspecified", "fp32", target).mma == original.mma


@pytest.mark.parametrize("target", TARGETS)
def test_a_precision_of_the_kernel_s_own_goes_before_the_environment(
    target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRITON_F32_DEFAULT", "tf32x3")
    module = module_of(convert(SOURCE, VERSION, target=target).text, tmp_path, "default_port")
    assert compiled(module, "precise", "fp32", target, PRECISION="ieee").mma == {}


@pytest.mark.parametrize("precision", PRECISIONS)
def test_the_error_is_that_of_the_precision(port: tuple[str, ModuleType], precision: str) -> None:
    target, module = port
    g = torch.Generator().manual_seed(0)
    a, b, c = (torch.rand(size, generator=g) for size in ((64, 32), (32, 64), (64, 64)))
    expected = a.double() @ b.double() + c.double()
    with emulated(target=target):
        module.precise[(1,)](
            a,
            b,
            c,
            1,
            PRECISION=precision,
            **{flag: True for flag in module.precise.arg_names if flag.endswith("ALIGNED")},
        )
    error = (c.double() - expected).abs().max().item()
    assert error < BOUNDS[precision]
    assert precision not in ("tf32", "bf16x3") or error > BOUNDS[precision] / 2**7


@pytest.mark.parametrize("kind", ["fp8e4nv", "fp8e5", "fp16"])
@pytest.mark.parametrize("name", ["added", "accumulated", "limited", "limited_and_added"])
def test_additions_are_where_triton_has_them(port: tuple[str, ModuleType], name: str, kind: str) -> None:
    if port[0] == "sm_80" and kind == "fp8e4nv":
        pytest.skip("the target has no such type")
    if port[0] == "sm_100" and kind == "fp8e5":
        pytest.skip("the target has one instruction for both 8-bit floats")
    original, ported = both(port, name, kind)
    assert list(ported.mma) == list(original.mma)
    additions = [
        len(re.findall(r"\badd(?:\.rn)?\.f32(?:x2)?\b", resource.ptx or "")) for resource in (original, ported)
    ]
    if port[0] == "sm_100":
        # The first iteration, which need not add, has a loop body of its own in Triton's code.
        assert (additions[0] > 0) == (additions[1] > 0) == (name == "limited_and_added")
    else:
        assert ported.mma == original.mma
        assert additions[0] == additions[1]
    if port[0] == "sm_90" and kind.startswith("fp8"):
        assert (additions[1] > 0) == (name != "accumulated")


def test_sums_in_half_precision(port: tuple[str, ModuleType]) -> None:
    original, ported = both(port, "half", "fp16")
    assert list(ported.mma) == list(original.mma)
    target, module = port
    g = torch.Generator().manual_seed(0)
    a, b = (torch.randint(-2, 3, (128, 64), generator=g).half() for _ in range(2))
    results = []
    for where in (precision_kernels, module):
        c = torch.full((64, 64), torch.nan)
        kernel = where.half
        with emulated(target=target):
            kernel[(1,)](a, b, c, 2, **{flag: True for flag in kernel.arg_names if flag.endswith("ALIGNED")})
        results.append(c)
    assert torch.equal(*results) and not results[0].isnan().any()


@pytest.mark.parametrize(
    ("arguments", "target", "code", "message"),
    [
        ("input_precision='tf64'", "sm_90", "TP103", "input_precision='tf64' of tl.dot is not converted"),
        ("max_num_imprecise_acc=n", "sm_90", "TP201", "max_num_imprecise_acc= of tl.dot is not a number"),
        ("max_num_imprecise_acc=0", "sm_90", "TP103", "max_num_imprecise_acc=0 of tl.dot has no counterpart on sm_90"),
    ],
)
def test_what_is_refused(arguments: str, target: str, code: str, message: str) -> None:
    body = (
        "    o = tl.arange(0, 64)\n    x = tl.load(x_ptr + o[:, None] * 64 + o[None, :])\n"
        f"    tl.store(x_ptr + o[:, None] * 64 + o[None, :], tl.dot(x, x, {arguments}))\n"
    )
    (found,) = convert(f"{HEAD}def kernel(x_ptr, n):\n{body}", VERSION, target=target).diagnostics
    assert (found.code, message in found.message) == (code, True)
