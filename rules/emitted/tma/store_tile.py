from triton.experimental.gluon.language.nvidia.hopper import fence_async_shared, tma


@gluon.jit
def store_tile(desc, coord, order: gl.constexpr, value):
    """Writes a matrix through a descriptor, which leaves out what lies beyond the tensor.

    `coord`: in the kernel's dimensions; `order`: the contiguous one of the last two first.
    """
    tile = gl.allocate_shared_memory(desc.dtype, desc.block_shape, desc.layout)
    matrix = tile.reshape([desc.block_shape[-2], desc.block_shape[-1]])
    in_order(matrix, order).store(value.to(desc.dtype))
    # The copy reads shared memory through the async proxy: order the stores before it.
    fence_async_shared()
    if order[0] == 1:
        tma.async_store(desc, coord, tile)
    else:
        tma.async_store(desc, coord[:-2] + (coord[-1], coord[-2]), tile)
    tma.store_wait(0)
