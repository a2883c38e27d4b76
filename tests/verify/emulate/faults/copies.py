"""Faults of cp.async: groups, rings, and mbarriers that follow copies."""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.ampere import async_copy, mbarrier

from tests.verify.emulate.faults import COPY, TILE, PlantedFault, at, sum_of_tiles

TURNED = gl.constexpr(gl.BlockedLayout([4, 1], [8, 4], [1, 4], [0, 1]))
PLAIN = gl.constexpr(gl.SwizzledSharedLayout(8, 1, 8, [1, 0]))


@gluon.jit
def copy_not_waited_for(x_ptr, out_ptr, n, BAD: gl.constexpr):
    smem = gl.allocate_shared_memory(gl.float16, [64, 64], PLAIN)
    acc = gl.zeros([64, 64], gl.float32, TILE)
    for i in range(n):
        COPY(smem, x_ptr + at(i * 64))
        async_copy.commit_group()
        if not BAD:
            async_copy.wait_group(0)
        acc += smem.load(TILE).to(gl.float32)  # reported
    gl.store(out_ptr + at(0), acc)


@gluon.jit
def copy_not_committed(x_ptr, out_ptr, n, BAD: gl.constexpr):
    smem = gl.allocate_shared_memory(gl.float16, [64, 64], PLAIN)
    acc = gl.zeros([64, 64], gl.float32, TILE)
    for i in range(n):
        COPY(smem, x_ptr + at(i * 64))
        if not BAD:
            async_copy.commit_group()
        async_copy.wait_group(0)
        acc += smem.load(TILE).to(gl.float32)  # reported
    gl.store(out_ptr + at(0), acc)


@gluon.jit
def one_group_too_few(x_ptr, out_ptr, n, BAD: gl.constexpr):
    smem = gl.allocate_shared_memory(gl.float16, [3, 64, 64], PLAIN)
    acc = gl.zeros([64, 64], gl.float32, TILE)
    for i in gl.static_range(2):
        COPY(smem.index(i), x_ptr + at(i * 64))
        async_copy.commit_group()
    for i in range(n):
        ahead = i + 2
        COPY(smem.index(ahead % 3), x_ptr + at(ahead * 64), mask=at(0) * 0 + ahead < n)
        async_copy.commit_group()
        async_copy.wait_group(3 if BAD else 2)
        acc += smem.index(i % 3).load(TILE).to(gl.float32)  # reported
    gl.store(out_ptr + at(0), acc)


@gluon.jit
def ring_too_short(x_ptr, out_ptr, n, BAD: gl.constexpr):
    SLOTS: gl.constexpr = 2 if BAD else 3
    smem = gl.allocate_shared_memory(gl.float16, [3, 64, 64], PLAIN)
    acc = gl.zeros([64, 64], gl.float32, TILE)
    for i in gl.static_range(2):
        COPY(smem.index(i), x_ptr + at(i * 64))
        async_copy.commit_group()
    for i in range(n):
        ahead = i + 2
        COPY(smem.index(ahead % SLOTS), x_ptr + at(ahead * 64), mask=at(0) * 0 + ahead < n)  # reported
        async_copy.commit_group()
        async_copy.wait_group(2)
        acc += smem.index(i % SLOTS).load(TILE).to(gl.float32)
    gl.store(out_ptr + at(0), acc)


@gluon.jit
def barrier_after_copies_not_waited_for(x_ptr, out_ptr, n, BAD: gl.constexpr):
    smem = gl.allocate_shared_memory(gl.float16, [64, 64], PLAIN)
    bar = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(bar, count=1)
    acc = gl.zeros([64, 64], gl.float32, TILE)
    for i in range(n):
        COPY(smem, x_ptr + at(i * 64))
        async_copy.mbarrier_arrive(bar)
        mbarrier.arrive(bar)
        if not BAD:
            mbarrier.wait(bar, i & 1)
        acc += smem.load(TILE).to(gl.float32)  # reported
    gl.store(out_ptr + at(0), acc)


@gluon.jit
def scratch_of_a_conversion(x_ptr, out_ptr, n, BAD: gl.constexpr):
    smem = gl.allocate_shared_memory(gl.float16, [2, 64, 64], PLAIN)
    acc = gl.zeros([64, 64], gl.float32, TILE)
    COPY(smem.index(0), x_ptr + at(0))
    async_copy.commit_group()
    for i in range(n):
        COPY(smem.index((i + 1) % 2), x_ptr + at(i * 64 + 64), mask=at(0) * 0 + i + 1 < n)
        async_copy.commit_group()
        async_copy.wait_group(1)
        acc += smem.index(i % 2).load(TILE).to(gl.float32)
    # The last copy brings zeros, but brings them.
    if not BAD:
        async_copy.wait_group(0)
    turned = gl.convert_layout(acc, TURNED)  # reported
    gl.store(out_ptr + gl.convert_layout(at(0), TURNED), turned)


_NEEDS_WAIT = (
    r"the load reads `smem.*` before the asynchronous copy of line \d+ has arrived: it needs a commit_group and"
)
FAULTS = [
    PlantedFault(kernel, sum_of_tiles(kernel, pointer=True), message, target)
    for kernel, message, target in [
        (copy_not_waited_for, _NEEDS_WAIT, "sm_80"),
        (copy_not_committed, _NEEDS_WAIT, "sm_80"),
        (one_group_too_few, _NEEDS_WAIT, "sm_80"),
        (ring_too_short, r"overwrites `smem\[0\]` while the asynchronous copy of line \d+ is in flight", "sm_80"),
        (barrier_after_copies_not_waited_for, _NEEDS_WAIT, "sm_80"),
        (scratch_of_a_conversion, "the scratch memory of the convert_layout may get the memory of `smem`", "sm_80"),
    ]
]
