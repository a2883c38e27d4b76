"""Faults of rings of tiles that show only in some of their turns: in the prologue, a short loop, the drain."""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.ampere import async_copy
from triton.experimental.gluon.language.nvidia.hopper import fence_async_shared, mbarrier, tma

from tests.verify.emulate.faults import COPY, LOAD, STORE, TILE, PlantedFault, at, copy_of_tile, sum_of_tiles

PLAIN = gl.constexpr(gl.SwizzledSharedLayout(8, 1, 8, [1, 0]))


@gluon.jit
def start(desc, i, ready, smem, slot, more):
    mbarrier.expect(ready.index(slot), desc.block_type.nbytes, pred=more)
    LOAD(desc, [i * 64, 0], ready.index(slot), smem.index(slot), pred=more)


@gluon.jit
def two_places(desc):
    smem = gl.allocate_shared_memory(desc.dtype, [2, 64, 64], desc.layout)
    ready = gl.allocate_shared_memory(gl.int64, [2, 1], mbarrier.MBarrierLayout())
    for i in gl.static_range(2):
        mbarrier.init(ready.index(i), count=1)
    return smem, ready


@gluon.jit
def wrong_phase_in_the_drain(desc, out_ptr, n, BAD: gl.constexpr):
    smem, ready = two_places(desc)
    start(desc, 0, ready, smem, 0, n > 0)
    acc = gl.zeros([64, 64], gl.float32, TILE)
    for i in range(n - 1):
        start(desc, i + 1, ready, smem, (i + 1) % 2, True)
        mbarrier.wait(ready.index(i % 2), (i // 2) & 1)
        acc += smem.index(i % 2).load(TILE).to(gl.float32)
    last = n - 1
    mbarrier.wait(ready.index(last % 2), ((last // 2) & 1) ^ 1 if BAD else (last // 2) & 1)
    acc += smem.index(last % 2).load(TILE).to(gl.float32)  # reported
    gl.store(out_ptr + at(0), acc)


@gluon.jit
def phase_of_another_depth(desc, out_ptr, n, BAD: gl.constexpr):
    smem = gl.allocate_shared_memory(desc.dtype, [3, 64, 64], desc.layout)
    ready = gl.allocate_shared_memory(gl.int64, [3, 1], mbarrier.MBarrierLayout())
    for i in gl.static_range(3):
        mbarrier.init(ready.index(i), count=1)
        start(desc, i, ready, smem, i, i < n)
    acc = gl.zeros([64, 64], gl.float32, TILE)
    for i in range(n):
        mbarrier.wait(ready.index(i % 3), (i // (2 if BAD else 3)) & 1)
        acc += smem.index(i % 3).load(TILE).to(gl.float32)  # reported
        start(desc, i + 3, ready, smem, i % 3, i + 3 < n)
    gl.store(out_ptr + at(0), acc)


@gluon.jit
def bytes_of_one_branch(desc, out_ptr, n, BAD: gl.constexpr):
    """Only the last of an odd number of tiles comes alone."""
    smem = gl.allocate_shared_memory(desc.dtype, [2, 64, 64], desc.layout)
    ready = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(ready, count=1)
    acc = gl.zeros([64, 64], gl.float32, TILE)
    for i in range(0, n, 2):
        if i + 1 < n:
            mbarrier.expect(ready, 2 * desc.block_type.nbytes)
            LOAD(desc, [i * 64, 0], ready, smem.index(0))
            LOAD(desc, [i * 64 + 64, 0], ready, smem.index(1))
        else:
            mbarrier.expect(ready, (2 if BAD else 1) * desc.block_type.nbytes)
            LOAD(desc, [i * 64, 0], ready, smem.index(0))
        mbarrier.wait(ready, (i // 2) & 1)  # reported
        acc += smem.index(0).load(TILE).to(gl.float32)
        if i + 1 < n:
            acc += smem.index(1).load(TILE).to(gl.float32)
    gl.store(out_ptr + at(0), acc)


@gluon.jit
def initialised_in_the_loop(desc, out_ptr, n, BAD: gl.constexpr):
    smem = gl.allocate_shared_memory(desc.dtype, [64, 64], desc.layout)
    ready = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    acc = gl.zeros([64, 64], gl.float32, TILE)
    for i in range(n):
        mbarrier.init(ready, count=1)
        mbarrier.expect(ready, desc.block_type.nbytes)
        LOAD(desc, [i * 64, 0], ready, smem)
        # A barrier that begins anew begins with phase 0.
        mbarrier.wait(ready, (i & 1) if BAD else 0)
        acc += smem.load(TILE).to(gl.float32)  # reported
        mbarrier.invalidate(ready)
    gl.store(out_ptr + at(0), acc)


@gluon.jit
def invalidated_one_step_early(desc, out_ptr, n, BAD: gl.constexpr):
    smem, ready = two_places(desc)
    acc = gl.zeros([64, 64], gl.float32, TILE)
    start(desc, 0, ready, smem, 0, True)
    for i in range(n):
        more = i + 1 < n
        start(desc, i + 1, ready, smem, (i + 1) % 2, more)
        mbarrier.wait(ready.index(i % 2), (i // 2) & 1)
        acc += smem.index(i % 2).load(TILE).to(gl.float32)
        if i == n - (2 if BAD else 1):
            mbarrier.invalidate(ready.index(0))
            mbarrier.invalidate(ready.index(1))  # reported
    gl.store(out_ptr + at(0), acc)


@gluon.jit
def waits_for_the_other_barrier(desc, out_ptr, n, BAD: gl.constexpr):
    smem, ready = two_places(desc)
    acc = gl.zeros([64, 64], gl.float32, TILE)
    for i in range(n // 2):
        start(desc, 2 * i, ready, smem, 0, True)
        start(desc, 2 * i + 1, ready, smem, 1, True)
        mbarrier.wait(ready.index(0), i & 1)
        acc += smem.index(0).load(TILE).to(gl.float32)
        mbarrier.wait(ready.index(0 if BAD else 1), i & 1)
        acc += smem.index(1).load(TILE).to(gl.float32)  # reported
    gl.store(out_ptr + at(0), acc)


@gluon.jit
def one_group_too_many_in_a_short_loop(x_ptr, out_ptr, n, BAD: gl.constexpr):
    """Groups are committed for tiles that there are alone, so that fewer than two are under way in the last steps."""
    smem = gl.allocate_shared_memory(gl.float16, [3, 64, 64], PLAIN)
    acc = gl.zeros([64, 64], gl.float32, TILE)
    for i in gl.static_range(2):
        if i < n:
            COPY(smem.index(i), x_ptr + at(i * 64))
        if i < n or not BAD:
            async_copy.commit_group()
    for i in range(n):
        async_copy.wait_group(1)
        acc += smem.index(i % 3).load(TILE).to(gl.float32)  # reported
        ahead = i + 2
        if ahead < n:
            COPY(smem.index(ahead % 3), x_ptr + at(ahead * 64))
        if ahead < n or not BAD:
            async_copy.commit_group()
    gl.store(out_ptr + at(0), acc)


@gluon.jit
def copied_into_what_is_read(x_ptr, out_ptr, n, BAD: gl.constexpr):
    """The refill goes to the place of this step, and not to that of the step before."""
    smem = gl.allocate_shared_memory(gl.float16, [2, 64, 64], PLAIN)
    acc = gl.zeros([64, 64], gl.float32, TILE)
    COPY(smem.index(0), x_ptr + at(0))
    async_copy.commit_group()
    for i in range(n):
        if i + 1 < n:
            COPY(smem.index((i if BAD else i + 1) % 2), x_ptr + at(i * 64 + 64))  # reported
        async_copy.commit_group()
        async_copy.wait_group(1)
        acc += smem.index(i % 2).load(TILE).to(gl.float32)
    gl.store(out_ptr + at(0), acc)


@gluon.jit
def second_half_not_fenced(x_ptr, desc, BAD: gl.constexpr):
    smem = gl.allocate_shared_memory(desc.dtype, [64, 64], desc.layout)
    TOP: gl.constexpr = gl.BlockedLayout([1, 4], [4, 8], [4, 1], [1, 0])
    r = gl.arange(0, 32, layout=gl.SliceLayout(1, TOP))
    c = gl.arange(0, 64, layout=gl.SliceLayout(0, TOP))
    for half in gl.static_range(2):
        x = gl.load(x_ptr + (half * 32 + r[:, None]) * 64 + c[None, :])
        smem.slice(half * 32, 32).store(x * 2)
        if half == 0 or not BAD:
            fence_async_shared()
    STORE(desc, [0, 0], smem)  # reported
    tma.store_wait(0)


@gluon.jit
def ring_of_stores_too_short(x_ptr, desc, BAD: gl.constexpr):
    """Two stores may be under way, so that the place of the third is the first one's."""
    smem = gl.allocate_shared_memory(desc.dtype, [2, 64, 64], desc.layout)
    for i in range(4):
        tma.store_wait(2 if BAD else 1)
        smem.index(i % 2).store(gl.load(x_ptr + at(i * 64)) * 2)  # reported
        fence_async_shared()
        STORE(desc, [i * 64, 0], smem.index(i % 2))
    tma.store_wait(0)


_EARLY = r"reads `smem.*` before the TMA load of line \d+ has arrived: it needs a wait for phase \d of `ready"
FAULTS = [
    *(
        PlantedFault(kernel, sum_of_tiles(kernel, tiles), message)
        for kernel, tiles, message in [
            (wrong_phase_in_the_drain, 4, _EARLY),
            (phase_of_another_depth, 8, _EARLY),
            (bytes_of_one_branch, 5, "can never end.*expect announced 16384 and copies of 8192.*wrong byte count"),
            (initialised_in_the_loop, 4, _EARLY),
            (invalidated_one_step_early, 4, r"`ready\[1\]` is invalidated while a copy that signals it is in flight"),
            (waits_for_the_other_barrier, 4, _EARLY),
        ]
    ),
    PlantedFault(
        one_group_too_many_in_a_short_loop,
        sum_of_tiles(one_group_too_many_in_a_short_loop, 1, pointer=True),
        "before the asynchronous copy of line",
        "sm_80",
    ),
    PlantedFault(
        copied_into_what_is_read,
        sum_of_tiles(copied_into_what_is_read, 4, pointer=True),
        "overwrites|reads `smem",
        "sm_80",
    ),
    PlantedFault(second_half_not_fenced, copy_of_tile(second_half_not_fenced), "without a fence_async_shared"),
    PlantedFault(
        ring_of_stores_too_short,
        copy_of_tile(ring_of_stores_too_short, 256),
        r"the store overwrites `smem\[0\]` while the TMA store of line \d+ still reads it",
    ),
]
