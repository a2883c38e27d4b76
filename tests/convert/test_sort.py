"""`sort`, `topk`, `bitonic_merge`, `flip`: ports against Triton's own functions bit for bit, and against torch."""

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
import triton

from tests.conversions import conversion
from tests.convert import sort_kernels
from tritonport.convert import Conversion, ConvertOptions
from tritonport.verify.compile import compare, compile_kernel
from tritonport.verify.emulate import emulated

VERSION = ".".join(triton.__version__.split(".")[:2])
SOURCE = Path(sort_kernels.__file__)
HEAD = "import triton\nimport triton.language as tl\n\n\n@triton.jit\n"
DTYPES = ["float32", "float16", "bfloat16", "float64", "int8", "uint8", "int16", "uint16", "int32", "int64"]


def convert(text: str, version: str = VERSION) -> Conversion:
    return conversion(text, ConvertOptions(triton=version))


def kernel_of(body: str, parameters: str = "x_ptr, out_ptr, N: tl.constexpr", version: str = VERSION) -> Conversion:
    """The conversion of a kernel with a vector `x` and the given last statements."""
    lines = ["offs = tl.arange(0, N)", "x = tl.load(x_ptr + offs)", *body.splitlines()]
    return convert(HEAD + f"def kernel({parameters}):\n" + "".join(f"    {line}\n" for line in lines), version)


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    conversion = convert(SOURCE.read_text())
    assert conversion.diagnostics == ()
    path = tmp_path_factory.mktemp("port") / "sort_kernels_port.py"
    path.write_text(conversion.text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def tile(shape: tuple[int, ...], dtype: torch.dtype, seed: int = 0) -> torch.Tensor:
    """Values with many ties, over the whole range of an integer type."""
    generator = torch.Generator().manual_seed(seed)
    if dtype.is_floating_point:
        return torch.randint(-9, 9, shape, generator=generator).to(dtype) / 2
    limits = torch.iinfo(dtype)
    low, high = max(limits.min, -(2**62)), min(limits.max, 2**62)
    return torch.randint(low, high, shape, generator=generator).to(dtype)


def launch(module: Any, name: str, x: torch.Tensor, shape: tuple[int, ...], **constants: Any) -> torch.Tensor:
    out = torch.zeros(shape, dtype=x.dtype)
    with emulated():
        getattr(module, name)[(1,)](x, out, **constants)
    return out


def both(port: ModuleType, name: str, x: torch.Tensor, shape: tuple[int, ...], **constants: Any) -> torch.Tensor:
    """What the port stores, after it was found to be the original's, bit for bit."""
    original = launch(sort_kernels, name, x, shape, **constants)
    ported = launch(port, name, x, shape, **constants)
    assert torch.equal(original.view(torch.uint8), ported.view(torch.uint8))
    return ported


def in_order(x: torch.Tensor, descending: bool) -> torch.Tensor:
    wide = torch.float64 if x.is_floating_point() else torch.int64
    return x.to(wide).sort(dim=-1, descending=descending).values.to(x.dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_sort_and_topk_of_every_element_type(port: ModuleType, dtype: str) -> None:
    x = tile((4, 32), getattr(torch, dtype))
    for descending in (False, True):
        ported = both(port, "sort_tile", x, x.shape, M=4, N=32, DESCENDING=descending)
        assert torch.equal(ported, in_order(x, descending))
    ported = both(port, "topk_tile", x, (4, 8), M=4, N=32, K=8)
    assert torch.equal(ported, in_order(x, True)[:, :8])


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_nan_infinities_and_signed_zeros_come_out_as_from_triton(port: ModuleType, dtype: str) -> None:
    x = tile((4, 32), getattr(torch, dtype))
    flat = x.view(-1)
    flat[::7], flat[1::5], flat[2::9], flat[3::11], flat[4::13] = torch.nan, -0.0, 0.0, torch.inf, -torch.inf
    for descending in (False, True):
        both(port, "sort_tile", x, x.shape, M=4, N=32, DESCENDING=descending)
        both(port, "merge_tile", x, x.shape, M=4, N=32, DESCENDING=descending)
    for k in (1, 4, 32):
        both(port, "topk_tile", x, (4, k), M=4, N=32, K=k)


@pytest.mark.parametrize(("rows", "columns"), [(1, 16), (2, 2), (8, 1), (1, 1), (16, 8), (1, 256)])
def test_tiles_smaller_and_larger_than_a_warp(port: ModuleType, rows: int, columns: int) -> None:
    x = tile((rows, columns), torch.float32)
    assert torch.equal(
        both(port, "sort_tile", x, x.shape, M=rows, N=columns, DESCENDING=False), in_order(x, descending=False)
    )


@pytest.mark.parametrize("k", [1, 2, 4, 64])
def test_topk_keeps_the_k_largest_in_order(port: ModuleType, k: int) -> None:
    x = tile((2, 64), torch.float32, seed=k)
    assert torch.equal(both(port, "topk_tile", x, (2, k), M=2, N=64, K=k), x.topk(k, dim=1).values)


def test_vectors_keywords_and_three_dimensions(port: ModuleType) -> None:
    x = tile((64,), torch.float32)
    assert torch.equal(both(port, "sort_vector", x, x.shape, N=64), in_order(x, descending=True))
    cube = tile((2, 4, 8), torch.int32) // 2
    assert torch.equal(both(port, "sort_cube", cube, cube.shape, A=2, M=4, N=8, DIM=2), in_order(cube, False) + cube)


def test_topk_in_a_helper_takes_its_layout_from_the_call(port: ModuleType) -> None:
    x = tile((32,), torch.float32)
    expected = torch.maximum(x.topk(4).values, (-x).topk(4).values)
    assert torch.equal(both(port, "topk_vector", x, (4,), N=32, K=4), expected)


def test_bitonic_merge_sorts_rows_that_rise_and_fall(port: ModuleType) -> None:
    x = tile((4, 32), torch.float32)
    rising = torch.cat([in_order(x[:, :16], False), in_order(x[:, 16:], True)], dim=1)
    for descending in (False, True):
        ported = both(port, "merge_tile", rising, x.shape, M=4, N=32, DESCENDING=descending)
        assert torch.equal(ported, in_order(x, descending))


@pytest.mark.parametrize("dim", [0, 1])
def test_flip_keeps_the_layout_of_its_argument(port: ModuleType, dim: int) -> None:
    x = tile((4, 16), torch.float32)
    assert torch.equal(both(port, "flip_tile", x, x.shape, M=4, N=16, DIM=dim), x.flip(dim) - x.flip(1))


# -- what is written


def test_only_the_functions_a_file_needs_are_written() -> None:
    text = kernel_of("tl.store(out_ptr + offs, tl.sort(x))").text
    assert "gl.store(out_ptr + offs, bitonic_sort(x))" in text
    assert text.count("def compare_and_swap(") == 1
    assert "def bitonic_topk(" not in text and "def bitonic_merge(" not in text
    assert "bitonic" not in kernel_of("tl.store(out_ptr + offs, x)").text


@pytest.mark.parametrize(
    ("call", "written"),
    [
        ("tl.sort(x, 0)", "bitonic_sort(x)"),
        ("tl.sort(x, 0, True)", "bitonic_sort(x, descending=True)"),
        ("tl.sort(descending=N > 8, x=x)", "bitonic_sort(descending=N > 8, x=x)"),
        ("tl.sort(x, dim=None)", "bitonic_sort(x)"),
        ("tl.bitonic_merge(x, None, True)", "bitonic_merge(x, descending=True)"),
        ("tl.topk(x, N)", "bitonic_topk(x, N, layout=layout)"),
        ("tl.topk(x, N, 0, False)", "bitonic_topk(x, N, descending=False, layout=layout)"),
        ("tl.flip(x, 0)", "tl.flip(x, 0)"),
    ],
)
def test_spellings(call: str, written: str) -> None:
    assert f"gl.store(out_ptr + offs, {written})\n" in kernel_of(f"tl.store(out_ptr + offs, {call})").text


@pytest.mark.parametrize(
    ("call", "before", "since"),
    [
        ("x.flip()", "x.flip(dim=0)", "x.flip()"),
        ("tl.flip(x)", "tl.flip(x, dim=0)", "tl.flip(x)"),
        ("tl.flip(x, dim=None)", "tl.flip(x, dim=0)", "tl.flip(x, dim=None)"),
        ("x.flip(-1)", "x.flip(-1)", "x.flip(-1)"),
    ],
)
def test_flip_names_its_dimension_where_the_version_needs_it(call: str, before: str, since: str) -> None:
    for version, written in (("3.6", before), ("3.9", since)):
        conversion = kernel_of(f"tl.store(out_ptr + offs, {call})", version=version)
        assert f"gl.store(out_ptr + offs, {written})\n" in conversion.text


@pytest.mark.parametrize(
    ("call", "written"),
    [
        ("tl.sort(\n    x,\n    dim=0,\n)", "bitonic_sort(\n    x,\n)"),
        ("tl.sort(\n    x,  # keys\n    dim=0,\n)", "bitonic_sort(\n    x,  # keys\n)"),
        ("tl.sort(\n    x,  # keys\n    dim=0)", "bitonic_sort(\n    x,  # keys\n    )"),
        ("tl.sort(\n    x, dim=0\n)", "bitonic_sort(\n    x\n)"),
        ("tl.sort(\n    dim=0,\n    x=x,  # keys\n)", "bitonic_sort(\n    x=x,  # keys\n)"),
    ],
)
def test_line_breaks_and_comments_of_the_other_arguments_stay(call: str, written: str) -> None:
    text = kernel_of(f"x = {call}\ntl.store(out_ptr + offs, x)").text
    assert "    x = " + written.replace("\n", "\n    ") + "\n" in text


# -- what is refused


@pytest.mark.parametrize(
    ("call", "code"),
    [
        ("tl.sort(x, dim=-1)", "TP203"),
        ("tl.sort(x, 1)", "TP203"),
        ("tl.topk(x, 4, 2)", "TP203"),
        ("tl.sort(tl.load(x_ptr))", "TP203"),
        ("tl.topk(tl.load(x_ptr), 2)", "TP203"),
        ("tl.flip(tl.load(x_ptr), 0)", "TP203"),
        ("tl.topk(x, n)", "TP201"),
        ("tl.topk(x)", "TP201"),
        ("tl.sort()", "TP105"),
        ("tl.sort(x, stable=True)", "TP103"),
        ("x.sort()", "TP101"),
    ],
)
def test_refusals(call: str, code: str) -> None:
    conversion = kernel_of(f"tl.store(out_ptr + offs, {call})", "x_ptr, out_ptr, n, N: tl.constexpr")
    assert [diagnostic.code for diagnostic in conversion.diagnostics] == [code]
    assert conversion.kernels[0].status == "left"
    assert f"tl.store(out_ptr + offs, {call})" in conversion.text


# -- what it costs


@pytest.mark.parametrize(
    ("name", "element", "constants"),
    [
        ("sort_tile", "*bf16", {"M": 4, "N": 64, "DESCENDING": True}),
        ("topk_tile", "*fp32", {"M": 16, "N": 64, "K": 8}),
        ("merge_tile", "*fp32", {"M": 8, "N": 64, "DESCENDING": False}),
        ("flip_tile", "*fp32", {"M": 8, "N": 64, "DIM": 1}),
    ],
)
def test_as_good_as_the_compilers_own(port: ModuleType, name: str, element: str, constants: dict[str, Any]) -> None:
    spec = {"signature": {"x_ptr": element, "out_ptr": element}, "constexprs": constants}
    original = compile_kernel({"fn": getattr(sort_kernels, name), **spec}, "sm_90")
    ported = compile_kernel({"fn": getattr(port, name), **spec}, "sm_90")
    results = compare(original, ported)
    assert [result.text for result in results if not result.passed] == []
