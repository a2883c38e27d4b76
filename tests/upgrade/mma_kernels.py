"""Gluon in the form of the stage multibuffer: rings of tiles that TMA fills, each with a barrier per tile."""

from collections.abc import Sequence

from tritonport.convert.snippets import merged_imports, render, snippet, with_dependencies

HEAD = """import math
import torch
import triton
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import mbarrier, tma
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor
"""

LAUNCHES = """

def descriptor(tensor, block_shape):
    layout = gl.NVMMASharedLayout.get_default_for(block_shape, getattr(gl, str(tensor.dtype).split(".")[1]))
    return TensorDescriptor(tensor, list(tensor.shape), list(tensor.stride()), block_shape, layout)

"""

MATMUL = """
@gluon.jit
def matmul_kernel(a_desc, b_desc, c_ptr, M, N, K, NUM_BUFFERS: gl.constexpr):
    BLOCK_M: gl.constexpr = a_desc.block_shape[0]
    BLOCK_K: gl.constexpr = a_desc.block_shape[1]
    BLOCK_N: gl.constexpr = b_desc.block_shape[1]
    acc_layout: gl.constexpr = mma_layout([BLOCK_M, BLOCK_N], BLOCK_K, a_desc.dtype, gl.num_warps(), F32_PRECISION)
    pid_m = gl.program_id(0)
    pid_n = gl.program_id(1)
    acc = gl.zeros((BLOCK_M, BLOCK_N), dtype=gl.float32, layout=acc_layout)
    a_ring = gl.allocate_shared_memory(a_desc.dtype, [NUM_BUFFERS, BLOCK_M, BLOCK_K], a_desc.layout)
    a_ready = gl.allocate_shared_memory(gl.int64, [NUM_BUFFERS, 1], mbarrier.MBarrierLayout())
    b_ring = gl.allocate_shared_memory(b_desc.dtype, [NUM_BUFFERS, BLOCK_K, BLOCK_N], b_desc.layout)
    b_ready = gl.allocate_shared_memory(gl.int64, [NUM_BUFFERS, 1], mbarrier.MBarrierLayout())
    for i in gl.static_range(NUM_BUFFERS):
        mbarrier.init(a_ready.index(i), count=1)
        mbarrier.init(b_ready.index(i), count=1)
    stop = gl.cdiv(K, BLOCK_K)
    for i in gl.static_range(NUM_BUFFERS):
        mbarrier.expect(a_ready.index(i), a_desc.block_type.nbytes, pred=i < stop)
        tma.async_load(a_desc, [pid_m * BLOCK_M, i * BLOCK_K], a_ready.index(i), a_ring.index(i), pred=i < stop)
        mbarrier.expect(b_ready.index(i), b_desc.block_type.nbytes, pred=i < stop)
        tma.async_load(b_desc, [i * BLOCK_K, pid_n * BLOCK_N], b_ready.index(i), b_ring.index(i), pred=i < stop)
    slot = 0
    phase = 0
    for k in range(stop):
        mbarrier.wait(a_ready.index(slot), phase)
        a = a_ring.index(slot)
        mbarrier.wait(b_ready.index(slot), phase)
        b = b_ring.index(slot)
        acc = dot_added(a, b, acc)
        next_k = k + NUM_BUFFERS
        more = next_k < stop
        mbarrier.expect(a_ready.index(slot), a_desc.block_type.nbytes, pred=more)
        tma.async_load(a_desc, [pid_m * BLOCK_M, next_k * BLOCK_K], a_ready.index(slot), a_ring.index(slot), pred=more)
        mbarrier.expect(b_ready.index(slot), b_desc.block_type.nbytes, pred=more)
        tma.async_load(b_desc, [next_k * BLOCK_K, pid_n * BLOCK_N], b_ready.index(slot), b_ring.index(slot), pred=more)
        last = slot == NUM_BUFFERS - 1
        phase = gl.where(last, phase ^ 1, phase)
        slot = gl.where(last, 0, slot + 1)
    for i in gl.static_range(NUM_BUFFERS):
        mbarrier.invalidate(a_ready.index(i))
        mbarrier.invalidate(b_ready.index(i))

    rows = pid_m * BLOCK_M + gl.arange(0, BLOCK_M, layout=gl.SliceLayout(1, acc_layout))
    cols = pid_n * BLOCK_N + gl.arange(0, BLOCK_N, layout=gl.SliceLayout(0, acc_layout))
    gl.store(c_ptr + rows[:, None] * N + cols[None, :], acc, mask=(rows[:, None] < M) & (cols[None, :] < N))


def launch(a, b, NUM_BUFFERS=3, num_warps=4, BLOCK_M=64, BLOCK_N=32, BLOCK_K=32, columns=None):
    (M, K), N = a.shape, b.shape[1]
    K = K if columns is None else columns
    c = torch.full((M, N), float("nan"))
    a_desc, b_desc = descriptor(a, [BLOCK_M, BLOCK_K]), descriptor(b, [BLOCK_K, BLOCK_N])
    grid = (triton.cdiv(M, BLOCK_M), triton.cdiv(N, BLOCK_N))
    matmul_kernel[grid](a_desc, b_desc, c, M, N, K, NUM_BUFFERS=NUM_BUFFERS, num_warps=num_warps)
    return c
"""

ATTENTION = """
@gluon.jit
def attention_kernel(
    q_desc,  # (heads, n_queries, D)
    k_desc,  # (heads, n_keys, D)
    v_desc,
    out_ptr,
    scale,
    n_queries,
    n_keys,
    CAUSAL: gl.constexpr,
    NUM_BUFFERS: gl.constexpr,
):
    BLOCK_M: gl.constexpr = q_desc.block_shape[1]
    BLOCK_N: gl.constexpr = k_desc.block_shape[1]
    D: gl.constexpr = q_desc.block_shape[2]
    acc_layout: gl.constexpr = mma_layout(
        [BLOCK_M, D], BLOCK_N, v_desc.dtype, gl.num_warps(), F32_PRECISION, follows=[BLOCK_M, BLOCK_N]
    )
    qk_layout: gl.constexpr = mma_layout(
        [BLOCK_M, BLOCK_N], D, q_desc.dtype, gl.num_warps(), F32_PRECISION, chained=True
    )

    start_m = gl.program_id(0) * BLOCK_M
    head = gl.program_id(1)
    offs_m_qk = start_m + gl.arange(0, BLOCK_M, layout=gl.SliceLayout(1, qk_layout))
    offs_n_qk = gl.arange(0, BLOCK_N, layout=gl.SliceLayout(0, qk_layout))
    q_tile = gl.allocate_shared_memory(q_desc.dtype, q_desc.block_shape, q_desc.layout)
    q_ready = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(q_ready, count=1)
    mbarrier.expect(q_ready, q_desc.block_type.nbytes)
    tma.async_load(q_desc, [head, start_m, 0], q_ready, q_tile)

    # Exponentials in base 2: one multiplication less for each.
    qk_scale = scale * 1.44269504
    m_i = gl.full([BLOCK_M], float("-inf"), dtype=gl.float32, layout=gl.SliceLayout(1, qk_layout))
    l_i = gl.zeros([BLOCK_M], dtype=gl.float32, layout=gl.SliceLayout(1, qk_layout))
    acc = gl.zeros([BLOCK_M, D], dtype=gl.float32, layout=acc_layout)
    last = n_keys
    if CAUSAL:
        last = min(n_keys, start_m + BLOCK_M)
    k_ring = gl.allocate_shared_memory(k_desc.dtype, [NUM_BUFFERS, 1, BLOCK_N, D], k_desc.layout)
    k_ready = gl.allocate_shared_memory(gl.int64, [NUM_BUFFERS, 1], mbarrier.MBarrierLayout())
    v_ring = gl.allocate_shared_memory(v_desc.dtype, [NUM_BUFFERS, 1, BLOCK_N, D], v_desc.layout)
    v_ready = gl.allocate_shared_memory(gl.int64, [NUM_BUFFERS, 1], mbarrier.MBarrierLayout())
    for i in gl.static_range(NUM_BUFFERS):
        mbarrier.init(k_ready.index(i), count=1)
        mbarrier.init(v_ready.index(i), count=1)
    for i in gl.static_range(NUM_BUFFERS):
        next_start_n = i * BLOCK_N
        more = next_start_n < last
        mbarrier.expect(k_ready.index(i), k_desc.block_type.nbytes, pred=more)
        tma.async_load(k_desc, [head, next_start_n, 0], k_ready.index(i), k_ring.index(i), pred=more)
        mbarrier.expect(v_ready.index(i), v_desc.block_type.nbytes, pred=more)
        tma.async_load(v_desc, [head, next_start_n, 0], v_ready.index(i), v_ring.index(i), pred=more)
    mbarrier.wait(q_ready, 0)
    q = q_tile.reshape([BLOCK_M, D])
    slot = 0
    phase = 0
    for start_n in range(0, last, BLOCK_N):
        cols_qk = start_n + offs_n_qk
        mbarrier.wait(k_ready.index(slot), phase)
        k = k_ring.index(slot).reshape([BLOCK_N, D]).permute((1, 0))
        qk = dot_new(q, k, qk_layout) * qk_scale
        next_start_n = start_n + NUM_BUFFERS * BLOCK_N
        more = next_start_n < last
        mbarrier.expect(k_ready.index(slot), k_desc.block_type.nbytes, pred=more)
        tma.async_load(k_desc, [head, next_start_n, 0], k_ready.index(slot), k_ring.index(slot), pred=more)
        visible = cols_qk[None, :] < n_keys
        if CAUSAL:
            visible = visible & (offs_m_qk[:, None] >= cols_qk[None, :])
        qk = gl.where(visible, qk, float("-inf"))
        m_new = gl.maximum(m_i, gl.max(qk, 1))
        p = gl.exp2(qk - m_new[:, None])
        alpha = gl.exp2(m_i - m_new)
        l_i = l_i * alpha + gl.sum(p, 1)
        acc = acc * gl.convert_layout(alpha, gl.SliceLayout(1, acc_layout))[:, None]
        mbarrier.wait(v_ready.index(slot), phase)
        v = v_ring.index(slot).reshape([BLOCK_N, D])
        acc = dot(p.to(v.dtype), v, acc)
        mbarrier.expect(v_ready.index(slot), v_desc.block_type.nbytes, pred=more)
        tma.async_load(v_desc, [head, next_start_n, 0], v_ready.index(slot), v_ring.index(slot), pred=more)
        m_i = m_new
        last_slot = slot == NUM_BUFFERS - 1
        phase = gl.where(last_slot, phase ^ 1, phase)
        slot = gl.where(last_slot, 0, slot + 1)
    mbarrier.invalidate(q_ready)
    for i in gl.static_range(NUM_BUFFERS):
        mbarrier.invalidate(k_ready.index(i))
        mbarrier.invalidate(v_ready.index(i))

    acc = acc / gl.convert_layout(l_i, gl.SliceLayout(1, acc_layout))[:, None]
    rows = start_m + gl.arange(0, BLOCK_M, layout=gl.SliceLayout(1, acc_layout))
    cols = gl.arange(0, D, layout=gl.SliceLayout(0, acc_layout))
    out_ptrs = out_ptr + (head * n_queries + rows[:, None]) * D + cols[None, :]
    gl.store(out_ptrs, acc.to(out_ptr.dtype.element_ty), mask=rows[:, None] < n_queries)


def launch(q, k, v, causal=False, NUM_BUFFERS=2, num_warps=4, BLOCK_M=64, BLOCK_N=32, n_keys=None):
    heads, n_queries, D = q.shape
    out = torch.full_like(q, float("nan"), dtype=torch.float32)
    q_desc, k_desc, v_desc = (descriptor(x, [1, rows, D]) for x, rows in ((q, BLOCK_M), (k, BLOCK_N), (v, BLOCK_N)))
    grid = (triton.cdiv(n_queries, BLOCK_M), heads)
    attention_kernel[grid](
        q_desc, k_desc, v_desc, out, 1.0 / math.sqrt(D), n_queries, k.shape[1] if n_keys is None else n_keys,
        CAUSAL=causal, NUM_BUFFERS=NUM_BUFFERS, num_warps=num_warps,
    )
    return out
"""


PERSISTENT = """
@gluon.jit
def matmul_kernel(a_desc, b_desc, c_ptr, M, N, K, NUM_BUFFERS: gl.constexpr):
    BLOCK_M: gl.constexpr = a_desc.block_shape[0]
    BLOCK_K: gl.constexpr = a_desc.block_shape[1]
    BLOCK_N: gl.constexpr = b_desc.block_shape[1]
    layout: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [gl.num_warps(), 1], [16, BLOCK_N, 16])
    tiles_n = gl.cdiv(N, BLOCK_N)
    a_ring = gl.allocate_shared_memory(a_desc.dtype, [NUM_BUFFERS, BLOCK_M, BLOCK_K], a_desc.layout)
    b_ring = gl.allocate_shared_memory(b_desc.dtype, [NUM_BUFFERS, BLOCK_K, BLOCK_N], b_desc.layout)
    ready = gl.allocate_shared_memory(gl.int64, [NUM_BUFFERS, 1], mbarrier.MBarrierLayout())
    for i in gl.static_range(NUM_BUFFERS):
        mbarrier.init(ready.index(i), count=1)
    nbytes: gl.constexpr = a_desc.block_type.nbytes + b_desc.block_type.nbytes
    slot = 0
    phase = 0
    for tile in range(gl.program_id(0), gl.cdiv(M, BLOCK_M) * tiles_n, gl.num_programs(0)):
        row = tile // tiles_n * BLOCK_M
        col = tile % tiles_n * BLOCK_N
        acc = gl.zeros((BLOCK_M, BLOCK_N), dtype=gl.float32, layout=layout)
        for i in gl.static_range(NUM_BUFFERS):
            place = (slot + i) % NUM_BUFFERS
            k = i * BLOCK_K
            mbarrier.expect(ready.index(place), nbytes, pred=k < K)
            tma.async_load(a_desc, [row, k], ready.index(place), a_ring.index(place), pred=k < K)
            tma.async_load(b_desc, [k, col], ready.index(place), b_ring.index(place), pred=k < K)
        for k in range(0, K, BLOCK_K):
            mbarrier.wait(ready.index(slot), phase)
            acc = warpgroup_mma(a_ring.index(slot), b_ring.index(slot), acc)
            next_k = k + NUM_BUFFERS * BLOCK_K
            mbarrier.expect(ready.index(slot), nbytes, pred=next_k < K)
            tma.async_load(a_desc, [row, next_k], ready.index(slot), a_ring.index(slot), pred=next_k < K)
            tma.async_load(b_desc, [next_k, col], ready.index(slot), b_ring.index(slot), pred=next_k < K)
            last = slot == NUM_BUFFERS - 1
            phase = gl.where(last, phase ^ 1, phase)
            slot = gl.where(last, 0, slot + 1)
        rows = row + gl.arange(0, BLOCK_M, layout=gl.SliceLayout(1, layout))
        cols = col + gl.arange(0, BLOCK_N, layout=gl.SliceLayout(0, layout))
        gl.store(c_ptr + rows[:, None] * N + cols[None, :], acc, mask=(rows[:, None] < M) & (cols[None, :] < N))
    for i in gl.static_range(NUM_BUFFERS):
        mbarrier.invalidate(ready.index(i))


def launch(a, b, NUM_BUFFERS=3, num_warps=4, BLOCK_M=64, BLOCK_N=32, BLOCK_K=32, columns=None):
    (M, K), N = a.shape, b.shape[1]
    K = K if columns is None else columns
    c = torch.full((M, N), float("nan"))
    a_desc, b_desc = descriptor(a, [BLOCK_M, BLOCK_K]), descriptor(b, [BLOCK_K, BLOCK_N])
    matmul_kernel[(2,)](a_desc, b_desc, c, M, N, K, NUM_BUFFERS=NUM_BUFFERS, num_warps=num_warps)
    return c
"""


def matmul(version: str) -> str:
    """The matrix product."""
    return _file(MATMUL, {"dot_added", "mma_layout", "F32_PRECISION"}, version)


def copied(version: str) -> str:
    """The matrix product with its tiles as the stage tma gives them to dots."""
    kernel = MATMUL
    for name, index in (("a", 0), ("b", 1)):
        tile = f"        {name} = {name}_ring.index(slot)\n"
        turned = f"        {name} = landed(in_order({name}_ring.index(slot), [1, 0]), {index}, acc_layout)\n"
        assert kernel.count(tile) == 1
        kernel = kernel.replace(tile, f"{turned}        {name}_smem = dot_operand({name}, {index}, acc_layout)\n")
    kernel = kernel.replace("dot_added(a, b, acc)", "dot_added(a_smem, b_smem, acc)")
    helpers = {"dot_added", "dot_operand", "in_order", "landed", "mma_layout", "F32_PRECISION"}
    return _file(kernel, helpers, version)


def persistent(version: str) -> str:
    """The product by hand, with one barrier for both tiles: the ring goes on from tile to tile of two programs."""
    return _file(
        PERSISTENT, set(), version, ["from triton.experimental.gluon.language.nvidia.hopper import warpgroup_mma"]
    )


def attention(version: str) -> str:
    """Keys and values in rings of their own, the queries read once."""
    return _file(ATTENTION, {"dot", "dot_new", "mma_layout", "F32_PRECISION"}, version)


def _file(kernel: str, helpers: set[str], version: str, lines: Sequence[str] = ()) -> str:
    """A whole file, in the names of a Triton version, with the functions of the port that its kernel calls."""
    ordered = with_dependencies(helpers, "sm_90")
    needed = [*lines, *(line for name in ordered for line in snippet(name, "sm_90")[0])]
    imports = merged_imports(dict.fromkeys(needed))
    functions = "\n\n".join(render(name, "gluon", "gl", {}, "sm_90", version) for name in ordered)
    if version in ("3.6", "3.7"):
        kernel = kernel.replace("tma.async_load", "tma.async_copy_global_to_shared")
    return HEAD + "\n".join(imports) + "\n\n\n" + functions + LAUNCHES + kernel
