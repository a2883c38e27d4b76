"""The stages on sm_100: what `mma` writes for sums in tensor memory, that it computes the same, and that faults in it
would be found."""

import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("triton", reason="upgraded kernels are run and compiled with Triton")

import torch

from tests.conversions import conversion
from tests.convert.kernels import VERSION, module_of
from tests.upgrade.blackwell_kernels import ATTENTION, PERSISTENT, TWO_SUMS
from tests.upgrade.kernels import indexed, matmul
from tests.upgrade.test_async_copy import operands
from tritonport.convert import Conversion, ConvertOptions
from tritonport.rules_data import load_targets
from tritonport.verify.compile import Resources, compile_kernel
from tritonport.verify.emulate import EmulationError, emulated


@cache
def upgraded(text: str, version: str = VERSION, stage: str = "mma", target: str = "sm_100") -> Conversion:
    return conversion(text, ConvertOptions(triton=version, target=target, stage=stage))


def run(text: str, folder: Path, **arguments: Any) -> torch.Tensor:
    module: Any = module_of(text, folder, "kernel")
    with emulated(target="sm_100"):
        result: torch.Tensor = module.launch(**arguments)
    return result


# -- what it writes


def test_the_dot_of_a_product_stays_under_way() -> None:
    text = upgraded(matmul(), "3.9").text
    assert "# tritonport: stages literal, tma, multibuffer, mma for sm_100, Triton 3.8 to 3.9\n" in text
    expected = """
    free = NUM_BUFFERS - 1
    # Two dots are under way for a moment, and signal these in turn.
    done = gl.allocate_shared_memory(gl.int64, [2, 1], mbarrier.MBarrierLayout())
    for i in gl.static_range(2):
        mbarrier.init(done.index(i), count=1)
    dots = 0
    for k in range(stop):
        mbarrier.wait(a_ready.index(slot), phase)
        a = landed(in_order(a_ring.index(slot), a_order), 0, acc_layout)
        mbarrier.wait(b_ready.index(slot), phase)
        b = landed(in_order(b_ring.index(slot), b_order), 1, acc_layout)
        acc_tmem = dot_started(a, b, acc_tmem, done.index(dots & 1), use_acc=dots > 0)
        # This one stays under way; that of the iteration before is done then, and one place in the ring free.
        dot_awaited(done, dots - 1)
        next_k = k + NUM_BUFFERS - 1
"""
    assert expected in text
    behind = """
        dots += 1
    dot_awaited(done, dots - 1)
    for i in gl.static_range(2):
        mbarrier.invalidate(done.index(i))
    acc = tmem_sum(acc_tmem, acc_layout, dots)
"""
    assert behind in text
    assert "    acc_tmem = tmem_empty(acc)\n" in text
    assert "or NUM_BUFFERS < 2:\n        matmul_kernel_pointers(" in text


def test_of_several_dots_the_last_one_signals() -> None:
    text = upgraded(TWO_SUMS, "3.9").text
    expected = """
        left_tmem = dot_started(a, b, left_tmem, None, use_acc=dots > 0)
        right_tmem = dot_started(b, a, right_tmem, done.index(dots & 1), use_acc=True)
        # This one stays under way; those before it are done then, and one place in the ring free.
        dot_awaited(done, dots - 1)
"""
    assert expected in text
    assert "    left_tmem = tmem_empty(left)\n" in text
    assert "    right_tmem = tmem_alloc(right)\n" in text
    assert "    right = tmem_load(right_tmem, " in text


def test_the_second_dot_of_attention_runs_under_the_next_iteration() -> None:
    text = upgraded(ATTENTION, "3.9").text
    steady = """
            qk_started = dot_started(q_smem, k, qk_tmem, qk_done, use_acc=False)
            mbarrier.wait(v_ready.index(free), free_phase)
            v = landed(v_ring.index(free), 1, acc_layout)
            # acc_tmem gets what the iteration before has left.
            acc_tmem = dot_started(p_operand, v, acc_tmem, acc_done, use_acc=True)
            mbarrier.wait(qk_done, dots & 1)
            qk = tmem_load(qk_started, qk_layout) * scale
"""
    assert steady in text
    rescaled = """
            # The dot of the iteration before is done, and its place in the ring free.
            mbarrier.wait(acc_done, (dots - 1) & 1)
            acc_tmem = tmem_store(
"""
    assert rescaled in text
    assert "            p_operand = operand_renewed(p_operand, p.to(v_ring.dtype))\n" in text
    assert "chained=True" in text


@pytest.mark.parametrize("stage", ["tma", "multibuffer", "mma", "all"])
def test_its_own_output_stays(stage: str) -> None:
    text = upgraded(matmul(), stage=stage).text
    again = upgraded(text, stage=stage)
    assert again.text == text
    assert again.diagnostics == ()


def test_all_stages_are_the_last_one() -> None:
    text = upgraded(matmul(), "3.9", "all").text
    assert text == upgraded(matmul(), "3.9").text


# -- what it computes


@pytest.mark.parametrize("form", ["plain", "transposed", "strided", "misaligned"])
@pytest.mark.parametrize("shape", [(72, 40, 56), (64, 32, 64), (8, 8, 8), (33, 48, 0), (72, 40, 168)])
def test_a_product_of_any_shape_and_stride(shape: tuple[int, int, int], form: str, tmp_path: Path) -> None:
    given = operands(*shape, torch.float16, form)
    got = run(upgraded(matmul()).text, tmp_path, **given)
    assert torch.equal(got, given["a"].float() @ given["b"].float())


@pytest.mark.parametrize("num_stages", [1, 2, 3, 5])
@pytest.mark.parametrize("trips", [1, 2, 3, 7])
def test_fewer_iterations_than_places(trips: int, num_stages: int, tmp_path: Path) -> None:
    given = operands(64, 32, 32 * trips, torch.float16, "plain")
    got = run(upgraded(matmul()).text, tmp_path, **given, num_stages=num_stages)
    assert torch.equal(got, given["a"].float() @ given["b"].float())


@pytest.mark.parametrize("first", [0, 16, 60, 64, 80])
def test_a_loop_with_a_start_and_without_iterations(first: int, tmp_path: Path) -> None:
    given = operands(64, 16, 64, torch.float16, "plain")
    got = run(upgraded(indexed()).text, tmp_path, **given, first=first)
    rest = given["a"].float()[:, first:] @ given["b"].float()[first:]
    assert torch.equal(got, rest + max(64 - first, 0))


@pytest.mark.parametrize("precision", ["tf32", "ieee", "tf32x3"])
@pytest.mark.parametrize(("block_m", "b_by_columns"), [(32, True), (64, False), (64, True)])
def test_dots_of_other_instructions_are_over_at_once(
    block_m: int, b_by_columns: bool, precision: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # float32 that does not lie along K, that is taken apart, or whose tile is too small for tensor memory.
    monkeypatch.setenv("TRITON_F32_DEFAULT", precision)
    given = operands(72, 40, 104, torch.float32, "plain")
    if b_by_columns:
        given["b"] = given["b"].t().contiguous().t()
    got = run(upgraded(matmul()).text, tmp_path, **given, BLOCK_M=block_m)
    assert torch.equal(got, given["a"] @ given["b"])


@pytest.mark.parametrize("trips", [0, 1, 4])
def test_tiles_one_after_the_other_go_on_in_the_ring(trips: int, tmp_path: Path) -> None:
    given = operands(200, 32, max(32 * trips - 8, 8), torch.float16, "plain")
    got = run(upgraded(PERSISTENT).text, tmp_path, **given, columns=32 * trips)
    expected = given["a"].float() @ given["b"].float()
    assert torch.equal(got, expected if trips else torch.zeros_like(expected))


@pytest.mark.parametrize("trips", [0, 1, 3])
def test_two_sums_in_one_loop(trips: int, tmp_path: Path) -> None:
    given = {name: operands(64, 192, 8, torch.float16, "plain")["a"].repeat(1, 24) for name in "ab"}
    given["b"] = given["b"].flip(0).contiguous()
    got = run(upgraded(TWO_SUMS).text, tmp_path, **given, columns=64 * trips)
    a, b = (given[name].float()[:, : 64 * trips].split(64, dim=1) for name in "ab")
    left = sum((x @ y for x, y in zip(a, b, strict=True)), torch.zeros(64, 64)) if trips else torch.zeros(64, 64)
    right = sum((y @ x for x, y in zip(a, b, strict=True)), torch.ones(64, 64)) if trips else torch.ones(64, 64)
    assert torch.equal(got, torch.stack([left, right]))


def attention_operands(trips: int, rows: int = 100) -> dict[str, Any]:
    """Keys for so many iterations, the last of them not full."""
    generator = torch.Generator().manual_seed(trips)
    keys = max(32 * trips - 5, 1)
    made = {
        name: torch.randn(size, 32, generator=generator).half()
        for name, size in zip("qkv", (rows, keys, keys), strict=True)
    }
    return {**made, "columns": 0 if trips == 0 else keys}


@pytest.mark.parametrize("block_m", [32, 64])
@pytest.mark.parametrize("num_stages", [1, 2, 4])
@pytest.mark.parametrize("trips", [0, 1, 2, 5])
def test_attention_has_the_same_bits(trips: int, num_stages: int, block_m: int, tmp_path: Path) -> None:
    given = attention_operands(trips) | {"num_stages": num_stages, "BLOCK_M": block_m}
    got = run(upgraded(ATTENTION).text, tmp_path, **given)
    assert torch.equal(got, run(upgraded(ATTENTION, stage="tma").text, tmp_path, **given))
    assert trips or not got.any()


# -- faults

AWAITED = "        dot_awaited(done, dots - 1)\n"
FAULTS = {
    "no wait for the dot before": (AWAITED, "", "overwrites `a_ring|is invalidated while|phase before is not over"),
    "the wait is for one dot earlier": (
        AWAITED,
        AWAITED.replace("- 1", "- 2"),
        "overwrites `a_ring",
    ),
    "the place of the dot under way is filled": (
        "        free = slot\n",
        "        free = (slot + 1) % NUM_BUFFERS\n",
        "overwrites `a_ring",
    ),
    "filled before the dot is awaited": (
        AWAITED,
        "",
        "overwrites `a_ring|is invalidated while|phase before is not over",
    ),
    "the other phase": (
        "mbarrier.wait(done.index(number & 1), number >> 1 & 1)",
        "mbarrier.wait(done.index(number & 1), (number >> 1 & 1) ^ 1)",
        "can never end|overwrites `a_ring",
    ),
    "one barrier for all": ("done.index(dots & 1)", "done.index(0)", "can never end|overwrites|not over"),
    "the last dot is not awaited": ("\n    dot_awaited(done, dots - 1)\n", "\n", "is invalidated while|reads `acc"),
    "the first dot adds": ("use_acc=dots > 0", "use_acc=True", "nothing was written there"),
    "dots are not counted": ("        dots += 1\n", "", "overwrites|not over|nothing was written|is invalidated"),
    "the barriers stay valid": (
        "    for i in gl.static_range(2):\n        mbarrier.invalidate(done.index(i))\n",
        "",
        "still a valid mbarrier",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_found(fault: str, tmp_path: Path) -> None:
    line, instead, message = FAULTS[fault]
    text = upgraded(matmul()).text
    assert text.count(line) == 1, line
    given = operands(64, 32, 160, torch.float16, "plain")
    with pytest.raises(EmulationError, match=message):
        run(text.replace(line, instead), tmp_path, **given)


CHAIN_FAULTS = {
    "the product is read before it is there": (
        "            mbarrier.wait(qk_done, dots & 1)\n",
        "",
        "the load reads `\\w+` before|is invalidated while|still reads|not over",
    ),
    "the sum is read before it is there": (
        "            mbarrier.wait(acc_done, (dots - 1) & 1)\n",
        "",
        "the load reads `\\w+` before",
    ),
    "the operand is written again too early": (
        "            mbarrier.wait(acc_done, (dots - 1) & 1)\n",
        "            p_operand = operand_renewed(p_operand, p.to(v_ring.dtype))\n"
        "            mbarrier.wait(acc_done, (dots - 1) & 1)\n",
        "the store overwrites `\\w+` while the tcgen05_mma",
    ),
    "the other phase": ("(dots - 1) & 1", "dots & 1", "can never end|before the tcgen05_mma"),
    "the tile of the iteration itself": ("v = landed(v_ring.index(free)", "v = landed(v_ring.index(slot)", "v_ring"),
    "the tile is not awaited": ("            mbarrier.wait(v_ready.index(free), free_phase)\n", "", "v_ring"),
}


@pytest.mark.parametrize("fault", CHAIN_FAULTS)
def test_a_fault_in_a_chain_is_found(fault: str, tmp_path: Path) -> None:
    line, instead, message = CHAIN_FAULTS[fault]
    text = upgraded(ATTENTION).text
    assert line in text
    with pytest.raises(EmulationError, match=message):
        run(text.replace(line, instead), tmp_path, **attention_operands(5))


def test_a_sum_of_nothing_is_not_read(tmp_path: Path) -> None:
    text = upgraded(indexed()).text
    line = "        if dots > 0:\n            total = acc.load(layout)\n"
    assert text.count(line) == 1
    given = operands(64, 16, 64, torch.float16, "plain")
    with pytest.raises(EmulationError, match="nothing was written there"):
        run(text.replace(line, "        total = acc.load(layout)\n"), tmp_path, **given, first=64)


# -- what it compiles to


def compiled(text: str, folder: Path, num_stages: int, num_warps: int) -> Resources:
    """The product of float16 in tiles of 128 x 128 x 64, for a launch that has its descriptors."""
    module = module_of(text, folder, "compiled")
    pointers = {"a_ptr": "*fp16", "b_ptr": "*fp16", "c_ptr": "*fp32"}
    numbers = dict.fromkeys(("M", "N", "K", "stride_am", "stride_bk", "stride_cm"), "i32")
    constants = {"stride_ak": 1, "stride_bn": 1, "BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 64}
    entry = {
        "fn": module.matmul_kernel,
        "signature": {**pointers, **numbers, **dict.fromkeys(constants, "constexpr")},
        "constexprs": constants,
        "num_warps": num_warps,
        "num_stages": num_stages,
    }
    found = compile_kernel(entry, "sm_100")
    assert isinstance(found, Resources), found
    return found


@pytest.mark.parametrize("num_stages", [2, 4])
@pytest.mark.parametrize("num_warps", [4, 8])
def test_it_compiles_within_the_limits_of_the_hardware(num_warps: int, num_stages: int, tmp_path: Path) -> None:
    found = compiled(upgraded(matmul()).text, tmp_path, num_stages, num_warps)
    assert found.spill_stores == 0
    ptx = found.ptx or ""
    assert len(re.findall(r"tcgen05\.alloc\S* \[\S+\], 128;", ptx)) == len(re.findall(r"tcgen05\.dealloc", ptx)) == 1
    assert "tcgen05.st" not in ptx, "the first dot writes the sum"
    tiles = num_stages * (128 * 64 + 64 * 128) * 2
    assert tiles <= found.shared <= max(tiles, 128 * 128 * 2) + 1024


@pytest.mark.parametrize(("sizes", "columns"), [((128, 64, 128), 256), ((128, 128, 256), 512), ((256, 128, 128), 512)])
def test_a_chain_takes_no_more_tensor_memory_than_there_is(
    sizes: tuple[int, int, int], columns: int, tmp_path: Path
) -> None:
    # Of 256 rows and 128 keys the sum takes 256 columns and the product as many: the dots stay synchronous.
    module = module_of(upgraded(ATTENTION).text, tmp_path, "compiled")
    constants = dict(zip(("BLOCK_M", "BLOCK_N", "D"), sizes, strict=True))
    pointers = {"q_ptr": "*fp16", "k_ptr": "*fp16", "v_ptr": "*fp16", "out_ptr": "*fp32"}
    numbers = {"scale": "fp32", **dict.fromkeys(("n_queries", "n_keys", "columns"), "i32")}
    entry = {
        "fn": module.attention_kernel,
        "signature": {**pointers, **numbers, **dict.fromkeys(constants, "constexpr")},
        "constexprs": constants,
        "num_warps": 8,
        "num_stages": 2,
    }
    found = compile_kernel(entry, "sm_100")
    assert isinstance(found, Resources), found
    ptx = found.ptx or ""
    assert [int(size) for size in re.findall(r"tcgen05\.alloc\S* \[\S+\], (\d+);", ptx)] == [columns]
    assert found.shared <= load_targets()["sm_100"].shared_memory
