"""Faults of asynchronous MMAs on Hopper and Blackwell."""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia import blackwell
from triton.experimental.gluon.language.nvidia.hopper import (
    fence_async_shared,
    mbarrier,
    warpgroup_mma,
    warpgroup_mma_wait,
)

from tests.verify.emulate.faults import ACC, LOAD, SMEM, TILE, PlantedFault, at, sum_of_squares


@gluon.jit
def take(desc, i, bar, smem):
    """Load tile i and wait for it."""
    mbarrier.expect(bar, desc.block_type.nbytes)
    LOAD(desc, [i * 64, 0], bar, smem)
    mbarrier.wait(bar, i & 1)


@gluon.jit
def accumulator_read_too_soon(desc, out_ptr, n, BAD: gl.constexpr):
    smem = gl.allocate_shared_memory(desc.dtype, [64, 64], desc.layout)
    bar = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(bar, count=1)
    total = gl.zeros([64, 64], gl.float32, ACC)
    for i in range(n):
        take(desc, i, bar, smem)
        acc = warpgroup_mma(smem, smem, gl.zeros([64, 64], gl.float32, ACC), is_async=True)
        acc = warpgroup_mma_wait(num_outstanding=1 if BAD else 0, deps=(acc,))
        total += acc  # reported
    gl.store(out_ptr + at(0), gl.convert_layout(total, TILE))


@gluon.jit
def operand_loaded_over(desc, out_ptr, n, BAD: gl.constexpr):
    smem = gl.allocate_shared_memory(desc.dtype, [2, 64, 64], desc.layout)
    bars = gl.allocate_shared_memory(gl.int64, [2, 1], mbarrier.MBarrierLayout())
    for slot in gl.static_range(2):
        mbarrier.init(bars.index(slot), count=1)
        mbarrier.expect(bars.index(slot), desc.block_type.nbytes)
        LOAD(desc, [slot * 64, 0], bars.index(slot), smem.index(slot))
    acc = gl.zeros([64, 64], gl.float32, ACC)
    for i in range(n):
        s = i % 2
        mbarrier.wait(bars.index(s), (i // 2) & 1)
        acc = warpgroup_mma(smem.index(s), smem.index(s), acc, is_async=True)
        acc = warpgroup_mma_wait(num_outstanding=1 if BAD else 0, deps=(acc,))
        more = i + 2 < n
        mbarrier.expect(bars.index(s), desc.block_type.nbytes, pred=more)
        LOAD(desc, [i * 64 + 128, 0], bars.index(s), smem.index(s), pred=more)  # reported
    acc = warpgroup_mma_wait(num_outstanding=0, deps=(acc,))
    gl.store(out_ptr + at(0), gl.convert_layout(acc, TILE))


@gluon.jit
def operand_stored_over(desc, out_ptr, n, BAD: gl.constexpr):
    smem = gl.allocate_shared_memory(desc.dtype, [64, 64], desc.layout)
    bar = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(bar, count=1)
    acc = gl.zeros([64, 64], gl.float32, ACC)
    take(desc, 0, bar, smem)
    acc = warpgroup_mma(smem, smem, acc, is_async=True)
    if not BAD:
        acc = warpgroup_mma_wait(num_outstanding=0, deps=(acc,))
    smem.store(gl.zeros([64, 64], gl.float16, TILE))  # reported
    fence_async_shared()
    acc = warpgroup_mma(smem, smem, acc, is_async=True)
    acc = warpgroup_mma_wait(num_outstanding=0, deps=(acc,))
    gl.store(out_ptr + at(0), gl.convert_layout(acc, TILE))


@gluon.jit
def memory_of_an_operand(desc, out_ptr, n, BAD: gl.constexpr):
    smem = gl.allocate_shared_memory(desc.dtype, [64, 64], desc.layout)
    bar = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(bar, count=1)
    acc = gl.zeros([64, 64], gl.float32, ACC)
    for i in range(n):
        take(desc, i, bar, smem)
        tile = smem.load(TILE)
        left = gl.allocate_shared_memory(desc.dtype, [64, 64], desc.layout, tile)
        fence_async_shared()
        acc = warpgroup_mma(left, left, acc, is_async=True)
        other = gl.allocate_shared_memory(gl.float16, [64, 64], gl.SwizzledSharedLayout(8, 1, 8, [1, 0]))
        if BAD:
            other.store(tile)  # reported
            acc = warpgroup_mma_wait(num_outstanding=0, deps=(acc,))
        else:
            acc, _ = warpgroup_mma_wait(num_outstanding=0, deps=(acc, left))
            other.store(tile)
    gl.store(out_ptr + at(0), gl.convert_layout(acc, TILE))


@gluon.jit
def product_left_in_flight(desc, out_ptr, n, BAD: gl.constexpr):
    smem = gl.allocate_shared_memory(desc.dtype, [64, 64], desc.layout)
    bar = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(bar, count=1)
    total = gl.zeros([64, 64], gl.float32, ACC)
    for i in range(n):
        take(desc, i, bar, smem)
        acc = warpgroup_mma(smem, smem, total, is_async=True)
        total = warpgroup_mma_wait(num_outstanding=0, deps=(acc,))
    gl.store(out_ptr + at(0), gl.convert_layout(total, TILE))
    unused = warpgroup_mma(smem, smem, total, is_async=True)  # reported
    if not BAD:
        unused = warpgroup_mma_wait(num_outstanding=0, deps=(unused,))


@gluon.jit
def product_not_fenced(desc, out_ptr, n, BAD: gl.constexpr):
    source = gl.allocate_shared_memory(desc.dtype, [64, 64], desc.layout)
    smem = gl.allocate_shared_memory(desc.dtype, [64, 64], SMEM)
    bar = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(bar, count=1)
    acc = gl.zeros([64, 64], gl.float32, ACC)
    for i in range(n):
        take(desc, i, bar, source)
        smem.store(source.load(TILE))
        if not BAD or i == 0:
            fence_async_shared()
        acc = warpgroup_mma(smem, smem, acc)  # reported
    gl.store(out_ptr + at(0), gl.convert_layout(acc, TILE))


@gluon.jit
def operand_not_waited_for(desc, out_ptr, n, BAD: gl.constexpr):
    smem = gl.allocate_shared_memory(desc.dtype, [64, 64], desc.layout)
    bar = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(bar, count=1)
    acc = gl.zeros([64, 64], gl.float32, ACC)
    for i in range(n):
        mbarrier.expect(bar, desc.block_type.nbytes)
        LOAD(desc, [i * 64, 0], bar, smem)
        mbarrier.wait(bar, i & 1, pred=(i < 2) if BAD else True)
        acc = warpgroup_mma(smem, smem, acc)  # reported
    gl.store(out_ptr + at(0), gl.convert_layout(acc, TILE))


TENSOR_MEMORY = gl.constexpr(blackwell.TensorMemoryLayout([64, 64], col_stride=1))
if hasattr(blackwell, "get_tmem_reg_layout"):
    REGISTERS = gl.constexpr(blackwell.get_tmem_reg_layout(gl.float32, (64, 64), TENSOR_MEMORY.value, num_warps=4))
else:
    REGISTERS = gl.constexpr(
        blackwell.tensor_memory_descriptor_type(gl.float32, [64, 64], TENSOR_MEMORY.value, [64, 64]).get_reg_layout(4)
    )


@gluon.jit
def tensor_memory_read_too_soon(desc, out_ptr, n, BAD: gl.constexpr):
    smem = gl.allocate_shared_memory(desc.dtype, [64, 64], desc.layout)
    acc = blackwell.allocate_tensor_memory(gl.float32, [64, 64], TENSOR_MEMORY)
    bar = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    done = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(bar, count=1)
    mbarrier.init(done, count=1)
    for i in range(n):
        take(desc, i, bar, smem)
        blackwell.tcgen05_mma(smem, smem, acc, use_acc=i > 0)
        blackwell.tcgen05_commit(done)
        mbarrier.wait(done, i & 1, pred=(i + 1 < n) if BAD else True)
    total = acc.load(REGISTERS)  # reported
    gl.store(out_ptr + at(0), gl.convert_layout(total, TILE))


@gluon.jit
def tensor_core_still_reads(desc, out_ptr, n, BAD: gl.constexpr):
    smem = gl.allocate_shared_memory(desc.dtype, [64, 64], desc.layout)
    acc = blackwell.allocate_tensor_memory(gl.float32, [64, 64], TENSOR_MEMORY)
    bar = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    done = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(bar, count=1)
    mbarrier.init(done, count=1)
    for i in range(n):
        mbarrier.expect(bar, desc.block_type.nbytes)
        LOAD(desc, [i * 64, 0], bar, smem)  # reported
        mbarrier.wait(bar, i & 1)
        blackwell.tcgen05_mma(smem, smem, acc, use_acc=i > 0, mbarriers=[done])
        if not BAD:
            mbarrier.wait(done, i & 1)
    if BAD:
        mbarrier.wait(done, (n - 1) & 1)
    total = acc.load(REGISTERS)
    gl.store(out_ptr + at(0), gl.convert_layout(total, TILE))


@gluon.jit
def accumulates_into_nothing(desc, out_ptr, n, BAD: gl.constexpr):
    smem = gl.allocate_shared_memory(desc.dtype, [64, 64], desc.layout)
    acc = blackwell.allocate_tensor_memory(gl.float32, [64, 64], TENSOR_MEMORY)
    bar = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    done = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(bar, count=1)
    mbarrier.init(done, count=1)
    for i in range(n):
        take(desc, i, bar, smem)
        blackwell.tcgen05_mma(smem, smem, acc, use_acc=True if BAD else i > 0)  # reported
        blackwell.tcgen05_commit(done)
        mbarrier.wait(done, i & 1)
    total = acc.load(REGISTERS)
    gl.store(out_ptr + at(0), gl.convert_layout(total, TILE))


@gluon.jit
def tensor_core_left_in_flight(desc, out_ptr, n, BAD: gl.constexpr):
    smem = gl.allocate_shared_memory(desc.dtype, [64, 64], desc.layout)
    acc = blackwell.allocate_tensor_memory(gl.float32, [64, 64], TENSOR_MEMORY)
    bar = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    done = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(bar, count=1)
    mbarrier.init(done, count=1)
    for i in range(n):
        take(desc, i, bar, smem)
        blackwell.tcgen05_mma(smem, smem, acc, use_acc=i > 0, mbarriers=[done])
        mbarrier.wait(done, i & 1)
    gl.store(out_ptr + at(0), gl.convert_layout(acc.load(REGISTERS), TILE))
    blackwell.tcgen05_mma(smem, smem, acc, use_acc=False, mbarriers=[done])  # reported
    if not BAD:
        mbarrier.wait(done, n & 1)


FAULTS = [
    PlantedFault(kernel, sum_of_squares(kernel, tiles), message, target)
    for kernel, tiles, message, target in [
        (accumulator_read_too_soon, 4, r"the accumulator is used while the warpgroup_mma of line \d+", "sm_90"),
        (operand_loaded_over, 4, r"the TMA load overwrites `smem\[0\]` while the warpgroup_mma of line \d+", "sm_90"),
        (operand_stored_over, 1, r"the store overwrites `smem` while the warpgroup_mma of line \d+ still", "sm_90"),
        (
            memory_of_an_operand,
            4,
            r"`other` may get the memory of `left`.* while the warpgroup_mma of line \d+",
            "sm_90",
        ),
        (product_left_in_flight, 4, "the program ends while the warpgroup_mma of `smem` is in flight", "sm_90"),
        (product_not_fenced, 4, "the warpgroup_mma goes to `smem` without a fence_async_shared", "sm_90"),
        (operand_not_waited_for, 4, r"the warpgroup_mma reads `smem` before the TMA load of line \d+", "sm_90"),
        (tensor_memory_read_too_soon, 4, r"the load reads `acc` before the tcgen05_mma of line \d+", "sm_100"),
        (tensor_core_still_reads, 4, r"the TMA load overwrites `smem` while the tcgen05_mma of line", "sm_100"),
        (tensor_core_left_in_flight, 4, "the program ends while the tcgen05_mma of `.*` is in flight", "sm_100"),
        (accumulates_into_nothing, 4, "the tcgen05_mma reads `acc`, but nothing was written there", "sm_100"),
    ]
]
