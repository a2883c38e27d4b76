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
def kernel(x_desc, y_desc, table_ptr, out_ptr, n, FIRST: gl.constexpr = True):
    layout: gl.constexpr = gl.BlockedLayout([1, 4], [8, 4], [gl.num_warps(), 1], [1, 0])
    acc = gl.zeros((16, 16), dtype=gl.float32, layout=layout)
    x_tile = gl.allocate_shared_memory(x_desc.dtype, x_desc.block_shape, x_desc.layout)
    x_ready = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(x_ready, count=1)
    phase = 0
    if FIRST:
        for j in range(n):
            mbarrier.expect(x_ready, x_desc.block_type.nbytes)
            tma.async_load(x_desc, [j * 16, 0], x_ready, x_tile)
            mbarrier.wait(x_ready, phase)
            acc += x_tile.load(layout).to(gl.float32) * (j + 1)
            phase ^= 1
    if n > 1:
        for j in range(n, n + 3):
            mbarrier.expect(x_ready, x_desc.block_type.nbytes)
            tma.async_load(x_desc, [j * 16, 0], x_ready, x_tile)
            mbarrier.wait(x_ready, phase)
            acc += x_tile.load(layout).to(gl.float32) * (j + 2)
            phase ^= 1
    for j in range(3):
        mbarrier.expect(x_ready, x_desc.block_type.nbytes)
        tma.async_load(x_desc, [j * 16, 0], x_ready, x_tile)
        mbarrier.wait(x_ready, phase)
        acc += x_tile.load(layout).to(gl.float32) * (j + 5)
        phase ^= 1
    mbarrier.invalidate(x_ready)
    store_rows(out_ptr, acc, 0, 16, 16)


def launch(steps, **options):
    x, y = operands(16 * 12, 16), operands(16 * 12, 16)
    out = torch.full((16, 16), float("nan"))
    table = torch.tensor([3, 7, 0, 5, 1, 2, 4, 6, 8, 9, 10, 11], dtype=torch.int32)
    kernel[(1,)](described(x, [16, 16]), described(y, [16, 16]), table, out, steps, **options)
    return out
