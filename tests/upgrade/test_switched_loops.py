"""Tiles that a loop loads under `if`s on compile-time values: copied by the launches that read them, in every stage."""

import re
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("triton", reason="upgraded kernels are run with Triton")

import torch

from tests.conversions import conversion
from tests.convert.kernels import VERSION, module_of
from tests.upgrade.switched_kernels import KERNEL, expected, inputs
from tests.upgrade.test_tma import run
from tritonport.convert import Conversion, ConvertOptions
from tritonport.verify.compile import Resources, compile_kernel
from tritonport.verify.emulate import EmulationError

FLAGS = [(bias, save, down) for bias in (True, False) for save in (True, False) for down in (True, False)]


def staged(stage: str, text: str = KERNEL, version: str = VERSION) -> Conversion:
    return conversion(text, ConvertOptions(triton=version, target="sm_90", stage=stage))


def launched(text: str, folder: Path, given: dict[str, Any]) -> list[bool]:
    """For each descriptor that a launch asked for whether it got one; its result is as expected."""
    got, made = run(text, folder, **given)
    torch.testing.assert_close(got, expected(given), rtol=0, atol=0)
    return made


# -- stage tma


def test_each_copy_stands_under_its_if_and_alike_tiles_share_a_descriptor() -> None:
    found = staged("tma", version="3.9")
    assert [one.code for one in found.diagnostics] == []
    text = found.text
    tiles = text[text.index("def parts_kernel_tiles(") : text.rindex("def parts_kernel(")]
    made = """
    if K > 16:
        w_tile_2 = gl.allocate_shared_memory(w_desc.dtype, w_desc.block_shape, w_desc.layout)
        w_ready_2 = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
        mbarrier.init(w_ready_2, count=1)
        k_tile_2 = gl.allocate_shared_memory(k_desc.dtype, k_desc.block_shape, k_desc.layout)
        k_ready_2 = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
        mbarrier.init(k_ready_2, count=1)
"""
    copied = """
        if K > 32:
            mbarrier.expect(w_ready_3, w_desc.block_type.nbytes)
            tma.async_load(w_desc, [t * BT, 32], w_ready_3, w_tile_3)
            mbarrier.wait(w_ready_3, phase)
            w = landed(w_tile_3, 0, y_layout)
"""
    ended = """
    if bias_ptr is not None:
        mbarrier.invalidate(bias_ready)
"""
    assert made in tiles and copied in tiles and ended in tiles
    assert "or (bias_ptr is not None and bias_desc is None)" in text
    assert "K > 16" not in text[text.rindex("def parts_kernel(") :], "w and k need their descriptors anyway"


@pytest.mark.parametrize("steps", [0, 16, 24, 72])
@pytest.mark.parametrize("keys", [16, 24, 48])
def test_every_launch_copies_what_it_reads(steps: int, keys: int, tmp_path: Path) -> None:
    text = staged("tma").text
    for bias, save, down in FLAGS if steps == 24 else FLAGS[::3]:
        made = launched(text, tmp_path, inputs(steps, keys, bias, save, down))
        # Nothing describes a tensor without rows.
        assert len(made) == 5 + bias + save and made.count(True) == (len(made) if steps else 2)


@pytest.mark.parametrize("moved", ["w", "bias"])
@pytest.mark.parametrize("keys", [16, 48])
def test_a_misaligned_launch_takes_the_pointers(moved: str, keys: int, tmp_path: Path) -> None:
    given = inputs(24, keys)
    shifted = torch.zeros(given[moved].numel() + 1, dtype=torch.float16)[1:].view(given[moved].shape)
    given[moved] = shifted.copy_(given[moved])
    assert launched(staged("tma").text, tmp_path, given).count(False) == 1


CHOSEN = """
import torch
import triton
import triton.language as tl


@triton.jit
def some_kernel(a_ptr, b_ptr, c_ptr, M, K, N: tl.constexpr, BLOCK: tl.constexpr, WHOLE: tl.constexpr):
    rows, cols = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), tl.arange(0, N)
    acc = tl.zeros((BLOCK, N), dtype=tl.float32)
    for k in range(0, K, BLOCK):
        steps = k + tl.arange(0, BLOCK)
        b = tl.load(b_ptr + steps[:, None] * N + cols[None, :], mask=steps[:, None] < K, other=0.0)
        if (k // BLOCK) % 2 == 0:
            p_a, in_rows = a_ptr + rows[:, None] * K + steps[None, :], rows[:, None] < M
            if WHOLE:
                a = tl.load(p_a, mask=in_rows, other=0.0)
            else:
                a = tl.load(p_a, mask=in_rows & (steps[None, :] < K), other=0.0)
            acc += tl.dot(a, b)
    tl.store(c_ptr + rows[:, None] * N + cols[None, :], acc, mask=rows[:, None] < M)


def launch(a, b, whole):
    (M, K), N = a.shape, b.shape[1]
    c = torch.full((M, N), 7.0)
    some_kernel[(triton.cdiv(M, 16),)](a, b, c, M, K, N=N, BLOCK=16, WHOLE=whole)
    return c
"""


@pytest.mark.parametrize("whole", [False, True])
def test_a_tile_that_two_branches_load_in_some_iterations_turns_its_own_phase(whole: bool, tmp_path: Path) -> None:
    torch.manual_seed(0)
    a, b = (torch.randint(-3, 4, size).to(torch.float16) for size in ((24, 80), (80, 16)))
    got, made = run(staged("tma", CHOSEN).text, tmp_path, a=a, b=b, whole=whole)
    taken = a.float() * ((torch.arange(80) // 16) % 2 == 0)
    torch.testing.assert_close(got, taken @ b.float(), rtol=0, atol=0)
    assert made == [True] * 3


# -- stages multibuffer and mma


def ringed(version: str = VERSION) -> str:
    return staged("multibuffer", version=version).text


def test_the_ring_of_each_tile_stands_under_its_if_from_its_allocation_to_its_end() -> None:
    text = ringed("3.9")
    tiles = text[text.index("def parts_kernel_tiles(") : text.rindex("def parts_kernel(")]
    steady = """
        y = dot_new(w_smem, u_smem, y_layout)
        next_t = t + NUM_BUFFERS
        more = next_t < stop
        mbarrier.expect(w_ready.index(slot), w_desc.block_type.nbytes, pred=more)
        tma.async_load(w_desc, [next_t * BT, 0], w_ready.index(slot), w_ring.index(slot), pred=more)
        if K > 16:
            mbarrier.wait(w_ready_2.index(slot), phase)
            w = landed(w_ring_2.index(slot), 0, y_layout)
            w_smem_2 = dot_operand(w, 0, y_layout)
            y = dot(w_smem_2, u_smem, y)
            mbarrier.expect(w_ready_2.index(slot), w_desc.block_type.nbytes, pred=more)
            tma.async_load(w_desc, [next_t * BT, 16], w_ready_2.index(slot), w_ring_2.index(slot), pred=more)
        if K > 32:
            mbarrier.wait(w_ready_3.index(slot), phase)
"""
    begun = """
    for i in gl.static_range(NUM_BUFFERS):
        mbarrier.expect(w_ready.index(i), w_desc.block_type.nbytes, pred=i < stop)
        tma.async_load(w_desc, [i * BT, 0], w_ready.index(i), w_ring.index(i), pred=i < stop)
        if K > 16:
            mbarrier.expect(w_ready_2.index(i), w_desc.block_type.nbytes, pred=i < stop)
            tma.async_load(w_desc, [i * BT, 16], w_ready_2.index(i), w_ring_2.index(i), pred=i < stop)
"""
    ended = """
    for i in gl.static_range(NUM_BUFFERS):
        mbarrier.invalidate(w_ready.index(i))
        mbarrier.invalidate(v_ready.index(i))
        mbarrier.invalidate(k_ready.index(i))
        if K > 16:
            mbarrier.invalidate(w_ready_2.index(i))
            mbarrier.invalidate(k_ready_2.index(i))
"""
    assert steady in tiles and begun in tiles and ended in tiles
    assert "    if K > 16:\n        w_ring_2 = gl.allocate_shared_memory(w_desc.dtype, [NUM_BUFFERS]" in tiles
    assert staged("multibuffer", text, "3.9").text == text, "the stage leaves its own output as it is"


@pytest.mark.parametrize("stage", ["multibuffer", "mma", "all"])
@pytest.mark.parametrize("steps", [0, 16, 24, 72])
@pytest.mark.parametrize("keys", [16, 24, 48])
def test_every_launch_keeps_its_own_rings_full(stage: str, steps: int, keys: int, tmp_path: Path) -> None:
    text = staged(stage).text
    for bias, save, down in FLAGS if (stage, steps) == ("multibuffer", 24) else FLAGS[::3]:
        made = launched(text, tmp_path, inputs(steps, keys, bias, save, down))
        assert len(made) == 5 + bias + save and made.count(True) == (len(made) if steps else 2)


def test_the_depth_counts_the_tiles_that_a_launch_copies(tmp_path: Path) -> None:
    places = 12 * (16 * 16 * 2 + 8)
    text = ringed().replace("shared_memory=232448", f"shared_memory={places}")
    module: Any = module_of(text, tmp_path, "kernel")
    tile = module.tile_descriptor(torch.zeros(64, 16, dtype=torch.float16), [64, 16], [16, 1], [16, 16])
    given = {**{f"{name}_desc": tile for name in ("w", "v", "k", "u")}, "bias_desc": None, "out_desc": None}
    depth = module.parts_kernel.values["NUM_BUFFERS"]
    found = [depth({**given, "K": keys, "num_stages": 9}) for keys in (16, 24, 48)]
    # u has one of the twelve places; w, v and k have three, five or seven tiles of the ring.
    assert found == [11 // 3, 11 // 5, 11 // 7]


BESIDE = """
import torch
import triton
import triton.language as tl


@triton.jit
def beside_kernel(a_ptr, b_ptr, s_ptr, c_ptr, M, K, N: tl.constexpr, BLOCK: tl.constexpr, SUMMED: tl.constexpr):
    rows, cols = tl.program_id(0) * 64 + tl.arange(0, 64), tl.arange(0, N)
    acc = tl.zeros((64, N), dtype=tl.float32)
    sums = tl.zeros((64, BLOCK), dtype=tl.float32)
    for k in range(0, K, BLOCK):
        steps = k + tl.arange(0, BLOCK)
        inside = (rows[:, None] < M) & (steps[None, :] < K)
        a = tl.load(a_ptr + rows[:, None] * K + steps[None, :], mask=inside, other=0.0)
        if SUMMED:
            s = tl.load(s_ptr + rows[:, None] * K + steps[None, :], mask=inside, other=0.0)
            sums += s.to(tl.float32)
        b = tl.load(b_ptr + steps[:, None] * N + cols[None, :], mask=steps[:, None] < K, other=0.0)
        acc += tl.dot(a, b)
    acc += tl.sum(sums, 1)[:, None]
    tl.store(c_ptr + rows[:, None] * N + cols[None, :], acc, mask=rows[:, None] < M)


def launch(a, b, s):
    (M, K), N = a.shape, b.shape[1]
    c = torch.full((M, N), 7.0)
    beside_kernel[(triton.cdiv(M, 64),)](a, b, s, c, M, K, N=N, BLOCK=32, SUMMED=s is not None)
    return c
"""


@pytest.mark.parametrize("summed", [False, True])
@pytest.mark.parametrize("depth", [0, 32, 40, 160])
def test_a_dot_stays_under_way_beside_tiles_that_some_launches_have(summed: bool, depth: int, tmp_path: Path) -> None:
    text = staged("mma", BESIDE).text
    assert "        acc = dot_awaited(acc, 1)\n" in text and "mbarrier.expect(s_ready.index(slot)" in text
    torch.manual_seed(depth)
    a, b, s = (torch.randint(-3, 4, size).to(torch.float16) for size in ((72, depth), (depth, 32), (72, depth)))
    got, made = run(text, tmp_path, a=a, b=b, s=s if summed else None)
    wanted = a.float() @ b.float() + (s.float().sum(1)[:, None] if summed else 0)
    torch.testing.assert_close(got, wanted, rtol=0, atol=0)
    assert made == [depth > 0] * (2 + summed) + [True]


SECOND = "        if K > 16:\n            mbarrier."
EXPECT = "mbarrier.expect(w_ready.index(i), w_desc.block_type.nbytes, pred=i < stop)\n"
FILLED = "w_ready_2.index(slot), w_ring_2.index(slot)"
PLANTED = {
    "a barrier of other launches": (f"{SECOND}init(w_ready_2", f"{SECOND}init(w_ready_2".replace("16", "64")),
    "a refill that goes to the other ring": (FILLED, FILLED.replace("w_ring_2", "w_ring")),
    "bytes that no copy brings": (f"{SECOND}expect(w_ready_2", f"        {EXPECT}{SECOND}expect(w_ready_2"),
    "a tile that is not awaited": ("            mbarrier.wait(w_ready_2.index(slot), phase)\n", ""),
}


@pytest.mark.parametrize("case", PLANTED)
def test_a_planted_mistake_is_found(case: str, tmp_path: Path) -> None:
    right, wrong = PLANTED[case]
    text = ringed()
    # A version breaks its longer calls.
    found, count = re.subn(re.escape(right).replace(",\\ ", r",\s+"), wrong, text)
    assert count == 1
    with pytest.raises((EmulationError, AssertionError)):
        launched(found, tmp_path, inputs(72, 24))


def compiled(text: str, folder: Path, keys: int, bias: bool) -> Resources:
    module = module_of(text, folder, "compiled")
    names = ("w_ptr", "u_ptr", "k_ptr", "v_ptr", *(["bias_ptr"] if bias else []))
    types = {**dict.fromkeys(names, "*fp16"), "out_ptr": "*fp32", "state_ptr": "*fp32", "T": "i32"}
    constants: dict[str, int | None] = {"K": keys, "V": 16, "BT": 16, "BK": 16, "SAVE": True, "DOWN": False}
    constants |= {} if bias else {"bias_ptr": None}
    signature = {**types, **dict.fromkeys(constants, "constexpr")}
    entry = {"fn": module.parts_kernel, "signature": signature, "constexprs": constants, "num_warps": 4}
    found = compile_kernel(entry, "sm_90")
    assert isinstance(found, Resources), found
    return found


@pytest.mark.parametrize(("keys", "bias", "tiles"), [(16, True, 4), (16, False, 3), (32, False, 5), (48, True, 8)])
def test_a_launch_is_compiled_with_its_own_copies_alone(keys: int, bias: bool, tiles: int, tmp_path: Path) -> None:
    copy = "cp.async.bulk.tensor.2d.shared"
    assert compiled(staged("tma").text, tmp_path, keys, bias).ptx.count(copy) == 1 + tiles
    for stage in ("multibuffer", "all"):
        found = compiled(staged(stage).text, tmp_path, keys, bias)
        # Three places are filled before the loop, and each is filled again in it.
        assert found.ptx.count(copy) == 1 + 4 * tiles and found.spills == 0
