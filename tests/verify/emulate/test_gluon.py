"""Gluon kernels: twins of Triton ones, layouts, and the rules Triton does not have."""

import pytest
import torch
import triton
import triton.language as tl
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.ampere import mma_v2

from tritonport.verify.emulate import EmulationError, NotEmulated, emulated
from tritonport.verify.emulate.scaled_dots import ScaledDotOps


@gluon.constexpr_function
def unit(stride):
    return isinstance(stride, int) and stride == 1


@gluon.constexpr_function
def coalesced(rows, columns, transposed, num_warps):
    if transposed:
        return gl.BlockedLayout([4, 1], [8, 4], [1, num_warps], [0, 1])
    return gl.BlockedLayout([1, 4], [4, 8], [num_warps, 1], [1, 0])


@triton.jit
def rows_kernel(x_ptr, w_ptr, out_ptr, m, n, stride_m, stride_n, eps, BM: tl.constexpr, BN: tl.constexpr):
    r = tl.program_id(0) * BM + tl.arange(0, BM)
    c = tl.arange(0, BN)
    inside = (r[:, None] < m) & (c[None, :] < n)
    x = tl.load(x_ptr + r[:, None] * stride_m + c[None, :] * stride_n, mask=inside, other=0.0).to(tl.float32)
    w = tl.load(w_ptr + c, mask=c < n, other=0.0)
    scale = tl.rsqrt(tl.sum(x * x, axis=1) / n + eps)
    y = x * scale[:, None] * w
    tl.store(out_ptr + r[:, None] * n + c[None, :], y.to(out_ptr.dtype.element_ty), mask=inside)


@gluon.jit
def rows_port(x_ptr, w_ptr, out_ptr, m, n, stride_m, stride_n, eps, BM: gl.constexpr, BN: gl.constexpr):
    layout: gl.constexpr = coalesced(BM, BN, not unit(stride_n), gl.num_warps())
    r = gl.program_id(0) * BM + gl.arange(0, BM, layout=gl.SliceLayout(1, layout))
    c = gl.arange(0, BN, layout=gl.SliceLayout(0, layout))
    inside = (r[:, None] < m) & (c[None, :] < n)
    x = gl.load(x_ptr + r[:, None] * stride_m + c[None, :] * stride_n, mask=inside, other=0.0).to(gl.float32)
    w = gl.load(w_ptr + c, mask=c < n, other=0.0)
    scale = gl.rsqrt(gl.sum(x * x, axis=1) / n + eps)
    gl.static_assert(scale.type.layout == gl.SliceLayout(1, layout))
    y = x * scale[:, None] * w[None, :]
    gl.static_assert(y.type.layout == layout)
    gl.store(out_ptr + r[:, None] * n + c[None, :], y.to(out_ptr.dtype.element_ty), mask=inside)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("transposed", [False, True])
def test_a_port_agrees_bit_for_bit(dtype, transposed):
    gen = torch.Generator().manual_seed(0)
    x = torch.randn(9, 50, generator=gen).to(dtype)
    if transposed:
        x = x.T.contiguous().T
    w = torch.randn(50, generator=gen)
    outs = []
    with emulated():
        for kernel in (rows_kernel, rows_port):
            out = torch.zeros(9, 50, dtype=dtype)
            kernel[(3,)](x, w, out, 9, 50, x.stride(0), x.stride(1), 1e-6, BM=4, BN=64)
            outs.append(out)
    assert torch.equal(outs[0], outs[1])
    exact = x.double() / (x.double().square().mean(1, keepdim=True) + 1e-6).sqrt() * w
    torch.testing.assert_close(outs[0].double(), exact, rtol=1e-2 if dtype != torch.float32 else 1e-5, atol=1e-3)


@triton.jit
def everything_kernel(x_ptr, out_ptr, count_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    acc = tl.zeros([N], tl.float32)
    for start in range(0, n, N):
        x = tl.load(x_ptr + start + i, mask=start + i < n, other=-float("inf"))
        acc += tl.where(x > 0, tl.exp(x), 0.0)
    acc = tl.cumsum(acc, 0) + tl.rand(7, i)
    tl.store(out_ptr + i, acc)
    tl.atomic_add(count_ptr + i % 4, 1, mask=i < 10)
    if tl.max(acc, 0) > 3.0:
        tl.atomic_max(count_ptr + 4, (tl.sum(acc, 0) * 10).to(tl.int32))


@gluon.jit
def everything_port(x_ptr, out_ptr, count_ptr, n, N: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1], [32], [4], [0])
    i = gl.arange(0, N, layout=layout)
    acc = gl.zeros([N], gl.float32, layout=layout)
    for start in range(0, n, N):
        x = gl.load(x_ptr + start + i, mask=start + i < n, other=-float("inf"))
        acc += gl.where(x > 0, gl.exp(x), 0.0)
    acc = tl.cumsum(acc, 0) + tl.rand(7, i)
    gl.store(out_ptr + i, acc)
    gl.atomic_add(count_ptr + i % 4, gl.full([N], 1, gl.int32, layout=layout), mask=i < 10)
    if gl.max(acc, 0) > 3.0:
        gl.atomic_max(count_ptr + 4, (gl.sum(acc, 0) * 10).to(gl.int32))


def test_loops_scans_random_numbers_and_atomics_in_both_dialects():
    x = torch.randn(150, generator=torch.Generator().manual_seed(1))
    results = []
    for kernel in (everything_kernel, everything_port):
        out, count = torch.zeros(64), torch.zeros(5, dtype=torch.int32)
        with emulated():
            kernel[(1,)](x, out, count, 150, N=64)
        results.append((out, count))
    assert torch.equal(results[0][0], results[1][0])
    assert torch.equal(results[0][1], results[1][1])
    assert results[0][1].tolist()[:4] == [3, 3, 2, 2]


@gluon.jit
def shapes_port(x_ptr, out_ptr, M: gl.constexpr, N: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1, 4], [4, 8], [4, 1], [1, 0])
    r = gl.arange(0, M, layout=gl.SliceLayout(1, layout))
    c = gl.arange(0, N, layout=gl.SliceLayout(0, layout))
    at = r[:, None] * N + c[None, :]
    x = gl.load(x_ptr + at)
    turned = x.trans()
    gl.static_assert(turned.type.layout == gl.BlockedLayout([4, 1], [8, 4], [1, 4], [0, 1]))
    back = gl.convert_layout(turned.trans(), layout, assert_trivial=True)
    gl.store(out_ptr + at, back)
    pair = gl.join(x, x + 1)
    gl.static_assert(pair.type.layout.parent == layout if isinstance(pair.type.layout, gl.SliceLayout) else True)
    low, high = gl.split(pair)
    gl.store(out_ptr + M * N + at, gl.convert_layout(low + high, layout))
    flat = gl.reshape(x, [M * N])
    linear: gl.constexpr = gl.to_linear_layout(flat.type.layout, [M * N])
    gl.static_assert(isinstance(linear, gl.DistributedLinearLayout))
    other: gl.constexpr = gl.BlockedLayout([1], [32], [4], [0])
    moved = gl.convert_layout(flat, other)
    gl.store(out_ptr + 2 * M * N + gl.arange(0, M * N, layout=other), moved)
    column = gl.convert_layout(gl.sum(x, 1), gl.SliceLayout(1, layout))
    gl.store(out_ptr + 3 * M * N + at, column[:, None] + gl.zeros([M, N], gl.int32, layout=layout))
    auto = gl.full([M, N], 7, gl.int32)
    gl.store(out_ptr + 4 * M * N + at, x + auto)
    index = gl.convert_layout(N - 1 - c, gl.SliceLayout(0, layout))[None, :] + gl.zeros([M, N], gl.int32, layout=layout)
    gl.store(out_ptr + 5 * M * N + at, gl.gather(x, index, axis=1))
    gl.static_assert(gl.num_ctas() == 1)
    gl.store(
        out_ptr + 6 * M * N + gl.arange(0, 32, layout=other), gl.histogram(x.reshape([M * N]) % 32, 32, layout=other)
    )


def test_layout_inference_is_the_compilers():
    x = torch.arange(16 * 32, dtype=torch.int32).reshape(16, 32)
    out = torch.zeros(7, 16, 32, dtype=torch.int32)
    with emulated():
        shapes_port[(1,)](x, out, M=16, N=32)
    rows = [x, 2 * x + 1, x, x.sum(1, keepdim=True).expand(16, 32).int(), x + 7, x.flip(1)]
    for got, expected in zip(out, rows, strict=False):
        assert torch.equal(got, expected)
    assert out[6].flatten()[:32].tolist() == [16] * 32


@gluon.jit
def argmax_port(x_ptr, out_ptr, M: gl.constexpr, N: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1, 1], [4, 8], [4, 1], [1, 0])
    r = gl.arange(0, M, layout=gl.SliceLayout(1, layout))
    c = gl.arange(0, N, layout=gl.SliceLayout(0, layout))
    x = gl.load(x_ptr + r[:, None] * N + c[None, :])
    index = c[None, :].broadcast_to(x.shape)
    _, where = gl.reduce((x, index), 1, tl.standard._argmax_combine_tie_break_left)
    gl.store(out_ptr + r, where)


def test_a_reduction_over_a_tuple():
    x = torch.randn(16, 32, generator=torch.Generator().manual_seed(2))
    out = torch.zeros(16, dtype=torch.int32)
    with emulated():
        argmax_port[(1,)](x, out, M=16, N=32)
    assert out.tolist() == x.argmax(1).tolist()


@gluon.jit
def dot_port(a_ptr, b_ptr, out_ptr, S: gl.constexpr, TENSOR_CORE: gl.constexpr):
    tile: gl.constexpr = gl.BlockedLayout([1, 4], [4, 8], [4, 1], [1, 0])
    acc_layout: gl.constexpr = gl.NVMMADistributedLayout([2, 0], [2, 2], [16, 8]) if TENSOR_CORE else tile
    k_width: gl.constexpr = 1 if TENSOR_CORE else 0
    r = gl.arange(0, S, layout=gl.SliceLayout(1, tile))
    c = gl.arange(0, S, layout=gl.SliceLayout(0, tile))
    at = r[:, None] * S + c[None, :]
    a = gl.convert_layout(gl.load(a_ptr + at), gl.DotOperandLayout(0, acc_layout, k_width))
    b = gl.convert_layout(gl.load(b_ptr + at), gl.DotOperandLayout(1, acc_layout, k_width))
    acc = gl.full([S, S], 1.0, gl.float32, layout=acc_layout)
    if TENSOR_CORE:
        acc = mma_v2(a, b, acc)
    else:
        acc = gl.dot_fma(a, b, acc)
    gl.static_assert(acc.type.layout == acc_layout)
    gl.store(out_ptr + at, gl.convert_layout(acc, tile))


def test_register_products():
    gen = torch.Generator().manual_seed(3)
    a, b = (torch.rand(32, 32, generator=gen) + 1 for _ in range(2))
    exact = (a.double() @ b.double()).float() + 1
    out = torch.zeros(2, 32, 32)
    with emulated():
        dot_port[(1,)](a, b, out[0], S=32, TENSOR_CORE=False)
        dot_port[(1,)](a, b, out[1], S=32, TENSOR_CORE=True)
    assert torch.equal(out[0], exact)
    assert 1e-3 < (out[1] - exact).abs().max() < 32 * 2 * 2**-9


@gluon.jit
def no_layout(out_ptr, N: gl.constexpr):
    i = tl.arange(0, N)
    gl.store(out_ptr + i, i)


@gluon.jit
def two_layouts(out_ptr, N: gl.constexpr):
    i = gl.arange(0, N, layout=gl.BlockedLayout([1], [32], [4], [0]))
    j = gl.arange(0, N, layout=gl.BlockedLayout([2], [32], [4], [0]))
    gl.store(out_ptr + i, j)


@gluon.jit
def padded_rank(out_ptr, N: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1, 1], [1, 32], [4, 1], [1, 0])
    r = gl.arange(0, N, layout=gl.SliceLayout(1, layout))
    c = gl.arange(0, N, layout=gl.SliceLayout(0, layout))
    gl.store(out_ptr + r[:, None] + c, r[:, None] * c)


@gluon.jit
def expanded_blocked(out_ptr, N: gl.constexpr):
    i = gl.arange(0, N, layout=gl.BlockedLayout([1], [32], [4], [0]))
    gl.store(out_ptr + i[:, None], i[:, None])


@gluon.jit
def wrong_axis(out_ptr, N: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1, 1], [1, 32], [4, 1], [1, 0])
    i = gl.arange(0, N, layout=gl.SliceLayout(0, layout))
    gl.store(out_ptr + i[:, None], i[:, None])


@gluon.jit
def too_many_warps(out_ptr, N: gl.constexpr):
    i = gl.arange(0, N, layout=gl.BlockedLayout([1], [32], [8], [0]))
    gl.store(out_ptr + i, i)


@gluon.jit
def too_few_threads(out_ptr, N: gl.constexpr):
    i = gl.arange(0, N, layout=gl.BlockedLayout([1], [16], [4], [0]))
    gl.store(out_ptr + i, i)


@gluon.jit
def layout_as_local(out_ptr, N: gl.constexpr):
    layout = gl.BlockedLayout([1], [32], [4], [0])
    gl.store(out_ptr + gl.arange(0, N, layout=layout), 1)


@gluon.jit
def carried_layout(out_ptr, n, N: gl.constexpr):
    first: gl.constexpr = gl.BlockedLayout([1], [32], [4], [0])
    second: gl.constexpr = gl.BlockedLayout([2], [32], [4], [0])
    acc = gl.zeros([N], gl.int32, layout=first)
    for _ in range(n):
        acc = gl.convert_layout(acc, second)
    gl.store(out_ptr + gl.arange(0, N, layout=first), acc)


@gluon.jit
def not_trivial(out_ptr, N: gl.constexpr):
    i = gl.arange(0, N, layout=gl.BlockedLayout([1], [32], [4], [0]))
    other: gl.constexpr = gl.BlockedLayout([4], [32], [4], [0])
    j = gl.convert_layout(i, other, assert_trivial=True)
    gl.store(out_ptr + j, j)


@gluon.jit
def split_across_threads(out_ptr, N: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1, 1], [16, 2], [4, 1], [1, 0])
    r = gl.arange(0, N, layout=gl.SliceLayout(1, layout))
    c = gl.arange(0, 2, layout=gl.SliceLayout(0, layout))
    low, high = gl.split(r[:, None] + c[None, :])
    gl.store(out_ptr + low, high)


@gluon.jit
def keeps_scalar(out_ptr, N: gl.constexpr):
    i = gl.arange(0, N, layout=gl.BlockedLayout([1], [32], [4], [0]))
    gl.store(out_ptr + i, gl.sum(i, 0, keep_dims=True))


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (no_layout, "missing 1 required positional argument: 'layout'"),
        (two_layouts, "Layout mismatch in broadcast"),
        (padded_rank, "Cannot broadcast, rank mismatch"),
        (expanded_blocked, "expected expand_dims input to have a SliceLayout"),
        (wrong_axis, "sliced in axis 1 but got 0"),
        (too_many_warps, "has 8 warps per CTA, but the kernel runs with num_warps=4"),
        (too_few_threads, "has 16 threads per warp, but the target has 32"),
        (layout_as_local, "cannot convert BlockedLayout"),
        (not_trivial, "is not trivial"),
        (split_across_threads, "split requires at least 2 elements per thread"),
        (keeps_scalar, "expected expand_dims input to be a distributed_type"),
    ],
)
def test_gluon_refuses(kernel, message):
    with emulated(), pytest.raises(EmulationError, match=message) as caught:
        kernel[(1,)](torch.zeros(128, dtype=torch.int32), N=128)
    assert caught.value.path == __file__
    assert caught.value.kernel == kernel.__name__


def test_a_loop_may_not_change_a_layout():
    out = torch.zeros(128, dtype=torch.int32)
    with emulated(), pytest.raises(EmulationError, match="Loop-carried variable acc has initial type"):
        carried_layout[(1,)](out, 3, N=128)


@gluon.jit
def four_bit_port(out_ptr, N: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1], [32], [4], [0])
    i = gl.arange(0, N, layout=layout)
    wide = gl.fp4_to_fp(i.to(gl.uint8), gl.bfloat16, 0)
    gl.static_print(wide.type)


def test_what_has_no_model_is_named(monkeypatch):
    monkeypatch.delattr(ScaledDotOps, "create_fp4_to_fp")
    with emulated(), pytest.raises(NotEmulated, match="the operation fp4_to_fp is not emulated"):
        four_bit_port[(1,)](torch.zeros(128, dtype=torch.int32), N=128)


@gluon.jit
def barrier_port(out_ptr, N: gl.constexpr):
    i = gl.arange(0, N, layout=gl.BlockedLayout([1], [32], [4], [0]))
    gl.store(out_ptr + i, i)
    BARRIER()
    gl.store(out_ptr + i, gl.load(out_ptr + (i ^ 1)))


BARRIER = gl.barrier if hasattr(gl, "barrier") else gl.thread_barrier


def test_barriers():
    out = torch.zeros(64, dtype=torch.int32)
    with emulated():
        barrier_port[(1,)](out, N=64)
    assert out.tolist() == [i ^ 1 for i in range(64)]
