"""Operations of descriptors that newer hardware or a newer Triton has."""

import triton
import triton.language as tl


@triton.jit
def rows_exchanged(src_desc, dst_desc, i_ptr, ROWS: tl.constexpr):
    rows = tl.load(i_ptr + tl.arange(0, ROWS))
    dst_desc.scatter(src_desc.gather(rows, 0), rows, 0)


@triton.jit
def combined(src_desc, dst_desc):
    tile = src_desc.load([0, 0])
    dst_desc.atomic_add([0, 0], tile)
    dst_desc.atomic_max([0, 0], tile)
    dst_desc.atomic_min([0, 0], tile)
    dst_desc.atomic_and([0, 0], tile)
    dst_desc.atomic_or([0, 0], tile)
    dst_desc.atomic_xor([0, 0], tile)
