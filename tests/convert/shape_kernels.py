"""Kernels that permute, reshape, join and split: each operation in each of its spellings."""

import triton
import triton.language as tl


@triton.jit
def permutations(x_ptr, out_ptr, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr):
    a, b, c = tl.arange(0, A), tl.arange(0, B), tl.arange(0, C)
    x = tl.load(x_ptr + a[:, None, None] * (B * C) + b[None, :, None] * C + c[None, None, :])
    rows = a[None, :, None] * B + b[None, None, :]
    tl.store(out_ptr + c[:, None, None] * (A * B) + rows, tl.permute(x, 2, 0, 1))
    tl.store(out_ptr + A * B * C + c[:, None, None] * (A * B) + rows, x.trans((2, 0, 1)) + 1.0)
    turned = tl.trans(tl.permute(x, (2, 1, 0)), 2, 0, 1)
    tl.store(out_ptr + 2 * A * B * C + a[:, None, None] * (B * C) + c[None, :, None] * B + b[None, None, :], turned)


@triton.jit
def transposed_statistics(x_ptr, out_ptr, BM: tl.constexpr, BN: tl.constexpr):
    m, n = tl.arange(0, BM), tl.arange(0, BN)
    x = tl.load(x_ptr + m[:, None] * BN + n[None, :])
    y = x.T - tl.max(x, 1)[None, :]
    y = tl.where(tl.trans(m[:, None] < n[None, :]), y, tl.sum(x, 0)[:, None])
    tl.store(out_ptr + n[:, None] * BM + m[None, :], y)
    tl.store(out_ptr + BM * BN + n, tl.sum(y, axis=1))
    tl.store(out_ptr + BM * BN + BN + m, tl.cumsum(y, 1).permute((1, 0)).max(1))


@triton.jit
def reshapes(x_ptr, out_ptr, BM: tl.constexpr, BN: tl.constexpr):
    m, n, both = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BM * BN)
    x = tl.load(x_ptr + both)
    tile = tl.reshape(x, BM, BN)
    scaled = tile * tl.sum(tl.view(x, [BM, BN]), axis=1).reshape(BM, 1)
    for step in range(3):
        scaled += x.reshape((BM, BN), can_reorder=True) * step
    tl.store(out_ptr + both, tl.ravel(scaled))
    tl.store(
        out_ptr + BM * BN + m[:, None] * BN + n[None, :],
        scaled.view(BM, BN // 4, 4)
        .sum(2)[:, :, None]
        .reshape(BM, BN // 4, 1)
        .broadcast_to(BM, BN // 4, 4)
        .reshape(BM, BN),
    )
    index = tl.reshape(both, (BN, BM))
    tl.store(out_ptr + 2 * BM * BN + index, (index * 2).to(tl.float32) + tile.ravel().reshape([BN, BM]))
    tl.store(out_ptr + 3 * BM * BN + tl.arange(0, x.numel), x)


@triton.jit
def pairs(x_ptr, y_ptr, out_ptr, BLOCK: tl.constexpr):
    half: tl.constexpr = BLOCK // 2
    block, halves = tl.arange(0, BLOCK), tl.arange(0, half)
    even, odd = tl.load(x_ptr + block).reshape(half, 2).split()
    y = tl.load(y_ptr + halves)
    tl.store(out_ptr + block, tl.join(even * y, odd - y).reshape(BLOCK))
    tl.store(out_ptr + BLOCK + block, tl.interleave(odd, even))
    tl.store(out_ptr + 2 * BLOCK + block, tl.cat(even, odd, can_reorder=True))
    first, second = tl.split(tl.permute(tl.reshape(tl.load(x_ptr + block), (2, half)), (1, 0)))
    tl.store(out_ptr + 3 * BLOCK + halves, first + second * y)
    tl.store(out_ptr + 4 * BLOCK + halves[:, None] * 2 + tl.arange(0, 2)[None, :], tl.join(first, second + 1.5))


@triton.jit
def tiles_of_pairs(x_ptr, out_ptr, BM: tl.constexpr, BN: tl.constexpr):
    m, n = tl.arange(0, BM), tl.arange(0, BN)
    x = tl.load(x_ptr + m[:, None] * BN + n[None, :])
    a, b = x.reshape(BM, BN // 2, 2).split()
    best = tl.maximum(a, b)
    tl.store(out_ptr + m[:, None] * BN + n[None, :], tl.interleave(best, a - b))
    c, d = tl.split(tl.reshape(best, BM, BN // 4, 2))
    tl.store(out_ptr + BM * BN + m, tl.sum(c * d, 1))
    quads = tl.join(tl.join(c, d), tl.join(d, c))
    tl.store(out_ptr + BM * BN + BM + m[:, None] * BN + n[None, :], quads.reshape(BM, BN))


@triton.jit
def turn(x, SIZE: tl.constexpr):
    low, high = tl.split(tl.reshape(x, SIZE // 2, 2))
    return tl.interleave(high, low)


@triton.jit
def helpers(x_ptr, out_ptr, BLOCK: tl.constexpr):
    block = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + block)
    tl.store(out_ptr + block, turn(x, BLOCK) + turn(turn(x, BLOCK), BLOCK) * 2.0)


@triton.jit
def one_after_the_other(x_ptr, y_ptr, out_ptr, BM: tl.constexpr, BN: tl.constexpr):
    m, n = tl.arange(0, BM), tl.arange(0, BN)
    tile = m[:, None] * BN + n[None, :]
    x, y = tl.load(x_ptr + tile), tl.load(y_ptr + tile)
    both = tl.cat(tl.sum(x, 0), tl.sum(y, 0), can_reorder=True)
    tl.store(out_ptr + tl.arange(0, 2 * BN), both)


@triton.jit
def dimensions_of_one(x_ptr, out_ptr, BM: tl.constexpr, BN: tl.constexpr):
    m, n = tl.arange(0, BM), tl.arange(0, BN)
    x = tl.load(x_ptr + tl.unsqueeze(m, 1) * BN + tl.unsqueeze(n, 0))
    rows = tl.squeeze(tl.sum(x, 1, keep_dims=True), -1)
    tl.store(out_ptr + m, rows)
    tl.store(out_ptr + BM + n, tl.squeeze(tl.unsqueeze(tl.max(x, 0), dim=0), dim=0))
