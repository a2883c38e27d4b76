"""Recurrences: loops that carry a state, write it down in every iteration, and change it by dots."""

from functools import cache
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("triton", reason="upgraded kernels are run with Triton")

import torch

from tests.conversions import conversion
from tests.convert.kernels import VERSION, module_of
from tritonport.convert import ConvertOptions
from tritonport.verify.compile import compile_kernel
from tritonport.verify.emulate import emulated

KERNEL = """
import torch
import triton
import triton.language as tl


@triton.jit
def state_kernel(
    w_ptr, u_ptr, k_ptr, h_ptr, new_ptr, last_ptr, T, WIDTH: tl.constexpr, ROWS_FIRST: tl.constexpr, KEEP: tl.constexpr
):
    rows = tl.arange(0, 64)
    cols = tl.arange(0, WIDTH)
    if ROWS_FIRST:
        state = tl.zeros([WIDTH, 64], dtype=tl.float32)
        at = cols[:, None] * 64 + rows[None, :]
    else:
        state = tl.zeros([64, WIDTH], dtype=tl.float32)
        at = rows[:, None] * WIDTH + cols[None, :]
    for i in range(tl.cdiv(T, 64)):
        tl.store(h_ptr + i * 64 * WIDTH + at, state.to(h_ptr.dtype.element_ty))
        tokens = i * 64 + rows
        inside = tokens < T
        w = tl.load(w_ptr + tokens[:, None] * 64 + rows[None, :], mask=inside[:, None], other=0.0)
        if ROWS_FIRST:
            v = tl.dot(w, tl.trans(state).to(w.dtype))
        else:
            v = tl.dot(w, state.to(w.dtype))
        u = u_ptr + tokens[:, None] * WIDTH + cols[None, :]
        v = tl.load(u, mask=inside[:, None], other=0.0) - v
        if KEEP:
            new = new_ptr + tokens[:, None] * WIDTH + cols[None, :]
            tl.store(new, v.to(new_ptr.dtype.element_ty), mask=inside[:, None])
        state *= 0.5
        k = tl.load(k_ptr + tokens[None, :] * 64 + rows[:, None], mask=inside[None, :], other=0.0)
        if ROWS_FIRST:
            state += tl.trans(tl.dot(k, v.to(k.dtype)))
        else:
            state = tl.dot(k, v.to(k.dtype), state)
    tl.store(last_ptr + at, state)


def launch(w, u, k, rows_first=False, keep=True, num_stages=3):
    steps, width = triton.cdiv(w.shape[0], 64), u.shape[1]
    shape = (width, 64) if rows_first else (64, width)
    h, new = torch.full((steps, *shape), float("nan"), dtype=w.dtype), torch.full_like(u, float("nan"))
    last = torch.full(shape, float("nan"))
    state_kernel[(1,)](w, u, k, h, new, last, w.shape[0], width, rows_first, keep, num_stages=num_stages)
    return h, new, last
"""

WRITTEN = """
import triton
import triton.language as tl


@triton.jit
def state_kernel(k_ptr, v_ptr, h_ptr, n, ROWS_FIRST: tl.constexpr):
    rows = tl.arange(0, 64)
    cols = tl.arange(0, 32)
    state = tl.zeros([64, 32], dtype=tl.float32)
    if ROWS_FIRST:
        at = cols[:, None] * 64 + rows[None, :]
    else:
        at = rows[:, None] * 32 + cols[None, :]
    for i in range(n):
        tl.store(h_ptr + i * 2048 + at, (tl.trans(state) if ROWS_FIRST else state).to(h_ptr.dtype.element_ty))
        tokens = i * 64 + rows
        k = tl.load(k_ptr + rows[:, None] + tokens[None, :] * 64)
        v = tl.load(v_ptr + tokens[:, None] * 32 + cols[None, :])
        state = tl.dot(k, v, state)


def launch(k, v, h, n):
    state_kernel[(1,)](k, v, h, n, False)
"""


@cache
def upgraded(stage: str = "mma", text: str = KERNEL) -> str:
    return conversion(text, ConvertOptions(triton=VERSION, target="sm_90", stage=stage)).text


def tiles_of(text: str) -> str:
    return text.partition("def state_kernel_tiles(")[2].partition("\n@")[0]


def loop_of(text: str) -> str:
    """The loop of the form with tiles, and what stands behind it."""
    return tiles_of(text).partition("    for i in range(")[2]


def inputs(tokens: int, width: int = 32) -> list[torch.Tensor]:
    g = torch.Generator().manual_seed(0)
    w, u, k = (torch.randint(-1, 2, (tokens, n), generator=g).half() for n in (64, width, 64))
    return [w * 0.125, u, k * 0.125]


def test_a_conversion_before_a_cast_is_left_out_too() -> None:
    loop = loop_of(upgraded("tma", WRITTEN))
    assert loop.count("store_tile(") == 2 and "convert_layout" not in loop


def test_tiles_are_read_and_written_in_the_layout_of_what_is_computed() -> None:
    """Shared memory is read and written in any layout, so none is converted to or from another one there."""
    lines = [line.strip() for line in loop_of(upgraded("tma")).splitlines()]
    assert "v = v_tile.load(v_layout) - v" in lines
    stores = [line for line in lines if line.startswith("store_tile(")]
    assert len(stores) == 5 and not any("convert_layout" in line for line in stores)


NAMED = "loaded = tl.load(u, mask=inside[:, None], other=0.0)\n        v = loaded - v"


@pytest.mark.parametrize(
    ("named", "there"),
    [
        (NAMED, True),
        (NAMED.replace("other=0.0)", "other=0.0).to(tl.float32)"), True),
        (NAMED.replace("loaded - v", "(loaded - v).to(loaded.dtype)"), True),
        # In what stands in memory order, more is done than a conversion.
        (NAMED.replace("loaded - v", "loaded - v * tl.sum(loaded, axis=1)[:, None]"), False),
        (NAMED.replace("        v =", "        loaded = loaded * 2\n        v ="), False),
    ],
)
def test_a_tile_with_a_name_is_read_where_all_of_its_reads_want_it(named: str, there: bool) -> None:
    line = "v = tl.load(u, mask=inside[:, None], other=0.0) - v"
    text = KERNEL.replace(line, named)
    assert text != KERNEL
    loop = loop_of(upgraded("tma", text))
    assert (".load(v_layout)" in loop) == there and ("convert_layout(loaded" not in loop) == there


def test_several_stores_are_awaited_an_iteration_later() -> None:
    before, _, rest = tiles_of(upgraded()).partition("    for i in range(")
    loop, _, behind = rest.partition("    for j in ")
    assert [line for line in before.splitlines() if "_stored" in line and line.startswith("        ")] == [
        "        h_stored = gl.allocate_shared_memory(h_desc.dtype, h_desc.block_shape, h_desc.layout)",
        "        h_stored_2 = gl.allocate_shared_memory(h_desc_2.dtype, h_desc_2.block_shape, h_desc_2.layout)",
        "        new_stored = gl.allocate_shared_memory(new_desc.dtype, new_desc.block_shape, new_desc.layout)",
    ]
    assert loop.index("tma.store_wait(0)") < loop.index("start_store(h_stored, h_desc,")
    loop, last, stored = loop.partition("\n    tma.store_wait(0)\n")
    assert last and loop.count("store_wait(") == 1 and "store_tile(" not in loop
    # The barriers end last of all.
    assert stored.count("store_tile(") == 2 and "invalidate" not in stored and behind.count("invalidate(") == 3


def test_one_store_of_an_iteration_is_awaited_at_once() -> None:
    tiles = tiles_of(upgraded(text=WRITTEN))
    assert "mbarrier.wait(k_ready.index(slot)" in tiles and "start_store(" not in tiles


def test_a_loop_that_writes_one_tile_again_and_again_is_awaited_each_time() -> None:
    tiles = tiles_of(upgraded(text=KERNEL.replace("if KEEP:", "for _ in range(T):")))
    assert "start_store(" not in tiles


@pytest.mark.parametrize("rows_first", [False, True])
@pytest.mark.parametrize("tokens", [64, 300])
def test_states_are_those_of_the_original(tmp_path: Path, tokens: int, rows_first: bool) -> None:
    given = inputs(tokens)
    results = []
    for name, text in (("original", KERNEL), ("port", upgraded())):
        module: Any = module_of(text, tmp_path, name)
        with emulated(target="sm_90"):
            results.append(module.launch(*given, rows_first=rows_first))
    assert all(torch.equal(*pair) for pair in zip(*results, strict=True))


def test_all_threads_know_that_a_stored_tile_has_been_read_before_it_is_written_again(tmp_path: Path) -> None:
    module: Any = module_of(upgraded(), tmp_path, "compiled")
    kernel, tile = module.state_kernel_tiles, "tensordesc<fp16[64,64]>"
    names = [parameter.name for parameter in kernel.params]
    constants = {"WIDTH": 64, "ROWS_FIRST": False, "KEEP": True, "NUM_BUFFERS": 2}
    types = {"T": "i32", "last_ptr": "*fp32", **dict.fromkeys(("h_ptr", "new_ptr"), "*fp16")}
    types |= {name: tile.replace("fp16", "fp32" if "last" in name else "fp16") for name in names if "_desc" in name}
    signature = {name: "constexpr" if name in constants else types.get(name, "*fp16") for name in names}
    found = compile_kernel({"fn": kernel, "signature": signature, "constexprs": constants, "num_warps": 4}, "sm_90")
    lines = [line.strip() for line in found.ptx.splitlines()]
    waits = [place for place, line in enumerate(lines) if line.startswith("cp.async.bulk.wait_group.read")]
    assert len(waits) == 3  # at the head of an iteration, behind the loop, and of the tile that is stored last
    for place in waits:
        # One thread has waited: the others may write once all have come to a barrier.
        behind = next(line for line in lines[place + 1 :] if line.startswith(("bar.sync", "st", "@", "ret")))
        assert behind.startswith("bar.sync"), behind
