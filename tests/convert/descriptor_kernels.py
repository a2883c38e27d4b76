"""Kernels and host code with tensor descriptors."""

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor


@triton.jit
def matmul(a_desc, b_desc, c_desc, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Operands with names, the second one turned."""
    m, n = tl.program_id(0) * BM, tl.program_id(1) * BN
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        a = a_desc.load([m, k])
        b = b_desc.load([n, k])
        acc = tl.dot(a, b.T, acc)
    c_desc.store([m, n], acc.to(c_desc.dtype))


@triton.jit
def matmul_rows(a_desc, b_desc, c_desc, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """B lies as it is multiplied; A is used twice, once outside of the dot."""
    m, n = tl.program_id(0) * BM, tl.program_id(1) * BN
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        a = a_desc.load([m, k])
        acc += tl.dot(a, b_desc.load([k, n])) + tl.sum(a.to(tl.float32), axis=1)[:, None]
    c_desc.store([m, n], acc.to(tl.float16))


@triton.jit
def made_here(x, y, T, D, PADDING: tl.constexpr, BT: tl.constexpr, BD: tl.constexpr):
    x_desc = tl.make_tensor_descriptor(x, [T, D], [D, 1], [BT, BD], padding_option="nan")
    y_desc = tl.make_tensor_descriptor(y, shape=[T, D], strides=[D, 1], block_shape=[BT, BD])
    row = tl.program_id(0) * BT
    tile = x_desc.load([row, -4]).to(y_desc.dtype)
    tl.store_tensor_descriptor(y_desc, [row, 0], tl.where(tile == tile, tile, PADDING))


@triton.jit
def row_tile(desc, row):
    return desc.load([row, 0]) * 2


@triton.jit
def helper_takes_one(x_desc, y, D, BT: tl.constexpr, BD: tl.constexpr):
    row = tl.program_id(0) * BT
    rows, cols = row + tl.arange(0, BT), tl.arange(0, BD)
    tl.store(y + rows[:, None] * D + cols[None, :], row_tile(x_desc, row), mask=cols[None, :] < D)


def multiply(a: torch.Tensor, b: torch.Tensor, turned: bool) -> torch.Tensor:
    m, k = a.shape
    n = b.shape[0] if turned else b.shape[1]
    c = torch.zeros(m, n, dtype=torch.float16)
    a_desc = TensorDescriptor.from_tensor(a, [64, 32])
    b_desc = TensorDescriptor.from_tensor(tensor=b, block_shape=[32, 32], padding="zero")
    c_desc = TensorDescriptor(c, c.shape, c.stride(), [1, 1])
    c_desc.block_shape = [64, 32]
    kernel = matmul if turned else matmul_rows
    kernel[(m // 64, n // 32)](a_desc, b_desc, c_desc, k, BM=64, BN=32, BK=32)
    return c


def padded(x: torch.Tensor) -> torch.Tensor:
    y = torch.zeros_like(x)
    made_here[(triton.cdiv(x.shape[0], 16),)](x, y, *x.shape, PADDING=-1.0, BT=16, BD=32)
    return y


def doubled(x: torch.Tensor) -> torch.Tensor:
    y = torch.zeros_like(x)
    desc = TensorDescriptor.from_tensor(x, [16, 32])
    helper_takes_one[(x.shape[0] // 16,)](desc, y, x.shape[1], BT=16, BD=32)
    return y
