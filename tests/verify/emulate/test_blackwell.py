"""Tensor memory and the MMA that works on it."""

import pytest
import torch
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia import blackwell
from triton.experimental.gluon.language.nvidia.hopper import fence_async_shared, mbarrier

from tests.verify.emulate.faults import SMEM, TILE, at, matrix
from tests.verify.emulate.faults.products import REGISTERS, TENSOR_MEMORY
from tritonport.verify.emulate import EmulationError, emulated


@gluon.jit
def chain(x_ptr, out_ptr, n):
    """One more than the sum of T @ T over n tiles; the last addition goes through registers."""
    smem = gl.allocate_shared_memory(gl.float16, [2, 64, 64], SMEM)
    acc = blackwell.allocate_tensor_memory(gl.float32, [64, 64], TENSOR_MEMORY)
    bar = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(bar, count=1)
    for i in range(n):
        smem.index(0).store(gl.load(x_ptr + at(i * 64)))
        fence_async_shared()
        blackwell.tcgen05_mma(smem.index(0), smem.index(0), acc, use_acc=i > 0, mbarriers=[bar])
        mbarrier.wait(bar, i & 1)
    mbarrier.invalidate(bar)
    acc.store(acc.load(REGISTERS) + 1.0)
    gl.store(out_ptr + at(0), gl.convert_layout(acc.load(REGISTERS), TILE))


def test_a_chain_of_products_in_tensor_memory():
    x, out = matrix(192), torch.zeros(64, 64)
    with emulated(target="sm_100"):
        chain[(1,)](x, out, 3)
    each = x.float().view(3, 64, 64)
    assert torch.equal(out, (each @ each).sum(0) + 1)


@gluon.jit
def two_in_order(x_ptr, out_ptr, OPERAND: gl.constexpr):
    """Two products without a wait in between: the second accumulates onto the first."""
    smem = gl.allocate_shared_memory(gl.float16, [64, 64], SMEM, gl.load(x_ptr + at(0)))
    acc = blackwell.allocate_tensor_memory(gl.float32, [64, 64], TENSOR_MEMORY)
    bar = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(bar, count=1)
    fence_async_shared()
    blackwell.tcgen05_mma(smem, smem, acc, use_acc=False)
    blackwell.tcgen05_mma(smem, smem.permute((1, 0)), acc)
    blackwell.tcgen05_commit(bar)
    if OPERAND:
        smem.store(gl.zeros([64, 64], gl.float16, TILE))
    mbarrier.wait(bar, 0)
    gl.store(out_ptr + at(0), gl.convert_layout(acc.load(REGISTERS), TILE))


def test_products_on_one_accumulator_need_no_wait():
    x, out = matrix(), torch.zeros(64, 64)
    with emulated(target="sm_100"):
        two_in_order[(1,)](x, out, OPERAND=False)
        assert torch.equal(out, x.float() @ x.float() + x.float() @ x.float().T)
        with pytest.raises(EmulationError, match="the store overwrites `smem` while the tcgen05_mma"):
            two_in_order[(1,)](x, out, OPERAND=True)


@gluon.jit
def extremes(x_ptr, out_ptr, low_ptr, high_ptr):
    acc = blackwell.allocate_tensor_memory(gl.float32, [64, 64], TENSOR_MEMORY)
    acc.store(gl.convert_layout(gl.load(x_ptr + at(0)).to(gl.float32), REGISTERS))
    x, low = acc.load_min(REGISTERS)
    _, high = acc.load_max(REGISTERS, abs=True)
    rows = gl.arange(0, 64, layout=gl.SliceLayout(1, REGISTERS))
    gl.store(low_ptr + rows, low)
    gl.store(high_ptr + rows, high)
    twice = blackwell.add2(x, x)
    gl.store(out_ptr + at(0), gl.convert_layout(blackwell.fma2(twice, twice, x), TILE))


@pytest.mark.skipif(not hasattr(blackwell, "add2"), reason="packed arithmetic came with Triton 3.8")
def test_reductions_while_loading_and_packed_arithmetic():
    x = matrix()
    out, low, high = torch.zeros(64, 64), torch.zeros(64), torch.zeros(64)
    with emulated(target="sm_100"):
        extremes[(1,)](x, out, low, high)
    assert torch.equal(low, x.float().amin(1))
    assert torch.equal(high, x.float().abs().amax(1))
    assert torch.equal(out, 4 * x.float() ** 2 + x.float())
