"""Stage tma: tiles that are scaled before a dot takes them as its left operand are read where it reads them."""

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
def scaled_kernel(p_ptr, k_ptr, beta_ptr, o_ptr, K: tl.constexpr, BLOCK: tl.constexpr):
    rows = tl.arange(0, 64)
    beta = tl.load(beta_ptr + rows)
    acc = tl.zeros((64, 64), dtype=tl.float32)
    for i in range(tl.cdiv(K, BLOCK)):
        cols = i * BLOCK + tl.arange(0, BLOCK)
        p = tl.load(p_ptr + rows[:, None] * K + cols[None, :], mask=cols[None, :] < K, other=0.0)
        k = tl.load(k_ptr + rows[:, None] * K + cols[None, :], mask=cols[None, :] < K, other=0.0)
        scaled = p * beta[:, None]
        acc = tl.dot(scaled.to(k.dtype), tl.trans(k), acc)
    tl.store(o_ptr + rows[:, None] * 64 + rows[None, :], acc)


def launch(p, k, beta, num_warps=4, BLOCK=32):
    o = torch.empty((64, 64), dtype=torch.float32)
    scaled_kernel[(1,)](p, k, beta, o, p.shape[1], BLOCK, num_warps=num_warps)
    return o
"""
DOT = "        acc = tl.dot(scaled.to(k.dtype), tl.trans(k), acc)\n"


@cache
def upgraded(text: str = KERNEL, stage: str = "mma") -> str:
    return conversion(text, ConvertOptions(triton=VERSION, target="sm_90", stage=stage)).text


def tiles_of(text: str) -> str:
    return text.partition("def scaled_kernel_tiles(")[2].partition("\n@")[0]


def test_the_tile_has_the_layout_of_the_operand_and_its_dot_ends_in_its_iteration() -> None:
    """Left under way, the dot would read registers that the next iteration loads into."""
    tiles = tiles_of(upgraded())
    assert "p_ptr_layout:gl.constexpr=left_layout(acc_layout,k_desc.dtype,coalesced([64,BLOCK]," in "".join(
        tiles.split()
    )
    assert tiles.index("acc_layout: gl.constexpr") < tiles.index("left_layout(")
    assert "p = p_ring.index(slot).load(p_ptr_layout)" in tiles and "dot_started(" not in tiles


@pytest.mark.parametrize(
    ("line", "changed"),
    [
        (DOT, "        acc = tl.dot(k, tl.trans(scaled.to(k.dtype)), acc)\n"),
        (DOT, f"{DOT}        acc += tl.sum(scaled, axis=1)[:, None]\n"),
        (DOT, f"{DOT}        acc = tl.dot(k, tl.trans(k), acc)\n"),
        ("beta[:, None]", "beta[:, None] + tl.load(beta_ptr + cols)[None, :]"),
    ],
)
def test_tiles_for_other_things_have_a_layout_of_memory(line: str, changed: str) -> None:
    assert "mbarrier.wait(" in tiles_of(upgraded(KERNEL.replace(line, changed), "tma"))
    assert "left_layout(" not in tiles_of(upgraded(KERNEL.replace(line, changed), "tma"))


@pytest.mark.parametrize("warps", [2, 4, 8])
@pytest.mark.parametrize("width", [32, 80])
def test_results_are_those_of_the_original(tmp_path: Path, width: int, warps: int) -> None:
    g = torch.Generator().manual_seed(0)
    p, k = (torch.randint(-2, 3, (64, width), generator=g).half() for _ in range(2))
    beta = torch.randint(1, 4, (64,), generator=g).half()
    results = []
    for name, text in (("original", KERNEL), ("port", upgraded())):
        module: Any = module_of(text, tmp_path, name)
        with emulated(target="sm_90"):
            results.append(module.launch(p, k, beta, num_warps=warps))
    assert torch.equal(*results)


def test_the_operand_does_not_go_through_shared_memory_again(tmp_path: Path) -> None:
    module: Any = module_of(upgraded(), tmp_path, "port")
    pointers = dict.fromkeys(("p_ptr", "k_ptr", "beta_ptr"), "*fp16") | {"o_ptr": "*fp32"}
    constants = dict(K=128, BLOCK=64)
    attributes = {(index,): [["tt.divisibility", 16]] for index in range(4)}
    spec = dict(fn=module.scaled_kernel, signature=pointers, attrs=attributes, constexprs=constants, num_warps=4)
    found = compile_kernel(spec, "sm_90")
    assert found.mma == {"wgmma_f16": 4} and found.conversions == 0
    # Three places of two tiles, and their barriers.
    assert found.shared < 7 * 64 * 64 * 2
