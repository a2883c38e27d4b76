from triton.experimental.gluon.language.nvidia.hopper import fence_async_shared, tma


@gluon.jit
def tma_atomic_max(desc, coord, value):
    """Keeps the larger of a tile and what a descriptor names, element by element."""
    tile = gl.allocate_shared_memory(desc.dtype, desc.block_shape, desc.layout, value)
    # The reduction reads shared memory through the async proxy: order the stores before it.
    fence_async_shared()
    tma.async_atomic_max(desc, coord, tile)
    # As Triton does: what is stored is there for whoever reads it next.
    tma.store_wait(0, read_only=False)
