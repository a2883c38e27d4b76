"""Stage multibuffer: what a ring leaves of shared memory."""

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("triton", reason="upgraded kernels are run with Triton")

import torch

from tests.conversions import conversion
from tests.convert.kernels import VERSION, module_of
from tritonport.convert import ConvertOptions
from tritonport.verify.emulate import emulated

KERNEL = """
import triton
import triton.language as tl


@triton.jit
def running_kernel(a_ptr, b_ptr, sums_ptr, last_ptr, K, BLOCK: tl.constexpr):
    rows = tl.arange(0, 32)
    tile = rows[:, None] * 32 + rows[None, :]
    acc = tl.zeros((32, 32), dtype=tl.float32)
    for k in range(0, K, BLOCK):
        tl.store(sums_ptr + (k // BLOCK * 32 + rows)[:, None] * 32 + rows[None, :], acc.to(sums_ptr.dtype.element_ty))
        offs = k + tl.arange(0, BLOCK)
        a = tl.load(a_ptr + rows[:, None] * K + offs[None, :])
        b = tl.load(b_ptr + offs[:, None] * 32 + rows[None, :])
        acc = tl.dot(a, b, acc)
    tl.store(last_ptr + tile, acc)


def launch(a, b, sums, last):
    running_kernel[(1,)](a, b, sums, last, a.shape[1], 16)
"""


def test_a_tile_that_the_loop_stores_stands_beside_the_ring_and_one_behind_it_does_not() -> None:
    options = ConvertOptions(triton=VERSION, target="sm_90", stage="multibuffer")
    text = "".join(conversion(KERNEL, options).text.split())
    assert 'ring_depth_for(args,"NUM_BUFFERS",["a_desc","b_desc"],once=["sums_desc"],' in text
    assert text.count("store_tile(sums_desc,") == text.count("store_tile(last_desc,") == 1


def upgraded(text: str, stage: str) -> str:
    return conversion(text, ConvertOptions(triton=VERSION, target="sm_90", stage=stage)).text


@pytest.mark.parametrize(
    ("bounds", "said"),
    [
        ("0, K, BLOCK", ""),
        ("tl.cdiv(SIZE, BLOCK)", 'iterations=triton.cdiv(args["SIZE"], args["BLOCK"])'),
        ("0, SIZE, BLOCK", 'iterations=triton.cdiv(args["SIZE"], args["BLOCK"])'),
        ("BLOCK, SIZE, BLOCK", ""),
    ],
)
def test_a_ring_has_no_more_places_than_its_loop_iterations(bounds: str, said: str) -> None:
    """As far as compile-time arguments say how many these are: others would compile a launch for each number."""
    text = KERNEL.replace("BLOCK: tl.constexpr", "SIZE: tl.constexpr, BLOCK: tl.constexpr")
    text = text.replace("0, K, BLOCK", bounds).replace("a.shape[1], 16", "a.shape[1], a.shape[1], 16")
    found = "".join(upgraded(text, "multibuffer").split())
    call = found.partition('"NUM_BUFFERS":lambdaargs:')[2].partition("def")[0]
    assert call.startswith("ring_depth_for(args,") and call.count("iterations=") == bool(said)
    assert "".join(said.split()) in call


SHORT = """
import torch
import triton
import triton.language as tl


@triton.jit
def short_kernel(a_ptr, b_ptr, o_ptr, K: tl.constexpr, BLOCK: tl.constexpr, SCALED: tl.constexpr):
    rows = tl.arange(0, 32)
    acc = tl.zeros((32, 32), dtype=tl.float32)
    for i in range(tl.cdiv(K, BLOCK)):
        offs = i * BLOCK + tl.arange(0, BLOCK)
        a = tl.load(a_ptr + rows[:, None] * K + offs[None, :], mask=offs[None, :] < K, other=0.0)
        b = tl.load(b_ptr + offs[:, None] * 32 + rows[None, :], mask=offs[:, None] < K, other=0.0)
        acc = tl.dot(A, b, acc)
    tl.store(o_ptr + rows[:, None] * 32 + rows[None, :], acc)


def launch(a, b):
    o = torch.empty((32, 32), dtype=torch.float32)
    short_kernel[(1,)](a, b, o, a.shape[1], 32, True)
    return o
"""


@pytest.mark.parametrize(("left", "places"), [("a", 2), ("(a * 2).to(b.dtype)", 1)])
@pytest.mark.parametrize("width", [32, 96])
def test_a_loop_of_one_iteration(tmp_path: Path, width: int, left: str, places: int) -> None:
    """A dot that stays under way reads one place of its ring, whatever there is to come."""
    text = upgraded(SHORT.replace("tl.dot(A,", f"tl.dot({left},"), "mma")
    assert ("dot_started(" in text.partition("def short_kernel_tiles(")[2]) == (places == 2)
    module: Any = module_of(text, tmp_path, "short")
    entries = module.short_kernel.values
    args = dict(K=width, BLOCK=32, num_stages=3, a_desc=None, b_desc=None)
    assert entries["NUM_BUFFERS"](args) == max(width // 32, places)
    g = torch.Generator().manual_seed(0)
    a, b = (torch.randint(-2, 3, size, generator=g).half() for size in ((32, width), (width, 32)))
    with emulated(target="sm_90"):
        got = module.launch(a, b)
    assert torch.equal(got, (a.float() * (1 if places == 2 else 2)) @ b.float())
