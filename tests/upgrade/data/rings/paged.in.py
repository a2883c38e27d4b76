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
def paged_kernel(x_desc, table_ptr, out_ptr, pages, BLOCK: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1, 4], [8, 4], [gl.num_warps(), 1], [1, 0])
    acc = gl.zeros((BLOCK, 16), dtype=gl.float32, layout=layout)
    x_tile = gl.allocate_shared_memory(x_desc.dtype, x_desc.block_shape, x_desc.layout)
    x_ready = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(x_ready, count=1)
    offset = 0
    seen = 0
    phase = 0
    for j in range(pages):
        # Which page, and where in it.
        page = gl.load(table_ptr + j)
        weight = j + 2
        row = page * BLOCK + (offset - j * BLOCK)
        mbarrier.expect(x_ready, x_desc.block_type.nbytes)
        tma.async_load(x_desc, [row, 0], x_ready, x_tile)
        mbarrier.wait(x_ready, phase)
        acc += x_tile.load(layout).to(gl.float32) * weight
        seen += page
        offset += BLOCK
        phase = 1 - phase
    mbarrier.invalidate(x_ready)
    store_rows(out_ptr, acc + seen, 0, 16, BLOCK)


def launch(steps, **options):
    x = operands(16 * 8, 16)
    table = torch.tensor([3, 7, 0, 5, 1][:steps], dtype=torch.int32)
    out = torch.full((16, 16), float("nan"))
    paged_kernel[(1,)](described(x, [16, 16]), table, out, steps, BLOCK=16, **options)
    return out
