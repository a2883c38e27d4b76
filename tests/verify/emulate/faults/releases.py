"""Faults of who releases what to whom: arrival counts, tensor memory used twice, commits that are missing."""

import torch
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia import blackwell
from triton.experimental.gluon.language.nvidia.hopper import fence_async_shared, mbarrier

from tests.verify.emulate.faults import LOAD, TILE, PlantedFault, S, at, descriptor, matrix, sum_of_squares
from tests.verify.emulate.faults.products import REGISTERS, TENSOR_MEMORY, take

SLOTS = gl.constexpr(2)


@gluon.jit
def places(desc, FULL: gl.constexpr, EMPTY: gl.constexpr):
    """A ring with the number of arrivals that make a place full, and empty."""
    smem = gl.allocate_shared_memory(desc.dtype, [SLOTS, 64, 64], desc.layout)
    full = gl.allocate_shared_memory(gl.int64, [SLOTS, 1], mbarrier.MBarrierLayout())
    empty = gl.allocate_shared_memory(gl.int64, [SLOTS, 1], mbarrier.MBarrierLayout())
    for s in gl.static_range(SLOTS):
        mbarrier.init(full.index(s), count=FULL)
        mbarrier.init(empty.index(s), count=EMPTY)
    return smem, full, empty


@gluon.jit
def loader(desc, out_ptr, n, smem, full, empty, BAD: gl.constexpr):
    for i in range(n):
        s = i % SLOTS
        mbarrier.wait(empty.index(s), (i // SLOTS) & 1 ^ 1)
        mbarrier.expect(full.index(s), desc.block_type.nbytes)
        LOAD(desc, [i * 64, 0], full.index(s), smem.index(s))


@gluon.jit
def first_reader(desc, out_ptr, n, smem, full, empty, BAD: gl.constexpr):
    acc = gl.zeros([64, 64], gl.float32, TILE)
    for i in range(n):
        s = i % SLOTS
        mbarrier.wait(full.index(s), (i // SLOTS) & 1)  # reported: uneven_arrivals
        acc += smem.index(s).load(TILE).to(gl.float32)
        mbarrier.arrive(empty.index(s), count=1)
    gl.store(out_ptr + at(0), acc)


@gluon.jit
def second_reader(desc, out_ptr, n, smem, full, empty, BAD: gl.constexpr):
    acc = gl.zeros([64, 64], gl.float32, TILE)
    for i in range(n):
        s = i % SLOTS
        mbarrier.wait(full.index(s), (i // SLOTS) & 1)
        acc += smem.index(s).load(TILE).to(gl.float32)  # reported: one_arrival_for_two_readers
        mbarrier.arrive(empty.index(s), count=1, pred=not BAD)
    gl.store(out_ptr + at(64), acc)


@gluon.jit
def one_arrival_for_two_readers(desc, out_ptr, n, BAD: gl.constexpr):
    smem, full, empty = places(desc, 1, 1 if BAD else 2)
    arguments = (desc, out_ptr, n, smem, full, empty, BAD)
    gl.warp_specialize([(first_reader, arguments), (loader, arguments), (second_reader, arguments)], [1, 4], [24, 24])


@gluon.jit
def slow_loader(desc, out_ptr, n, smem, full, empty, BAD: gl.constexpr):
    for i in range(n):
        s = i % SLOTS
        mbarrier.wait(empty.index(s), (i // SLOTS) & 1 ^ 1)
        mbarrier.expect(full.index(s), desc.block_type.nbytes)
        LOAD(desc, [i * 64, 0], full.index(s), smem.index(s))


@gluon.jit
def forgetful_reader(desc, out_ptr, n, smem, full, empty, BAD: gl.constexpr):
    """Releases every place but that of its last step, which the other reader does release."""
    acc = gl.zeros([64, 64], gl.float32, TILE)
    for i in range(n):
        s = i % SLOTS
        mbarrier.wait(full.index(s), (i // SLOTS) & 1)
        acc += smem.index(s).load(TILE).to(gl.float32)
        mbarrier.arrive(empty.index(s), count=1, pred=i != 1 if BAD else True)
    gl.store(out_ptr + at(64), acc)


@gluon.jit
def uneven_arrivals(desc, out_ptr, n, BAD: gl.constexpr):
    smem, full, empty = places(desc, 1, 2)
    arguments = (desc, out_ptr, n, smem, full, empty, BAD)
    gl.warp_specialize(
        [(first_reader, arguments), (slow_loader, arguments), (forgetful_reader, arguments)], [1, 4], [24, 24]
    )


@gluon.jit
def eager_reader(desc, out_ptr, n, smem, full, empty, BAD: gl.constexpr):
    acc = gl.zeros([64, 64], gl.float32, TILE)
    for i in range(n):
        s = i % SLOTS
        mbarrier.wait(full.index(s), (i // SLOTS) & 1)
        if BAD:
            mbarrier.arrive(empty.index(s), count=1)
        acc += smem.index(s).load(TILE).to(gl.float32)
        if not BAD:
            mbarrier.arrive(empty.index(s), count=1)
    gl.store(out_ptr + at(0), acc)


@gluon.jit
def quick_loader(desc, out_ptr, n, smem, full, empty, BAD: gl.constexpr):
    for i in range(n):
        s = i % SLOTS
        mbarrier.wait(empty.index(s), (i // SLOTS) & 1 ^ 1)
        mbarrier.expect(full.index(s), desc.block_type.nbytes)
        LOAD(desc, [i * 64, 0], full.index(s), smem.index(s))  # reported: released_before_it_is_read


@gluon.jit
def released_before_it_is_read(desc, out_ptr, n, BAD: gl.constexpr):
    smem, full, empty = places(desc, 1, 1)
    arguments = (desc, out_ptr, n, smem, full, empty, BAD)
    gl.warp_specialize([(eager_reader, arguments), (quick_loader, arguments)], [1], [24])


@gluon.jit
def not_committed(desc, out_ptr, n, BAD: gl.constexpr):
    smem = gl.allocate_shared_memory(desc.dtype, [64, 64], desc.layout)
    acc = blackwell.allocate_tensor_memory(gl.float32, [64, 64], TENSOR_MEMORY)
    bar = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    done = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(bar, count=1)
    mbarrier.init(done, count=1)
    for i in range(n):
        take(desc, i, bar, smem)
        blackwell.tcgen05_mma(smem, smem, acc, use_acc=i > 0)
        if not BAD:
            blackwell.tcgen05_commit(done)
        mbarrier.wait(done, i & 1)  # reported
    gl.store(out_ptr + at(0), gl.convert_layout(acc.load(REGISTERS), TILE))


@gluon.jit
def committed_before_the_last_product(desc, out_ptr, n, BAD: gl.constexpr):
    smem = gl.allocate_shared_memory(desc.dtype, [64, 64], desc.layout)
    acc = blackwell.allocate_tensor_memory(gl.float32, [64, 64], TENSOR_MEMORY)
    bar = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    done = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(bar, count=1)
    mbarrier.init(done, count=1)
    take(desc, 0, bar, smem)
    for i in range(n):
        if BAD and i == n - 1:
            blackwell.tcgen05_commit(done)
        blackwell.tcgen05_mma(smem, smem, acc, use_acc=i > 0)
        if not BAD and i == n - 1:
            blackwell.tcgen05_commit(done)
    mbarrier.wait(done, 0)
    gl.store(out_ptr + at(0), gl.convert_layout(acc.load(REGISTERS), TILE))  # reported


@gluon.jit
def multiplier(desc, out_ptr, n, smem, bar, acc, done, free, BAD: gl.constexpr):
    for i in range(n):
        mbarrier.wait(free, (i & 1) ^ 1, pred=not BAD)
        take(desc, i, bar, smem)
        blackwell.tcgen05_mma(smem, smem, acc, use_acc=False)  # reported: tensor_memory_used_twice
        blackwell.tcgen05_commit(done)
        mbarrier.wait(done, i & 1)


@gluon.jit
def epilogue(desc, out_ptr, n, smem, bar, acc, done, free, BAD: gl.constexpr):
    total = gl.zeros([64, 64], gl.float32, TILE)
    for i in range(n):
        mbarrier.wait(done, i & 1)
        total += gl.convert_layout(acc.load(REGISTERS), TILE)
        mbarrier.arrive(free, count=1)
    gl.store(out_ptr + at(0), total)


@gluon.jit
def tensor_memory_used_twice(desc, out_ptr, n, BAD: gl.constexpr):
    smem = gl.allocate_shared_memory(desc.dtype, [64, 64], desc.layout)
    acc = blackwell.allocate_tensor_memory(gl.float32, [64, 64], TENSOR_MEMORY)
    bar = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    done = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    free = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(bar, count=1)
    mbarrier.init(done, count=1)
    mbarrier.init(free, count=1)
    arguments = (desc, out_ptr, n, smem, bar, acc, done, free, BAD)
    gl.warp_specialize([(epilogue, arguments), (multiplier, arguments)], [4], [48])


@gluon.jit
def tensor_memory_stored_over(desc, out_ptr, n, BAD: gl.constexpr):
    """A store into the accumulator while a product still changes it."""
    smem = gl.allocate_shared_memory(desc.dtype, [64, 64], desc.layout)
    acc = blackwell.allocate_tensor_memory(gl.float32, [64, 64], TENSOR_MEMORY)
    bar = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    done = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(bar, count=1)
    mbarrier.init(done, count=1)
    acc.store(gl.zeros([64, 64], gl.float32, REGISTERS))
    for i in range(n):
        take(desc, i, bar, smem)
        blackwell.tcgen05_mma(smem, smem, acc, use_acc=True)
        blackwell.tcgen05_commit(done)
        if not BAD:
            mbarrier.wait(done, i & 1)
        half = acc.load(REGISTERS) if not BAD else gl.zeros([64, 64], gl.float32, REGISTERS)
        acc.store(half)  # reported
        if BAD:
            mbarrier.wait(done, i & 1)
    gl.store(out_ptr + at(0), gl.convert_layout(acc.load(REGISTERS), TILE))


@gluon.jit
def product_of_what_threads_wrote(desc, out_ptr, n, BAD: gl.constexpr):
    smem = gl.allocate_shared_memory(desc.dtype, [64, 64], desc.layout)
    twice = gl.allocate_shared_memory(desc.dtype, [64, 64], desc.layout)
    acc = blackwell.allocate_tensor_memory(gl.float32, [64, 64], TENSOR_MEMORY)
    bar = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    done = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(bar, count=1)
    mbarrier.init(done, count=1)
    for i in range(n):
        take(desc, i, bar, smem)
        twice.store(smem.load(TILE))
        if not BAD:
            fence_async_shared()
        blackwell.tcgen05_mma(twice, smem, acc, use_acc=i > 0)  # reported
        blackwell.tcgen05_commit(done)
        mbarrier.wait(done, i & 1)
    gl.store(out_ptr + at(0), gl.convert_layout(acc.load(REGISTERS), TILE))


def two_sums(kernel):
    """Launches a kernel that sums six tiles up twice, by two readers."""

    def launch(bad):
        x, out = matrix(S * 6), torch.zeros(2 * S, S)
        kernel[(1,)](descriptor(x), out, 6, BAD=bad)
        total = x.float().view(6, S, S).sum(0)
        return out, torch.cat([total, total])

    return launch


def _sum(kernel):
    def launch(bad):
        x, out = matrix(S * 6), torch.zeros(S, S)
        kernel[(1,)](descriptor(x), out, 6, BAD=bad)
        return out, x.float().view(6, S, S).sum(0)

    return launch


def _same_square(kernel):
    def launch(bad):
        x, out = matrix(S), torch.zeros(S, S)
        kernel[(1,)](descriptor(x), out, 3, BAD=bad)
        return out, 3 * (x.float() @ x.float())

    return launch


FAULTS = [
    PlantedFault(
        one_arrival_for_two_readers,
        two_sums(one_arrival_for_two_readers),
        "the load reads `smem|the TMA load writes `smem",
    ),
    PlantedFault(uneven_arrivals, two_sums(uneven_arrivals), "can never end.*it misses 1 of 2 arrivals"),
    PlantedFault(
        released_before_it_is_read,
        _sum(released_before_it_is_read),
        r"the TMA load writes `smem\[0\]` and nothing orders",
    ),
    PlantedFault(not_committed, sum_of_squares(not_committed), "can never end: it misses 1 of 1 arrivals", "sm_100"),
    PlantedFault(
        committed_before_the_last_product,
        _same_square(committed_before_the_last_product),
        "the load reads `acc` before the tcgen05_mma",
        "sm_100",
    ),
    PlantedFault(
        tensor_memory_used_twice, sum_of_squares(tensor_memory_used_twice), "the tcgen05_mma .*`acc`", "sm_100"
    ),
    PlantedFault(
        tensor_memory_stored_over,
        sum_of_squares(tensor_memory_stored_over),
        "the store overwrites `acc` while the tcgen05_mma",
        "sm_100",
    ),
    PlantedFault(
        product_of_what_threads_wrote,
        sum_of_squares(product_of_what_threads_wrote),
        "the tcgen05_mma goes to `twice` without a fence_async_shared",
        "sm_100",
    ),
]
