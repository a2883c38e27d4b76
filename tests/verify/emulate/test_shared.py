"""Shared memory that is used in step with the program: allocation, views, products of its contents."""

import inspect

import pytest
import torch
import triton
import triton.language as tl
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.ampere import mma_v2
from triton.experimental.gluon.language.nvidia.hopper import fence_async_shared, warpgroup_mma

from tritonport.verify.emulate import EmulationError, emulated

ROWS = gl.constexpr(gl.BlockedLayout([1, 4], [4, 8], [4, 1], [1, 0]))
LINE = gl.constexpr(gl.BlockedLayout([1], [32], [4], [0]))
PLAIN = gl.constexpr(gl.SwizzledSharedLayout(1, 1, 1, [1, 0]))


def line_of(kernel, text):
    """The line of the one statement of a kernel that contains ``text``."""
    lines, first = inspect.getsourcelines(kernel.fn)
    (found,) = [first + i for i, line in enumerate(lines) if text in line]
    return found


def fails(kernel, *arguments, at, match, **keywords):
    with emulated(), pytest.raises(EmulationError, match=match) as caught:
        kernel[(1,)](*arguments, **keywords)
    assert caught.value.path == __file__
    assert caught.value.line == line_of(kernel, at)
    return caught.value


# In Triton 3.6 warpgroup_mma takes no precision: its check of the name fails on a constexpr.
NAMES_PRECISION = gl.constexpr(triton.__version__ >= "3.7")


@gluon.constexpr_function
def where_it_is(x):
    if isinstance(x, gl.shared_memory_descriptor):
        return f"{type(x.type.layout).__name__} {tuple(x.shape)} {x.dtype.name}"
    return "registers"


@gluon.jit
def views(x_ptr, out_ptr, S: gl.constexpr):
    r = gl.arange(0, S, layout=gl.SliceLayout(1, ROWS))
    c = gl.arange(0, S, layout=gl.SliceLayout(0, ROWS))
    at = r[:, None] * S + c[None, :]
    x = gl.load(x_ptr + at)
    gl.static_assert(where_it_is(x) == "registers")
    ring = gl.allocate_shared_memory(gl.float16, [2, S, S], PLAIN)
    gl.static_assert(where_it_is(ring.index(0)) == "SwizzledSharedLayout (32, 32) fp16")
    ring.index(0).store(x)
    ring.index(1).store(x + 1)
    turned = ring.index(1).permute((1, 0))
    gl.store(out_ptr + at, turned.load(ROWS))
    top = ring.index(0).slice(S // 2, S // 2)
    half = gl.arange(0, S // 2, layout=gl.SliceLayout(1, ROWS))
    gl.store(out_ptr + S * S + half[:, None] * S + c[None, :], top.load(ROWS))
    flat = ring.index(0).reshape((S * S,))
    i = gl.arange(0, S * S, layout=LINE)
    gl.store(out_ptr + 2 * S * S + i, flat.load(LINE))


def test_views_of_shared_memory():
    x = torch.arange(32 * 32).reshape(32, 32).to(torch.float16)
    out = torch.zeros(3, 32, 32, dtype=torch.float16)
    with emulated():
        views[(1,)](x, out, S=32)
    assert torch.equal(out[0], (x + 1).T)
    assert torch.equal(out[1, :16], x[16:])
    assert torch.equal(out[2], x)


@gluon.jit
def product(a, b, acc, INSTRUCTION: gl.constexpr, PRECISION: gl.constexpr, USE_ACC: gl.constexpr):
    M: gl.constexpr = a.shape[0]
    K: gl.constexpr = a.shape[1]
    N: gl.constexpr = b.shape[1]
    if INSTRUCTION == "mma_v2":
        layout: gl.constexpr = gl.NVMMADistributedLayout([2, 0], [4, 1], [16, 8])
        width: gl.constexpr = 32 // a.dtype.primitive_bitwidth
        a_smem = gl.allocate_shared_memory(a.dtype, [M, K], PLAIN, a)
        b_smem = gl.allocate_shared_memory(b.dtype, [K, N], PLAIN, b)
        left = a_smem.load(gl.DotOperandLayout(0, layout, width))
        right = b_smem.load(gl.DotOperandLayout(1, layout, width))
        start = gl.convert_layout(acc, layout)
        if not USE_ACC:
            start = gl.zeros([M, N], acc.dtype, layout)
        result = mma_v2(left, right, start, input_precision=PRECISION)
    else:
        bits: gl.constexpr = a.dtype.primitive_bitwidth
        layout: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, N, 256 // bits])  # type: ignore[no-redef]
        a_layout: gl.constexpr = gl.NVMMASharedLayout.get_default_for([M, K], a.dtype)
        b_layout: gl.constexpr = gl.NVMMASharedLayout.get_default_for([K, N], b.dtype)
        b_smem = gl.allocate_shared_memory(b.dtype, [K, N], b_layout)
        b_smem.store(b)
        if INSTRUCTION == "shared":
            left = gl.allocate_shared_memory(a.dtype, [M, K], a_layout, a)
        else:
            left = gl.convert_layout(a, gl.DotOperandLayout(0, layout, 32 // bits))
        fence_async_shared()
        start = gl.convert_layout(acc, layout)
        if NAMES_PRECISION:
            result = warpgroup_mma(left, b_smem, start, use_acc=USE_ACC, precision=PRECISION)
        else:
            result = warpgroup_mma(left, b_smem, start, use_acc=USE_ACC)
    return gl.convert_layout(result, ROWS)


@gluon.jit
def dot_port(a_ptr, b_ptr, c_ptr, M: gl.constexpr, N: gl.constexpr, K: gl.constexpr, INSTRUCTION: gl.constexpr,
             PRECISION: gl.constexpr, USE_ACC: gl.constexpr):  # fmt: skip
    m = gl.arange(0, M, layout=gl.SliceLayout(1, ROWS))[:, None]
    n = gl.arange(0, N, layout=gl.SliceLayout(0, ROWS))[None, :]
    a = gl.load(a_ptr + m * K + gl.arange(0, K, layout=gl.SliceLayout(0, ROWS))[None, :])
    b = gl.load(b_ptr + gl.arange(0, K, layout=gl.SliceLayout(1, ROWS))[:, None] * N + n)
    acc = gl.load(c_ptr + m * N + n)
    gl.store(c_ptr + m * N + n, product(a, b, acc, INSTRUCTION, PRECISION, USE_ACC))


@triton.jit
def dot_kernel(a_ptr, b_ptr, c_ptr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, PRECISION: tl.constexpr,
               USE_ACC: tl.constexpr):  # fmt: skip
    m = tl.arange(0, M)[:, None]
    n = tl.arange(0, N)[None, :]
    a = tl.load(a_ptr + m * K + tl.arange(0, K)[None, :])
    b = tl.load(b_ptr + tl.arange(0, K)[:, None] * N + n)
    acc = tl.load(c_ptr + m * N + n)
    result = tl.dot(a, b, input_precision=PRECISION, out_dtype=acc.dtype)
    tl.store(c_ptr + m * N + n, acc + result if USE_ACC else result)


TYPES = [
    (torch.float16, torch.float32, "tf32"),
    (torch.float16, torch.float16, "tf32"),
    (torch.bfloat16, torch.float32, "tf32"),
    (torch.float32, torch.float32, "tf32"),
    (torch.float32, torch.float32, "ieee"),
    (torch.float8_e5m2, torch.float32, "tf32"),
    (torch.int8, torch.int32, "tf32"),
]


@pytest.mark.parametrize("instruction", ["mma_v2", "shared", "registers"])
@pytest.mark.parametrize("use_acc", [False, True])
@pytest.mark.parametrize(("operand", "result", "precision"), TYPES)
def test_every_instruction_computes_what_tl_dot_does(instruction, use_acc, operand, result, precision):
    if precision == "ieee" and instruction != "mma_v2" and not NAMES_PRECISION:
        pytest.skip("this Triton's warpgroup_mma takes no precision")
    gen = torch.Generator().manual_seed(6)
    a, b, c = (torch.randn(64, 64, generator=gen) * 3 for _ in range(3))
    a, b = a.to(operand), b.to(operand)
    c = c.to(result)
    ours, theirs = c.clone(), c.clone()
    sizes = {"M": 64, "N": 64, "K": 64, "PRECISION": precision, "USE_ACC": use_acc}
    with emulated():
        dot_kernel[(1,)](a, b, theirs, **sizes)
        dot_port[(1,)](a, b, ours, INSTRUCTION=instruction, **sizes)
    assert torch.equal(ours, theirs)
    exact = a.double() @ b.double() + (c.double() if use_acc else 0)
    tolerance = 1e-5 if precision == "ieee" else 2e-3
    torch.testing.assert_close(ours.double(), exact, rtol=tolerance, atol=tolerance * 100)


def test_double_precision():
    gen = torch.Generator().manual_seed(7)
    a, b, c = (torch.randn(64, 64, generator=gen, dtype=torch.float64) for _ in range(3))
    out = c.clone()
    with emulated():
        dot_kernel[(1,)](a, b, out, M=64, N=64, K=64, PRECISION="ieee", USE_ACC=True)
    torch.testing.assert_close(out, a @ b + c, rtol=1e-14, atol=1e-13)


@gluon.jit
def half_written(out_ptr, N: gl.constexpr):
    i = gl.arange(0, N, layout=LINE)
    tile = gl.allocate_shared_memory(gl.int32, [2, N], PLAIN)
    tile.index(0).store(i)
    gl.store(out_ptr + i, tile.index(1).load(LINE))


def test_a_read_of_what_was_never_written():
    message = r"the load reads `tile\[1\]`, but nothing was written there: element \(0,\).*line \d+: the store \[0\]"
    fails(half_written, torch.zeros(128, dtype=torch.int32), N=128, at="tile.index(1)", match=message)


@gluon.jit
def fresh_each_time(out_ptr, n, N: gl.constexpr):
    i = gl.arange(0, N, layout=LINE)
    for k in range(n):
        tile = gl.allocate_shared_memory(gl.int32, [N], gl.SwizzledSharedLayout(1, 1, 1, [0]))
        if k == 0:
            tile.store(i)
        gl.store(out_ptr + i, tile.load(LINE))


def test_an_allocation_in_a_loop_starts_empty():
    out = torch.zeros(128, dtype=torch.int32)
    with emulated():
        fresh_each_time[(1,)](out, 1, N=128)
    assert out.tolist() == list(range(128))
    fails(fresh_each_time, out, 2, N=128, at="tile.load", match="nothing was written there")


@gluon.jit
def no_fence(a_ptr, c_ptr, S: gl.constexpr, FENCE: gl.constexpr):
    acc_layout: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, S, 16])
    at = gl.arange(0, S, layout=gl.SliceLayout(1, ROWS))[:, None] * S
    at += gl.arange(0, S, layout=gl.SliceLayout(0, ROWS))[None, :]
    smem = gl.allocate_shared_memory(gl.float16, [S, S], gl.NVMMASharedLayout.get_default_for([S, S], gl.float16))
    acc = gl.zeros([S, S], gl.float32, layout=acc_layout)
    for _ in range(2):
        smem.store(gl.load(a_ptr + at))
        if FENCE:
            fence_async_shared()
        acc = warpgroup_mma(smem, smem.permute((1, 0)), acc)
    gl.store(c_ptr + at, gl.convert_layout(acc, ROWS))


def test_a_product_of_stores_that_were_not_fenced():
    a = torch.randint(-3, 4, (64, 64), generator=torch.Generator().manual_seed(8)).half()
    c = torch.zeros(64, 64)
    with emulated():
        no_fence[(1,)](a, c, S=64, FENCE=True)
    assert torch.equal(c, 2 * (a.float() @ a.float().T))
    error = fails(no_fence, a, c, S=64, FENCE=False, at="acc = warpgroup", match="`smem` without a fence_async_shared")
    assert f"after the store of line {line_of(no_fence, 'smem.store')}" in error.message


@gluon.jit
def past_the_end(out_ptr, slot, N: gl.constexpr):
    i = gl.arange(0, N, layout=LINE)
    ring = gl.allocate_shared_memory(gl.int32, [3, N], PLAIN)
    ring.index(slot).store(i)


def test_a_slot_that_does_not_exist():
    fails(past_the_end, torch.zeros(1), 3, N=128, at="ring.index", match="index 3 of `ring`, which has 3 slots")
