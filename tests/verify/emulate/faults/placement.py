"""Faults of where elements lie: two in one place, and a tile that the TMA lays out otherwise than its buffer."""

import torch
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import fence_async_shared, mbarrier, tma

from tests.verify.emulate.faults import LOAD, STORE, TILE, PlantedFault, S, at, copy_of_tile, descriptor, matrix

OTHER = gl.constexpr(gl.NVMMASharedLayout(swizzle_byte_width=32, element_bitwidth=16, rank=2))


@gluon.jit
def two_into_one_place(desc, out_ptr, BAD: gl.constexpr):
    smem = gl.allocate_shared_memory(gl.float16, [64, 64], gl.SwizzledSharedLayout(8, 1, 8, [1, 0]))
    smem.store(gl.zeros([64, 64], gl.float16, TILE))
    rows = gl.arange(0, 64, layout=gl.SliceLayout(1, TILE))[:, None] + gl.zeros([64, 64], gl.int32, TILE)
    smem.scatter(rows.to(gl.float16), rows // 2 if BAD else 63 - rows, 0)  # reported
    gl.store(out_ptr + at(0), smem.load(TILE).to(gl.float32))


@gluon.jit
def loaded_with_another_swizzle(desc, out_ptr, BAD: gl.constexpr):
    smem = gl.allocate_shared_memory(desc.dtype, [64, 64], OTHER if BAD else desc.layout)
    bar = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(bar, count=1)
    mbarrier.expect(bar, desc.block_type.nbytes)
    LOAD(desc, [0, 0], bar, smem)  # reported
    mbarrier.wait(bar, 0)
    gl.store(out_ptr + at(0), smem.load(TILE).to(gl.float32))


@gluon.jit
def stored_with_another_swizzle(x_ptr, desc, BAD: gl.constexpr):
    smem = gl.allocate_shared_memory(desc.dtype, [64, 64], OTHER if BAD else desc.layout)
    smem.store(gl.load(x_ptr + at(0)) * 2)
    fence_async_shared()
    STORE(desc, [0, 0], smem)  # reported
    tma.store_wait(0)


def _scattered(bad):
    out = torch.zeros(S, S)
    two_into_one_place[(1,)](descriptor(matrix()), out, BAD=bad)
    return out, torch.arange(63.0, -1.0, -1.0)[:, None].expand(S, S)


def _loaded(bad):
    x, out = matrix(), torch.zeros(S, S)
    loaded_with_another_swizzle[(1,)](descriptor(x), out, BAD=bad)
    return out, x.float()


_SWIZZLE = r"`smem` has the layout .*swizzle_byte_width=32.*, the blocks of the descriptor .*swizzle_byte_width=128"
FAULTS = [
    PlantedFault(loaded_with_another_swizzle, _loaded, _SWIZZLE),
    PlantedFault(stored_with_another_swizzle, copy_of_tile(stored_with_another_swizzle), _SWIZZLE),
]
if hasattr(gl.shared_memory_descriptor, "scatter"):
    # Newer than 3.6.
    FAULTS.append(PlantedFault(two_into_one_place, _scattered, "puts different values into one element of `smem`"))
