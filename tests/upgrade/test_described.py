"""Descriptors that a kernel makes: what it stores through one, it may read through another one or a pointer."""

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("triton", reason="upgraded kernels are run with Triton")

import torch

from tests.conversions import conversion
from tests.convert.kernels import VERSION, module_of
from tritonport.convert import Conversion, ConvertOptions
from tritonport.rules_data import version_key
from tritonport.verify.emulate import emulated

KERNEL = """
import torch
import triton
import triton.language as tl


@triton.jit
def put(desc, row, value):
    desc.store([row, 0], value)


@triton.jit
def chain_kernel(x_ptr, w_ptr, M, n, B: tl.constexpr):
    r = tl.arange(0, B)
    x = tl.make_tensor_descriptor(x_ptr, [M, B], [B, 1], [B, B])
    z = tl.make_tensor_descriptor(x_ptr + B * B, [M - B, B], [B, 1], [B, B])
    w = tl.make_tensor_descriptor(w_ptr, [B, B], [B, 1], [B, B]).load([0, 0])
    for i in range(n):
        a = x.load([i * B, 0])
        y = tl.dot(a, w).to(tl.float16)
        STORE


def launch(x, w):
    triton.set_allocator(lambda size, align, stream: torch.empty(size, dtype=torch.int8))
    chain_kernel[(1,)](x, w, x.shape[0], x.shape[0] // 16 - 1, B=16, num_stages=1)
    return x
"""
STORES = {
    "the same": "x.store([(i + 1) * B, 0], y)",
    "another": "z.store([i * B, 0], y)",
    "a function's": "put(z, i * B, y)",
}
POINTER = "tl.store(x_ptr + ((i + 1) * B + r)[:, None] * B + r[None, :], y)"


def staged(store: str, stage: str, version: str = VERSION) -> Conversion:
    text = KERNEL.replace("STORE", store)
    return conversion(text, ConvertOptions(triton=version, target="sm_90", stage=stage))


@pytest.mark.skipif(version_key(VERSION) < version_key("3.8"), reason="a full wait is there since Triton 3.8")
@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("stage", ["literal", "multibuffer"])
def test_what_is_stored_is_there_for_the_next_iteration(store: str, stage: str, tmp_path: Path) -> None:
    port: Any = module_of(staged(STORES[store], stage).text, tmp_path, "kernel")
    x, w = torch.zeros(64, 16).half(), torch.eye(16).half() * 2
    x[:16] = 1
    with emulated(target="sm_90"):
        got = port.launch(x, w)
    assert got[::16, 0].tolist() == [1, 2, 4, 8]


def test_no_copy_of_what_a_descriptor_of_the_same_tensor_stores_runs_ahead() -> None:
    for store in [*STORES.values(), POINTER]:
        assert "NUM_BUFFERS" not in staged(store, "multibuffer").text
    assert "NUM_BUFFERS" in staged("tl.store(w_ptr + r[:, None] * B + r[None, :], y)", "multibuffer").text


def test_an_older_triton_has_one_wait_only() -> None:
    assert "store_wait(0)\n" in staged(STORES["the same"], "literal", "3.6").text
    assert "store_wait(0, read_only=False)\n" in staged(STORES["the same"], "literal", "3.9").text


def test_a_store_to_what_the_kernel_describes_stays_as_it_is() -> None:
    text = KERNEL.replace("STORE", POINTER).replace(
        "w = tl.make_tensor_descriptor(w_ptr, [B, B], [B, 1], [B, B]).load([0, 0])",
        "w = tl.load(w_ptr + r[:, None] * B + r[None, :])",
    )
    found = conversion(text, ConvertOptions(triton=VERSION, target="sm_90", stage="tma"))
    said = [one.message for one in found.diagnostics]
    assert any("the kernel also has a descriptor of x_ptr" in one for one in said), said
    assert "w_desc" in found.text and "store_tile" not in found.text
