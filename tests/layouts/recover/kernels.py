"""Kernels for the second witness: values of every kind that the analysis follows."""

import triton
import triton.language as tl


@triton.jit
def add_column(x, BLOCK_M: tl.constexpr):
    column = tl.arange(0, BLOCK_M)
    return x + column[:, None]


@triton.jit
def rows(x_ptr, scale, out_ptr, stride, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    offs_m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.arange(0, BLOCK_N)
    x = tl.load(x_ptr + offs_m[:, None] * stride + offs_n[None, :]).to(tl.float32)
    scaled = tl.load(x_ptr + offs_n) * scale
    total = tl.sum(x, axis=1)
    x = add_column(x / total[:, None], BLOCK_M)
    x += scaled[None, :]
    tl.store(out_ptr + offs_m[:, None] * stride + offs_n[None, :], x)


SIGNATURE = dict(x_ptr="*bf16", scale="fp32", out_ptr="*bf16", stride="i32")
COMPILE_SPECS = [dict(fn=rows, signature=SIGNATURE, constexprs=dict(BLOCK_M=16, BLOCK_N=64))]


def make_inputs(device, seed):
    import torch

    generator = torch.Generator().manual_seed(seed)
    return dict(x=torch.rand(48, 64, generator=generator).to(torch.bfloat16).to(device), scale=1.0 + seed)


def launch(x, scale):
    import torch

    out = torch.empty_like(x)
    rows[(3,)](x, scale, out, 64, BLOCK_M=16, BLOCK_N=64)
    return out
