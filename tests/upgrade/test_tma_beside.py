"""Copied tiles that a dot reads where they are, while other statements compute with their values."""

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("triton", reason="upgraded kernels are run with Triton")

import torch

from tests.conversions import conversion
from tests.convert.kernels import VERSION, module_of
from tests.upgrade.test_tma import run
from tritonport.convert import Conversion, ConvertOptions
from tritonport.verify.compile import Resources, compile_kernel

KERNEL = """
import torch
import triton
import triton.language as tl


@triton.jit
def gram_kernel(k_ptr, beta_ptr, out_ptr, T, K, BT: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BT + tl.arange(0, BT)
    beta = tl.load(beta_ptr + rows, mask=rows < T, other=0.0)
    acc = tl.zeros((BT, BT), dtype=tl.float32)
    for start in range(0, K, BK):
        cols = start + tl.arange(0, BK)
        inside = (rows[:, None] < T) & (cols[None, :] < K)
        k = tl.load(k_ptr + rows[:, None] * K + cols[None, :], mask=inside, other=0.0)
        acc = tl.dot((k * beta[:, None]).to(k.dtype), tl.trans(k), acc)
    tl.store(out_ptr + rows[:, None] * BT + tl.arange(0, BT)[None, :], acc, mask=rows[:, None] < T)


def launch(k, beta, num_stages=3):
    T, K = k.shape
    out = torch.zeros(triton.cdiv(T, 16) * 16, 16, dtype=torch.float32, device=k.device)
    gram_kernel[(triton.cdiv(T, 16),)](k, beta, out, T, K, BT=16, BK=16, num_warps=1, num_stages=num_stages)
    return out[:T]
"""
STAGED = "k_smem = dot_operand(in_place_or("


def staged(stage: str, text: str = KERNEL, version: str = VERSION) -> Conversion:
    return conversion(text, ConvertOptions(triton=version, target="sm_90", stage=stage))


def expected(k: torch.Tensor, beta: torch.Tensor) -> torch.Tensor:
    k, beta, rows = k.float(), beta.float(), -(-k.shape[0] // 16) * 16
    k = torch.cat([k, k.new_zeros(rows - k.shape[0], k.shape[1])]).view(-1, 16, k.shape[1])
    scaled = torch.cat([beta, beta.new_zeros(rows - len(beta))]).view(-1, 16, 1) * k
    return (scaled @ k.transpose(1, 2)).reshape(rows, 16)


@pytest.mark.parametrize("stage", ["tma", "multibuffer", "all"])
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
def test_it_computes_the_same(stage: str, dtype: torch.dtype, tmp_path: Path) -> None:
    for tokens, keys in ((40, 72), (16, 8), (16, 16)):
        k = torch.randint(-3, 4, (tokens, keys)).to(dtype)
        beta = torch.randint(-3, 4, (tokens,)).to(dtype)
        got, made = run(staged(stage).text, tmp_path, k=k, beta=beta)
        torch.testing.assert_close(got, expected(k, beta)[:tokens], rtol=0, atol=0)
        assert made and all(made)


def compiled(text: str, folder: Path, dtype: str) -> Resources:
    module = module_of(text, folder, "compiled")
    constants = {"BT": 64, "BK": 64}
    types = {"k_ptr": f"*{dtype}", "beta_ptr": f"*{dtype}", "out_ptr": "*fp32", "T": "i32", "K": "i32"}
    aligned = {(place,): [["tt.divisibility", 16]] for place in range(5)}
    entry: dict[str, Any] = {
        "fn": module.gram_kernel,
        "signature": {**types, **dict.fromkeys(constants, "constexpr")},
        "constexprs": constants,
        "attrs": aligned,
        "num_warps": 4,
    }
    found = compile_kernel(entry, "sm_90")
    assert isinstance(found, Resources), found
    return found


def test_the_dot_reads_the_copy_and_no_second_tile_is_written(tmp_path: Path) -> None:
    text = staged("multibuffer").text
    assert text.count(STAGED) == 1
    again = text.replace(STAGED, "k_smem = dot_operand(second(", 1)
    again = again.replace("@gluon.jit\ndef gram_kernel_tiles(", f"{SECOND}@gluon.jit\ndef gram_kernel_tiles(")
    here, there = (compiled(one, tmp_path, "fp16") for one in (text, again))
    # 64 x 64 elements of two bytes, which are not written either.
    assert there.shared - here.shared == 8192
    writes = [one.ptx.count("stmatrix") + one.ptx.count("st.shared") for one in (here, there)]
    assert writes[0] < writes[1]


SECOND = """@gluon.jit
def second(tile, values, index: gl.constexpr, result_layout: gl.constexpr):
    return values


"""
ELSEWHERE = {
    "values that are not the copy's": ("        acc = tl.dot((k *", "        k = k * 2\n        acc = tl.dot((k *"),
    "values of another type": ("inside, other=0.0)", "inside, other=0.0).to(tl.float32)"),
}


@pytest.mark.parametrize("case", ELSEWHERE)
def test_a_dot_of_other_values_reads_these(case: str, tmp_path: Path) -> None:
    old, new = ELSEWHERE[case]
    assert KERNEL.count(old) == 1
    text = KERNEL.replace(old, new)
    k, beta = torch.randint(-3, 4, (40, 72)).to(torch.float16), torch.randint(-3, 4, (40,)).to(torch.float16)
    found = staged("all", text).text
    assert STAGED not in found
    got, _ = run(found, tmp_path, k=k, beta=beta)
    factor = 4 if "k = k * 2" in text else 1
    torch.testing.assert_close(got, factor * expected(k, beta)[:40], rtol=0, atol=0)
