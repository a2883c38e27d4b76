"""Faults of TMA loads and of the mbarriers they signal."""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import fence_async_shared, mbarrier

from tests.verify.emulate.faults import LOAD, TILE, PlantedFault, at, sum_of_tiles


@gluon.jit
def load_not_waited_for(desc, out_ptr, n, BAD: gl.constexpr):
    smem = gl.allocate_shared_memory(desc.dtype, [64, 64], desc.layout)
    bar = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(bar, count=1)
    acc = gl.zeros([64, 64], gl.float32, TILE)
    for i in range(n):
        mbarrier.expect(bar, desc.block_type.nbytes)
        LOAD(desc, [i * 64, 0], bar, smem)
        if not BAD:
            mbarrier.wait(bar, i & 1)
        acc += smem.load(TILE).to(gl.float32)  # reported
    gl.store(out_ptr + at(0), acc)


@gluon.jit
def first_phase_is_one(desc, out_ptr, n, BAD: gl.constexpr):
    smem = gl.allocate_shared_memory(desc.dtype, [64, 64], desc.layout)
    bar = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(bar, count=1)
    acc = gl.zeros([64, 64], gl.float32, TILE)
    for i in range(n):
        mbarrier.expect(bar, desc.block_type.nbytes)
        LOAD(desc, [i * 64, 0], bar, smem)
        mbarrier.wait(bar, (i & 1) ^ (1 if BAD else 0))
        acc += smem.load(TILE).to(gl.float32)  # reported
    gl.store(out_ptr + at(0), acc)


@gluon.jit
def phase_does_not_flip(desc, out_ptr, n, BAD: gl.constexpr):
    smem = gl.allocate_shared_memory(desc.dtype, [64, 64], desc.layout)
    bar = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(bar, count=1)
    acc = gl.zeros([64, 64], gl.float32, TILE)
    for i in range(n):
        mbarrier.expect(bar, desc.block_type.nbytes)
        LOAD(desc, [i * 64, 0], bar, smem)
        mbarrier.wait(bar, 0 if BAD else i & 1)
        acc += smem.load(TILE).to(gl.float32)  # reported
    gl.store(out_ptr + at(0), acc)


@gluon.jit
def phase_from_the_loop_index(desc, out_ptr, n, BAD: gl.constexpr):
    smem = gl.allocate_shared_memory(desc.dtype, [3, 64, 64], desc.layout)
    bars = gl.allocate_shared_memory(gl.int64, [3, 1], mbarrier.MBarrierLayout())
    for slot in gl.static_range(3):
        mbarrier.init(bars.index(slot), count=1)
    acc = gl.zeros([64, 64], gl.float32, TILE)
    for i in range(n):
        s = i % 3
        mbarrier.expect(bars.index(s), desc.block_type.nbytes)
        LOAD(desc, [i * 64, 0], bars.index(s), smem.index(s))
        phase = i & 1 if BAD else (i // 3) & 1
        mbarrier.wait(bars.index(s), phase)
        acc += smem.index(s).load(TILE).to(gl.float32)  # reported
    gl.store(out_ptr + at(0), acc)


@gluon.jit
def phase_is_not_a_bit(desc, out_ptr, n, BAD: gl.constexpr):
    smem = gl.allocate_shared_memory(desc.dtype, [64, 64], desc.layout)
    bar = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(bar, count=1)
    acc = gl.zeros([64, 64], gl.float32, TILE)
    for i in range(n):
        mbarrier.expect(bar, desc.block_type.nbytes)
        LOAD(desc, [i * 64, 0], bar, smem)
        mbarrier.wait(bar, i if BAD else i & 1)  # reported
        acc += smem.load(TILE).to(gl.float32)
    gl.store(out_ptr + at(0), acc)


@gluon.jit
def too_few_bytes(desc, out_ptr, n, BAD: gl.constexpr):
    smem = gl.allocate_shared_memory(desc.dtype, [2, 64, 64], desc.layout)
    bar = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(bar, count=1)
    nbytes: gl.constexpr = desc.block_type.nbytes
    acc = gl.zeros([64, 64], gl.float32, TILE)
    for i in range(0, n, 2):
        mbarrier.expect(bar, nbytes if BAD else 2 * nbytes)
        LOAD(desc, [i * 64, 0], bar, smem.index(0))
        LOAD(desc, [i * 64 + 64, 0], bar, smem.index(1))  # reported
        mbarrier.wait(bar, (i // 2) & 1)
        acc += smem.index(0).load(TILE).to(gl.float32) + smem.index(1).load(TILE).to(gl.float32)
    gl.store(out_ptr + at(0), acc)


@gluon.jit
def too_many_bytes(desc, out_ptr, n, BAD: gl.constexpr):
    smem = gl.allocate_shared_memory(desc.dtype, [64, 64], desc.layout)
    bar = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(bar, count=1)
    acc = gl.zeros([64, 64], gl.float32, TILE)
    for i in range(n):
        mbarrier.expect(bar, desc.block_type.nbytes * (2 if BAD else 1))
        LOAD(desc, [i * 64, 0], bar, smem)
        mbarrier.wait(bar, i & 1)  # reported
        acc += smem.load(TILE).to(gl.float32)
    gl.store(out_ptr + at(0), acc)


@gluon.jit
def no_expect(desc, out_ptr, n, BAD: gl.constexpr):
    smem = gl.allocate_shared_memory(desc.dtype, [64, 64], desc.layout)
    bar = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(bar, count=1)
    acc = gl.zeros([64, 64], gl.float32, TILE)
    for i in range(n):
        if not BAD:
            mbarrier.expect(bar, desc.block_type.nbytes)
        LOAD(desc, [i * 64, 0], bar, smem)
        mbarrier.wait(bar, i & 1)  # reported
        acc += smem.load(TILE).to(gl.float32)
    gl.store(out_ptr + at(0), acc)


@gluon.jit
def two_expects(desc, out_ptr, n, BAD: gl.constexpr):
    smem = gl.allocate_shared_memory(desc.dtype, [64, 64], desc.layout)
    bar = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(bar, count=1)
    acc = gl.zeros([64, 64], gl.float32, TILE)
    half: gl.constexpr = desc.block_type.nbytes // 2
    for i in range(n):
        mbarrier.expect(bar, half if BAD else 2 * half)
        if BAD:
            mbarrier.expect(bar, half)  # reported
        LOAD(desc, [i * 64, 0], bar, smem)
        mbarrier.wait(bar, i & 1)
        acc += smem.load(TILE).to(gl.float32)
    gl.store(out_ptr + at(0), acc)


@gluon.jit
def count_too_high(desc, out_ptr, n, BAD: gl.constexpr):
    smem = gl.allocate_shared_memory(desc.dtype, [64, 64], desc.layout)
    bar = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(bar, count=2 if BAD else 1)
    acc = gl.zeros([64, 64], gl.float32, TILE)
    for i in range(n):
        mbarrier.expect(bar, desc.block_type.nbytes)
        LOAD(desc, [i * 64, 0], bar, smem)
        mbarrier.wait(bar, i & 1)  # reported
        acc += smem.load(TILE).to(gl.float32)
    gl.store(out_ptr + at(0), acc)


@gluon.jit
def barrier_not_initialised(desc, out_ptr, n, BAD: gl.constexpr):
    smem = gl.allocate_shared_memory(desc.dtype, [64, 64], desc.layout)
    bars = gl.allocate_shared_memory(gl.int64, [2, 1], mbarrier.MBarrierLayout())
    for s in gl.static_range(1 if BAD else 2):
        mbarrier.init(bars.index(s), count=1)
    acc = gl.zeros([64, 64], gl.float32, TILE)
    for i in range(n):
        mbarrier.expect(bars.index(i % 2), desc.block_type.nbytes)  # reported
        LOAD(desc, [i * 64, 0], bars.index(i % 2), smem)
        mbarrier.wait(bars.index(i % 2), (i // 2) & 1)
        acc += smem.load(TILE).to(gl.float32)
    gl.store(out_ptr + at(0), acc)


@gluon.jit
def barrier_not_invalidated(desc, out_ptr, n, BAD: gl.constexpr):
    smem = gl.allocate_shared_memory(desc.dtype, [64, 64], desc.layout)
    acc = gl.zeros([64, 64], gl.float32, TILE)
    for i in range(n):
        bar = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
        mbarrier.init(bar, count=1)  # reported
        mbarrier.expect(bar, desc.block_type.nbytes)
        LOAD(desc, [i * 64, 0], bar, smem)
        mbarrier.wait(bar, 0)
        if not BAD:
            mbarrier.invalidate(bar)
        acc += smem.load(TILE).to(gl.float32)
    gl.store(out_ptr + at(0), acc)


@gluon.jit
def memory_of_a_barrier(desc, out_ptr, n, BAD: gl.constexpr):
    smem = gl.allocate_shared_memory(desc.dtype, [64, 64], desc.layout)
    bar = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(bar, count=1)
    acc = gl.zeros([64, 64], gl.float32, TILE)
    for i in range(n):
        mbarrier.expect(bar, desc.block_type.nbytes)
        LOAD(desc, [i * 64, 0], bar, smem)
        mbarrier.wait(bar, i & 1)
        acc += smem.load(TILE).to(gl.float32)
    if not BAD:
        mbarrier.invalidate(bar)
    turned = gl.allocate_shared_memory(gl.float32, [64, 64], gl.SwizzledSharedLayout(1, 1, 1, [1, 0]))  # reported
    turned.store(acc)
    gl.store(out_ptr + at(0), turned.load(TILE))


@gluon.jit
def barrier_invalidated_too_soon(desc, out_ptr, n, BAD: gl.constexpr):
    smem = gl.allocate_shared_memory(desc.dtype, [64, 64], desc.layout)
    bar = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(bar, count=1)
    mbarrier.expect(bar, desc.block_type.nbytes)
    LOAD(desc, [0, 0], bar, smem)
    if not BAD:
        mbarrier.wait(bar, 0)
    mbarrier.invalidate(bar)  # reported
    gl.store(out_ptr + at(0), smem.load(TILE).to(gl.float32))


@gluon.jit
def load_left_in_flight(desc, out_ptr, n, BAD: gl.constexpr):
    smem = gl.allocate_shared_memory(desc.dtype, [2, 64, 64], desc.layout)
    bars = gl.allocate_shared_memory(gl.int64, [2, 1], mbarrier.MBarrierLayout())
    for slot in gl.static_range(2):
        mbarrier.init(bars.index(slot), count=1)
    mbarrier.expect(bars.index(0), desc.block_type.nbytes)
    LOAD(desc, [0, 0], bars.index(0), smem.index(0))
    acc = gl.zeros([64, 64], gl.float32, TILE)
    for i in range(n):
        s = (i + 1) % 2
        more = i + 1 < n
        if BAD:
            more = i + 1 <= n
        mbarrier.expect(bars.index(s), desc.block_type.nbytes, pred=more)
        LOAD(desc, [i * 64 + 64, 0], bars.index(s), smem.index(s), pred=more)  # reported
        mbarrier.wait(bars.index(i % 2), (i // 2) & 1)
        acc += smem.index(i % 2).load(TILE).to(gl.float32)
    gl.store(out_ptr + at(0), acc)


@gluon.jit
def load_into_a_store(desc, out_ptr, n, BAD: gl.constexpr):
    smem = gl.allocate_shared_memory(desc.dtype, [64, 64], desc.layout)
    bar = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(bar, count=1)
    smem.store(gl.zeros([64, 64], gl.float16, TILE))
    if not BAD:
        fence_async_shared()
    mbarrier.expect(bar, desc.block_type.nbytes)
    LOAD(desc, [0, 0], bar, smem)  # reported
    mbarrier.wait(bar, 0)
    gl.store(out_ptr + at(0), smem.load(TILE).to(gl.float32))


@gluon.jit
def memory_of_a_load(desc, out_ptr, n, BAD: gl.constexpr):
    smem = gl.allocate_shared_memory(desc.dtype, [64, 64], desc.layout)
    bar = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(bar, count=1)
    acc = gl.zeros([64, 64], gl.float32, TILE)
    for i in range(n + 1):
        mbarrier.expect(bar, desc.block_type.nbytes)
        LOAD(desc, [i * 64, 0], bar, smem)
        if i < n or not BAD:
            mbarrier.wait(bar, i & 1)
        if i < n:
            acc += smem.load(TILE).to(gl.float32)
    other = gl.allocate_shared_memory(gl.float32, [64, 64], gl.SwizzledSharedLayout(1, 1, 1, [1, 0]))
    other.store(acc)  # reported
    if BAD:
        mbarrier.wait(bar, n & 1)
    mbarrier.invalidate(bar)
    gl.store(out_ptr + at(0), other.load(TILE))


_EARLY = r"reads `smem.*` before the TMA load of line \d+ has arrived: it needs a wait for phase \d of `bar"
FAULTS = [
    PlantedFault(kernel, sum_of_tiles(kernel, tiles), message)
    for kernel, tiles, message in [
        (load_not_waited_for, 4, _EARLY),
        (first_phase_is_one, 4, _EARLY),
        (phase_does_not_flip, 4, _EARLY),
        (phase_from_the_loop_index, 8, _EARLY),
        (phase_is_not_a_bit, 4, "a wait for phase 2 of `bar`: a phase is 0 or 1"),
        (too_few_bytes, 4, "wrong byte count: copies of 16384 bytes were started.*expect announced 8192"),
        (too_many_bytes, 4, "can never end.*expect announced 16384 and copies of 8192.*wrong byte count"),
        (no_expect, 4, "can never end: it misses 1 of 1 arrivals and an expect for the 8192 bytes"),
        (two_expects, 4, "1 arrivals on `bar`, but its phase waits for 0 of 1"),
        (count_too_high, 4, "can never end: it misses 1 of 2 arrivals"),
        (barrier_not_initialised, 4, r"expect uses `bars\[1\]`, which is not an initialised mbarrier"),
        (barrier_not_invalidated, 4, r"`bar` is initialised again, though it is an mbarrier since line \d+"),
        (memory_of_a_barrier, 4, "`turned` may get the memory of `bar`.*it needs an invalidate"),
        (barrier_invalidated_too_soon, 1, "`bar` is invalidated while a copy that signals it is in flight"),
        (load_left_in_flight, 4, "the program ends while the TMA load of `smem` is in flight"),
        (memory_of_a_load, 4, r"`other` may get the memory of `smem`.* while the TMA load of line \d+ still writes it"),
        (load_into_a_store, 1, "the TMA load goes to `smem` without a fence_async_shared"),
    ]
]
