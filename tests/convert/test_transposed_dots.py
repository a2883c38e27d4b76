"""A dot whose result is transposed and meets another dot's: each has its own tensor cores' layout."""

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("triton", reason="ports are run with Triton")

import torch

from tests.conversions import conversion
from tests.convert.kernels import module_of
from tritonport.convert import ConvertOptions
from tritonport.verify.emulate import emulated

KERNEL = """
import torch
import triton
import triton.language as tl


@triton.jit
def sums_kernel(a_ptr, b_ptr, s_ptr, o_ptr):
    r = tl.arange(0, 64)
    a = tl.load(a_ptr + r[:, None] * 64 + r[None, :])
    b = tl.load(b_ptr + r[:, None] * 64 + r[None, :])
    s = tl.load(s_ptr + r)
    scaled = a * s[:, None]
    c = tl.dot(b, a)
    d = c * s[:, None] + tl.trans(tl.dot(tl.trans(scaled).to(b.dtype), b))
    tl.store(o_ptr + r[:, None] * 64 + r[None, :], d)


def launch(a, b, s):
    o = torch.empty((64, 64), dtype=torch.float32)
    sums_kernel[(1,)](a, b, s, o)
    return o
"""


@pytest.mark.parametrize("target", ["sm_80", "sm_90"])
def test_a_transposed_result_is_computed_by_tensor_cores(target: str, tmp_path: Path) -> None:
    text = conversion(KERNEL, ConvertOptions(target=target)).text
    assert "transposed_layout" not in text
    torch.manual_seed(0)
    a, b = (torch.randint(-2, 3, (64, 64)).to(torch.float16) for _ in range(2))
    s = torch.randint(1, 3, (64,)).float()
    module: Any = module_of(text, tmp_path, "kernel")
    with emulated(target=target):
        got = module.launch(a, b, s)
    scaled = a.float() * s[:, None]
    torch.testing.assert_close(got, b.float() @ a.float() * s[:, None] + (scaled.T @ b.float()).T, rtol=0, atol=0)
