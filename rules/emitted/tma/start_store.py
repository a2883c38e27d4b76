from triton.experimental.gluon.language.nvidia.hopper import fence_async_shared, tma


@gluon.jit
def start_store(tile, desc, coord, order: gl.constexpr, value):
    """Begins to write a matrix through a descriptor, as `store_tile` does, by way of a tile that no copy reads by now.

    `tma.store_wait` says when the tile has been read.
    """
    matrix = tile.reshape([desc.block_shape[-2], desc.block_shape[-1]])
    in_order(matrix, order).store(value.to(desc.dtype))
    # The copy reads shared memory through the async proxy: order the stores before it.
    fence_async_shared()
    if order[0] == 1:
        tma.async_store(desc, coord, tile)
    else:
        tma.async_store(desc, coord[:-2] + (coord[-1], coord[-2]), tile)
