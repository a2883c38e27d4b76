"""Faults between the partitions of a warp_specialize."""

import torch
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import (
    fence_async_shared,
    mbarrier,
    tma,
    warpgroup_mma,
    warpgroup_mma_wait,
)

from tests.verify.emulate.faults import (
    ACC,
    LOAD,
    STORE,
    TILE,
    PlantedFault,
    at,
    copy_of_tile,
    sum_of_squares,
    sum_of_tiles,
)

SLOTS = gl.constexpr(2)
NO_WAIT_FOR_EMPTY = gl.constexpr(1)
NO_WAIT_FOR_FULL = gl.constexpr(2)
NO_ARRIVAL = gl.constexpr(3)
WAITS_FOR_FULL = gl.constexpr(4)
LINE = gl.constexpr(gl.BlockedLayout([1], [32], [4], [0]))


@gluon.jit
def ring(desc):
    smem = gl.allocate_shared_memory(desc.dtype, [SLOTS, 64, 64], desc.layout)
    full = gl.allocate_shared_memory(gl.int64, [SLOTS, 1], mbarrier.MBarrierLayout())
    empty = gl.allocate_shared_memory(gl.int64, [SLOTS, 1], mbarrier.MBarrierLayout())
    for s in gl.static_range(SLOTS):
        mbarrier.init(full.index(s), count=1)
        mbarrier.init(empty.index(s), count=1)
    return smem, full, empty


@gluon.jit
def producer(desc, out_ptr, n, smem, full, empty, FAULT: gl.constexpr):
    for i in range(n):
        s = i % SLOTS
        phase = (i // SLOTS) & 1
        if FAULT == NO_WAIT_FOR_EMPTY:
            mbarrier.wait(empty.index(s), phase ^ 1, pred=i < SLOTS)
        elif FAULT == WAITS_FOR_FULL:
            mbarrier.wait(full.index(s), phase ^ 1)
        else:
            mbarrier.wait(empty.index(s), phase ^ 1)
        mbarrier.expect(full.index(s), desc.block_type.nbytes)  # reported: expected_too_soon
        LOAD(desc, [i * 64, 0], full.index(s), smem.index(s))  # reported: refilled_too_soon


@gluon.jit
def adder(desc, out_ptr, n, smem, full, empty, FAULT: gl.constexpr):
    acc = gl.zeros([64, 64], gl.float32, TILE)
    for i in range(n):
        s = i % SLOTS
        mbarrier.wait(full.index(s), (i // SLOTS) & 1, pred=FAULT != NO_WAIT_FOR_FULL)  # reported: never_released
        acc += smem.index(s).load(TILE).to(gl.float32)  # reported: taken_too_soon
        mbarrier.arrive(empty.index(s), count=1, pred=FAULT != NO_ARRIVAL)
    gl.store(out_ptr + at(0), acc)


@gluon.jit
def expected_too_soon(desc, out_ptr, n, BAD: gl.constexpr):
    FAULT: gl.constexpr = NO_WAIT_FOR_EMPTY if BAD else 0
    smem, full, empty = ring(desc)
    gl.warp_specialize(
        [
            (adder, (desc, out_ptr, n, smem, full, empty, FAULT)),
            (producer, (desc, out_ptr, n, smem, full, empty, FAULT)),
        ],
        [1],
        [24],
    )


@gluon.jit
def refilled_too_soon(desc, out_ptr, n, BAD: gl.constexpr):
    FAULT: gl.constexpr = WAITS_FOR_FULL if BAD else 0
    smem, full, empty = ring(desc)
    gl.warp_specialize(
        [
            (adder, (desc, out_ptr, n, smem, full, empty, FAULT)),
            (producer, (desc, out_ptr, n, smem, full, empty, FAULT)),
        ],
        [1],
        [24],
    )


@gluon.jit
def taken_too_soon(desc, out_ptr, n, BAD: gl.constexpr):
    FAULT: gl.constexpr = NO_WAIT_FOR_FULL if BAD else 0
    smem, full, empty = ring(desc)
    gl.warp_specialize(
        [
            (adder, (desc, out_ptr, n, smem, full, empty, FAULT)),
            (producer, (desc, out_ptr, n, smem, full, empty, FAULT)),
        ],
        [1],
        [24],
    )


@gluon.jit
def never_released(desc, out_ptr, n, BAD: gl.constexpr):
    FAULT: gl.constexpr = NO_ARRIVAL if BAD else 0
    smem, full, empty = ring(desc)
    gl.warp_specialize(
        [
            (adder, (desc, out_ptr, n, smem, full, empty, FAULT)),
            (producer, (desc, out_ptr, n, smem, full, empty, FAULT)),
        ],
        [1],
        [24],
    )


@gluon.jit
def late_producer(desc, out_ptr, n, smem, full, empty, FIRST: gl.constexpr):
    for i in range(n):
        s = i % SLOTS
        mbarrier.wait(empty.index(s), ((i // SLOTS) & 1) ^ FIRST)
        mbarrier.expect(full.index(s), desc.block_type.nbytes)
        LOAD(desc, [i * 64, 0], full.index(s), smem.index(s))


@gluon.jit
def late_adder(desc, out_ptr, n, smem, full, empty, FIRST: gl.constexpr):
    acc = gl.zeros([64, 64], gl.float32, TILE)
    for i in range(n):
        s = i % SLOTS
        mbarrier.wait(full.index(s), (i // SLOTS) & 1)  # reported: first_wait_for_empty_blocks
        acc += smem.index(s).load(TILE).to(gl.float32)
        mbarrier.arrive(empty.index(s), count=1)
    gl.store(out_ptr + at(0), acc)


@gluon.jit
def first_wait_for_empty_blocks(desc, out_ptr, n, BAD: gl.constexpr):
    FIRST: gl.constexpr = 0 if BAD else 1
    smem, full, empty = ring(desc)
    arguments = (desc, out_ptr, n, smem, full, empty, FIRST)
    gl.warp_specialize([(late_adder, arguments), (late_producer, arguments)], [1], [24])


@gluon.jit
def plain_producer(desc, out_ptr, n, smem, full, empty, EARLY: gl.constexpr):
    for i in range(n):
        s = i % SLOTS
        mbarrier.wait(empty.index(s), ((i // SLOTS) & 1) ^ 1)
        mbarrier.expect(full.index(s), desc.block_type.nbytes)
        LOAD(desc, [i * 64, 0], full.index(s), smem.index(s))  # reported: released_while_in_use


@gluon.jit
def multiplier(desc, out_ptr, n, smem, full, empty, EARLY: gl.constexpr):
    acc = gl.zeros([64, 64], gl.float32, ACC)
    for i in range(n):
        s = i % SLOTS
        mbarrier.wait(full.index(s), (i // SLOTS) & 1)
        acc = warpgroup_mma(smem.index(s), smem.index(s), acc, is_async=True)
        if EARLY:
            mbarrier.arrive(empty.index(s), count=1)
        acc = warpgroup_mma_wait(num_outstanding=0, deps=(acc,))
        if not EARLY:
            mbarrier.arrive(empty.index(s), count=1)
    gl.store(out_ptr + at(0), gl.convert_layout(acc, TILE))


@gluon.jit
def released_while_in_use(desc, out_ptr, n, BAD: gl.constexpr):
    smem, full, empty = ring(desc)
    arguments = (desc, out_ptr, n, smem, full, empty, BAD)
    gl.warp_specialize([(multiplier, arguments), (plain_producer, arguments)], [1], [24])


@gluon.jit
def writer(x_ptr, desc, smem, bar, BAD: gl.constexpr):
    smem.store(gl.load(x_ptr + at(0)) * 2)
    fence_async_shared()
    mbarrier.arrive(bar, count=1)


@gluon.jit
def sender(x_ptr, desc, smem, bar, BAD: gl.constexpr):
    mbarrier.wait(bar, 0, pred=not BAD)
    STORE(desc, [0, 0], smem)  # reported: nothing_orders_them
    tma.store_wait(pendings=0)


@gluon.jit
def nothing_orders_them(x_ptr, desc, BAD: gl.constexpr):
    smem = gl.allocate_shared_memory(desc.dtype, [64, 64], desc.layout)
    bar = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(bar, count=1)
    gl.warp_specialize([(writer, (x_ptr, desc, smem, bar, BAD)), (sender, (x_ptr, desc, smem, bar, BAD))], [1], [24])


@gluon.jit
def careless_writer(x_ptr, desc, smem, bar, BAD: gl.constexpr):
    smem.store(gl.load(x_ptr + at(0)) * 2)
    if not BAD:
        fence_async_shared()
    mbarrier.arrive(bar, count=1)


@gluon.jit
def late_sender(x_ptr, desc, smem, bar, BAD: gl.constexpr):
    mbarrier.wait(bar, 0)
    STORE(desc, [0, 0], smem)  # reported: not_fenced_across_partitions
    tma.store_wait(pendings=0)


@gluon.jit
def not_fenced_across_partitions(x_ptr, desc, BAD: gl.constexpr):
    smem = gl.allocate_shared_memory(desc.dtype, [64, 64], desc.layout)
    bar = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(bar, count=1)
    arguments = (x_ptr, desc, smem, bar, BAD)
    gl.warp_specialize([(careless_writer, arguments), (late_sender, arguments)], [1], [24])


@gluon.jit
def idle(out_ptr, BAD: gl.constexpr):
    gl.store(out_ptr + gl.arange(0, 128, layout=LINE), gl.full([128], 1, gl.int32, LINE))


@gluon.jit
def counter(out_ptr, BAD: gl.constexpr):
    total = gl.program_id(0) + 2
    if BAD:
        return total  # reported: result_of_a_worker
    gl.store(out_ptr + 128, total)


@gluon.jit
def result_of_a_worker(out_ptr, BAD: gl.constexpr):
    gl.warp_specialize([(idle, (out_ptr, BAD)), (counter, (out_ptr, BAD))], [1], [24])


def _result_of_a_worker(bad):
    out = torch.zeros(129, dtype=torch.int32)
    result_of_a_worker[(1,)](out, BAD=bad)
    return out, torch.tensor([1] * 128 + [2], dtype=torch.int32)


FAULTS = [
    PlantedFault(
        expected_too_soon, sum_of_tiles(expected_too_soon), r"1 arrivals on `full\[0\]`, but its phase waits for 0"
    ),
    PlantedFault(
        refilled_too_soon, sum_of_tiles(refilled_too_soon), r"the TMA load writes `smem\[0\]` and nothing orders"
    ),
    PlantedFault(taken_too_soon, sum_of_tiles(taken_too_soon), "the load reads `smem"),
    PlantedFault(
        never_released, sum_of_tiles(never_released), "can never end.*partition producer: the wait for phase 0 of"
    ),
    PlantedFault(
        first_wait_for_empty_blocks, sum_of_tiles(first_wait_for_empty_blocks), "can never end.*partition late_producer"
    ),
    PlantedFault(
        released_while_in_use,
        sum_of_squares(released_while_in_use),
        r"while the warpgroup_mma of line \d+ still reads it",
    ),
    PlantedFault(nothing_orders_them, copy_of_tile(nothing_orders_them), "the TMA store"),
    PlantedFault(
        not_fenced_across_partitions, copy_of_tile(not_fenced_across_partitions), "`smem` without a fence_async_shared"
    ),
    PlantedFault(
        result_of_a_worker, _result_of_a_worker, "a worker of warp_specialize returns a value, and it is lost"
    ),
]
