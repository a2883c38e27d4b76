"""Stage multibuffer: tiles that are copied once, behind a loop, begin before it."""

import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("triton", reason="upgraded kernels are run with Triton")

import torch

from tests.convert.kernels import VERSION, module_of
from tritonport.convert import ConvertOptions
from tritonport.source.module import SourceModule
from tritonport.upgrade import upgrade_text
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
    at = tl.program_id(0) * 32 + rows
    c = tl.load(c_ptr + at[:, None] * 32 + rows[None, :])
    o = tl.dot(acc.to(c.dtype), c)
    tl.store(o_ptr + at[:, None] * 32 + rows[None, :], o)


def launch(a, b, c):
    o = torch.empty((64, 32), dtype=torch.float32)
    chained_kernel[(2,)](a, b, c, o, torch.zeros(1, dtype=torch.int32), a.shape[1])
    return o
"""
LOOP = "        acc = tl.dot(a, b, acc)\n"


@cache
def upgraded(text: str) -> str:
    options = ConvertOptions(triton=VERSION, target="sm_90", stage="multibuffer")
    return upgrade_text(text, path="kernel.py", options=options).text


def places(text: str) -> tuple[int, int, int]:
    """Where the copy of c begins, where the loop, and where c is awaited."""
    tiles = text[text.index("def chained_kernel_tiles(") : text.rindex("def chained_kernel(")]
    lines = [line.strip() for line in tiles.splitlines()]
    copied = next(place for place, line in enumerate(lines) if line.startswith("mbarrier.expect(c_ready"))
    loop = next(place for place, line in enumerate(lines) if line.startswith("for k in range("))
    return copied, loop, lines.index("mbarrier.wait(c_ready, 0)")


def test_the_copy_runs_under_the_loop_before_it(tmp_path: Path) -> None:
    text = upgraded(KERNEL)
    copied, loop, awaited = places(text)
    assert copied < loop < awaited
    torch.manual_seed(0)
    a, b, c = (torch.randint(-2, 3, size).to(torch.float16) for size in ((32, 64), (64, 32), (64, 32)))
    module: Any = module_of(text, tmp_path, "kernel")
    with emulated(target="sm_90"):
        got = module.launch(a, b, c)
    expected = torch.cat([a.float() @ b.float() @ half.float() for half in c.split(32)])
    torch.testing.assert_close(got, expected, rtol=0, atol=0)


def test_another_program_may_have_waited_for_an_atomic_operation() -> None:
    copied, loop, _ = places(upgraded(KERNEL.replace(LOOP, LOOP + "        tl.atomic_add(flags, 1)\n")))
    assert loop < copied


def test_a_place_that_is_known_behind_the_loop_alone_is_read_there() -> None:
    options = ConvertOptions(triton=VERSION, target="sm_90", stage="tma")
    text = upgrade_text(KERNEL, path="kernel.py", options=options).text
    head, tiles = text.split("def chained_kernel_tiles(")
    found = re.search(r"\(c_desc, \[(.+?), ", tiles)
    assert found is not None
    moved = tiles.replace(found[0], found[0].replace(found[1], "first")).replace(
        "        phase ^= 1\n", f"        phase ^= 1\n        first = {found[1]}\n"
    )
    assert "first = " in moved and moved.count("first") == 2
    moved, _ = multibuffered(
        SourceModule(f"{head}def chained_kernel_tiles({moved}", "kernel.py"), target="sm_90", triton=VERSION
    )
    copied, loop, _ = places(moved)
    assert loop < copied
