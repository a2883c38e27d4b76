@gluon.jit
def landed(tile, index: gl.constexpr, result_layout: gl.constexpr, precision: gl.constexpr = F32_PRECISION):
    """A copied tile: where it is, if dots of this result read operand `index` of theirs there; else in registers."""
    if reads_in_place(tile, index, result_layout, precision):
        return tile
    else:
        order: gl.constexpr = [0, 1] if tile.layout.transposed else [1, 0]
        return tile.load(coalesced(tile.shape, tile.dtype.primitive_bitwidth, order, gl.num_warps()))
