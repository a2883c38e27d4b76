"""Small Triton kernels and Gluon twins of them, good and bad."""

import triton
import triton.language as tl
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import warpgroup_mma


@triton.jit
def add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    tl.store(out_ptr + offs, tl.load(x_ptr + offs, mask=mask) + tl.load(y_ptr + offs, mask=mask), mask=mask)


@gluon.jit
def add_twin(x_ptr, y_ptr, out_ptr, n, BLOCK: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([8], [32], [4], [0])
    offs = gl.program_id(0) * BLOCK + gl.arange(0, BLOCK, layout=layout)
    mask = offs < n
    gl.store(out_ptr + offs, gl.load(x_ptr + offs, mask=mask) + gl.load(y_ptr + offs, mask=mask), mask=mask)


@gluon.jit
def add_narrow(x_ptr, y_ptr, out_ptr, n, BLOCK: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1], [32], [4], [0])
    offs = gl.program_id(0) * BLOCK + gl.arange(0, BLOCK, layout=layout)
    mask = offs < n
    gl.store(out_ptr + offs, gl.load(x_ptr + offs, mask=mask) + gl.load(y_ptr + offs, mask=mask), mask=mask)


@triton.jit
def transpose(in_ptr, out_ptr, rows, cols, BM: tl.constexpr, BN: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    tile = tl.load(in_ptr + m[:, None] * cols + n[None, :])
    tl.store(out_ptr + n[None, :] * rows + m[:, None], tile)


@gluon.jit
def conversions(in_ptr, out_ptr, n, BLOCK: gl.constexpr, STEPS: gl.constexpr):
    wide: gl.constexpr = gl.BlockedLayout([4], [32], [4], [0])
    same: gl.constexpr = gl.DistributedLinearLayout(
        reg_bases=[[1], [2]],
        lane_bases=[[4], [8], [16], [32], [64]],
        warp_bases=[[128], [256]],
        block_bases=[],
        shape=[512],
    )
    narrow: gl.constexpr = gl.BlockedLayout([1], [32], [4], [0])
    offs = gl.arange(0, BLOCK, layout=wide)
    x = gl.load(in_ptr + offs)
    y = gl.convert_layout(x, same) * 2.0
    total = gl.convert_layout(y, narrow)
    for step in range(n):
        z = gl.convert_layout(gl.load(in_ptr + step * BLOCK + offs), narrow)
        total += z * z
    gl.store(out_ptr + gl.arange(0, BLOCK, layout=narrow), total)


@triton.jit
def pipelined(in_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], tl.float32)
    for step in tl.range(0, n, num_stages=4):
        total += tl.load(in_ptr + step * BLOCK + offs)
    tl.store(out_ptr + offs, total)


@triton.jit
def flattened(in_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    for row in tl.range(0, n, flatten=True):
        total = tl.zeros([BLOCK], tl.float32)
        for step in range(n):
            total += tl.load(in_ptr + step * BLOCK + offs)
        tl.store(out_ptr + row * BLOCK + offs, total)


@triton.jit
def accumulate(x_ptr, sum_ptr, lock_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    tl.atomic_add(sum_ptr + offs, tl.load(x_ptr + offs))
    tl.atomic_cas(lock_ptr, 0, 1)


@triton.jit
def dot(a_ptr, b_ptr, c_ptr, S: tl.constexpr, PRECISION: tl.constexpr):
    i = tl.arange(0, S)
    tile = i[:, None] * S + i[None, :]
    c = tl.dot(tl.load(a_ptr + tile), tl.load(b_ptr + tile), input_precision=PRECISION)
    tl.store(c_ptr + tile, c)


@gluon.jit
def hopper_only(out_ptr):
    acc_layout: gl.constexpr = gl.NVMMADistributedLayout(version=[3, 0], warps_per_cta=[4, 1], instr_shape=[16, 64, 16])
    smem_layout: gl.constexpr = gl.NVMMASharedLayout.get_default_for([64, 64], gl.float16)
    a = gl.allocate_shared_memory(gl.float16, [64, 64], smem_layout)
    acc = warpgroup_mma(a, a, gl.zeros((64, 64), dtype=gl.float32, layout=acc_layout))
    rows = gl.arange(0, 64, layout=gl.SliceLayout(1, acc_layout))
    cols = gl.arange(0, 64, layout=gl.SliceLayout(0, acc_layout))
    gl.store(out_ptr + rows[:, None] * 64 + cols[None, :], acc)


@triton.jit
def helper_with_error(x):
    y = x + 1
    return y + undefined_name  # type: ignore[name-defined]  # noqa: F821


@triton.jit
def calls_helper(x_ptr):
    tl.store(x_ptr, helper_with_error(tl.load(x_ptr)))


@gluon.jit
def layout_mismatch(x_ptr, BLOCK: gl.constexpr):
    one: gl.constexpr = gl.BlockedLayout([1], [32], [4], [0])
    two: gl.constexpr = gl.BlockedLayout([2], [32], [4], [0])
    left = gl.arange(0, BLOCK, layout=one)
    right = gl.arange(0, BLOCK, layout=two)
    gl.store(x_ptr + left, left + right)


@triton.jit
def prints(x_ptr, N: tl.constexpr):
    tl.static_print("N is", N)
    tl.store(x_ptr, N)


@triton.autotune(configs=[triton.Config({"BLOCK": 256}, num_warps=2), triton.Config({"BLOCK": 1024})], key=["n"])
@triton.heuristics({"EVEN": lambda args: args["BLOCK"] % 2 == 0, "HAS_BIAS": lambda args: args["bias_ptr"] is not None})
@triton.jit
def tuned(
    x_ptr, bias_ptr, n, BLOCK: tl.constexpr, EVEN: tl.constexpr, HAS_BIAS: tl.constexpr, SCALE: tl.constexpr = 2.0
):
    offs = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs) if EVEN else tl.load(x_ptr + offs, mask=offs < n)
    if HAS_BIAS:
        x += tl.load(bias_ptr + offs)
    tl.store(x_ptr + offs, x * SCALE)


@triton.jit(do_not_specialize=["n"])
def unspecialised(x_ptr, n, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    tl.store(x_ptr + offs, 1.0, mask=offs < n)


@gluon.jit
def library_function_without_layouts(x_ptr, BLOCK: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1], [32], [4], [0])
    x = gl.load(x_ptr + gl.arange(0, BLOCK, layout=layout))
    best = tl.argmax(x, 0)
    gl.store(x_ptr, best.to(gl.float32))
