"""Faults of handing something to another partition: too early, for another one, without an order."""

import torch
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.ampere import async_copy
from triton.experimental.gluon.language.nvidia.hopper import fence_async_shared, mbarrier, tma

from tests.verify.emulate.faults import (
    COPY,
    LOAD,
    STORE,
    TILE,
    PlantedFault,
    S,
    at,
    copy_of_tile,
    descriptor,
    matrix,
    sum_of_tiles,
)
from tests.verify.emulate.faults.releases import SLOTS, places, quick_loader, two_sums


@gluon.jit
def arrives_twice(desc, out_ptr, n, smem, full, empty, BAD: gl.constexpr):
    acc = gl.zeros([64, 64], gl.float32, TILE)
    for i in range(n):
        s = i % SLOTS
        mbarrier.wait(full.index(s), (i // SLOTS) & 1)
        acc += smem.index(s).load(TILE).to(gl.float32)
        mbarrier.arrive(empty.index(s), count=1)
        mbarrier.arrive(empty.index(s), count=1, pred=BAD)
    gl.store(out_ptr + at(0), acc)


@gluon.jit
def does_not_arrive(desc, out_ptr, n, smem, full, empty, BAD: gl.constexpr):
    acc = gl.zeros([64, 64], gl.float32, TILE)
    for i in range(n):
        s = i % SLOTS
        mbarrier.wait(full.index(s), (i // SLOTS) & 1)
        acc += smem.index(s).load(TILE).to(gl.float32)  # reported: arrives_for_the_other
        mbarrier.arrive(empty.index(s), count=1, pred=not BAD)
    gl.store(out_ptr + at(64), acc)


@gluon.jit
def arrives_for_the_other(desc, out_ptr, n, BAD: gl.constexpr):
    smem, full, empty = places(desc, 1, 2)
    arguments = (desc, out_ptr, n, smem, full, empty, BAD)
    gl.warp_specialize(
        [(arrives_twice, arguments), (quick_loader, arguments), (does_not_arrive, arguments)], [1, 4], [24, 24]
    )


@gluon.jit
def copier(x_ptr, out_ptr, n, smem, full, empty, BAD: gl.constexpr):
    for i in range(n):
        s = i % SLOTS
        mbarrier.wait(empty.index(s), (i // SLOTS) & 1 ^ 1)
        COPY(smem.index(s), x_ptr + at(i * 64))
        async_copy.commit_group()
        if not BAD:
            async_copy.wait_group(0)
        mbarrier.arrive(full.index(s), count=1)


@gluon.jit
def summer(x_ptr, out_ptr, n, smem, full, empty, BAD: gl.constexpr):
    acc = gl.zeros([64, 64], gl.float32, TILE)
    for i in range(n):
        s = i % SLOTS
        mbarrier.wait(full.index(s), (i // SLOTS) & 1)
        acc += smem.index(s).load(TILE).to(gl.float32)  # reported: arrives_before_its_copies
        mbarrier.arrive(empty.index(s), count=1)
    gl.store(out_ptr + at(0), acc)


@gluon.jit
def arrives_before_its_copies(x_ptr, out_ptr, n, BAD: gl.constexpr):
    smem = gl.allocate_shared_memory(gl.float16, [SLOTS, 64, 64], gl.SwizzledSharedLayout(8, 1, 8, [1, 0]))
    full = gl.allocate_shared_memory(gl.int64, [SLOTS, 1], mbarrier.MBarrierLayout())
    empty = gl.allocate_shared_memory(gl.int64, [SLOTS, 1], mbarrier.MBarrierLayout())
    for s in gl.static_range(SLOTS):
        mbarrier.init(full.index(s), count=1)
        mbarrier.init(empty.index(s), count=1)
    arguments = (x_ptr, out_ptr, n, smem, full, empty, BAD)
    gl.warp_specialize([(summer, arguments), (copier, arguments)], [4], [48])


@gluon.jit
def fill(x_ptr, desc, smem, full, empty, BAD: gl.constexpr):
    for i in range(3):
        mbarrier.wait(empty, (i & 1) ^ 1)
        smem.store(gl.load(x_ptr + at(i * 64)) * 2)  # reported: released_while_sent
        fence_async_shared()
        mbarrier.arrive(full, count=1)


@gluon.jit
def send(x_ptr, desc, smem, full, empty, BAD: gl.constexpr):
    for i in range(3):
        mbarrier.wait(full, i & 1)
        STORE(desc, [i * 64, 0], smem)
        if not BAD:
            tma.store_wait(0)
        mbarrier.arrive(empty, count=1)
    tma.store_wait(0)


@gluon.jit
def released_while_sent(x_ptr, desc, BAD: gl.constexpr):
    smem = gl.allocate_shared_memory(desc.dtype, [64, 64], desc.layout)
    full = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    empty = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(full, count=1)
    mbarrier.init(empty, count=1)
    arguments = (x_ptr, desc, smem, full, empty, BAD)
    gl.warp_specialize([(fill, arguments), (send, arguments)], [1], [24])


@gluon.jit
def arrives_and_fences(x_ptr, desc, smem, full, empty, BAD: gl.constexpr):
    for i in range(3):
        mbarrier.wait(empty, (i & 1) ^ 1)
        smem.store(gl.load(x_ptr + at(i * 64)) * 2)
        if not BAD:
            fence_async_shared()
        mbarrier.arrive(full, count=1)
        if BAD:
            fence_async_shared()


@gluon.jit
def sends(x_ptr, desc, smem, full, empty, BAD: gl.constexpr):
    for i in range(3):
        mbarrier.wait(full, i & 1)
        STORE(desc, [i * 64, 0], smem)  # reported: fenced_after_the_arrival
        tma.store_wait(0)
        mbarrier.arrive(empty, count=1)


@gluon.jit
def fenced_after_the_arrival(x_ptr, desc, BAD: gl.constexpr):
    smem = gl.allocate_shared_memory(desc.dtype, [64, 64], desc.layout)
    full = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    empty = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(full, count=1)
    mbarrier.init(empty, count=1)
    arguments = (x_ptr, desc, smem, full, empty, BAD)
    gl.warp_specialize([(arrives_and_fences, arguments), (sends, arguments)], [1], [24])


@gluon.jit
def stores_alone(x_ptr, desc, smem, full, empty, BAD: gl.constexpr):
    for i in range(3):
        mbarrier.wait(empty, (i & 1) ^ 1)
        smem.store(gl.load(x_ptr + at(i * 64)) * 2)
        mbarrier.arrive(full, count=1)


@gluon.jit
def fences_and_sends(x_ptr, desc, smem, full, empty, BAD: gl.constexpr):
    for i in range(3):
        if BAD:
            fence_async_shared()
        mbarrier.wait(full, i & 1)
        if not BAD:
            fence_async_shared()
        STORE(desc, [i * 64, 0], smem)  # reported: fenced_before_the_wait
        tma.store_wait(0)
        mbarrier.arrive(empty, count=1)


@gluon.jit
def fenced_before_the_wait(x_ptr, desc, BAD: gl.constexpr):
    smem = gl.allocate_shared_memory(desc.dtype, [64, 64], desc.layout)
    full = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    empty = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(full, count=1)
    mbarrier.init(empty, count=1)
    arguments = (x_ptr, desc, smem, full, empty, BAD)
    gl.warp_specialize([(stores_alone, arguments), (fences_and_sends, arguments)], [1], [24])


@gluon.jit
def init_reader(desc, out_ptr, n, smem, full, BAD: gl.constexpr):
    if BAD:
        mbarrier.init(full, count=1)
    mbarrier.wait(full, 0)
    gl.store(out_ptr + at(0), smem.load(TILE).to(gl.float32))


@gluon.jit
def init_loader(desc, out_ptr, n, smem, full, BAD: gl.constexpr):
    mbarrier.expect(full, desc.block_type.nbytes)  # reported: initialised_by_a_partition
    LOAD(desc, [0, 0], full, smem)


@gluon.jit
def initialised_by_a_partition(desc, out_ptr, n, BAD: gl.constexpr):
    smem = gl.allocate_shared_memory(desc.dtype, [64, 64], desc.layout)
    full = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    if not BAD:
        mbarrier.init(full, count=1)
    arguments = (desc, out_ptr, n, smem, full, BAD)
    gl.warp_specialize([(init_reader, arguments), (init_loader, arguments)], [1], [24])


@gluon.jit
def inval_reader(desc, out_ptr, n, smem, full, empty, BAD: gl.constexpr):
    mbarrier.wait(full, 0)
    x = smem.load(TILE).to(gl.float32)
    mbarrier.arrive(empty, count=1)
    if BAD:
        mbarrier.invalidate(empty)  # reported: invalidated_by_another
    gl.store(out_ptr + at(0), x)


@gluon.jit
def inval_loader(desc, out_ptr, n, smem, full, empty, BAD: gl.constexpr):
    mbarrier.expect(full, desc.block_type.nbytes)
    LOAD(desc, [0, 0], full, smem)
    mbarrier.wait(empty, 0)


@gluon.jit
def invalidated_by_another(desc, out_ptr, n, BAD: gl.constexpr):
    smem = gl.allocate_shared_memory(desc.dtype, [64, 64], desc.layout)
    full = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    empty = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(full, count=1)
    mbarrier.init(empty, count=1)
    arguments = (desc, out_ptr, n, smem, full, empty, BAD)
    gl.warp_specialize([(inval_reader, arguments), (inval_loader, arguments)], [1], [24])


def _one_tile(kernel):
    def launch(bad):
        x, out = matrix(S), torch.zeros(S, S)
        kernel[(1,)](descriptor(x), out, 1, BAD=bad)
        return out, x.float()

    return launch


_UNORDERED = "and nothing orders it after the initialisation at line"
FAULTS = [
    PlantedFault(
        arrives_for_the_other, two_sums(arrives_for_the_other), "the load reads `smem|the TMA load writes `smem"
    ),
    PlantedFault(
        arrives_before_its_copies,
        sum_of_tiles(arrives_before_its_copies, 6, pointer=True),
        r"reads `smem\[0\]` before the asynchronous copy of line \d+ has arrived",
    ),
    PlantedFault(
        released_while_sent,
        copy_of_tile(released_while_sent, 192),
        r"the store overwrites `smem` while the TMA store of line \d+ still reads it",
    ),
    PlantedFault(
        fenced_after_the_arrival,
        copy_of_tile(fenced_after_the_arrival, 192),
        r"the TMA store goes to `smem` without a fence_async_shared\(\) after the store of line",
    ),
    PlantedFault(
        fenced_before_the_wait,
        copy_of_tile(fenced_before_the_wait, 192),
        r"the TMA store goes to `smem` without a fence_async_shared\(\) after the store of line",
    ),
    PlantedFault(initialised_by_a_partition, _one_tile(initialised_by_a_partition), _UNORDERED),
    PlantedFault(
        invalidated_by_another,
        _one_tile(invalidated_by_another),
        "`empty` is invalidated, and nothing orders that after its use at line",
    ),
]
