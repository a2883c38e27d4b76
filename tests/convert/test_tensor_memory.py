"""Dots on sm_100: which instruction, sums that stand in tensor memory, and what the emulator says to faults."""

import re
from pathlib import Path
from types import ModuleType

import pytest
import torch
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia import blackwell

from tests.convert import accumulator_kernels
from tests.convert.kernels import VERSION, convert, module_of
from tritonport.rules_data import rules_dir
from tritonport.verify.compile import compile_kernel
from tritonport.verify.emulate import EmulationError, emulated

SOURCE = Path(accumulator_kernels.__file__).read_text()
NAMES = [kernel.__name__ for kernel in accumulator_kernels.EVERY]
SIGNATURE = dict(a_ptr="*fp16", b_ptr="*fp16", c_ptr="*fp32", n="i32")
ATTRIBUTES = {(index,): [["tt.divisibility", 16]] for index in range(3)}


@pytest.fixture(scope="module")
def port_text() -> str:
    conversion = convert(SOURCE, VERSION, target="sm_100")
    assert {outcome.status for outcome in conversion.kernels} == {"converted"}, conversion.diagnostics
    return conversion.text


@pytest.fixture(scope="module")
def port(port_text: str, tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    return module_of(port_text, tmp_path_factory.mktemp("port"), "accumulator_port")


def results(module: ModuleType, name: str, n: int) -> torch.Tensor:
    """Small whole numbers: every sum is exact, whatever its order."""
    g = torch.Generator().manual_seed(n)
    a, b = (torch.randint(-2, 3, (256, 64), generator=g).half() for _ in range(2))
    c = torch.full((5 * 64, 64), torch.nan)
    with emulated(target="sm_100"):
        getattr(module, name)[(1,)](a, b, c, n, **flags(module, name))
    return c


def flags(module: ModuleType, name: str) -> dict[str, bool]:
    return {name: True for name in getattr(module, name).arg_names if name.endswith("ALIGNED")}


@pytest.mark.parametrize("n", [0, 1, 3])
@pytest.mark.parametrize("name", NAMES)
def test_sums_in_tensor_memory_are_the_same(port: ModuleType, name: str, n: int) -> None:
    expected = results(accumulator_kernels, name, n)
    assert torch.equal(results(port, name, n).nan_to_num(1e9), expected.nan_to_num(1e9))


# Triton keeps the value of one of these in registers too, or moves it between two loops in them.
MORE_LOADS = {"old_value_kept", "in_a_branch", "in_a_helper"}


@pytest.mark.parametrize("name", NAMES)
def test_sums_stand_where_triton_leaves_them(port: ModuleType, name: str) -> None:
    found = []
    for module in (accumulator_kernels, port):
        constants = flags(module, name)
        signature = SIGNATURE | dict.fromkeys(constants, "constexpr")
        spec = dict(fn=getattr(module, name), signature=signature, attrs=ATTRIBUTES, constexprs=constants)
        found.append(compile_kernel(spec, "sm_100"))
    assert list(found[1].mma) == list(found[0].mma) == ["tcgen05_f16"]
    assert found[1].spill_stores <= found[0].spill_stores
    loads = [len(re.findall(r"tcgen05\.ld", resource.ptx or "")) for resource in found]
    assert loads[1] <= loads[0] or name in MORE_LOADS


@pytest.mark.parametrize(
    ("line", "instead", "message"),
    [
        ("    mbarrier.wait(done, 0)\n", "", "`done` is invalidated while"),
        ("mbarrier.wait(done, 0)", "mbarrier.wait(done, 1)", "`done` is invalidated while"),
        (
            "    mbarrier.wait(done, 0)\n    mbarrier.invalidate(done)\n",
            "",
            "the tcgen05_mma of line",
        ),
        ("    fence_async_shared()\n", "", "without a fence_async_shared"),
        ("mbarrier.init(done, count=1)", "mbarrier.init(done, count=2)", "never|deadlock"),
        ("    mbarrier.init(done, count=1)\n", "", "init"),
        (", tmem_layout(acc.shape, acc.dtype), acc)", ", tmem_layout(acc.shape, acc.dtype))", "nothing was written"),
    ],
)
def test_faults_in_what_is_emitted_are_found(
    port_text: str, line: str, instead: str, message: str, tmp_path: Path
) -> None:
    assert port_text.count(line) == 1
    faulty = module_of(port_text.replace(line, instead), tmp_path, "faulty")
    with pytest.raises(EmulationError, match=message):
        results(faulty, "rescaled", 2)


@pytest.fixture(scope="module")
def emitted(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    head = "from triton.experimental import gluon\nfrom triton.experimental.gluon import language as gl\n\n\n"
    sources = [
        (rules_dir() / "emitted" / "sm_100" / f"{name}.py").read_text() for name in ("tmem_registers", "tmem_layout")
    ]
    return module_of(head + "\n\n".join(sources), tmp_path_factory.mktemp("emitted"), "emitted")


@pytest.mark.parametrize("num_warps", [4, 8])
@pytest.mark.parametrize(
    ("m", "n"), [(m, n) for m in (64, 128, 256) for n in (16, 32, 64, 128, 256, 512) if m * n <= 128 * 512]
)
def test_registers_are_those_gluon_loads_tensor_memory_to(emitted: ModuleType, m: int, n: int, num_warps: int) -> None:
    layout = emitted.tmem_layout([m, n], gl.float32)
    if hasattr(blackwell, "get_tmem_reg_layout"):
        expected = blackwell.get_tmem_reg_layout(gl.float32, [m, n], layout, num_warps)
    else:
        memory = blackwell.tensor_memory_descriptor_type(gl.float32, [m, n], layout, [m, n])
        expected = memory.get_reg_layout(num_warps)
    assert emitted.tmem_registers([m, n], num_warps) == expected


@pytest.mark.parametrize("n", [32, 64, 128, 256])
def test_registers_with_whole_rows(emitted: ModuleType, n: int) -> None:
    layout = emitted.tmem_registers([128, n], 8, rowwise=True)
    assert [base for base in layout.warp_bases if base[1]] == []
    assert sorted(map(tuple, layout.reg_bases + layout.lane_bases + layout.warp_bases)) == sorted(
        [(1 << bit, 0) for bit in range(7)] + [(0, 1 << bit) for bit in range(n.bit_length() - 1)]
    )
