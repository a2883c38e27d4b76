from triton.experimental.gluon.language.nvidia.hopper import mbarrier, tma


@gluon.jit
def load_tile(desc, coord, order: gl.constexpr, ready, tile, pred=True):
    """Begins to copy the matrix at the coordinates of the kernel's dimensions.

    `order`: the contiguous one of the last two first.
    """
    mbarrier.expect(ready, desc.block_type.nbytes, pred=pred)
    if order[0] == 1:
        tma.async_load(desc, coord, ready, tile, pred=pred)
    else:
        tma.async_load(desc, coord[:-2] + (coord[-1], coord[-2]), ready, tile, pred=pred)
