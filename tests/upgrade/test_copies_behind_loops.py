"""Stage multibuffer: tiles that are copied once, behind a loop, begin right behind it."""

import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("triton", reason="upgraded kernels are run with Triton")

import torch

from tests.conversions import conversion
from tests.convert.kernels import VERSION, module_of
from tritonport.convert import ConvertOptions
from tritonport.source.module import SourceModule
from tritonport.upgrade.multibuffer import multibuffered
from tritonport.verify.emulate import emulated

KERNEL = """
import torch
import triton
import triton.language as tl


@triton.jit
def chained_kernel(a_ptr, b_ptr, c_ptr, o_ptr, flags, K: tl.constexpr):
    rows = tl.arange(0, 32)
    acc = tl.zeros((32, 32), dtype=tl.float32)
    for k in range(0, K, 16):
        offs = k + tl.arange(0, 16)
        a = tl.load(a_ptr + rows[:, None] * K + offs[None, :])
        b = tl.load(b_ptr + offs[:, None] * 32 + rows[None, :])
        acc = tl.dot(a, b, acc)
    scaled = tl.exp(acc * 0.0) * acc
    at = tl.program_id(0) * 32 + rows
    c = tl.load(c_ptr + at[:, None] * 32 + rows[None, :])
    o = tl.dot(scaled.to(c.dtype), c)
    tl.store(o_ptr + at[:, None] * 32 + rows[None, :], o)


def launch(a, b, c):
    o = torch.empty((64, 32), dtype=torch.float32)
    chained_kernel[(2,)](a, b, c, o, torch.zeros(1, dtype=torch.int32), a.shape[1])
    return o
"""
SCALED = "    scaled = tl.exp(acc * 0.0) * acc\n"


@cache
def upgraded(text: str) -> str:
    options = ConvertOptions(triton=VERSION, target="sm_90", stage="multibuffer")
    return conversion(text, options).text


def lines_of(text: str) -> list[str]:
    tiles = text[text.index("def chained_kernel_tiles(") : text.rindex("def chained_kernel(")]
    return [line.strip() for line in tiles.splitlines()]


def places(text: str) -> tuple[int, int, int]:
    """Where the loop ends, where the copy of c begins, and where the arithmetic behind the loop."""
    lines = lines_of(text)
    copied = next(place for place, line in enumerate(lines) if line.startswith("mbarrier.expect(c_ready"))
    ended = next(place for place, line in enumerate(lines) if line.startswith("slot = gl.where("))
    scaled = next(place for place, line in enumerate(lines) if line.startswith("scaled ="))
    return ended, copied, scaled


def test_the_copy_arrives_during_the_arithmetic_behind_the_loop(tmp_path: Path) -> None:
    text = upgraded(KERNEL)
    ended, copied, scaled = places(text)
    assert ended < copied < scaled < lines_of(text).index("mbarrier.wait(c_ready, 0)")
    torch.manual_seed(0)
    a, b, c = (torch.randint(-2, 3, size).to(torch.float16) for size in ((32, 64), (64, 32), (64, 32)))
    module: Any = module_of(text, tmp_path, "kernel")
    with emulated(target="sm_90"):
        got = module.launch(a, b, c)
    expected = torch.cat([a.float() @ b.float() @ half.float() for half in c.split(32)])
    torch.testing.assert_close(got, expected, rtol=0, atol=0)


def test_the_copy_does_not_pass_an_atomic_operation_that_another_program_may_wait_for() -> None:
    _, copied, scaled = places(upgraded(KERNEL.replace(SCALED, SCALED + "    tl.atomic_add(flags, 1)\n")))
    assert scaled < copied


def test_a_place_that_is_known_later_is_read_there() -> None:
    options = ConvertOptions(triton=VERSION, target="sm_90", stage="tma")
    text = conversion(KERNEL, options).text
    head, tiles = text.split("def chained_kernel_tiles(")
    found = re.search(r"\(c_desc, \[(.+?), ", tiles)
    assert found is not None
    line = next(line for line in tiles.splitlines() if line.startswith("    scaled ="))
    moved = tiles.replace(found[0], found[0].replace(found[1], "first")).replace(
        line, f"{line}\n    first = {found[1]}"
    )
    moved, _ = multibuffered(
        SourceModule(f"{head}def chained_kernel_tiles({moved}", "kernel.py"), target="sm_90", triton=VERSION
    )
    _, copied, scaled = places(moved)
    assert scaled < copied


@pytest.mark.parametrize("version", ["3.6", "3.9"])
def test_a_copy_with_long_lines_has_one_argument_to_a_line(version: str) -> None:
    options = ConvertOptions(triton=version, target="sm_90", stage="multibuffer")
    name = "tile_with_a_name_so_long_that_its_copy_fills_a_line"
    long = KERNEL.replace("b = tl.load", f"{name} = tl.load").replace("tl.dot(a, b, acc)", f"tl.dot(a, {name}, acc)")
    text = conversion(long, options).text
    added = [line.strip() for line in text.splitlines() if line.strip().startswith("pred=")]
    assert added and all(line.endswith(",") for line in added)
    assert not [line for line in text.splitlines() if line != line.rstrip()]
