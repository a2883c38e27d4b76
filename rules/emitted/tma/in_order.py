@gluon.jit
def in_order(tile, order: gl.constexpr):
    """A matrix in shared memory with the dimensions of the kernel; `order`: the contiguous one first."""
    if order[0] == 1:
        return tile
    else:
        return tile.permute((1, 0))
