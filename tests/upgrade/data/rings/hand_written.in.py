import torch
import triton
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import fence_async_shared, mbarrier, tma
from triton.experimental.gluon.language.nvidia.hopper import warpgroup_mma, warpgroup_mma_wait
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor


def described(tensor, block_shape):
    dtype = {torch.float16: gl.float16, torch.float32: gl.float32}[tensor.dtype]
    layout = gl.NVMMASharedLayout.get_default_for(block_shape, dtype)
    return TensorDescriptor(tensor, list(tensor.shape), list(tensor.stride()), block_shape, layout)


@gluon.jit
def store_rows(out_ptr, value, first, stride, rows):
    layout: gl.constexpr = value.type.layout
    row = first + gl.arange(0, value.shape[0], layout=gl.SliceLayout(1, layout))
    col = gl.arange(0, value.shape[1], layout=gl.SliceLayout(0, layout))
    gl.store(out_ptr + row[:, None] * stride + col[None, :], value, mask=(row < rows)[:, None])


_given = torch.Generator()


def operands(rows, cols):
    """Quarters, the same ones in every run; a row at least, since a descriptor has no empty dimension."""
    values = torch.randint(-8, 9, (max(rows, 1), max(cols, 16)), generator=_given.manual_seed(rows * 7 + cols))
    return (values.float() / 4).half()


@gluon.jit
def gemm(x, w, out, rows, depth, BM: gl.constexpr, BK: gl.constexpr):
    layout: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [gl.num_warps(), 1], [16, 32, 16])
    acc = gl.zeros((BM, 32), gl.float32, layout)
    sx = gl.allocate_shared_memory(x.dtype, [BM, BK], x.layout)
    sw = gl.allocate_shared_memory(w.dtype, [BK, 32], w.layout)
    bar = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(bar, count=1)
    off = 0
    for it in range(depth // BK):
        # One barrier announces both.
        mbarrier.expect(bar, x.block_type.nbytes + w.block_type.nbytes)
        tma.async_load(x, [0, off], barrier=bar, result=sx)
        tma.async_load(w, [off, 0], bar, sw)
        off += BK
        mbarrier.wait(bar, phase=it & 1)
        acc = warpgroup_mma(sx, sw, acc, is_async=True)
        acc = warpgroup_mma_wait(0, deps=[acc])
    mbarrier.invalidate(bar)
    store_rows(out, acc, 0, 32, rows)


def launch(steps, **options):
    a, b = operands(64, 32 * steps), operands(32 * steps, 32)
    out = torch.full((64, 32), float("nan"))
    gemm[(1,)](described(a, [64, 32]), described(b, [32, 32]), out, 64, 32 * steps, 64, 32, **options)
    return out
