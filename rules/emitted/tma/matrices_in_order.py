@gluon.jit
def matrices_in_order(tile, order: gl.constexpr):
    """Matrices in shared memory with the dimensions of the kernel; `order`: the contiguous one of each first."""
    if order[0] == 1:
        return tile
    else:
        return tile.permute((0, 2, 1))
