from triton.experimental.gluon.language.nvidia.hopper import mbarrier, tma


@gluon.jit
def tma_load(desc, coord, layout: gl.constexpr):
    """A tile of a descriptor: copied into shared memory, awaited, and read from there."""
    tile = gl.allocate_shared_memory(desc.dtype, desc.block_shape, desc.layout)
    ready = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(ready, count=1)
    mbarrier.expect(ready, desc.block_type.nbytes)
    tma.async_load(desc, coord, ready, tile)
    mbarrier.wait(ready, 0)
    mbarrier.invalidate(ready)
    return tile.load(layout)
