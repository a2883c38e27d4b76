"""Faults of global memory within a program: under way, of another partition, through the other proxy."""

import torch
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.ampere import async_copy
from triton.experimental.gluon.language.nvidia.hopper import fence_async_shared, mbarrier, tma

from tests.verify.emulate.faults import COPY, LOAD, STORE, TILE, PlantedFault, at, descriptor, matrix

HAS_FULL_WAIT = gl.constexpr(hasattr(tma, "async_store"))


@gluon.jit
def synchronize():
    """All threads of the partition; the name changed."""
    if hasattr(gl, "barrier"):
        gl.barrier()
    else:
        gl.thread_barrier()


@gluon.jit
def fence_global():
    """What threads stored to global memory is visible to the TMA."""
    gl.inline_asm_elementwise(
        "fence.proxy.async.global; // $0 has no value", "=r", [], dtype=gl.int32, is_pure=False, pack=1
    )
    synchronize()


@gluon.jit
def doubled_in_place(desc, x_ptr, out_ptr, BAD: gl.constexpr):
    smem = gl.allocate_shared_memory(desc.dtype, [64, 64], desc.layout)
    bar = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(bar, count=1)
    gl.store(x_ptr + at(0), gl.load(x_ptr + at(0)) * 2)
    if BAD:
        fence_async_shared()
    else:
        fence_global()
    mbarrier.expect(bar, desc.block_type.nbytes)
    LOAD(desc, [0, 0], bar, smem)  # reported
    mbarrier.wait(bar, 0)
    gl.store(out_ptr + at(0), smem.load(TILE))


@gluon.jit
def fenced_too_soon(desc, x_ptr, out_ptr, BAD: gl.constexpr):
    smem = gl.allocate_shared_memory(desc.dtype, [64, 64], desc.layout)
    bar = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(bar, count=1)
    x = gl.load(x_ptr + at(0)) * 2
    if BAD:
        fence_global()
    gl.store(x_ptr + at(0), x)
    if not BAD:
        fence_global()
    mbarrier.expect(bar, desc.block_type.nbytes)
    LOAD(desc, [0, 0], bar, smem)  # reported
    mbarrier.wait(bar, 0)
    gl.store(out_ptr + at(0), smem.load(TILE))


@gluon.jit
def stored_while_loaded(desc, x_ptr, out_ptr, BAD: gl.constexpr):
    smem = gl.allocate_shared_memory(desc.dtype, [64, 64], desc.layout)
    bar = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(bar, count=1)
    x = gl.load(x_ptr + at(0))
    mbarrier.expect(bar, desc.block_type.nbytes)
    LOAD(desc, [0, 0], bar, smem)
    if not BAD:
        mbarrier.wait(bar, 0)
    gl.store(x_ptr + at(0), gl.zeros([64, 64], gl.float16, TILE))  # reported
    if BAD:
        mbarrier.wait(bar, 0)
    gl.store(out_ptr + at(0), smem.load(TILE) + x)


@gluon.jit
def stored_while_copied(desc, x_ptr, out_ptr, BAD: gl.constexpr):
    smem = gl.allocate_shared_memory(gl.float16, [64, 64], gl.SwizzledSharedLayout(8, 1, 8, [1, 0]))
    COPY(smem, x_ptr + at(0))
    async_copy.commit_group()
    if not BAD:
        async_copy.wait_group(0)
    gl.store(x_ptr + at(0), gl.zeros([64, 64], gl.float16, TILE))  # reported
    async_copy.wait_group(0)
    x = smem.load(TILE)
    gl.store(out_ptr + at(0), x * 2)


@gluon.jit
def stored_over_a_store(desc, x_ptr, out_ptr, BAD: gl.constexpr):
    smem = gl.allocate_shared_memory(desc.dtype, [64, 64], desc.layout)
    x = gl.load(x_ptr + at(0))
    smem.store(gl.zeros([64, 64], gl.float16, TILE))
    fence_async_shared()
    STORE(desc, [0, 0], smem)
    if BAD or not HAS_FULL_WAIT:
        tma.store_wait(0)
    else:
        tma.store_wait(0, read_only=False)
    gl.store(x_ptr + at(0), x * 2)  # reported
    gl.store(out_ptr + at(0), x * 2)


@gluon.jit
def two_stores_to_a_tile(desc, x_ptr, out_ptr, BAD: gl.constexpr):
    smem = gl.allocate_shared_memory(desc.dtype, [2, 64, 64], desc.layout)
    x = gl.load(x_ptr + at(0))
    smem.index(0).store(x)
    smem.index(1).store(x * 2)
    fence_async_shared()
    STORE(desc, [0, 0], smem.index(0))
    if not BAD and HAS_FULL_WAIT:
        tma.store_wait(0, read_only=False)
    STORE(desc, [0, 0], smem.index(1))  # reported
    tma.store_wait(0)
    gl.store(out_ptr + at(0), x * 2)


@gluon.jit
def giver(x_ptr, out_ptr, bar, BAD: gl.constexpr):
    gl.store(x_ptr + at(0), gl.load(x_ptr + at(0)) * 2)
    mbarrier.arrive(bar, count=1)


@gluon.jit
def taker(x_ptr, out_ptr, bar, BAD: gl.constexpr):
    mbarrier.wait(bar, 0, pred=not BAD)
    gl.store(out_ptr + at(0), gl.load(x_ptr + at(0)))  # reported: taken_through_global_memory


@gluon.jit
def taken_through_global_memory(desc, x_ptr, out_ptr, BAD: gl.constexpr):
    bar = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(bar, count=1)
    gl.warp_specialize([(giver, (x_ptr, out_ptr, bar, BAD)), (taker, (x_ptr, out_ptr, bar, BAD))], [4], [48])


@gluon.jit
def unfenced_giver(desc, x_ptr, out_ptr, smem, bar, stored, BAD: gl.constexpr):
    gl.store(x_ptr + at(0), gl.load(x_ptr + at(0)) * 2)
    if not BAD:
        fence_global()
    mbarrier.arrive(stored, count=1)
    mbarrier.wait(bar, 0)
    gl.store(out_ptr + at(0), smem.load(TILE))


@gluon.jit
def tma_taker(desc, x_ptr, out_ptr, smem, bar, stored, BAD: gl.constexpr):
    mbarrier.expect(bar, desc.block_type.nbytes)
    mbarrier.wait(stored, 0)
    LOAD(desc, [0, 0], bar, smem)  # reported: taken_by_the_tma


@gluon.jit
def taken_by_the_tma(desc, x_ptr, out_ptr, BAD: gl.constexpr):
    smem = gl.allocate_shared_memory(desc.dtype, [64, 64], desc.layout)
    bar = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    stored = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(bar, count=1)
    mbarrier.init(stored, count=1)
    arguments = (desc, x_ptr, out_ptr, smem, bar, stored, BAD)
    gl.warp_specialize([(unfenced_giver, arguments), (tma_taker, arguments)], [1], [24])


@gluon.jit
def early_writer(x_ptr, out_ptr, bar, BAD: gl.constexpr):
    mbarrier.wait(bar, 0, pred=not BAD)
    gl.store(x_ptr + at(0), gl.zeros([64, 64], gl.float16, TILE))


@gluon.jit
def late_reader(x_ptr, out_ptr, bar, BAD: gl.constexpr):
    x = gl.load(x_ptr + at(0))  # reported: overwritten_before_it_is_read
    gl.store(out_ptr + at(0), x * 2)
    mbarrier.arrive(bar, count=1)


@gluon.jit
def overwritten_before_it_is_read(desc, x_ptr, out_ptr, BAD: gl.constexpr):
    bar = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(bar, count=1)
    arguments = (x_ptr, out_ptr, bar, BAD)
    gl.warp_specialize([(early_writer, arguments), (late_reader, arguments)], [4], [48])


@gluon.jit
def tma_giver(desc, x_ptr, out_ptr, smem, bar, stored, BAD: gl.constexpr):
    smem.index(0).store(gl.load(x_ptr + at(0)) * 2)
    fence_async_shared()
    STORE(desc, [0, 0], smem.index(0))
    if BAD or not HAS_FULL_WAIT:
        tma.store_wait(0)
    else:
        tma.store_wait(0, read_only=False)
    mbarrier.arrive(stored, count=1)
    mbarrier.wait(bar, 0)
    gl.store(out_ptr + at(0), smem.index(1).load(TILE))


@gluon.jit
def tma_reader(desc, x_ptr, out_ptr, smem, bar, stored, BAD: gl.constexpr):
    mbarrier.expect(bar, desc.block_type.nbytes)
    mbarrier.wait(stored, 0)
    LOAD(desc, [0, 0], bar, smem.index(1))  # reported: given_by_the_tma


@gluon.jit
def given_by_the_tma(desc, x_ptr, out_ptr, BAD: gl.constexpr):
    smem = gl.allocate_shared_memory(desc.dtype, [2, 64, 64], desc.layout)
    bar = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    stored = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(bar, count=1)
    mbarrier.init(stored, count=1)
    arguments = (desc, x_ptr, out_ptr, smem, bar, stored, BAD)
    gl.warp_specialize([(tma_giver, arguments), (tma_reader, arguments)], [1], [24])


def _doubled(kernel):
    """Launches a kernel (descriptor of a tile, pointer to it, pointer to the result, BAD) that doubles the tile."""

    def launch(bad):
        x, out = matrix(), torch.zeros(64, 64, dtype=torch.float16)
        expected = x * 2
        kernel[(1,)](descriptor(x), x, out, BAD=bad)
        return out, expected

    return launch


_UNFENCED = r"the TMA load reads what the store of line \d+ writes through the generic proxy: it needs a fence.proxy"
FAULTS = [
    PlantedFault(kernel, _doubled(kernel), message, since=since)
    for kernel, message, since in [
        (doubled_in_place, _UNFENCED, "3.6"),
        (fenced_too_soon, _UNFENCED, "3.6"),
        (stored_while_loaded, r"the store overwrites what the TMA load of line \d+ still reads", "3.6"),
        (stored_while_copied, r"the store overwrites what the asynchronous copy of line \d+ still reads", "3.6"),
        (stored_over_a_store, r"the store overwrites what the TMA store of line \d+ writes: it needs a tma", "3.8"),
        (two_stores_to_a_tile, r"the TMA store overwrites what the TMA store of line \d+ writes", "3.8"),
        (taken_through_global_memory, r"what the store at line \d+ \(partition .*\) writes, and nothing orders", "3.6"),
        (taken_by_the_tma, _UNFENCED, "3.6"),
        (
            overwritten_before_it_is_read,
            r"the load reads what the store at line \d+ \(partition default\) writes",
            "3.6",
        ),
        (given_by_the_tma, r"the TMA load reads what the TMA store of line \d+ writes: it needs a tma", "3.8"),
    ]
]
