from triton.experimental.gluon.language.nvidia.hopper import fence_async_shared, tma


@gluon.jit
def begin_store(desc, tile, coord, order: gl.constexpr, value):
    """Begins to write a matrix through a descriptor, from a tile that may be filled again behind `tma.store_wait`.

    `coord`: in the kernel's dimensions; `order`: the contiguous one of these first.
    """
    matrix = tile.reshape([desc.block_shape[-2], desc.block_shape[-1]])
    in_order(matrix, order).store(value.to(desc.dtype))
    # The copy reads shared memory through the async proxy: order the stores before it.
    fence_async_shared()
    if order[0] == 1:
        tma.async_store(desc, coord, tile)
    else:
        tma.async_store(desc, [coord[1], coord[0]], tile)
