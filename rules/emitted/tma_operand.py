from triton.experimental.gluon.language.nvidia.hopper import mbarrier, tma


@gluon.jit
def tma_operand(desc, coord, along_k: gl.constexpr, precision: gl.constexpr):
    """An operand of a dot: a descriptor's tile in shared memory, or in registers if tensor cores cannot read that.

    `along_k`: the dot sums along the tile's last dimension.
    """
    tile = gl.allocate_shared_memory(desc.dtype, desc.block_shape, desc.layout)
    ready = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(ready, count=1)
    mbarrier.expect(ready, desc.block_type.nbytes)
    tma.async_load(desc, coord, ready, tile)
    mbarrier.wait(ready, 0)
    mbarrier.invalidate(ready)
    if stays_shared(desc.dtype, along_k, precision):
        return tile
    else:
        bits: gl.constexpr = desc.dtype.primitive_bitwidth
        layout: gl.constexpr = coalesced(desc.block_shape, bits, [1, 0], gl.num_warps())
        return tile.load(layout)
