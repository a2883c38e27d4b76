from triton.experimental.gluon.language.nvidia.hopper import fence_async_shared, tma


@gluon.jit
def tma_store(desc, coord, value):
    """Writes a tile through a descriptor, which leaves out what lies beyond the tensor."""
    tile = gl.allocate_shared_memory(desc.dtype, desc.block_shape, desc.layout, value.to(desc.dtype))
    # The copy reads shared memory through the async proxy: order the stores before it.
    fence_async_shared()
    tma.async_store(desc, coord, tile)
    # As Triton does: what is stored is there for whoever reads it next.
    tma.store_wait(0, read_only=False)
