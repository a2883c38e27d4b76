"""Tensor descriptors: ports against Triton's own on the emulator, bit for bit, and what is refused."""

import importlib.util
import re
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
import torch
import triton

from tests.conversions import conversion
from tests.convert import copy_engine_kernels, descriptor_kernels
from tritonport.convert import Conversion, ConvertOptions
from tritonport.rules_data import version_key
from tritonport.verify.compile import Resources, compare, compile_kernel
from tritonport.verify.emulate import emulated

VERSION = ".".join(triton.__version__.split(".")[:2])
SOURCE = Path(descriptor_kernels.__file__)
HEAD = "import triton\nimport triton.language as tl\n\n\n@triton.jit\n"
Load = Callable[[str, str], ModuleType]


def convert(text: str, target: str = "sm_90", version: str = VERSION) -> Conversion:
    return conversion(text, ConvertOptions(triton=version, target=target))


@pytest.fixture(scope="module")
def load(tmp_path_factory: pytest.TempPathFactory) -> Load:
    """Import converted text."""

    def loaded(text: str, name: str) -> ModuleType:
        path = tmp_path_factory.mktemp("port") / f"{name}.py"
        path.write_text(text)
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return loaded


@pytest.fixture(scope="module")
def port(load: Load) -> ModuleType:
    conversion = convert(SOURCE.read_text())
    assert conversion.diagnostics == ()
    return load(conversion.text, "descriptor_port")


def numbers(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(3)).to(dtype)


@pytest.mark.parametrize("turned", [True, False])
def test_operands_of_dots(port: ModuleType, turned: bool) -> None:
    a, b = numbers(64, 72, dtype=torch.float16) / 4, numbers(64, 72, dtype=torch.float16) / 4
    b = b if turned else b.t().contiguous()
    with emulated():
        original, ported = descriptor_kernels.multiply(a, b, turned), port.multiply(a, b, turned)
    assert torch.equal(original, ported)
    expected = a.float() @ (b.float().t() if turned else b.float())
    if not turned:
        expected += a.float().sum(1)[:, None]
    torch.testing.assert_close(ported.float(), expected, atol=2e-2, rtol=2e-2)


def test_descriptors_made_in_the_kernel(port: ModuleType, load: Load) -> None:
    x = numbers(20, 24)
    with emulated():
        original, ported = descriptor_kernels.padded(x), port.padded(x)
    expected = torch.cat([torch.full((20, 4), -1.0), x[:, :20]], dim=1)
    assert torch.equal(original, ported) and torch.equal(ported, expected)
    older = convert(SOURCE.read_text(), target="sm_80")
    with emulated():
        assert torch.equal(load(older.text, "older_port").padded(x), expected)


def test_helpers_take_descriptors(port: ModuleType) -> None:
    x = numbers(32, 32)
    with emulated():
        assert torch.equal(port.doubled(x), x * 2)


def test_only_what_dots_read_stays_in_shared_memory() -> None:
    text = convert(SOURCE.read_text()).text
    assert "a = tma_operand(a_desc, [m, k], True, F32_PRECISION)" in text
    assert "acc = dot(a, b.permute((1, 0)), acc)" in text
    # Used outside of the dot too.
    assert "a = tma_load(a_desc, [m, k], a_desc_layout)" in text
    # It lies along N: only 16-bit elements can be read where they are.
    assert "tma_operand(b_desc, [k, n], False, F32_PRECISION)" in text


def test_host_descriptors_get_a_layout_and_keep_their_fields() -> None:
    text = convert(SOURCE.read_text()).text
    assert "from triton.experimental.gluon.nvidia.hopper import TensorDescriptor\n" in text
    assert "triton.tools.tensor_descriptor" not in text
    assert "TensorDescriptor.from_tensor(a, [64, 32], descriptor_layout(a, [64, 32]))" in text
    fields = ("tensor=b", "block_shape=[32, 32]", "layout=descriptor_layout(b, [32, 32])", 'padding="zero"')
    call = text[text.index("TensorDescriptor.from_tensor(\n") :]
    assert " ".join(call[call.index("\n") : call.index("\n    )")].split()) == ", ".join(fields)
    assert "TensorDescriptor(c, c.shape, c.stride(), [1, 1], descriptor_layout(c, [1, 1]))" in text
    assert (
        "    c_desc.block_shape = [64, 32]\n"
        "    c_desc.layout = descriptor_layout(c_desc.base, c_desc.block_shape)\n" in text
    )


@pytest.mark.parametrize(
    ("version", "load_name", "store_name"),
    [
        ("3.6", "tma.async_copy_global_to_shared", "tma.async_copy_shared_to_global"),
        ("3.7", "tma.async_copy_global_to_shared", "tma.async_copy_shared_to_global"),
        ("3.8", "tma.async_load", "tma.async_store"),
        ("3.9", "tma.async_load", "tma.async_store"),
    ],
)
def test_names_of_each_version(version: str, load_name: str, store_name: str) -> None:
    text = convert(SOURCE.read_text(), version=version).text
    assert f"{load_name}(desc, coord, ready, tile)" in text and f"{store_name}(desc, coord, tile)" in text
    first, last = ("3.6", "3.7") if version < "3.8" else ("3.8", "3.9")
    assert f"# tritonport: stage literal for sm_90, Triton {first} to {last}\n" in text


def test_one_import_of_each_module() -> None:
    text = convert(SOURCE.read_text()).text
    assert text.count("from triton.experimental.gluon.language.nvidia.hopper import") == 1


def test_descriptors_are_made_by_the_short_name_unless_the_kernel_has_it() -> None:
    body = """
    desc = tl.make_tensor_descriptor(x_ptr, [64, 64], [64, 1], [16, 64])
    desc.store([0, 0], desc.load([16, 0]))
"""
    text = convert(f"{HEAD}def kernel(x_ptr):{body}").text
    assert "    desc = tma.make_tensor_descriptor(" in text
    assert "nvidia.hopper import fence_async_shared, mbarrier, tma\n" in text
    text = convert(f"{HEAD}def kernel(x_ptr, tma):{body}").text
    assert "    desc = gl.nvidia.hopper.tma.make_tensor_descriptor(" in text


def compiled(load: Load, body: str, signature: dict[str, str], target: str, parameters: str) -> list[Resources]:
    """The resources of a kernel as Triton's own and as the port."""
    text = HEAD + f"def kernel({parameters}):\n" + "".join(f"    {line}\n" for line in body.splitlines())
    conversion = convert(text, target)
    assert [outcome.status for outcome in conversion.kernels] == ["converted"], conversion.diagnostics
    found = []
    for name, source in (("original", text), ("port", conversion.text)):
        module = load(source, f"{name}_{target}")
        result = compile_kernel(dict(fn=module.kernel, signature=signature), target)
        assert isinstance(result, Resources), result
        found.append(result)
    return found


@pytest.mark.parametrize("target", ["sm_90", "sm_100"])
def test_the_same_resources_as_triton(load: Load, target: str) -> None:
    body = "for i in range(0, n, 64):\n    d.store([i, 0], s.load([i, 0]) + 1)"
    tile = "tensordesc<fp16[64,64]>"
    original, port = compiled(load, body, dict(s=tile, d=tile, n="i32"), target, "s, d, n")
    assert [bar for bar in compare(original, port) if not bar.passed] == []
    assert (port.shared, port.registers) == (original.shared, original.registers)


def engine_port(load: Load, kernel: str, signature: dict[str, str], target: str, **constants: int) -> str:
    """The PTX of the port of a kernel of copy_engine_kernels."""
    module = load(convert(Path(copy_engine_kernels.__file__).read_text(), target).text, f"engine_{target}")
    spec = dict(fn=getattr(module, kernel), signature=signature, constexprs=constants)
    return compile_kernel(spec, target).ptx or ""


@pytest.mark.skipif(version_key(VERSION) < (3, 8), reason="Gluon has descriptor atomics from 3.8 on")
def test_atomics(load: Load) -> None:
    tile = "tensordesc<i32[32,32]>"
    ptx = engine_port(load, "combined", dict(src_desc=tile, dst_desc=tile), "sm_90")
    found = re.findall(r"cp\.reduce\.async\.bulk\.tensor\S*?\.(add|max|min|and|or|xor)\b", ptx)
    assert list(dict.fromkeys(found)) == ["add", "max", "min", "and", "or", "xor"]


def test_gather_and_scatter_are_for_blackwell(load: Load) -> None:
    tile = "tensordesc<fp16[1,64]>"
    signature = dict(src_desc=tile, dst_desc=tile, i_ptr="*i32")
    ptx = engine_port(load, "rows_exchanged", signature, "sm_100", ROWS=32)
    assert "tile::gather4" in ptx and "tile::scatter4" in ptx


@pytest.mark.parametrize(
    ("body", "target", "version", "message"),
    [
        ("d.store([0, 0], s.load([0, 0]))", "sm_80", "3.9", "needs the copy engine of sm_90, and the target is sm_80"),
        (
            "d.scatter(s.gather(tl.arange(0, 32), 0), tl.arange(0, 32), 0)",
            "sm_90",
            "3.9",
            "needs the copy engine of sm_100",
        ),
        ("d.atomic_add([0, 0], s.load([0, 0]))", "sm_90", "3.7", "Gluon of 3.7 has no descriptor atomics"),
        (
            "t = tl.make_tensor_descriptor(s, [8, 8], [8, 1], [8, 8])\nt.atomic_add([0, 0], t.load([0, 0]))",
            "sm_80",
            "3.9",
            "t.atomic_add needs the copy engine of sm_90",
        ),
    ],
)
def test_what_a_target_or_a_version_does_not_have(body: str, target: str, version: str, message: str) -> None:
    text = HEAD + "def kernel(s, d):\n" + "".join(f"    {line}\n" for line in body.splitlines())
    conversion = convert(text, target, version)
    (found,) = conversion.diagnostics
    assert found.code == "TP401" and message in found.message
    assert conversion.text == text


def test_descriptors_made_elsewhere_are_reported() -> None:
    text = HEAD + "def kernel(s, d):\n    d.store([0, 0], s.load([0, 0]))\n"
    (found,) = convert(text).diagnostics
    assert (found.code, found.line, found.kernel) == ("TP402", 6, "kernel")


def test_a_kernel_that_stays_triton_keeps_the_host_side() -> None:
    text = SOURCE.read_text().replace("return desc.load([row, 0]) * 2", "return tl.unknown(desc.load([row, 0]))")
    conversion = convert(text)
    assert "from triton.tools.tensor_descriptor import TensorDescriptor\n" in conversion.text
    codes = {found.code for found in conversion.diagnostics}
    assert codes == {"TP101", "TP402"}
