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


@triton.heuristics(
    {
        "NUM_BUFFERS": lambda args: ring_depth_for(
            args, "NUM_BUFFERS", ["k_desc", "v_desc"], once=["q_desc"], shared_memory=232448
        )
    }
)
@gluon.jit
def attention_kernel(
    q_desc, k_desc, v_desc, out_ptr, start, N, BLOCK_N: gl.constexpr, D: gl.constexpr, NUM_BUFFERS: gl.constexpr
):
    qk_layout: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [gl.num_warps(), 1], [16, BLOCK_N, 16])
    o_layout: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [gl.num_warps(), 1], [16, D, 16])
    q_tile = gl.allocate_shared_memory(q_desc.dtype, q_desc.block_shape, q_desc.layout)
    q_ready = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(q_ready, count=1)
    mbarrier.expect(q_ready, q_desc.block_type.nbytes)
    tma.async_load(q_desc, [0, 0], q_ready, q_tile)
    acc = gl.zeros((64, D), dtype=gl.float32, layout=o_layout)
    k_ring = gl.allocate_shared_memory(k_desc.dtype, [NUM_BUFFERS] + k_desc.block_shape, k_desc.layout)
    k_ready = gl.allocate_shared_memory(gl.int64, [NUM_BUFFERS, 1], mbarrier.MBarrierLayout())
    v_ring = gl.allocate_shared_memory(v_desc.dtype, [NUM_BUFFERS] + v_desc.block_shape, v_desc.layout)
    v_ready = gl.allocate_shared_memory(gl.int64, [NUM_BUFFERS, 1], mbarrier.MBarrierLayout())
    for i in gl.static_range(NUM_BUFFERS):
        mbarrier.init(k_ready.index(i), count=1)
        mbarrier.init(v_ready.index(i), count=1)
    mbarrier.wait(q_ready, 0)
    q = q_tile
    slot = 0
    phase = 0
    # The keys and values of one block after the other.
    for i in gl.static_range(NUM_BUFFERS):
        early_first = start + i * BLOCK_N
        mbarrier.expect(k_ready.index(i), k_desc.block_type.nbytes, pred=early_first < N)
        tma.async_load(k_desc, [early_first, 0], k_ready.index(i), k_ring.index(i), pred=early_first < N)
        mbarrier.expect(v_ready.index(i), v_desc.block_type.nbytes, pred=early_first < N)
        tma.async_load(v_desc, [early_first, 0], v_ready.index(i), v_ring.index(i), pred=early_first < N)
    for first in range(start, N, BLOCK_N):
        mbarrier.wait(k_ready.index(slot), phase)
        k = k_ring.index(slot).permute((1, 0))
        qk = warpgroup_mma(q, k, gl.zeros((64, BLOCK_N), dtype=gl.float32, layout=qk_layout), use_acc=False)
        next_first = first + NUM_BUFFERS * BLOCK_N
        more = next_first < N
        mbarrier.expect(k_ready.index(slot), k_desc.block_type.nbytes, pred=more)
        tma.async_load(k_desc, [next_first, 0], k_ready.index(slot), k_ring.index(slot), pred=more)
        p = gl.convert_layout(qk.to(gl.float16), gl.DotOperandLayout(0, o_layout, 2))
        # The values are needed last.
        mbarrier.wait(v_ready.index(slot), phase)
        v = v_ring.index(slot)
        acc = warpgroup_mma(p, v, acc)
        mbarrier.expect(v_ready.index(slot), v_desc.block_type.nbytes, pred=more)
        tma.async_load(v_desc, [next_first, 0], v_ready.index(slot), v_ring.index(slot), pred=more)
        last = slot == NUM_BUFFERS - 1
        phase = gl.where(last, phase ^ 1, phase)
        slot = gl.where(last, 0, slot + 1)
    mbarrier.invalidate(q_ready)
    for i in gl.static_range(NUM_BUFFERS):
        mbarrier.invalidate(k_ready.index(i))
        mbarrier.invalidate(v_ready.index(i))
    store_rows(out_ptr, acc, 0, D, 64)


def launch(steps, **options):
    q, k, v = operands(64, 16), operands(16 * steps + 5, 16), operands(16 * steps + 5, 16)
    out = torch.full((64, 16), float("nan"))
    parts = [described(one, [rows, 16]) for one, rows in ((q, 64), (k, 16), (v, 16))]
    attention_kernel[(1,)](*parts, out, 5, 16 * steps + 5, BLOCK_N=16, D=16, **options)
    return out
