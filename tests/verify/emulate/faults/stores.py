"""Faults of TMA stores."""

import torch
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import fence_async_shared, mbarrier, tma

from tests.verify.emulate.faults import LOAD, STORE, TILE, PlantedFault, at, copy_of_tile, descriptor, matrix

HAS_FULL_WAIT = gl.constexpr(hasattr(tma, "async_store"))


@gluon.jit
def store_not_fenced(x_ptr, desc, BAD: gl.constexpr):
    smem = gl.allocate_shared_memory(desc.dtype, [64, 64], desc.layout)
    smem.store(gl.load(x_ptr + at(0)) * 2)
    if not BAD:
        fence_async_shared()
    STORE(desc, [0, 0], smem)  # reported
    tma.store_wait(pendings=0)


@gluon.jit
def fence_before_the_store(x_ptr, desc, BAD: gl.constexpr):
    smem = gl.allocate_shared_memory(desc.dtype, [64, 64], desc.layout)
    if BAD:
        fence_async_shared()
    smem.store(gl.load(x_ptr + at(0)) * 2)
    if not BAD:
        fence_async_shared()
    STORE(desc, [0, 0], smem)  # reported
    tma.store_wait(pendings=0)


@gluon.jit
def stored_again_too_soon(x_ptr, desc, BAD: gl.constexpr):
    smem = gl.allocate_shared_memory(desc.dtype, [64, 64], desc.layout)
    for i in range(3):
        smem.store(gl.load(x_ptr + at(i * 64)) * 2)  # reported
        fence_async_shared()
        STORE(desc, [i * 64, 0], smem)
        if not BAD:
            tma.store_wait(pendings=0)
    tma.store_wait(pendings=0)


@gluon.jit
def one_store_too_many_pending(x_ptr, desc, BAD: gl.constexpr):
    smem = gl.allocate_shared_memory(desc.dtype, [2, 64, 64], desc.layout)
    for i in range(4):
        tma.store_wait(pendings=2 if BAD else 1)
        smem.index(i % 2).store(gl.load(x_ptr + at(i * 64)) * 2)  # reported
        fence_async_shared()
        STORE(desc, [i * 64, 0], smem.index(i % 2))
    tma.store_wait(pendings=0)


@gluon.jit
def store_left_in_flight(x_ptr, desc, BAD: gl.constexpr):
    smem = gl.allocate_shared_memory(desc.dtype, [64, 64], desc.layout)
    smem.store(gl.load(x_ptr + at(0)) * 2)
    fence_async_shared()
    STORE(desc, [0, 0], smem)  # reported
    if not BAD:
        tma.store_wait(pendings=0)


@gluon.jit
def memory_of_a_store(x_ptr, desc, BAD: gl.constexpr):
    smem = gl.allocate_shared_memory(desc.dtype, [64, 64], desc.layout)
    smem.store(gl.load(x_ptr + at(0)) * 2)
    fence_async_shared()
    STORE(desc, [0, 0], smem)
    if not BAD:
        tma.store_wait(pendings=0)
    other = gl.allocate_shared_memory(desc.dtype, [64, 64], desc.layout)
    other.store(gl.load(x_ptr + at(0)))  # reported
    gl.store(x_ptr + at(0), other.load(TILE))
    tma.store_wait(pendings=0)


@gluon.jit
def memory_of_a_store_in_a_loop(x_ptr, desc, BAD: gl.constexpr):
    for i in range(3):
        smem = gl.allocate_shared_memory(desc.dtype, [64, 64], desc.layout)
        smem.store(gl.load(x_ptr + at(i * 64)) * 2)
        fence_async_shared()
        STORE(desc, [i * 64, 0], smem)
        if not BAD:
            tma.store_wait(pendings=0)
        other = gl.allocate_shared_memory(desc.dtype, [64, 64], desc.layout)
        other.store(gl.load(x_ptr + at(i * 64)))  # reported
        gl.store(x_ptr + at(i * 64), other.load(TILE))
        tma.store_wait(pendings=0)


@gluon.jit
def half_stored(x_ptr, desc, BAD: gl.constexpr):
    smem = gl.allocate_shared_memory(desc.dtype, [64, 64], desc.layout)
    if BAD:
        half: gl.constexpr = gl.SliceLayout(1, TILE)
        top = gl.arange(0, 32, layout=half)[:, None] * 64 + gl.arange(0, 64, layout=gl.SliceLayout(0, TILE))[None, :]
        smem.slice(0, 32).store(gl.load(x_ptr + top) * 2)
    else:
        smem.store(gl.load(x_ptr + at(0)) * 2)
    fence_async_shared()
    STORE(desc, [0, 0], smem)  # reported
    tma.store_wait(pendings=0)


@gluon.jit
def read_back_too_soon(desc, out_ptr, BAD: gl.constexpr):
    smem = gl.allocate_shared_memory(desc.dtype, [64, 64], desc.layout)
    bar = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(bar, count=1)
    smem.store(gl.full([64, 64], 2.0, gl.float16, TILE))
    fence_async_shared()
    STORE(desc, [0, 0], smem)
    if BAD or not HAS_FULL_WAIT:
        tma.store_wait(pendings=0)
    else:
        tma.store_wait(pendings=0, read_only=False)
    mbarrier.expect(bar, desc.block_type.nbytes)
    LOAD(desc, [0, 0], bar, smem)  # reported
    mbarrier.wait(bar, 0)
    gl.store(out_ptr + at(0), smem.load(TILE))


def _read_back(bad):
    scratch, out = matrix(), torch.zeros(64, 64, dtype=torch.float16)
    read_back_too_soon[(1,)](descriptor(scratch), out, BAD=bad)
    return out, torch.full_like(out, 2.0)


@gluon.jit
def store_over_the_edge(x_ptr, desc, BAD: gl.constexpr):
    smem = gl.allocate_shared_memory(desc.dtype, [64, 64], desc.layout)
    smem.store(gl.load(x_ptr + at(0)) * 2)
    fence_async_shared()
    STORE(desc, [0, 0], smem)  # reported
    tma.store_wait(pendings=0)


def _over_the_edge(bad):
    columns = 50 if bad else 56
    x, out = matrix(), torch.zeros(64, 64, dtype=torch.float16)
    store_over_the_edge[(1,)](x, descriptor(out[:, :columns]), BAD=bad)
    expected = x * 2
    expected[:, columns:] = 0
    return out, expected


_UNFENCED = r"the TMA store goes to `smem` without a fence_async_shared\(\) after the store of line \d+"
_IN_USE = r"the store overwrites `smem.*` while the TMA store of line \d+ still reads it: it needs a tma.store_wait"
_REUSED = r"`other` may get the memory of `smem`.* while the TMA store of line \d+ still reads it: it needs a tma.store"
FAULTS = [
    PlantedFault(memory_of_a_store, copy_of_tile(memory_of_a_store), _REUSED),
    PlantedFault(memory_of_a_store_in_a_loop, copy_of_tile(memory_of_a_store_in_a_loop, 192), _REUSED),
    PlantedFault(store_not_fenced, copy_of_tile(store_not_fenced), _UNFENCED),
    PlantedFault(fence_before_the_store, copy_of_tile(fence_before_the_store), _UNFENCED),
    PlantedFault(stored_again_too_soon, copy_of_tile(stored_again_too_soon, 192), _IN_USE),
    PlantedFault(one_store_too_many_pending, copy_of_tile(one_store_too_many_pending, 256), _IN_USE),
    PlantedFault(store_left_in_flight, copy_of_tile(store_left_in_flight), "ends while the TMA store of `smem`"),
    PlantedFault(half_stored, copy_of_tile(half_stored), r"nothing was written there: element \(32, 0\)"),
    PlantedFault(
        read_back_too_soon, _read_back, "reads what the TMA store of line .* needs a tma.store_wait with", since="3.8"
    ),
    PlantedFault(store_over_the_edge, _over_the_edge, r"inner dimension of 50 elements \(100 bytes\)"),
]
