"""Reductions and scans, with the library's and with custom combine functions."""

import pytest
import torch
import triton
import triton.language as tl

from tritonport.verify.emulate import emulated


@triton.jit
def reduce_kernel(x_ptr, out_ptr, index_ptr, M: tl.constexpr, N: tl.constexpr):
    r, c = tl.arange(0, M), tl.arange(0, N)
    x = tl.load(x_ptr + r[:, None] * N + c[None, :])
    tl.store(out_ptr + r, tl.sum(x, axis=1))
    tl.store(out_ptr + M + r, tl.max(x, 1))
    tl.store(out_ptr + 2 * M + r, x.min(axis=-1))
    tl.store(out_ptr + 3 * M + r[:, None], tl.sum(x, axis=1, keep_dims=True))
    tl.store(index_ptr + r, tl.argmax(x, axis=1))
    tl.store(index_ptr + M + r, tl.argmin(x, 1))
    best, where = tl.max(x, 1, return_indices=True)
    tl.store(out_ptr + 4 * M + r, best)
    tl.store(index_ptr + 2 * M + r, where)
    tl.store(out_ptr + 5 * M, tl.sum(x))
    tl.store(out_ptr + 5 * M + 1, tl.max(tl.sum(x, 0), 0))


def test_reductions():
    x = torch.randn(8, 32, generator=torch.Generator().manual_seed(0))
    out, index = torch.empty(5 * 8 + 2), torch.empty(3 * 8, dtype=torch.int32)
    with emulated():
        reduce_kernel[(1,)](x, out, index, M=8, N=32)
    expected = torch.cat([x.sum(1), x.amax(1), x.amin(1), x.sum(1), x.amax(1), x.sum()[None], x.sum(0).amax()[None]])
    torch.testing.assert_close(out, expected, rtol=1e-6, atol=1e-6)
    assert index.tolist() == torch.cat([x.argmax(1), x.argmin(1), x.argmax(1)]).tolist()


def test_argmax_takes_the_first_of_equal_values():
    x = torch.tensor([[1.0, 3.0, 3.0, 2.0], [5.0, 5.0, 5.0, 5.0]])
    out, index = torch.empty(5 * 2 + 2), torch.empty(3 * 2, dtype=torch.int32)
    with emulated():
        reduce_kernel[(1,)](x, out, index, M=2, N=4)
    assert index.tolist() == [1, 0, 0, 0, 1, 0]


@triton.jit
def bits_kernel(x_ptr, out_ptr, N: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, N))
    tl.store(out_ptr, tl.xor_sum(x, 0))
    tl.store(out_ptr + 1, tl.sum((x > 0).to(tl.int32), 0))
    tl.store(out_ptr + 2, tl.sum(x.to(tl.int8), 0))


def test_integer_reductions():
    x = torch.tensor([5, -3, 12, 7, 127, 127, 0, 1], dtype=torch.int32)
    out = torch.empty(3, dtype=torch.int32)
    with emulated():
        bits_kernel[(1,)](x, out, N=8)
    folded = 0
    for value in x.tolist():
        folded ^= value
    assert out.tolist() == [folded, 6, int(x.sum())]


@triton.jit
def welford(mean_a, m2_a, n_a, mean_b, m2_b, n_b):
    delta = mean_b - mean_a
    n = n_a + n_b
    ratio = tl.where(n == 0, 0.0, n_b / n)
    return mean_a + delta * ratio, m2_a + m2_b + delta * delta * n_a * ratio, n


@triton.jit
def variance_kernel(x_ptr, out_ptr, n, N: tl.constexpr):
    c = tl.arange(0, N)
    x = tl.load(x_ptr + c, mask=c < n, other=0.0)
    mean, m2, count = tl.reduce((x, tl.zeros_like(x), (c < n).to(tl.float32)), 0, welford)
    tl.store(out_ptr, mean)
    tl.store(out_ptr + 1, m2 / count)
    tl.store(out_ptr + 2, count)


def test_a_custom_combine_function_over_a_tuple():
    x = torch.randn(100, generator=torch.Generator().manual_seed(1))
    out = torch.empty(3)
    with emulated():
        variance_kernel[(1,)](x, out, 100, N=128)
    torch.testing.assert_close(out, torch.tensor([x.mean(), x.var(correction=0), 100.0]), rtol=1e-5, atol=1e-6)


@triton.jit
def larger_magnitude(a, b):
    if abs_of(a) >= abs_of(b):
        return a
    else:
        return b


@triton.jit
def abs_of(a):
    return tl.abs(a)


@triton.jit
def branching_reduce_kernel(x_ptr, out_ptr, M: tl.constexpr, N: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :])
    tl.store(out_ptr + tl.arange(0, M), tl.reduce(x, 1, larger_magnitude))


def test_a_combine_function_that_branches_on_its_values():
    x = torch.randn(4, 16, generator=torch.Generator().manual_seed(2))
    out = torch.empty(4)
    with emulated():
        branching_reduce_kernel[(1,)](x, out, M=4, N=16)
    assert torch.equal(out, x.gather(1, x.abs().argmax(1, keepdim=True))[:, 0])


@triton.jit
def first_order(decay_a, value_a, decay_b, value_b):
    return decay_a * decay_b, value_a * decay_b + value_b


@triton.jit
def scan_kernel(x_ptr, g_ptr, out_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    x, g = tl.load(x_ptr + i), tl.load(g_ptr + i)
    tl.store(out_ptr + i, tl.cumsum(x, 0))
    tl.store(out_ptr + N + i, tl.cumsum(x, 0, reverse=True))
    tl.store(out_ptr + 2 * N + i, tl.cumprod(g, 0))
    _, state = tl.associative_scan((g, x), 0, first_order)
    tl.store(out_ptr + 3 * N + i, state)


def test_scans():
    gen = torch.Generator().manual_seed(3)
    x, g = torch.randn(64, generator=gen), torch.rand(64, generator=gen)
    out = torch.empty(4, 64)
    with emulated():
        scan_kernel[(1,)](x, g, out, N=64)
    state, states = 0.0, []
    for decay, value in zip(g.tolist(), x.tolist(), strict=True):
        state = state * decay + value
        states.append(state)
    expected = torch.stack([x.cumsum(0), x.flip(0).cumsum(0).flip(0), g.cumprod(0), torch.tensor(states)])
    torch.testing.assert_close(out, expected, rtol=1e-4, atol=1e-5)


@triton.jit
def scan_axes_kernel(x_ptr, out_ptr, M: tl.constexpr, N: tl.constexpr):
    offsets = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    x = tl.load(x_ptr + offsets)
    tl.store(out_ptr + offsets, x.cumsum(axis=0))
    tl.store(out_ptr + M * N + offsets, tl.cumsum(x, axis=1))


def test_scans_along_either_axis():
    x = torch.arange(8 * 16, dtype=torch.int32).reshape(8, 16)
    out = torch.empty(2, 8, 16, dtype=torch.int32)
    with emulated():
        scan_axes_kernel[(1,)](x, out, M=8, N=16)
    assert torch.equal(out[0], x.cumsum(0).int())
    assert torch.equal(out[1], x.cumsum(1).int())


@triton.jit
def rank_kernel(x_ptr, out_ptr):
    i, j, k = tl.arange(0, 2), tl.arange(0, 4), tl.arange(0, 8)
    x = tl.load(x_ptr + i[:, None, None] * 32 + j[None, :, None] * 8 + k[None, None, :])
    tl.store(out_ptr + i[:, None] * 8 + k[None, :], tl.sum(x, 1))


def test_the_middle_axis_of_three():
    x = torch.randint(-9, 9, (2, 4, 8), dtype=torch.int32)
    out = torch.empty(2, 8, dtype=torch.int32)
    with emulated():
        rank_kernel[(1,)](x, out)
    assert torch.equal(out, x.sum(1).int())


@triton.jit
def softmax_kernel(x_ptr, out_ptr, n, N: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, N)
    x = tl.load(x_ptr + row * n + c, mask=c < n, other=-float("inf"))
    tl.store(out_ptr + row * n + c, tl.softmax(x), mask=c < n)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_softmax(dtype):
    x = torch.randn(5, 50, generator=torch.Generator().manual_seed(4)).to(dtype)
    out = torch.empty_like(x)
    with emulated():
        if dtype == torch.float32:
            softmax_kernel[(5,)](x, out, 50, N=64)
        else:
            softmax_fp32_kernel[(5,)](x, out, 50, N=64)
    torch.testing.assert_close(out, x.float().softmax(1).to(dtype))


@triton.jit
def softmax_fp32_kernel(x_ptr, out_ptr, n, N: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, N)
    x = tl.load(x_ptr + row * n + c, mask=c < n, other=-float("inf")).to(tl.float32)
    e = tl.exp(x - tl.max(x, 0))
    tl.store(out_ptr + row * n + c, e / tl.sum(e, 0), mask=c < n)
