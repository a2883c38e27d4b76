@gluon.jit
def landed(tile, index: gl.constexpr, result_layout: gl.constexpr, precision: gl.constexpr = F32_PRECISION):
    """A copied tile: where it is, if dots of this result read operand `index` of theirs there; else in registers.

    One that lies across K for warpgroup instructions is turned where it is: the dot may stay under way then.
    """
    if reads_in_place(tile, index, result_layout, precision):
        return tile
    else:
        order: gl.constexpr = [0, 1] if tile.layout.transposed else [1, 0]
        values = tile.load(coalesced(tile.shape, tile.dtype.primitive_bitwidth, order, gl.num_warps()))
        if not turns_in_place(tile, result_layout, precision):
            return values
        elif tile.layout.transposed:
            turned = turned_memory(tile.permute((1, 0)))
            turned.store(values)
            return turned
        else:
            turned = turned_memory(tile).permute((1, 0))
            turned.store(values)
            return turned
