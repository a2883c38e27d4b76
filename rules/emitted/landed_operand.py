@gluon.jit
def landed_operand(tile, along_k: gl.constexpr, precision: gl.constexpr):
    """A copied operand of a dot: in shared memory, or in registers if tensor cores cannot read it there.

    `along_k`: the dot sums along the tile's last dimension.
    """
    if stays_shared(tile.dtype, along_k, precision):
        return tile
    else:
        return tile.load(coalesced(tile.shape, tile.dtype.primitive_bitwidth, [1, 0], gl.num_warps()))
