@gluon.constexpr_function
def mma_v2_layout(shape, num_warps, chained, follows):
    """The layout of a result of mma.sync: 16 x 8 per warp, warps over the tile or one side of it in a chain of dots."""
    rank = len(shape)
    m, n = shape[rank - 2], shape[rank - 1]
    if rank == 3:
        return gl.NVMMADistributedLayout([2, 0], [num_warps, 1, 1], [1, 16, 8])
    if chained or follows:
        return gl.NVMMADistributedLayout([2, 0], [num_warps, 1] if follows or m >= n else [1, num_warps], [16, 8])
    warps = [1, 1]
    while warps[0] * warps[1] < num_warps:
        if m // 16 // warps[0] >= n // 16 // warps[1] and warps[0] < m // 16:
            warps[0] *= 2
        else:
            warps[1] *= 2
    return gl.NVMMADistributedLayout([2, 0], warps, [16, 8])
