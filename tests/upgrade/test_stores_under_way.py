"""Stage multibuffer: what a pipelined loop stores through a descriptor is read while the next iteration computes."""

from functools import cache
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("triton", reason="upgraded kernels are run with Triton")

import torch

from tests.convert.kernels import VERSION, module_of
from tritonport.convert import ConvertOptions
from tritonport.upgrade import upgrade_text
from tritonport.verify.emulate import EmulationError, emulated

KERNEL = """
import torch
import triton
import triton.language as tl


@triton.jit
def running_kernel(a_ptr, b_ptr, sums_ptr, twice_ptr, K, BLOCK: tl.constexpr):
    rows = tl.arange(0, 32)
    acc = tl.zeros((32, 32), dtype=tl.float32)
    for k in range(0, K, BLOCK):
        at = (k // BLOCK * 32 + rows)[:, None] * 32 + rows[None, :]
        # The sums so far.
        tl.store(sums_ptr + at, acc.to(sums_ptr.dtype.element_ty))
        tl.store(twice_ptr + at, (acc * 2.0).to(twice_ptr.dtype.element_ty))
        offs = k + tl.arange(0, BLOCK)
        a = tl.load(a_ptr + rows[:, None] * K + offs[None, :])
        b = tl.load(b_ptr + offs[:, None] * 32 + rows[None, :])
        acc = tl.dot(a, b, acc)


def launch(a, b, BLOCK=16):
    blocks = a.shape[1] // BLOCK
    sums, twice = (torch.full((blocks, 32, 32), -7.0, dtype=torch.float16) for _ in range(2))
    running_kernel[(1,)](a, b, sums, twice, a.shape[1], BLOCK)
    return sums, twice
"""


@cache
def upgraded(text: str = KERNEL, stage: str = "multibuffer") -> str:
    options = ConvertOptions(triton=VERSION, target="sm_90", stage=stage)
    return upgrade_text(text, path="kernel.py", options=options).text


def check(text: str, folder: Path, blocks: int, misaligned: bool = False) -> None:
    torch.manual_seed(0)
    a, b = (torch.randint(-2, 3, size).to(torch.float16) for size in ((32, 16 * blocks), (16 * blocks, 32)))
    if misaligned:
        a = torch.cat([a.new_zeros(1), a.flatten()])[1:].view(a.shape)
    module: Any = module_of(text, folder, "kernel")
    with emulated(target="sm_90"):
        sums, twice = module.launch(a, b)
    so_far = torch.zeros(32, 32)
    for block in range(blocks):
        torch.testing.assert_close(sums[block].float(), so_far, rtol=0, atol=0)
        torch.testing.assert_close(twice[block].float(), so_far * 2, rtol=0, atol=0)
        so_far = so_far + a[:, 16 * block :][:, :16].float() @ b[16 * block :][:16].float()


@pytest.mark.parametrize("stage", ["multibuffer", "mma"])
@pytest.mark.parametrize("blocks", [1, 2, 5])
def test_any_number_of_iterations(tmp_path: Path, stage: str, blocks: int) -> None:
    check(upgraded(stage=stage), tmp_path, blocks)


def test_a_launch_without_descriptors(tmp_path: Path) -> None:
    check(upgraded(), tmp_path, 3, misaligned=True)


def test_each_iteration_waits_once_before_it_fills_its_tiles() -> None:
    tiles = upgraded().partition("def running_kernel_tiles(")[2].partition("@triton.heuristics")[0]
    loop = tiles[tiles.index("    for k in range(") : tiles.index("    tma.store_wait(0)\n    for i in")]
    assert loop.count("tma.store_wait(0)") == 1 and loop.count("begin_store(") == 2
    assert loop.index("# The sums so far.") < loop.index("tma.store_wait(0)") < loop.index("begin_store(")
    assert 'once=["sums_desc", "twice_desc"]' in upgraded()


def test_the_emulator_sees_a_tile_that_is_filled_while_its_copy_reads_it(tmp_path: Path) -> None:
    wait = "        tma.store_wait(0)\n"
    assert upgraded().count(wait) == 1
    with pytest.raises(EmulationError, match="still"):
        check(upgraded().replace(wait, ""), tmp_path, 3)


def test_a_store_that_is_no_statement_of_the_pipelined_loop_is_awaited_where_it_stands() -> None:
    line = next(line for line in KERNEL.splitlines() if "tl.store(twice_ptr" in line)
    text = upgraded(KERNEL.replace(line, f"        for _ in range(2):\n    {line}"))
    tiles = text.partition("def running_kernel_tiles(")[2].partition("@triton.heuristics")[0]
    words = "".join(tiles.split())
    assert words.count("begin_store(sums_desc,") == 1 and words.count("store_tile(twice_desc,") == 1
    assert 'once=["sums_desc"]' in text
