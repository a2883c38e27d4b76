"""The library functions of the language that work on whole tensors."""

import numpy as np
import pytest
import torch
import triton
import triton.language as tl

from tritonport.verify.emulate import EmulationError, emulated


@triton.jit
def shapes_kernel(x_ptr, out_ptr, M: tl.constexpr, N: tl.constexpr):
    r, c, flat = tl.arange(0, M), tl.arange(0, N), tl.arange(0, M * N)
    at = r[:, None] * N + c[None, :]
    x = tl.load(x_ptr + at)
    tl.store(out_ptr + c[:, None] * M + r[None, :], tl.trans(x))
    tl.store(out_ptr + M * N + flat, tl.reshape(x, (M * N,)))
    tl.store(out_ptr + 2 * M * N + c[:, None] * M + r[None, :], tl.permute(x, (1, 0)) + x.T)
    low, high = tl.split(tl.reshape(x, (M, N // 2, 2)))
    half = r[:, None] * (N // 2) + tl.arange(0, N // 2)[None, :]
    tl.store(out_ptr + 3 * M * N + half, low)
    tl.store(out_ptr + 3 * M * N + M * N // 2 + half, high)
    tl.store(out_ptr + 4 * M * N + at, tl.interleave(low, high) - x)
    tl.store(out_ptr + 5 * M * N + at, tl.flip(x, 1))
    tl.store(out_ptr + 6 * M * N + at, tl.broadcast_to(tl.sum(x, 1)[:, None], (M, N)))
    joined = tl.join(x, x + 1)
    tl.static_assert(joined.shape[2] == 2)
    tl.store(out_ptr + 7 * M * N + at, tl.sum(joined, 2))
    tl.store(out_ptr + 8 * M * N + flat, tl.ravel(x))
    tl.store(out_ptr + 9 * M * N + at, tl.expand_dims(r, 1) + tl.expand_dims(c, axis=0))


def test_shapes():
    x = torch.randint(-50, 50, (4, 8), dtype=torch.int32)
    out = torch.empty(10, 32, dtype=torch.int32)
    with emulated():
        shapes_kernel[(1,)](x, out, M=4, N=8)
    rows = [
        x.T, x, 2 * x.T, torch.cat([x[:, 0::2].flatten(), x[:, 1::2].flatten()]), torch.zeros_like(x), x.flip(1),
        x.sum(1, keepdim=True).expand(4, 8), 2 * x + 1, x, torch.arange(4)[:, None] + torch.arange(8),
    ]  # fmt: skip
    expected = torch.stack([row.reshape(-1).int() for row in rows])
    assert torch.equal(out, expected)


@triton.jit
def sort_kernel(x_ptr, out_ptr, M: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    x = tl.load(x_ptr + at)
    tl.store(out_ptr + at, tl.sort(x))
    tl.store(out_ptr + M * N + at, tl.sort(x, descending=True))


@pytest.mark.parametrize("dtype", [torch.float32, torch.int32])
def test_sort(dtype):
    x = torch.randn(4, 32, generator=torch.Generator().manual_seed(0)).mul(100).to(dtype)
    out = torch.empty(2, 4, 32, dtype=dtype)
    with emulated():
        sort_kernel[(1,)](x, out, M=4, N=32)
    assert torch.equal(out[0], x.sort(1).values)
    assert torch.equal(out[1], x.sort(1, descending=True).values)


@triton.jit
def topk_kernel(x_ptr, out_ptr, N: tl.constexpr, K: tl.constexpr):
    row = tl.program_id(0)
    x = tl.load(x_ptr + row * N + tl.arange(0, N))
    tl.store(out_ptr + row * K + tl.arange(0, K), tl.topk(x, K))


def test_topk():
    x = torch.randn(3, 64, generator=torch.Generator().manual_seed(1))
    out = torch.empty(3, 8)
    with emulated():
        topk_kernel[(3,)](x, out, N=64, K=8)
    assert torch.equal(out, x.topk(8, dim=1).values)


@triton.jit
def histogram_kernel(x_ptr, out_ptr, n, N: tl.constexpr, BINS: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i, mask=i < n, other=0)
    tl.store(out_ptr + tl.arange(0, BINS), tl.histogram(x, BINS, mask=i < n))


def test_histogram_drops_masked_values():
    x = torch.tensor([0, 1, 1, 3, 7, 7, 7, 2, 9, 0], dtype=torch.int32)
    out = torch.empty(8, dtype=torch.int32)
    with emulated():
        histogram_kernel[(1,)](x, out, 8, N=16, BINS=8)
        assert out.tolist() == [1, 2, 1, 1, 0, 0, 0, 3]
        with pytest.raises(EmulationError, match="the value 9 belongs to none of the 8 bins"):
            histogram_kernel[(1,)](x, out, 9, N=16, BINS=8)


@triton.jit
def gather_kernel(x_ptr, index_ptr, out_ptr, M: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(out_ptr + at, tl.gather(tl.load(x_ptr + at), tl.load(index_ptr + at), axis=1))


def test_gather():
    gen = torch.Generator().manual_seed(2)
    x = torch.randn(4, 16, generator=gen)
    index = torch.randint(0, 16, (4, 16), generator=gen, dtype=torch.int32)
    out = torch.empty_like(x)
    with emulated():
        gather_kernel[(1,)](x, index, out, M=4, N=16)
    assert torch.equal(out, x.gather(1, index.long()))
    index[2, 5] = 16
    with emulated(), pytest.raises(EmulationError, match=r"gather: index 16 at \(2, 5\), but axis 1 has 16 elements"):
        gather_kernel[(1,)](x, index, out, M=4, N=16)


def philox_4x32(seed, counter, rounds=10):
    """Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (2011), the counter in its first word."""
    mask = 0xFFFFFFFF
    c0, c1, c2, c3 = counter & mask, 0, 0, 0
    k0, k1 = seed & mask, (seed >> 32) & mask
    for _ in range(rounds):
        first, second = 0xD2511F53 * c0, 0xCD9E8D57 * c2
        c0, c1, c2, c3 = (second >> 32) ^ c1 ^ k0, second & mask, (first >> 32) ^ c3 ^ k1, first & mask
        k0, k1 = (k0 + 0x9E3779B9) & mask, (k1 + 0xBB67AE85) & mask
    return c0, c1, c2, c3


@triton.jit
def random_kernel(bits_ptr, uniform_ptr, normal_ptr, seed, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(bits_ptr + i, tl.randint(seed, i))
    tl.store(uniform_ptr + i, tl.rand(seed, i))
    tl.store(normal_ptr + i, tl.randn(seed, i))


def test_random_numbers_are_philox():
    bits = torch.empty(1024, dtype=torch.int32)
    uniform, normal = torch.empty(1024), torch.empty(1024)
    with emulated():
        random_kernel[(1,)](bits, uniform, normal, 42, N=1024)
    words = np.array([philox_4x32(42, counter)[0] for counter in range(1024)], dtype=np.uint32)
    assert bits.tolist() == words.view(np.int32).tolist()
    assert uniform.min() >= 0 and uniform.max() < 1
    assert abs(uniform.mean().item() - 0.5) < 0.03
    assert abs(normal.mean().item()) < 0.1 and abs(normal.std().item() - 1) < 0.1


@triton.jit
def make_kernel(out_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    full = tl.full((N,), 2.5, tl.float32)
    scalar = tl.full((), 3, tl.int32)
    zero = tl.zeros([], tl.float32)
    tl.static_assert(len(scalar.shape) == 0)
    like = tl.zeros_like(full) + tl.full([N], 1, tl.int64)
    tl.store(out_ptr + i, full * scalar + zero + like)
    lo, hi = tl.split(tl.join(full, full + 1))
    tl.store(out_ptr + N + i, tl.cat(lo, hi, can_reorder=True).reshape(2, N).sum(0))
    a, b = tl.swizzle2d(3, 1, 4, 4, 2)
    tl.store(out_ptr + 2 * N, a)
    tl.store(out_ptr + 2 * N + 1, b)
    tl.store(out_ptr + 2 * N + 2, tl.cdiv(N + 1, 4))


def test_tensors_from_nothing():
    out = torch.empty(2 * 8 + 3)
    with emulated():
        make_kernel[(1,)](out, N=8)
    assert out[:8].tolist() == [8.5] * 8
    assert out[8:16].tolist() == [6.0] * 8
    assert out[16:].tolist() == [3.0, 2.0, 3.0]


@triton.jit
def clipped_relu(x, limit):
    if x < 0:
        return x * 0.0
    elif x > limit:
        return limit
    else:
        return x


@triton.jit
def map_kernel(x_ptr, out_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i)
    tl.store(out_ptr + i, tl.map_elementwise(clipped_relu, x, 2.0))


def test_map_elementwise():
    x = torch.randn(64, generator=torch.Generator().manual_seed(3)) * 3
    out = torch.empty_like(x)
    with emulated():
        map_kernel[(1,)](x, out, N=64)
    assert torch.equal(out, x.clamp(0, 2.0))


@triton.jit
def dot_kernel(a_ptr, b_ptr, c_ptr, PRECISION: tl.constexpr, S: tl.constexpr):
    r = tl.arange(0, S)
    at = r[:, None] * S + r[None, :]
    acc = tl.full((S, S), 1.0, tl.float32)
    tl.store(c_ptr + at, tl.dot(tl.load(a_ptr + at), tl.load(b_ptr + at), acc, input_precision=PRECISION))


def test_dot_precision_is_modelled():
    gen = torch.Generator().manual_seed(4)
    a, b = (torch.rand(32, 32, generator=gen) + 1 for _ in range(2))
    exact = (a.double() @ b.double()).float() + 1
    out = torch.empty(2, 32, 32)
    with emulated():
        dot_kernel[(1,)](a, b, out[0], PRECISION="ieee", S=32)
        dot_kernel[(1,)](a, b, out[1], PRECISION="tf32", S=32)
    assert torch.equal(out[0], exact)
    loss = (out[1] - exact).abs().max().item()
    assert 1e-3 < loss < 32 * 2 * 2**-9


@pytest.mark.parametrize(
    ("precision", "element", "expected"),
    [
        # (1 + 2**-11)**2 without the product of the trailing bits, 2**-22.
        ("tf32x3", 1 + 2**-11, 1 + 2**-10),
        # (1 + 2**-9)**2 without 2**-18, and with it.
        ("bf16x3", 1 + 2**-9, 1 + 2**-8),
        ("bf16x6", 1 + 2**-9, 1 + 2**-8 + 2**-18),
        # Infinity times trailing bits of zero is NaN, but not the product.
        ("tf32x3", torch.inf, torch.inf),
        ("bf16x6", torch.inf, torch.inf),
    ],
)
def test_dots_of_parts_are_modelled(precision, element, expected):
    a, out = torch.zeros(32, 32), torch.zeros(32, 32)
    a[0, 0] = element
    with emulated():
        dot_kernel[(1,)](a, a, out, PRECISION=precision, S=32)
    assert out[0, 0] == expected + 1


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_dot_of_half_precision_operands(dtype):
    gen = torch.Generator().manual_seed(5)
    a, b = (torch.randint(-3, 4, (32, 32), generator=gen).to(dtype) for _ in range(2))
    out = torch.empty(32, 32)
    with emulated():
        dot_kernel[(1,)](a, b, out, PRECISION=None, S=32)
    assert torch.equal(out, a.float() @ b.float() + 1)
