import torch
import triton
# tritonport: stage multibuffer for sm_90, Triton 3.8 to 3.9
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


def element_bytes(tensor):
    """The size of an element; `warmup` passes what stands for a tensor and knows its type alone."""
    return tensor.element_size() if hasattr(tensor, "element_size") else tensor.dtype.itemsize


def tile_bytes(descriptor):
    """Shared memory for one tile of a descriptor and its barrier; none where a launch has no descriptor."""
    if descriptor is None:
        return 0
    size = element_bytes(descriptor.base)
    for extent in descriptor.block_shape:
        size *= extent
    return size + 8


def ring_depth_for(
    args, name, descriptors, once=(), num_stages=None, shared_memory=232448, chained=False, iterations=None
):
    """Tiles in each ring: what the launch or its configuration says under `name`, else the number of stages, two at
    least, but no more than there are `iterations`, or fit shared memory beside the tiles that are copied `once`, or
    stored.

    `chained`: dots that overlap free their tiles early, so one place less holds as many iterations' copies.
    """
    if args.get(name) is not None:
        return args[name]
    stages = num_stages or args.get("num_stages", 3)
    depth = max(stages - 1, 1) if chained else max(stages, 2)
    if iterations is not None:
        depth = max(min(depth, iterations), 1)
    each = 0
    for one in descriptors:
        each += tile_bytes(args.get(one))
    for one in once:
        shared_memory -= tile_bytes(args.get(one))
    return max(min(depth, shared_memory // each), 1) if each else depth


@triton.heuristics({"NUM_BUFFERS": lambda args: ring_depth_for(args, "NUM_BUFFERS", ["x", "w"], shared_memory=232448)})
@gluon.jit
def gemm(x, w, out, rows, depth, BM: gl.constexpr, BK: gl.constexpr, NUM_BUFFERS: gl.constexpr):
    layout: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [gl.num_warps(), 1], [16, 32, 16])
    acc = gl.zeros((BM, 32), gl.float32, layout)
    sx_ring = gl.allocate_shared_memory(x.dtype, [NUM_BUFFERS, BM, BK], x.layout)
    sw_ring = gl.allocate_shared_memory(w.dtype, [NUM_BUFFERS, BK, 32], w.layout)
    bar = gl.allocate_shared_memory(gl.int64, [NUM_BUFFERS, 1], mbarrier.MBarrierLayout())
    for i in gl.static_range(NUM_BUFFERS):
        mbarrier.init(bar.index(i), count=1)
    slot = 0
    phase = 0
    off = 0
    stop = depth // BK
    for i in gl.static_range(NUM_BUFFERS):
        mbarrier.expect(bar.index(i), x.block_type.nbytes + w.block_type.nbytes, pred=i < stop)
        tma.async_load(x, [0, off], barrier=bar.index(i), result=sx_ring.index(i), pred=i < stop)
        tma.async_load(w, [off, 0], bar.index(i), sw_ring.index(i), pred=i < stop)
        off += BK
    for it in range(stop):
        mbarrier.wait(bar.index(slot), phase=phase)
        acc = warpgroup_mma(sx_ring.index(slot), sw_ring.index(slot), acc, is_async=True)
        acc = warpgroup_mma_wait(0, deps=[acc])
        next_it = it + NUM_BUFFERS
        more = next_it < stop
        # One barrier announces both.
        mbarrier.expect(bar.index(slot), x.block_type.nbytes + w.block_type.nbytes, pred=more)
        tma.async_load(x, [0, off], barrier=bar.index(slot), result=sx_ring.index(slot), pred=more)
        tma.async_load(w, [off, 0], bar.index(slot), sw_ring.index(slot), pred=more)
        off += BK
        last = slot == NUM_BUFFERS - 1
        phase = gl.where(last, phase ^ 1, phase)
        slot = gl.where(last, 0, slot + 1)
    for i in gl.static_range(NUM_BUFFERS):
        mbarrier.invalidate(bar.index(i))
    store_rows(out, acc, 0, 32, rows)


def launch(steps, **options):
    a, b = operands(64, 32 * steps), operands(32 * steps, 32)
    out = torch.full((64, 32), float("nan"))
    gemm[(1,)](described(a, [64, 32]), described(b, [32, 32]), out, 64, 32 * steps, 64, 32, **options)
    return out
