"""Tiles that loops over `tl.static_range` copy: rings as of any loop, whose iterations have constants for an index."""

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("triton", reason="upgraded kernels are run with Triton")

import torch

from tests.conversions import conversion
from tests.convert.kernels import VERSION, module_of
from tests.upgrade.test_tma import run
from tritonport.convert import Conversion, ConvertOptions
from tritonport.rules_data import version_key
from tritonport.verify.compile import Resources, compile_kernel
from tritonport.verify.emulate import emulated

KERNEL = """
import torch
import triton
import triton.language as tl


@triton.jit
def mm_kernel(
    a_ptr, b_ptr, c_ptr, M, N,
    K: tl.constexpr, BLOCK: tl.constexpr, BK: tl.constexpr, PARTS: tl.constexpr,
):
    cols = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    for part in range(PARTS):
        rows = (tl.program_id(1) * PARTS + part) * BLOCK + tl.arange(0, BLOCK)
        acc = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
        for start in tl.static_range(0, K, BK):
            depth = start + tl.arange(0, BK)
            a = tl.load(
                a_ptr + rows[:, None] * K + depth[None, :], mask=(rows[:, None] < M) & (depth[None, :] < K), other=0.0
            )
            b = tl.load(
                b_ptr + depth[:, None] * N + cols[None, :], mask=(depth[:, None] < K) & (cols[None, :] < N), other=0.0
            )
            acc = tl.dot(a, b, acc)
        inside = (rows[:, None] < M) & (cols[None, :] < N)
        tl.store(c_ptr + rows[:, None] * N + cols[None, :], acc, mask=inside)


def launch(a, b, parts=1, num_stages=3):
    (M, K), N = a.shape, b.shape[1]
    c = torch.full((M, N), float("nan"), dtype=torch.float32, device=a.device)
    grid = (triton.cdiv(N, 16), triton.cdiv(M, 16 * parts))
    mm_kernel[grid](a, b, c, M, N, K=K, BLOCK=16, BK=16, PARTS=parts, num_warps=1, num_stages=num_stages)
    return c
"""
COUNTED = (
    ("tl.static_range(0, K, BK)", "tl.static_range((K + BK - 1) // BK)"),
    ("start + tl.arange(0, BK)", "start * BK + tl.arange(0, BK)"),
)


def staged(stage: str, text: str = KERNEL, version: str = VERSION) -> Conversion:
    return conversion(text, ConvertOptions(triton=version, target="sm_90", stage=stage))


def counted(text: str = KERNEL) -> str:
    """The loop with an index that counts blocks, up to a bound that the kernel computes."""
    for old, new in COUNTED:
        assert text.count(old) == 1
        text = text.replace(old, new)
    return text


def test_the_loop_stays_unrolled_and_its_ring_has_two_places() -> None:
    found = staged("multibuffer", version="3.9")
    assert not [one for one in found.diagnostics if one.code == "TP303"]
    text = " ".join(found.text.split())
    assert "for start in gl.static_range(0, K, BK): mbarrier.wait(a_ready.index(slot), phase)" in text
    assert "next_start = start + NUM_BUFFERS * BK more = next_start < K" in text
    assert 'ring_depth_for( args, "NUM_BUFFERS", ["a_desc", "b_desc"], num_stages=2,' in text.replace(
        'once=["c_desc"], ', ""
    )


def test_a_bound_that_is_computed_is_said_again() -> None:
    text = staged("multibuffer", counted(), "3.9").text
    assert "for start in gl.static_range((K + BK - 1) // BK):" in text
    assert "more = next_start < (K + BK - 1) // BK" in text


@pytest.mark.parametrize("stage", ["multibuffer", "all"])
@pytest.mark.parametrize("blocks", [1, 2, 5])
@pytest.mark.parametrize("parts", [1, 2])
def test_it_computes_the_same(stage: str, blocks: int, parts: int, tmp_path: Path) -> None:
    a, b = (torch.randint(-3, 4, size).to(torch.float16) for size in ((40, 16 * blocks - 8), (16 * blocks - 8, 24)))
    for text in (KERNEL, counted()):
        got, made = run(staged(stage, text).text, tmp_path, a=a, b=b, parts=parts)
        torch.testing.assert_close(got, a.float() @ b.float(), rtol=0, atol=0)
        assert made and all(made)


def test_what_asks_more_of_a_constant_index_than_arithmetic_is_not_copied_ahead(tmp_path: Path) -> None:
    text = KERNEL.replace("start + tl.arange(0, BK)", "max(start, 0) + tl.arange(0, BK)")
    found = staged("multibuffer", text)
    said = [(one.code, one.line, one.message) for one in found.diagnostics]
    reason = "what it copies depends on start by more than arithmetic, in an unrolled loop"
    # Each at the load that the copy is made of, in the file that was given.
    lines = text.splitlines()
    assert said == [
        (
            "TP303",
            lines.index(f"            {name} = tl.load(") + 1,
            f"the copy of {name}_tile (from {name}_desc) stays as it is: {reason}",
        )
        for name in "ab"
    ]
    a, b = (torch.randint(-3, 4, size).to(torch.float16) for size in ((40, 40), (40, 24)))
    got, made = run(found.text, tmp_path, a=a, b=b)
    torch.testing.assert_close(got, a.float() @ b.float(), rtol=0, atol=0)
    assert made and all(made)


def test_it_compiles_to_as_many_copies_as_iterations(tmp_path: Path) -> None:
    module = module_of(staged("multibuffer").text, tmp_path, "compiled")
    constants = {"K": 64, "BLOCK": 64, "BK": 16, "PARTS": 1}
    types = {**dict.fromkeys(("a_ptr", "b_ptr"), "*fp16"), "c_ptr": "*fp32", "M": "i32", "N": "i32"}
    entry = {
        "fn": module.mm_kernel,
        "signature": {**types, **dict.fromkeys(constants, "constexpr")},
        "constexprs": constants,
        "num_warps": 4,
    }
    found = compile_kernel(entry, "sm_90")
    assert isinstance(found, Resources), found
    # Four iterations of two tiles; 3.6 keeps the refills beyond the last, under a predicate that is false.
    refills = 4 if version_key(VERSION) > version_key("3.6") else 8
    assert found.ptx.count("cp.async.bulk.tensor.2d.shared") == 4 + refills
    assert found.spills == 0


INSIDE = """
import torch
import triton
import triton.language as tl


@triton.jit
def blocks_kernel(a_ptr, b_ptr, c_ptr, K, WAYS: tl.constexpr, BLOCK: tl.constexpr):
    rows = tl.arange(0, BLOCK)
    for way in tl.static_range(WAYS):
        acc = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
        for start in tl.range(0, K, BLOCK, num_stages=3):
            depth = start + rows
            a = tl.load(a_ptr + rows[:, None] * K + depth[None, :])
            b = tl.load(b_ptr + depth[:, None] * BLOCK * WAYS + (way * BLOCK + rows)[None, :])
            acc = tl.dot(a, b, acc)
        tl.store(c_ptr + rows[:, None] * BLOCK * WAYS + (way * BLOCK + rows)[None, :], acc)


def launch(a, b):
    c = torch.zeros(16, b.shape[1])
    blocks_kernel[(1,)](a, b, c, a.shape[1], WAYS=b.shape[1] // 16, BLOCK=16)
    return c
"""
TWICE = INSIDE.replace(
    "acc = tl.dot(a, b, acc)", "acc = tl.dot(a, b, acc)\n            acc += tl.dot(tl.trans(b), tl.trans(a))"
)


@pytest.mark.parametrize(("stage", "text"), [("async-copy", INSIDE), ("async-copy", TWICE), ("mma", TWICE)])
def test_a_ring_in_an_unrolled_loop_defines_no_name_twice(stage: str, text: str, tmp_path: Path) -> None:
    port: Any = module_of(staged(stage, text).text, tmp_path, "kernel")
    torch.manual_seed(0)
    a, b = torch.randint(-4, 5, (16, 48)).half(), torch.randint(-4, 5, (48, 32)).half()
    with emulated(target="sm_90"):
        got = port.launch(a, b)
    wanted = a.float() @ b.float()
    turned = wanted.reshape(16, 2, 16).permute(2, 1, 0).reshape(16, 32)
    torch.testing.assert_close(got, wanted + turned if text == TWICE else wanted, rtol=0, atol=0)
